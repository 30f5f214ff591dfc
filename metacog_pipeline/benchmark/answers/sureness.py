"""How sure a reply is: a stated percentage or word, the chance of a word by log-probabilities, agreement of samples."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice

from metacog_pipeline.benchmark.answers.dates import sure_date_of
from metacog_pipeline.benchmark.answers.number_words import word_numbers, word_value
from metacog_pipeline.benchmark.answers.numbers import Number, numerals
from metacog_pipeline.benchmark.answers.reading import AnswerKey, read_stated
from metacog_pipeline.transcripts.logprobs import decode_logprobs

# A heading may stand above the number it is of.
_BELOW = r"(?:\s{1,4}(?=[*_]{0,2}\d{1,3}(?:[.,]\d{1,4})?[ ]?%?[*_]{0,2}[ \t]*(?:\n|\Z)))?"
#: A line that states a confidence or a bet, and what it states.
STATED = re.compile(
    r"(?:\b(?:confidence|bet)\b(?![ \t]{1,4}intervals?\b)[ \t]{0,4}(?:level|score|rating)?[ \t*_]{0,6}[:：=]?"
    r"|(?:\b(?:certainty|konfidenz|sicherheit|confianza|confiance|confiança|fiducia|zekerheid|certeza|güven|уверенность)"
    r"|(?:置信|信心|自信|確信|信頼)(?:度|水平|程度|指数)?|확신도|자신감|신뢰도|الثقة|आत्मविश्वास)[ \t*_]{0,6}[:：=])"
    rf"[ \t*_<]{{0,6}}{_BELOW}([^\n]{{0,80}})",
    re.I,
)
# The scale that a label names, "Confidence (0-100): 90", is no part of what is stated.
_SCALE = re.compile(
    r"[*_ ]{0,4}(?:[(\[][^()\[\]\d\n]{0,25}|(?:on|in) a (?:scale|range) (?:of|from|between) )"
    r"(?:[01][ ]?%?[ ]?(?:[-‐-―−~〜～]|\.\.+|to|and)|out of|/)[ ]?(?P<top>10{0,2})[ ]?%?[^()\[\]\n:：=]{0,40}[)\]]?"
    r"[*_ ]{0,4}[:：=]",
    re.I,
)
# What a reply says of itself where it states no confidence apart.
_SURE = re.compile(
    r"\b(\d{1,3}(?:[.,]\d{1,4})?) ?(?:%|per ?cent) ?(?:sure|certain|confident|confidence|certainty)\b"
    r"|\b(?:sure|certain|confident)(?: of (?:it|that|this))?,? \(?(?:about |around |approximately |~)?(\d{1,3}) ?%",
    re.I,
)
# A share that stands beside a bare letter, or alone in the last line under one.
_BESIDE = re.compile(
    r"\A\W{0,9}[A-J]\b[^\w\n]{0,4}\s{0,3}[-–—(,:;]?[ ]?(\d{1,3}) ?%?[)*_. ]{0,4}\Z"
    r"|\n[ \t(*_]{0,6}(\d{1,3}) ?%[)*_. ]{0,4}\Z",
    re.A,
)
_OUT_OF = re.compile(r"[*_ ]{0,4}\(?(?:/|out of|of|in) ?[*_]{0,2}(10{1,2}|ten|(?:a |one )?hundred)\b", re.I)
_PLAIN = re.compile(r"\s*(\d{1,3})\s*%?\s*")
#: Between the ends of a range.
_TO = re.compile(
    r"[*_ ]{0,4}(?:%|％|per ?cent\b)?[*_ ]{0,4}(?:[-‐-―−~〜～]|to|bis|à|a|до|至|到|(and))[*_ ]{0,4}", re.I
)
_PERCENT = re.compile(r"[*_ ]{0,4}(?:%|％|per ?cent\b)", re.I)


def percent(text: str) -> float | None:
    """Return the first number of a text as a share: 80, 80 %, 0.8, 0,8, 8/10 and 8 out of 10 are the same; so is the range
    70-90, which counts as its middle.

    None where it lies outside 0 to 100 or there is none. A whole number without ``%`` is one of percent: 1 is 0.01.
    """
    if plain := _PLAIN.fullmatch(text):  # as asked, and as most reply
        return int(plain[1]) / 100 if int(plain[1]) <= 100 else None
    if scale := _SCALE.match(text):
        stated = text[scale.end() :]
        tenths = scale["top"] == "10" and re.fullmatch(
            r"[*_ ]{0,4}\d{1,2}(?:[.,]\d{1,4})?[*_ .]{0,4}", stated
        )
        return percent(f"{stated.strip(' *_.')}/10" if tenths else stated)
    first, second = (*islice(numerals(text), 2), None, None)[:2]
    first = first or _in_words(text)
    if first is None:
        return None
    if first.parts is not None and min(first.parts) == max(first.parts) == 50:
        return 0.5  # 50/50
    last = second if second is not None and _is_range(text, first, second) else first
    shares = [_share(text, each, last) for each in {first.start: first, last.start: last}.values()]
    return float(sum(shares) / len(shares)) if all(0 <= share <= 1 for share in shares) else None


def _in_words(text: str) -> Number | None:
    """Return the number of a share in words: ninety percent, nine out of ten; other numbers in words are remarks."""
    first = next(iter(word_numbers(text)), None)
    of = first and (_PERCENT.match(text, first.end) or _OUT_OF.match(text, first.end))
    return first if of else None


def last_line(reply: str) -> str:
    """Return what the last line for a confidence or a bet states; "" where there is none."""
    return next((each for each in reversed(STATED.findall(reply)) if each.strip()), "")


def of_reply(reply: str, *, letter: bool) -> float | None:
    """Return the share a reply states: in the last line for it, else beside a bare letter where a ``letter`` is asked for,
    else where it says how sure it is."""
    line = last_line(reply)
    if (share := percent(line)) is not None:
        return share
    if not line and letter and (beside := _BESIDE.search(reply.strip())):
        return percent(beside[1] or beside[2])
    said = [one or two for one, two in _SURE.findall(reply)]
    return percent(f"{said[-1]} %") if said else None


def _is_range(text: str, low: Number, high: Number) -> bool:
    """Whether two numbers that follow one another are the ends of a range: 80-90 %, between 80 and 90, 8 to 9 out of 10."""
    to = _TO.fullmatch(text, low.end, high.start)
    if to is None or (to[1] and not text[: low.start].casefold().rstrip("*_ ").endswith("between")):
        return False
    return low.parts is None and low.value < _above(high)


def _share(text: str, each: Number, last: Number) -> Fraction:
    """Return a number as a share; of a range, ``last`` says of what."""
    if whole := _OUT_OF.match(text, last.end):
        return each.value / (int(whole[1]) if whole[1].isdigit() else word_value(whole[1]))
    if last.parts is not None:
        return _above(each) / last.parts[1]
    written = text[each.start : each.end]
    decimal = ("." in written or "," in written) and each.value <= 1
    return each.value if decimal and not _PERCENT.match(text, last.end) else each.value / 100


def _above(number: Number) -> Fraction:
    return number.value if number.parts is None else number.parts[0]


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
