"""How sure a reply is: a stated percentage or word, the chance of a word by log-probabilities, agreement of samples."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from metacog_pipeline.benchmark.answers.dates import sure_date_of
from metacog_pipeline.benchmark.answers.percents import SCALE, percent
from metacog_pipeline.benchmark.answers.reading import AnswerKey, read_stated
from metacog_pipeline.transcripts.logprobs import decode_logprobs

# A heading may stand above the number it is of.
_BELOW = r"(?:\s{1,4}(?=[*_]{0,2}\d{1,3}(?:[.,]\d{1,4})?[ ]?%?[*_]{0,2}[ \t]*(?:\n|\Z)))?"
# A line that states a confidence or a bet, and what it states.
_STATED = re.compile(
    r"(?:\b(?:confidence|bet)\b(?![ \t]{1,4}intervals?\b)[ \t]{0,4}(?:level|score|rating)?[ \t*_\"'>]{0,6}[:：=]?"
    r"|(?:\b(?:certainty(?: level| score)?|sureness|konfidenz|sicherheit|confianza|confiance|confiança|fiducia|zekerheid"
    r"|certeza|güven|уверенность)"
    r"|(?:置信|信心|自信|確信|信頼)(?:度|水平|程度|指数)?|확신도|자신감|신뢰도|الثقة|आत्मविश्वास)[ \t*_]{0,6}[:：=])"
    rf"[ \t*_<]{{0,6}}{_BELOW}([^\n]{{0,80}})",
    re.I,
)
# What follows a label that no sign sets apart: "Confidence 80", "my confidence is about 80".
_AMOUNT = re.compile(
    r"[ \t*_<(~≈]{0,6}(?:(?:is|was|of|at|would be)[ ](?:now |only |about |around |roughly |approximately )?)?[*_~≈]{0,3}\d",
    re.I,
)
# "Guess: Paris", "Probability: 0.85": a chance is a confidence where it is that of an answer named before it, or says so.
_CHANCE = re.compile(
    r"(?:\b(?P<own>(?:p(?=[ ]?\()|(?:probability|likelihood|chance)\b)[^\w\n]{0,4}"
    r"(?:(?:that|of) (?:my|the|this|it|i|being)\b[^\n:：=]{0,25}\b|of )?(?:correct(?:ness)?|true|right)\b[^\n:：=]{0,20})"
    r"|(?:\b(?:p1|(?:probability|likelihood|chance)(?: ?1)?|wahrscheinlichkeit|probabilité|probabilidade?"
    r"|probabilità|waarschijnlijkheid|вероятность)\b|概率|確率|확률|الاحتمال)"
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


def states(reply: str) -> bool:
    """Return whether a reply has a line for a confidence or a bet."""
    return next(_lines(reply), None) is not None


def without_stated(reply: str) -> str:
    """Return a reply without its lines for a confidence or a bet."""
    left, end = [], 0
    for line in sorted(_lines(reply), key=lambda line: line.start()):
        left.append(reply[end : line.start()])
        end = max(end, line.end())
    return "".join((*left, reply[end:]))


def last_line(reply: str) -> str:
    """Return what the last line for a confidence or a bet states, else that for the chance of an answer, else what is said
    behind the word; "" where there is none of them."""
    return next((said for each in _lines(reply) if (said := _said(each)).strip()), "")


def _lines(reply: str) -> Iterator[re.Match[str]]:
    """Yield the lines for a confidence or a bet, the last one first, those for the chance of an answer, then remarks: "my
    confidence comes from three sources"."""
    remarks = []
    for each in reversed([*_STATED.finditer(reply)]):
        if _labelled(each):
            yield each
        else:
            remarks.append(each)
    answered = _ANSWERED.search(reply)
    for each in reversed([*_CHANCE.finditer(reply)]):
        if each["own"] is not None or (answered and answered.start() < each.start()):
            yield each
    yield from remarks


def _labelled(line: re.Match[str]) -> bool:
    """Return whether a sign, a heading, a scale or the number itself shows that a line states something."""
    said = _said(line)
    label = line[0].removesuffix(said)
    return bool(re.search(r"[:：=>\n]", label) or _AMOUNT.match(said) or SCALE.match(said))


def _said(line: re.Match[str]) -> str:
    return str(line[line.lastindex or 0])


def of_reply(reply: str, *, letter: bool) -> float | None:
    """Return the share a reply states: in the last line for it, else beside a bare letter where a ``letter`` is asked for,
    else where it says how sure it is."""
    line = last_line(reply)
    if (share := percent(line)) is not None:
        return share
    if not line and letter and (beside := _BESIDE.search(reply.strip())):
        return percent(beside[1] or beside[2])
    said = ["".join(found) for found in _SURE.findall(reply)]
    return percent(f"{said[-1]} %") if said else None


def worded(text: str, scale: Mapping[str, float]) -> float | None:
    """Return what the only word of ``scale`` in a text stands for; "very likely" is not "likely"."""
    plain = text.casefold()
    found = [word for word in scale if re.search(rf"\b{word}\b", plain)]
    longest = max(found, key=len, default="")
    return scale[longest] if found and all(word in longest for word in found) else None


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
