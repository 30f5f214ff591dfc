"""A share as a reply writes it: in percent, as a decimal, out of something, on a scale that it names, as a range."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import islice

from metacog_pipeline.benchmark.answers.number_words import WORDS, word_numbers, word_value
from metacog_pipeline.benchmark.answers.numbers import Number, numerals

_NAMED = r"[*_ ]{0,4}(?:[(\[][^()\[\]\d\n]{0,25}|(?:on|in) (?:a|the) (?:scale|range) (?:of|from|between) )"
_ENDS = r"(?P<low>[01])[ ]?%?[ ]?(?:[-‐-―−~〜～,;]|\.\.+|to|and)[ ]?(?P<top>[1-9]\d{0,2})[ ]?%?"
#: The scale that a label names, "Confidence (0-100): 90", which is no part of what is stated.
SCALE = re.compile(
    rf"(?:{_NAMED}(?:{_ENDS}|(?:out of|/)[ ]?(?P<of>[1-9]\d{{0,2}}))[^()\[\]\n:：=]{{0,40}}[)\]]?"
    r"|[*_ ]{0,4}0[ ]?%?[ ]?(?:[-‐-―−]|to)[ ]?(?P<hundred>100?)[ ]?%?)[*_ ]{0,4}[:：=]",
    re.I,
)
_SCALE_AFTER = re.compile(
    rf"{_NAMED}{_ENDS}(?=[ ]?(?:[)\],;:.=]|\Z|scale|where|with))"
    r"|[*_ ]{0,4}[(\[]?(?:on|in|of) an? (?P<points>[1-9]\d{0,2})[- ]?point (?:likert )?scale\b",
    re.I,
)
_OUT_OF = re.compile(
    r"[*_ ]{0,4}(?:stars? |points? )?\(?(?:(?:/|out of|of) ?[*_]{0,2}(?P<of>[1-9]\d{0,2}\b(?![.,]\d)|"
    rf"{WORDS})|in ?[*_]{{0,2}}(?P<in>[1-9]\d{{0,2}}\b(?![.,]\d)|ten\b|(?:an? |one )?hundred\b))",
    re.I,
)
_PLAIN = re.compile(r"\s*(\d{1,3})\s*%?\s*")
# Between the ends of a range.
_TO = re.compile(
    r"[*_ ]{0,4}(?:%|％|per ?cent\b)?[*_ ]{0,4}(?:[-‐-―−~〜～]|to|or|bis|oder|à|ou|a|o|до|или|至|到|或|(and))[*_ ]{0,4}",
    re.I,
)
_PERCENT = re.compile(r"[*_ ]{0,4}(?:%|％|per ?cent\b)", re.I)


def percent(text: str) -> float | None:
    """Return the first number of a text as a share: 80, 80 %, 0.8, 0,8, 8/10, 8 out of 10 and 8 (0-10) are the same; so is
    the range 70-90, which counts as its middle.

    None where it lies outside 0 to 100, there is none, or it stands on a scale that does not begin with 0 and does not end
    with 10 or 100: 4 of the ratings 1 to 5 is no share. A whole number without ``%`` is one of percent: 1 is 0.01.
    """
    if plain := _PLAIN.fullmatch(text):  # as asked, and as most reply
        return int(plain[1]) / 100 if int(plain[1]) <= 100 else None
    scale = SCALE.match(text)
    stated = text[scale.end() :] if scale else text
    first, second = (*islice(numerals(stated), 2), None, None)[:2]
    first = first or _in_words(stated)
    if first is None:
        return None
    if first.parts is not None and min(first.parts) == max(first.parts) == 50:
        return 0.5  # 50/50
    last = second if second is not None and _is_range(stated, first, second) else first
    after = None if scale else _SCALE_AFTER.match(stated, last.end)
    whole = _top(scale or after)
    shares = [_share(stated, each, last, whole) for each in {first.start: first, last.start: last}.values()]
    known = [share for share in shares if share is not None and 0 <= share <= 1]
    return float(sum(known) / len(known)) if len(known) == len(shares) else None


def _top(scale: re.Match[str] | None) -> int | None:
    """Return the number that is all of a scale, None where it has none; 100 where no scale is named."""
    if scale is None:
        return 100
    named = {name: end for name, end in scale.groupdict().items() if end}
    top = next(int(end) for name, end in named.items() if name != "low")
    ratings = named.get("low") == "1" or "points" in named  # 4 of 1 to 5 is no share
    return None if ratings and top not in (10, 100) else top


def _in_words(text: str) -> Number | None:
    """Return the number of a share in words: ninety percent, nine out of ten; other numbers in words are remarks."""
    first = next(iter(word_numbers(text)), None)
    of = first and (_PERCENT.match(text, first.end) or _OUT_OF.match(text, first.end))
    return first if of else None


def _is_range(text: str, low: Number, high: Number) -> bool:
    """Whether two numbers that follow one another are the ends of a range: 80-90 %, between 80 and 90, 8 to 9 out of 10."""
    to = _TO.fullmatch(text, low.end, high.start)
    if to is None or (to[1] and not text[: low.start].casefold().rstrip("*_ ").endswith("between")):
        return False
    return low.parts is None and low.value < _above(high)


def _share(text: str, each: Number, last: Number, top: int | None) -> Fraction | None:
    """Return a number as a share of a scale that ends with ``top``; of a range, ``last`` says of what."""
    if of := _OUT_OF.match(text, last.end):
        whole = of["of"] or of["in"]
        return each.value / (int(whole) if whole.isdigit() else word_value(whole))
    if last.parts is not None:
        return _above(each) / last.parts[1]
    if _PERCENT.match(text, last.end):
        return each.value / 100
    written = text[each.start : each.end]
    decimal = top == 1 or (top == 100 and ("." in written or "," in written))
    if decimal and each.value <= 1:
        return each.value
    return each.value / (100 if top == 1 else top) if top is not None else None


def _above(number: Number) -> Fraction:
    return number.value if number.parts is None else number.parts[0]
