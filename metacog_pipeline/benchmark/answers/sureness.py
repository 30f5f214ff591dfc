"""How sure a reply is: a share, a word of a scale or a stake that it states, the chance of a word by log-probabilities,
agreement of samples; whether a second reply keeps the answer, and whether the answer itself is withheld."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from metacog_pipeline.benchmark.answers.abstaining import plain, withholds
from metacog_pipeline.benchmark.answers.dates import sure_date_of
from metacog_pipeline.benchmark.answers.percents import ABOUT, ERROR, SCALE, denied, percent
from metacog_pipeline.benchmark.answers.reading import AnswerKey, read_stated
from metacog_pipeline.benchmark.answers.whole_scale import without_scale
from metacog_pipeline.transcripts.lines import decode_logprobs

# A heading may stand above the number it is of, or above the words of a scale.
_BELOW = (
    r"(?:\s{1,4}(?=[*_]{0,2}(?:\d{1,3}(?:[.,]\d{1,4})?[ ]?%?|(?:(?:almost|very|highly|quite|fairly|not)[ _-]){0,2}"
    r"(?:certain|(?:un)?likely|even|no chance)(?: chance)?\.?)[*_]{0,2}[ \t]*(?:\n|\Z)))?"
)
# A line that states a confidence, and what it states.
_CONFIDENCE = re.compile(
    r"(?:\b(?:confidence|my (?:own |overall )?(?:certainty|sureness))\b(?![ \t]{1,4}intervals?\b)[ \t]{0,4}"
    r"(?:level|score|rating)?[ \t*_\"'>|]{0,6}[:：=]?"
    r"|(?:\b(?:certainty(?: level| score)?|sureness|konfidenz|sicherheit|confianza|confiance|confiança|fiducia|zekerheid"
    r"|how (?:confident|sure|certain)(?: (?:i am|am i|are you)\b[^\n:：=]{0,30})?|certeza|güven|уверенность)"
    r"|(?:置信|信心|自信|確信|信頼)(?:度|水平|程度|指数)?|확신도|자신감|신뢰도|الثقة|आत्मविश्वास)[ \t*_]{0,6}[:：=]"
    r"|\bhow (?:confident|sure|certain) am i\b[^\n:：=?]{0,30}\?)"
    rf"[ \t*_<]{{0,6}}{_BELOW}([^\n]{{0,80}})",
    re.I,
)
# A line that states what is staked.
_STAKED = re.compile(
    r"\b(?<!at )(?:(?P<bet>bet)|betting|wager(?:ing)?|stake|staking)\b[ \t]{0,4}(?:size|amount)?[ \t*_\"'>|]{0,6}[:：=]?"
    rf"[ \t*_<]{{0,6}}{_BELOW}([^\n]{{0,80}})",
    re.I,
)
# What follows a label that no sign sets apart: "Confidence 80", "my confidence is about 80".
_AMOUNT = re.compile(
    r"[ \t*_<(~≈]{0,6}(?:[–—→-][ ]?)?(?:(?:is|was|of|at|would be)[ ](?:(?:now|only|about|around|roughly|approximately) )?)?"
    r"[*_~≈]{0,3}\d",
    re.I,
)
# Confidence that is not the one a reply ends with: "it would be 50% without the scan", "initial confidence".
_SUPPOSED = re.compile(r"\b(?:would|requires?|were|without|unless|if)\b", re.I)
_EARLIER = re.compile(r"\b(?:initial|prior|previous|earlier|original|former)[ *_]{1,3}\Z", re.I)
_WITH = re.compile(r"\bwith(?: \w{1,15})? \Z", re.I)
_REMARK = 3  # the rank of a line that states nothing
# "Guess: Paris", "Probability: 0.85": a chance is a confidence where it is that of an answer named before it, or says so.
_CHANCE = re.compile(
    r"(?:\b(?P<own>(?:p(?=[ ]?\()|(?:probability|likelihood|chance)\b)[^\w\n]{0,4}"
    r"(?:(?:that|of) (?:my|the|this|it|i|being)\b[^\n:：=]{0,25}\b|of )?(?:correct(?:ness)?|true|right)\b[^\n:：=]{0,20})"
    r"|(?:\b(?:p1|(?:probability|likelihood|chance)(?: ?1)?|wahrscheinlichkeit|probabilité|probabilidade?"
    r"|probabilità|waarschijnlijkheid|вероятность"
    r"|how likely(?: (?:it is that )?(?:my|the|your|this)\b[^\n:：=]{0,40})?)\b|概率|確率|확률|الاحتمال)"
    r"(?:[ ](?:that|of)\b[^\n:：=]{0,40})?)[\"'*_ \t]{0,6}[:：=]"
    rf"[ \t*_<]{{0,6}}{_BELOW}(?P<share>[^\n]{{0,80}})",
    re.I,
)
#: What labels an answer, "Final answer" or "Guess"; of several guesses the first one, "G1".
ANSWER = (
    r"(?:(?:the |my )?(?:final |correct |best )?(?:answer|guess(?: ?1)?)|g1|ans|(?:respuesta|réponse|resposta|risposta"
    r"|antwort|antwoord|svar|cevap|odpowiedź|ответ)(?: finale?| correcta)?|答案|答え|回答|答|답|정답|الإجابة|الجواب|उत्तर)"
)
_ANSWERED = re.compile(rf"^[ \t>*_#{{\"-]{{0,12}}{ANSWER}[\"' \t*_]{{0,6}}[:：=]", re.I | re.M)
# What a reply says of itself where it states no confidence apart.
_SURE = re.compile(
    r"\b(\d{1,3}(?:[.,]\d{1,4})?) ?(?:%|per ?cent) ?(?:sure|certain|confident|confidence|certainty)\b"
    r"|\b(?:sure|certain|confident)(?: of (?:it|that|this))?,? \(?(?:about |around |approximately |~)?(\d{1,3}) ?%"
    r"|\b(\d{1,3}(?:[.,]\d{1,4})?) ?(?:%|per ?cent) (?:chance|probability|likelihood) (?:that )?"
    r"(?:(?:this|it|that|my|the)(?: answer| guess)?(?: is|'s|’s)?|I(?: am|'m|’m)|of (?:it |my answer )?being)"
    r" (?:correct|right)\b",
    re.I,
)
# A share that stands beside a bare letter, or alone in the last line under one.
_BESIDE = re.compile(
    r"\A\W{0,9}[A-J]\b[^\w\n]{0,4}\s{0,3}[-–—(,:;]?[ ]?(\d{1,3}) ?%?[)*_. ]{0,4}\Z"
    r"|\n[ \t(*_]{0,6}(\d{1,3}) ?%[)*_. ]{0,4}\Z",
    re.A,
)
# "I'd put it at 85%": of a number, it may be the answer.
_PUT = re.compile(
    r"\bI(?:['’]d| would|['’]ll| will)? (?:put|estimate|rate|place|peg|say)(?: (?:it|this|that|my (?:confidence|certainty)"
    r"(?: in (?:it|this|that|my answer))?))?(?: is| as| to be| at)?(?: about| around| roughly| approximately| ~)?"
    r" ?[~≈*_]{0,3}(\d{1,3}(?:[.,]\d{1,4})?) ?(?:%|per ?cent\b)",
    re.I,
)
# Shares of several letters: "A 5%, B (Vitamin K): 85%", "5% for A, 85% for B".
_SHARE_OF = r"(?P<share>\d{1,3}(?:[.,]\d{1,4})?[ ]?%?)"
_OPTION = (
    r"(?i:(?:(?:confidence |certainty )?(?:in|that|for|of|on) )?(?:option |answer )?)[\"'*(\[]{0,3}"
    r"\b(?P<letter>[A-J])\b"
)
_OF_LETTERS = (
    re.compile(rf"[^\w%]{{0,8}}(?:and )?{_OPTION}(?:[^\w\n,;%]{{1,6}}|[^\d\n,;%]{{1,40}}[ :=(]){_SHARE_OF}"),
    re.compile(rf"[^\w%]{{0,8}}(?:and )?{_SHARE_OF}[ ]?{_OPTION}(?! (?!and\b|or\b)[a-z])"),
)
# What stands around a word of a scale: "very_likely", "likely (70%)", "highly likely", "likely, even if I am not sure".
_SPACES = re.compile(r"[\s_*‐‑-]+")
_IN_BRACKETS = re.compile(r"(?<=\w) [(\[][^()\[\]]{0,80}[)\]]?")
_STRESSED = re.compile(
    r"\b(?:less|hardly|barely|highly|extremely|exceptionally|incredibly|overwhelmingly) \Z"
)
_ADVERB = re.compile(r" (?!chances?\b|odds\b|likelihood|probab|money\b|and\b|or\b|to\b|at\b)[a-z]")

# The words of second calls. A "no" that is said of something, "no doubt", answers nothing.
_NO = (
    r"no(?!\. ?\d|-\w)(?=\s{0,4}(?:[^\w\s'-]|\Z)|\s{0,3}\n|\s{1,3}-{1,3}\s|[ ](?:it|it's|its|that|that's|this|the|i|i'm|i'd"
    r"|i've|i'll|he|she|they|we|you|because|since|as|but|there|there's|an?|not|my|or|and|for|from|in|on|to|way|chance|sir"
    r"|thanks|sorry)\b)|\Ano(?=[^.!?\n]{1,200}(?:\bnot\b|n't\b|wrong|incorrect|false|mistaken))"
)
_SAID = {
    "yes": re.compile(rf"\b(?:(?P<first>yes)|{_NO})\b"),
    "keep": re.compile(
        r"\b(?:(?P<first>keep|(?P<kept>keep(?:ing|s)|kept))|withdraw|(?P<withdrawn>withdr(?:aw(?:ing|s|n)|ew)))\b"
    ),
}
# Both as they are asked for: "keep or withdraw".
_OBJECT = r"(?: (?:it|this|that|the|my|answer)){0,3}"
_EITHER = {
    "yes": re.compile(r"\b(?:yes|no)\b[\s-]?(?:[/|]|or\b)[\s-]?(?:yes|no)\b"),
    "keep": re.compile(rf"\b(?:keep|withdraw)\b{_OBJECT}\s?(?:[/|]|or\b)\s?(?:to )?(?:keep|withdraw)\b"),
}
_CLAUSE_ENDS = re.compile(r"[.,;:!?\n(|…—–]|\s-{1,3}\s")
_UNWISE = (
    "wrong|incorrect|foolish|silly|mistake|risky|unsafe|unwise|premature|dangerous|reckless|irresponsible|unreasonable"
    "|pointless|unnecessary|unwarranted"
)
# The words before a word, back to what denies it, or to where another thought begins: "I see no reason why I should
# withdraw", but "I am not sure so I keep it".
_STEP = re.compile(
    r"(?<![\w'])(?:(?P<denies>\w{2,9}n't|cannot|cant|dont|wont|not|never|no|none|neither|nor|nothing|hardly|lack\w{0,3}"
    r"|(?:without|instead of|against|(?:rather |(?<!more ))than(?: to)?)(?= \Z)|(?:avoid|refrain)\w{0,3}(?: from)?"
    r"|(?:harm|risks?|danger|downside) (?:in|of|to)"
    rf"|(?:too \w{{1,20}}|{_UNWISE}|unable|unwilling|reluctant|afraid|refus\w{{1,4}}|declin\w{{1,4}}|hesita\w{{1,6}}"
    r"|fail\w{0,3}) to)"
    r"|(?:that|why|how|think|believe|feel|reason|say|see)(?: that)? (?:i|we|it|you)(?:'d|'ll|'m|'s|'ve)?"
    r"|(?:give|tell|offer) you|(?:will|would|do|shall|can) i|so far as"
    r"|(?:sure|certain)(?: enough)?(?: (?:to|about|in|with|of)| (?:that )?i (?:want|should|can|could))"
    r"|(?P<begins>(?:i|we|you)(?:'d|'ll|'m|'ve|'re)?|he|they|and|but|so|or|because|since|as|if|though|although|while|when|then"
    r"|therefore|hence|thus|yet|by|than|except|doubts?(?! to)|hesitation|problems?|issues?|trouble|objections?|regrets?"
    r"|mind|matter|why not|sure|certain|know|keep\w{0,3}|kept|withdr\w{1,6}|yes))(?![\w'])|[\w']+"
)
# Who says what is done: "I'm keeping it", "it is withdrawn"; not "the drug was withdrawn".
_DONE = re.compile(
    r"(?:\A|\b(?:(?:i|we)(?:'m|'ve|'ll|'d)?|answer|it|it's|this|that|choice|decision|so|then))(?: (?:am|is|are|be|been|was"
    r"|will|would|should|must|have|has|had|hereby|now|definitely|going|gonna|to|choose|prefer|for|therefore|just)){0,5}"
    r" ?\Z"
)
_DENIED_BEHIND = re.compile(
    r"(?:(?:(?<=ing)OBJECT)? (?:is|was|does|seems?|feels?|makes?|looks?)|OBJECT (?:would|could)(?: be)?)"
    r"(?:n't\b| not\b| (?:an? |too )?(?:UNWISE|no sense)\b)| (?:nothing|none)\b|[^.,;:!?\n]{0,40}\?\s{0,3}no\b".replace(
        "OBJECT", _OBJECT
    ).replace("UNWISE", _UNWISE)
)
# Only supposed: "I could withdraw", "I would keep it if I were sure", "withdrawing would cost a point", "Withdraw?"
_SUPPOSED_BEFORE = re.compile(r"\b(?:could|might|may) \Z")
_SUPPOSED_BEHIND = re.compile(
    rf"{_OBJECT} (?:would|could|might|risks?|costs?|wins?|loses?|counts?|means?|if|unless|only)\b|[^.,;:!\n]{{0,40}}\?"
)
_ASKED = re.compile(
    r"\b(?:if|whether|unless|should i|should we)(?: (?:i|we|to|you|should|can|could|would|will|were|may|might|want|choose"
    r"|decide|it|it's)){0,4} \Z"
)
_KEPT_ON = re.compile(r"keep(?:s|ing)? (?:in (?:mind|view)|track|(?!\w{0,12}thing\b)\w{2,20}ing\b)")
_MOST = 200  # words of a second call that are looked at

# What withholds an answer in so many words: a whole one, or the last sentence of it. "unknown" is what is asked for.
_OF_THIS = r"(?: (?:this|it|that|the|my|from|here|answer\w{0,3}|question|request|one)){0,4}\W{0,9}"
_ABSTAINS = re.compile(
    r"\W{0,9}(?:(?:so|thus|therefore|sorry|i'm sorry|but)\W{1,3}){0,3}"
    r"(?:(?:i\b(?:(?!\bnot\b|n't\b)[^.,;:!?\n]){0,30} )?(?:abstain|skip|withhold|pass)(?:ed|ing)?|withheld|no comment"
    r"|i(?:'d|'ll| would| will)? (?:rather|prefer(?: to)?|choose(?: to)?) not(?: to)? (?:answer|say|guess)"
    rf"|i(?:'m| am)? (?:can't|cannot|won't|will not|unable to|not able to) (?:help|assist|comply)(?: you)?(?: with)?)"
    rf"{_OF_THIS}"
)
_UNKNOWN = re.compile(
    r"\W{0,9}(?:(?:[^.:;!?\n]{1,60}: ?|none\W{1,3})?unknown|undecided|(?:(?:i'm|i am|it's|it is|this is) )?"
    r"(?:unsure|uncertain|unclear)|unbekannt|inconnue?|desconhecid[oa]|sconosciut[oa]|onbekend|неизвестно|不明)"
    r"(?: to me)?\W{0,9}"
)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s|\n")
_BEGINS_WITHHELD = re.compile(
    r"\W{0,9}(?:answer\W{1,9})?(?:unknown|i (?:don'?t|do not) know(?! (?:of )?an[yo])|not sure|no answer|abstain)\b"
)
_LABELLED_WITHIN = re.compile(r"\banswer(?: is|:) ([^.!?\n]{1,60}[.!?]?)\Z")
_BRACKET_BEHIND = re.compile(r"(?<=\w)[.,]? ?\([^()\n]{0,200}\)?\W{0,4}\Z")
# A guess behind what withholds: "I don't know, maybe B".
_GUESS = re.compile(
    r"(?:[,.;:!?…–—\n]|\bbut\b| -)\W{0,4}(?:(?:but|so|then|still|though|if pressed|if forced)\W{1,3}){0,3}(?:(?:it|that)"
    r"(?:'s| is| was| must be| may be| might be| could be)|maybe|perhaps|probably|possibly|presumably|(?:most )?likely"
    r"|i(?:'d| would| will|'ll)? (?:guess|say|think|go (?:with|for)|choose|pick|bet on)"
    r"|(?:(?:my|a) )?(?:best )?guess(?: is|:)?)(?: it's| it is)?"
    r" (?!(?:ask|consult|check|look|try|see|because|since|due|too|not|just|you|someone)\b)"
    r"(?P<guess>[^.,;:!\n]{1,60})\W{0,4}\Z"
)


def states(reply: str) -> bool:
    """Return whether a reply has a line for a confidence or a bet."""
    return bool(_lines(reply) or _bets(reply))


def without_stated(reply: str) -> str:
    """Return a reply without its lines for a confidence or a bet; "I say with confidence: Paris" is none of them."""
    lines = [
        line
        for line in _lines(reply)
        if re.search(r"\d", _said(line)) or not _WITH.search(reply, max(0, line.start() - 30), line.start())
    ]
    left, end = [], 0
    for line in sorted((*lines, *_bets(reply)), key=lambda line: line.start()):
        left.append(reply[end : line.start()])
        end = max(end, line.end())
    return "".join((*left, reply[end:]))


def last_line(reply: str) -> str:
    """Return what the last line for a confidence states, else that for the chance of an answer, else what is said behind
    the word; "" where there is none of them."""
    return _last(_lines(reply))


def stake(reply: str) -> float | None:
    """Return the share that is staked by the last line for a bet, or by that for a confidence where there is none."""
    bets = _ranked(_STAKED.finditer(reply))
    return percent(_last(each for each in bets if _rank(each) < _REMARK) or last_line(reply) or _last(bets))


def _last(lines: Iterable[re.Match[str]]) -> str:
    return next((said for each in lines if (said := _said(each)).strip()), "")


def _bets(reply: str) -> list[re.Match[str]]:
    """Return the lines for a bet by that name; "I'd bet it is Paris" is an answer."""
    return [line for line in _ranked(_STAKED.finditer(reply)) if line["bet"] and _rank(line) < _REMARK]


def _lines(reply: str) -> list[re.Match[str]]:
    """Return the lines for a confidence, those first that state it most plainly, the last one of them first."""
    answered = _ANSWERED.search(reply)
    chances = (
        each
        for each in _CHANCE.finditer(reply)
        if each["own"] is not None or (answered and answered.start() < each.start())
    )
    return _ranked((*_CONFIDENCE.finditer(reply), *chances))


def _ranked(lines: Iterable[re.Match[str]]) -> list[re.Match[str]]:
    return sorted(lines, key=lambda line: (_rank(line), -line.start()))


def _rank(line: re.Match[str]) -> int:
    """Return how plainly a line states what it is for: 0 by a sign, a heading, a scale or the number itself, 1 where it is
    that of something, "Confidence in A: 5%", or only supposed, 2 the chance of an answer, 3 a remark, "my confidence comes
    from three sources"."""
    if line.re is _CHANCE:
        return 2
    said = _said(line)
    if re.search(r"[:：=>|\n]", line[0].removesuffix(said)) or SCALE.match(said):
        return 1 if _EARLIER.search(line.string, max(0, line.start() - 20), line.start()) else 0
    if _AMOUNT.match(said):
        return 1 if _SUPPOSED.search(said) else 0
    about = ABOUT.match(said)
    return _REMARK if about is None else 1 if about["of"] else 0


def _said(line: re.Match[str]) -> str:
    return str(line[line.lastindex or 0])


def of_reply(reply: str, *, letter: bool, said: str = "") -> float | None:
    """Return the share a reply states: in the last line for it, of shares of several letters that of the one that was
    ``said``; else beside a bare letter where a ``letter`` is asked for, else where it says how sure it is, else in a line
    for a bet."""
    line = last_line(reply)
    shares = _of_letters(reply) if letter and said else {}
    if shares:
        return shares.get(said)
    if (share := percent(line)) is not None:
        return share
    if not line and letter and (beside := _BESIDE.search(reply.strip())):
        return percent(beside[1] or beside[2])
    prose = without_scale(reply)
    found = ["".join(each.groups("")) for each in _SURE.finditer(prose) if not denied(prose, each.start())]
    if not found:
        found = [each[1] for each in _PUT.finditer(reply) if letter or each[1] not in said]
    return percent(f"{found[-1]} %" if found else "" if line else _last(_bets(reply)))


def _of_letters(reply: str) -> dict[str, float | None]:
    """Return the shares that a confidence gives to letters, where it gives them to several."""
    found: dict[str, float | None] = {}
    for label, one in itertools.product(_CONFIDENCE.finditer(reply), _OF_LETTERS):
        place, made = label.end() - len(_said(label)), dict[str, float | None]()
        while (each := one.match(reply, place)) and each["letter"] not in made:
            place = each.end()
            made[each["letter"]] = percent(each["share"])
        found = made if len(made) > 1 else found
    return found


def worded(text: str, scale: Mapping[str, float]) -> float | None:
    """Return what the only word of ``scale`` in a text stands for; "very likely" is not "likely". A word that is denied, or
    says how likely an error is, stands for nothing, and one in brackets only where there is no other."""
    folded = _SPACES.sub(" ", text.casefold()).strip()
    words = re.compile(rf"\b(?:{'|'.join(sorted(scale, key=len, reverse=True))})\b")
    for said in (_IN_BRACKETS.sub(" ", folded), folded):
        found = {
            scale[each[0]]
            for each in words.finditer(said)
            if not (denied(said, each.start()) or _STRESSED.search(said, 0, each.start()))
            and not ERROR.match(said, each.end())
            and not (each[0] == "even" and _ADVERB.match(said, each.end()))
        }
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def chosen(text: str, words: Sequence[str]) -> bool | None:
    """Return whether a reply says the first of two words rather than the second; None where it says neither, or both.

    What is said plainly goes before other forms of a verb, and those before what is only supposed. Who denies a verb says
    the other one, "I do not withdraw"; who denies a yes says nothing.
    """
    said = _EITHER[words[0]].sub(" ", plain(text))
    verbs, ranked = words[0] != "yes", dict[int, set[bool]]()
    for each in itertools.islice(_SAID[words[0]].finditer(said), _MOST):
        before = _CLAUSE_ENDS.split(said[max(0, each.start() - 120) : each.start()])[-1]
        steps = itertools.takewhile(lambda step: not step["begins"], reversed([*_STEP.finditer(before)]))
        denials = sum(step["denies"] is not None for step in steps)
        denied = (denials + (_DENIED_BEHIND.match(said, each.end()) is not None)) % 2 == 1
        form = verbs and bool(each["kept"] or each["withdrawn"])
        if (denied and not verbs) or _ASKED.search(before) or _KEPT_ON.match(said, each.start()):
            continue
        if form and not denials and not _DONE.search(before):
            continue
        supposed = _SUPPOSED_BEFORE.search(before) or _SUPPOSED_BEHIND.match(said, each.end())
        ranked.setdefault(2 if supposed else int(form), set()).add((each["first"] is not None) != denied)
    decided = ranked[min(ranked)] if ranked else set()
    return decided.pop() if len(decided) == 1 else None


def withheld(text: str, said: str | None, key: AnswerKey, options: Sequence[str], question: str) -> bool:
    """Return whether the ``text`` of an answer is that it is withheld, where ``said`` is what is read in it.

    A letter or a number is an answer wherever it stands, unless the text begins by withholding and no guess follows:
    "I don't know, maybe B". What an option says withholds nothing; a guess in brackets is a remark.
    """
    held = plain(text.strip(" <>"))
    held = _BRACKET_BEHIND.sub("", held) or held
    within = _LABELLED_WITHIN.search(held)
    if _ABSTAINS.fullmatch(_SENTENCE_ENDS.split(held)[-1]) or _UNKNOWN.fullmatch(
        within[1] if within else held
    ):
        return True
    if key.type in ("choice", "number") and said is not None and not _BEGINS_WITHHELD.match(held):
        return False
    asked = plain(question)
    if not withholds(held, [plain(str(each)) for each in (*key.forms, *options)], asked):
        return False
    guess = _GUESS.search(held)
    # Words that answer take its force from a phrase behind them.
    return guess is None or withholds(f"{guess['guess']}. i don't know", (), asked)


def chance(logprobs_json: str | None, words: Sequence[str], said: str) -> float | None:
    """Return the chance of ``said`` among ``words`` where a reply first says one of them; None where none is known."""
    try:
        tokens = decode_logprobs(logprobs_json)
    except ValueError:
        return None
    sums = {word.casefold(): 0.0 for word in words}
    token = next((each for each in tokens if _bare(each.token) in sums), None)
    if token is None or said.casefold() not in sums:
        return None
    for text, value in {token.token: token.logprob, **dict(token.top)}.items():
        if _bare(text) in sums and not math.isnan(value):
            sums[_bare(text)] += math.exp(min(value, 0.0))
    total = sum(sums.values())
    return sums[said.casefold()] / total if total > 0 else None


def _bare(token: str) -> str:
    return token.strip(" \t\r\n*_`\"'().,:Ġ▁").casefold()


def clusters(said: Sequence[str], key: AnswerKey, *, both: bool) -> list[list[str]]:
    """Return answers that are one by the reader of ``key``, the largest cluster first.

    ``both`` asks it of either as the key of the other: what one answer says more than the other then tells them apart.
    """

    def fits(right: str, answer: str) -> bool:
        return read_stated(answer, replace(key, forms=(right,), reject=())).correct is True

    def same(one: str, two: str) -> bool:
        if one.casefold() == two.casefold():
            return True
        if key.type == "text" and (date := sure_date_of(one)) is not None and sure_date_of(two) == date:
            return True
        if key.type == "number":  # of two numbers one at least is written without a unit
            return fits(one, two) or fits(two, one)
        return key.type == "text" and fits(one, two) and (not both or fits(two, one))

    found: list[list[str]] = []
    for each in said:
        own = next((own for own in found if same(own[0], each)), None)
        if own is None:
            found.append([each])
        else:
            own.append(each)
    return sorted(found, key=len, reverse=True)


def certainty(sizes: Sequence[int], samples: int) -> float:
    """Return 1 minus the entropy of clusters of ``samples`` answers, over the largest it can be; what is in no cluster is
    one of its own."""
    shares = [size / samples for size in (*sizes, *[1] * (samples - sum(sizes)))]
    entropy = -sum(share * math.log(share) for share in shares)
    return min(max(1 - entropy / math.log(samples), 0.0), 1.0)
