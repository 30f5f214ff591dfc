"""One number however it is written: 1/2, 0.5, ½ and one half are equal; 50 % is 1/2 where somebody speaks of percent."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from metacog_pipeline.benchmark.answers.number_words import numbers
from metacog_pipeline.benchmark.answers.question import question_of
from metacog_pipeline.benchmark.answers.reading import AnswerKey, prepared

_LONGEST = 60  # characters of a text that is one number
_PERCENT = re.compile(r"\s{0,3}(?:%|per ?cent)\Z", re.IGNORECASE)
_ASKED = re.compile(
    r"\b(?:what|which|how many|as an?|in|the) (?:percentage|per ?cent)\b|\b(?:what|in) %", re.IGNORECASE
)
_RANGE = re.compile(
    r"(?:from |between )?([\d.,]{1,20})[ ]?(?:-|~|to|until|till|through|thru|and|bis|hasta)[ ]?([\d.,]{1,20})",
    re.IGNORECASE,
)
_SIGNS = {ord(c): " " + unicodedata.normalize("NFKC", c).replace("⁄", "/") for c in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
_SMALL_WORDS = {"half": Fraction(1, 2)}


class Share(NamedTuple):
    """A number, and whether it is one of percent."""

    value: Fraction
    percent: bool


def spelled_out(text: str) -> str:
    """Return a text with 1/2 for ½ and 1 1/2 for 1½."""
    return text if text.isascii() else text.translate(_SIGNS)


@lru_cache(maxsize=4_096)
def share_of(text: str) -> Share | None:
    """Return the number a text is; None where it is anything else, such as a range, or a number of something."""
    if len(text) > _LONGEST:
        return None
    plain = prepared(spelled_out(text)).text.strip().rstrip(" .!")
    bare = _PERCENT.sub("", plain)
    value = _SMALL_WORDS.get(bare.casefold())
    if value is None:
        found = next(iter(numbers(bare)), None)
        value = None if found is None or (found.start, found.end) != (0, len(bare)) else found.value
        if found is not None and found.parts is not None and len({*found.parts}) == 1:
            value = None  # 50/50 is no 1
    return None if value is None else Share(value, bare != plain)


def _range_of(text: str) -> tuple[Fraction, Fraction] | None:
    """Return the ends of a range of numbers that a text is; 1914-18 ends in 1918."""
    if (
        len(text) > _LONGEST
        or (found := _RANGE.fullmatch(prepared(spelled_out(text)).text.strip().rstrip(" .!"))) is None
    ):
        return None
    ends = [share_of(each) for each in found.groups()]
    if ends[0] is None or ends[1] is None:
        return None
    low, high = ends[0].value, ends[1].value
    if high < 100 <= 1000 <= low and low % 100 < high:
        high += low - low % 100
    return low, high


def equal(said: str, key: AnswerKey) -> bool:
    """Return whether a text is a number that ``key`` accepts, written in another way.

    A share and a percentage are one number where the key, the question or the reply speaks of percent; a reply without a
    percent sign may be either then, unless it is whole: 1 is no 100 %.
    """
    told = share_of(said)
    if told is None:
        ends = _range_of(said)
        return ends is not None and any(_range_of(str(form)) == ends for form in key.forms)
    asked = (
        key.unit.strip() == "%"
        or question_of(key.question, key.unit).asks_percent
        or _ASKED.search(key.question)
    )
    for form in key.forms:
        right = share_of(str(form))
        if right is None or (key.unit and key.unit.strip() != "%"):
            continue
        wanted = right.value / 100 if right.percent or asked else right.value
        ways = [told.value / 100] if told.percent else [told.value]
        if not told.percent and (right.percent or asked):
            ways = [told.value / 100, *(ways if told.value.denominator > 1 else ())]
        if any(abs(way - wanted) <= _allowed(key, asked=wanted != right.value) for way in ways):
            return True
    return False


def _allowed(key: AnswerKey, *, asked: bool) -> Fraction:
    within = Fraction(str(key.abs_tol))
    return within / 100 if asked else within
