"""Whether a reply withholds its answer, in four languages.

A reply abstains where it says that the answer is not known before it has said anything that answers: "Paris. I don't know
more" answers, "That is a tricky one, I don't know" does not. A guess behind the phrase answers where the reply turns to it
("..., but I think it is Paris"), marks it as one ("Possibly Paris.", "Paris?") or says nothing else ("I'm not sure.
Paris."). The phrases are data: ``data/answers/abstaining.toml``.
"""

from __future__ import annotations

import functools
import itertools
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.files import shipped

LONGEST = 8_000  # characters of a reply that are read; of a longer one the middle is not
_QUOTES = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "′": "'", "´": "'", **dict.fromkeys('"“”„‟«»‹›「」『』`*_~#>', None)}
)
_TAG = re.compile(r"<[^<>]{0,80}>")
_LATEX = re.compile(r"\\[a-z]{1,20}|[{}\\$]")
_LOOSE_APOSTROPHE = re.compile(r"(?<!\w)'|'(?!\w)")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[ \n]*")

_WORD = re.compile(r"[\w']+")
_HAN = re.compile(r"[^\W_]")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_HANGUL = re.compile(r"[가-힣]")
_SPEAKER = re.compile(r"\b(?:i|i'm|i'd|i've|i'll|me|my|mine|we|us|our|me|mi|mis|yo)\b")
_TOLD = re.compile(r"[:：] ?([^:：。.]{1,40}[.。]?)$")
# "this work", "이 작품": the thing that the question names already
_THIS = {
    "en": re.compile(r"\b(?:this|such an?) [\w'-]+"),
    "es": re.compile(r"\b(?:est[ae]|es[ae]|dich[oa]) \w+"),
    "zh": re.compile(r"[这這那此该該][个個部位首本座幅项項种種家所]?\w{2}"),
    "ko": re.compile(r"(?<!\w)(?:이|그|해당) \w+"),
}
# how many? "No known moons", "没有已知的卫星": known is said of the things, not of the speaker
_NO_KNOWN = re.compile(
    r"\bno (?:\w+ ){0,2}known \w|\bning[úu]n[ao]?s? (?:\w+ ){0,2}conocid|\bsin \w+ conocid"
    r"|没有(?:任何)?已知|알려진 [^.]{1,8}없"
)
# What asks back, sends the asker elsewhere or is denied answers nothing: "You would have to ask them", "Not Paris, but"
_ASIDE = re.compile(
    r"[^.;:!?。！\n]*(?:\byou\b|您|你|\busted\b|\bpued|\bpodr|시겠|주실)[^.;:!?。！\n]*[?？]"
    r"|[^.;,:]*\b(?:you|tendr\w+|debe\w*|pued\w+|podr\w+|recom\w+|sug\w+)\b[^.;,:]{0,40}"
    r"\b(?:consult|check|ask|try|contact|pregunt|revis|acud)\w*[^.;:]*|\bto be \w+(?=,)"
    r"|[^.\n]*(?:좋겠|바랍니다|하세요|주세요|보세요)[^.\n]*|\b(?:not|no (?:es|fue)) [^,.;]{1,30}(?=[,.;])"
)
# A clause about who speaks or asks answers nothing, unless it commits itself: (speaks of, commits)
_OF_US = {
    "en": (
        r"\b(?:i|i'm|i'd|i've|i'll|me|my|we)\b",
        r"say|think(?! of)|believe|guess|go with|recall|remember|suspect|answer|it's|it (?:is|was)"
        r"|probably|maybe|name (?:is|was)",
    ),
    "es": (
        r"\b(?:me|mis?|yo|he|usted|te|le)\b",
        r"cre[oe]|dir[íi]a|pienso|supongo|apost|\bes\b|\bfue\b|llama|suena|recuerd|respuesta",
    ),
    "zh": (r"[我您你]", r"认为|觉得|猜|想起|记得|应该|可能|大概|是|叫|答案"),
    "ko": (
        r"(?<!\w)(?:저(?:는|도|희\w*|로서\w*|로선|에게\w*|한테\w*)?|제(?:가|게\w*)?|혹시)(?!\w)",
        r"생각|같|추측|아마|것|입니다|이다|정답|답은|로 알|예요|이에요",
    ),
}
_US = {language: (re.compile(us), re.compile(commits)) for language, (us, commits) in _OF_US.items()}
_CLAUSES = re.compile(r"[.;,!?:()\n。，；！？、：]|\bbut\b|\bpero\b|\band\b|\by\b")
_NONE_FIRST = re.compile(r"\W*(?:none|zero|nil|ningun[ao]|cero|零|没有)\s?[-–—,.;，。]")
_OF_ANOTHER = re.compile(r"(?:[他她]们?|自己(?:什么|甚么)?|(?:如果|要是|若)我?)$")
# a figure that is nearly a clause of its own answers: "I am unsure, maybe 1911"
_FIGURE = re.compile(
    r"(?:[,;:.!?，；。、]|지만|는데|\bbut|\bpero)\s*(?:[^\W\d]+ ){0,3}\d[\d,.]*(?: ?[^\W\d]+){0,2}\W*$"
)
# What is said behind a phrase, clause by clause with the marks between: "Hard to say ... Munch?"
_BEHIND = re.compile(
    r"([.;,!?:()\n。，；！？、：…—–]|(?<= )-(?= )|\b(?:but|yet|pero|sino|aunque)\b"
    r"|(?=\ue001 ?\w))"
)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|(?:it )?(?:could|might|may) (?:be|have been)"
    r"|i(?:'d| would)? (?:guess|suppose|say|think)|quizás?|tal vez|acaso|(?:probable|posible)mente|podría ser|puede ser)\b"
    r"|可能|也许|或许|大概|应该|아마도?|혹시"
)
_NO_GUESS = re.compile(  # denied, doubted, or said to who asks
    r"\b(?:not|no|nor|never|neither|if|whether|si|ni|you\w*|usted|ask|check|try|see|look|search|consult\w*|contact"
    r"|google|help\w*|ayud\w*|knows?|any\w*|several|many|some\w*|else|(?:an)?other\w*|later|next|please|more|más"
    r"|busc\w*|pregunt\w*|(?:pued|podr)\w+(?! ser\b))\b"
    r"|n't\b|不|没|無|无|是否|您|你|请|아니|않|모르|는지|인지|세요|시겠|신가요|습니까"
)
_TELLS = re.compile(r"\s*(?:is|was|are|were|es|era|fue) (?:an?|una?|one)\b")  # "Nairobi is a large city"
_ALONE = re.compile(  # names and nothing else between two marks; behind a comma it may be whom one speaks to
    r"[^\w\s,]\s?[^\w\s]{0,3}([A-ZÀ-Þ][\w'’-]{0,30}"
    r"(?: (?:(?:of|the|and|de|del|la|van|von) ){0,2}[A-ZÀ-Þ][\w'’-]{0,30}){0,4})"
    r"(?=[^\w\s]|\s?\Z|\n)"
)
_FAREWELLS = frozenset(("cheers", "goodbye", "bye", "regards", "next", "wikipedia", "google", "saludos"))
_PARTICLE = re.compile(r"(?<=\w)[을를이가은는의도]$")
_ZERO = frozenset({"없음", "无", "無", "none", "ninguno", "ninguna"})
_MEANING = re.compile(r"\bmeans?\b|\bmeaning\b|significa|意思|含义|무슨 뜻|의미")
_DEFINES = re.compile(r"\W*(?:to \w|\w{2,}[aei]r(?:se|l[oae]s?)?\b)")  # an infinitive
_HOW_MANY = re.compile(r"\bhow (?:many|much)\b|\bcuánt|几|多少|몇")
_KNOWING = re.compile(
    r"know|inform|answer|sure|certain|idea|clue|recall|remember|tell|data|stump|知"
    r"|清楚|信息|资料|答|确定|记|모르|모릅|알|정보|답|기억"
    r"|\bsé\b|dato|respon|recuerd|segur|descono|constancia"
)
_TURNS = frozenset(("but", "yet", "pero", "sino", "aunque"))
_TURN = rf"(?:{'|'.join(sorted(_TURNS))})\b"
_OF_OTHERS = r"(?<!\bsi )(?<!\bif )(?<!\byou )(?<!\bthey )(?<!\bhe )"
_FEW, _SHORT = 4, 12  # words, characters of a guess
_ENOUGH = 600  # characters before a phrase in which an answer would stand
_REACH = 160  # characters behind one in which an answer would stand
_MOST = 40  # phrases of a reply that are looked at
_LONG = 6  # letters of a word whose root tells it
_MARKS = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True)
class Phrases:
    """How one language withholds an answer: see the data file."""

    says: re.Pattern[str]
    alone: re.Pattern[str]
    commits: re.Pattern[str]
    marks: re.Pattern[str]
    about: tuple[str, ...]
    plain: frozenset[str]
    stems: tuple[str, ...]


@functools.cache
def phrases() -> Mapping[str, Phrases]:
    """Return the phrases by language."""
    listed = tomllib.loads(shipped("data", "answers", "abstaining.toml").read_text("utf-8"))
    return {language: _phrases(language, found) for language, found in listed.items()}


def _phrases(language: str, found: Mapping[str, Any]) -> Phrases:
    words = sorted({word for line in found["about"] for word in line.split()}, key=len, reverse=True)
    stems = tuple(word.rstrip("*") for word in words if word.endswith("*") or language == "ko")
    denies, knowing = (
        "|".join(found[kind] if kind == "denies" and language == "zh" else found[kind].split())
        for kind in ("denies", "knowing")
    )
    if language == "zh":
        says = rf"(?:{denies})(?![把让讓要向])[^，。；！？,.;!?\n]{{0,12}}?(?:{knowing})"
    elif language == "ko":
        says = rf"(?:{knowing})[^.,;!?\n]{{0,9}}?(?:{denies})".replace("▁", " ")
    else:
        says = rf"(?<!\w){_OF_OTHERS}(?:{denies})(?:[ ']+(?!{_TURN})\w[\w']*){{0,5}}?[ ']+(?:{knowing})(?!\w)"
    unknown, hints = found["unknown"], found.get("hints", found["unknown"])
    return Phrases(
        re.compile(f"{says}|{unknown}"),
        _any(found["alone"]),
        _any(found["commits"]),
        re.compile(
            rf"{unknown}|{denies}"
            if language in ("zh", "ko")
            else rf"{hints}|{unknown}|(?<!\w)(?:{denies})(?!\w)"
        ),
        tuple(words),
        frozenset(words),
        stems,
    )


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in patterns))


def plain(text: str) -> str:
    """Return what a reply says in one spelling: no thinking, no quotes and marks, lower case, single spaces."""
    text = without_thinking(text).strip()
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
    if "<" in text:
        text = _TAG.sub(" ", text)
    text = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold().translate(_QUOTES)
    if "\\" in text or "{" in text or "$" in text:
        text = _LATEX.sub(" ", text)
    text = _LINES.sub("\n", _SPACES.sub(" ", _LOOSE_APOSTROPHE.sub("", text)))
    return text.strip()


def denies_anything(said: str) -> bool:
    """Return whether a text, in the one spelling of `plain`, denies or says that something is missing, in any language."""
    return any(known.marks.search(said) for known in phrases().values())


def denies_knowing(said: str, languages: Iterable[str]) -> bool:
    """Return whether a text, in the one spelling of `plain`, says in a language that something is not known."""
    bare = _MARKS.sub(" ", said).strip()
    found = (phrases()[language] for language in languages)
    return any(known.says.search(said) or known.alone.fullmatch(bare) for known in found)


def withholds(said: str, accepted: Iterable[str] = (), question: str = "") -> bool:
    """Return whether a reply withholds its answer; all three are in the one spelling of `plain`.

    Where the phrase is a part of an ``accepted`` answer, as of a song, it withholds nothing. Words of the
    ``question`` answer nothing.
    """
    for wanted in accepted:
        if wanted and any(
            each.says.search(wanted) or each.alone.fullmatch(wanted) for each in phrases().values()
        ):
            said = said.replace(wanted, " \ue000 ")
    if said.startswith("《"):
        return False  # a title, whatever its words say
    bare = _MARKS.sub(" ", said).strip()
    if _HOW_MANY.search(question) and (_NO_KNOWN.search(said) or _NONE_FIRST.match(said) or bare in _ZERO):
        return False
    if _MEANING.search(question) and _DEFINES.match(said):
        return False
    for language, known in phrases().items():
        if bare and known.alone.fullmatch(bare):
            return True
        if 0 < len(bare) < 240 and known.marks.search(said) and _only_about(said, language, known, question):
            return True
        for found in itertools.islice(known.says.finditer(said), _MOST):
            tail = said[found.end() : found.end() + _REACH]
            if _OF_ANOTHER.search(said[: found.start()]):
                continue
            told = _TOLD.search(tail)
            if not (
                _answers(_before(said, found.start(), language), language, known, question)
                or known.commits.search(tail)
                or _FIGURE.search(tail)
                or (
                    told
                    and not known.says.search(told[1])
                    and not _only_about(told[1], language, known, question)
                )
                or _guesses(tail, language, known, question)
            ):
                return True
    return False


def _before(said: str, at: int, language: str) -> str:
    """Return what stands before a phrase; in Korean without the beginning of the word it stands in."""
    return re.sub(r"\w+$", "", said[:at]) if language == "ko" else said[:at]


def offers(text: str, accepted: Iterable[str] = (), question: str = "") -> bool:
    """Return whether a reply that says that it does not know offers an answer all the same, behind that.

    ``accepted`` and ``question`` are in the one spelling of `plain`, ``text`` is as it was written: in lower case a name
    cannot be told from "good luck".
    """
    said, wanted = plain(text), tuple(filter(None, accepted))
    names = "\n".join(_ALONE.findall(without_thinking(text)[:LONGEST]))
    alone = frozenset(plain(names).split("\n")) - _FAREWELLS
    return any(
        _guesses(said[found.end() : found.end() + _REACH], language, known, question, wanted, alone)
        for language, known in phrases().items()
        for found in itertools.islice(known.says.finditer(said), _MOST)
    )


def _guesses(
    tail: str,
    language: str,
    known: Phrases,
    question: str,
    accepted: Iterable[str] = (),
    alone: frozenset[str] = frozenset(),
) -> bool:
    """Return whether a clause behind a phrase is a guess: a few words marked as one, an accepted answer and no more, or
    one of the names that stand ``alone`` in the reply."""
    pieces = _BEHIND.split(_ASIDE.sub(" . ", _HEDGE.sub("\ue001", tail)))
    for at in range(2, len(pieces), 2):
        before, clause, after = pieces[at - 1], pieces[at], "".join(pieces[at + 1 : at + 2])
        if _NO_GUESS.search(clause):
            continue
        bare = clause.replace("\ue001", " ").strip()
        few = len(bare.split()) <= _FEW if language in ("en", "es") else len(bare) <= _SHORT
        hedged = "\ue001" in clause
        marked = before in _TURNS or after in ("?", "？") or (hedged and question)
        if few and (marked or bare in alone) and _answers(bare, language, known, question):
            return True
        if marked or hedged or before not in (",", "，", "、"):
            rests = (_without(name, bare) for name in accepted if name in bare)
            if any(not (_TELLS.match(rest) or _answers(rest, language, known, question)) for rest in rests):
                return True
    return False


def _without(name: str, text: str) -> str:
    """Return a text without a name that stands in it as whole words."""
    return re.sub(rf"(?<![^\W\u3400-\ud7a3]){re.escape(name)}(?![^\W\u3400-\ud7a3])", " ", text)


def _only_about(said: str, language: str, known: Phrases, question: str) -> bool:
    """Return whether a whole reply has no word that could answer: all speak of knowing, or are the question's."""
    if (
        "\ue000" in said
        or re.search(r"\d", said)
        or (_HOW_MANY.search(question) and not _KNOWING.search(said))
    ):
        return False
    if re.search(r"从未|从来|并未|並未", said):
        return False  # it never happened
    if re.search(r"\bhelp\b", said) and not _KNOWING.search(said):
        return False  # who refuses to help says nothing of knowing
    if language in ("en", "es") and not (_SPEAKER.search(said) or _KNOWING.search(said)):
        return False
    spoken = (
        _CHINESE.search(said + question) if language == "zh" else language != "ko" or _HANGUL.search(said)
    )
    return bool(spoken) and not _answers(said, language, known, question)


def _answers(text: str, language: str, known: Phrases, question: str) -> bool:
    """Return whether a text, of a long one its beginning, says anything that could answer."""
    return "\ue000" in text or (bool(text.strip()) and _could_answer(text[:_ENOUGH], language, question))


@functools.lru_cache(maxsize=256)
def _could_answer(text: str, language: str, question: str) -> bool:
    known = phrases()[language]
    us, commits = _US[language]
    clauses = _CLAUSES.split(_THIS[language].sub(" ", _ASIDE.sub(" ", text)))
    text = " ".join(each for each in clauses if not us.search(each) or commits.search(each))
    if language == "zh":
        for piece in (*known.about, *(question[at : at + 2] for at in range(len(question) - 1))):
            text = text.replace(piece, " ")
        return len("".join(_HAN.findall(text))) > 1
    words = [word for word in _WORD.findall(text) if word not in known.plain]
    asked = set() if language == "ko" else set(_WORD.findall(question))
    roots = tuple(word[:-2] for word in asked if len(word) > _LONG)  # designed, designer
    return not all(
        word in asked
        or word.startswith(roots)
        or word.startswith(known.stems)
        or (language == "ko" and word.endswith(("는지", "은지", "인지", "을지")))
        or (language == "ko" and (word[:2] in question or _PARTICLE.sub("", word) in question))
        for word in words
    )
