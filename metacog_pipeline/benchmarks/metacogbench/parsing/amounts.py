"""A stated amount on a scale of 0 to 100: tokens of a bet or a confidence in percent.

The amount stands at the beginning of the text that follows a label: ``85``, ``85 %``, ``8/10``, ``80-90``, ``about 70``,
``seventy``, ``72,5``. Out of range is invalid, never clipped.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

from metacog_pipeline.benchmark.answers.number_words import WORDS, word_value
from metacog_pipeline.benchmark.answers.numbers import numeral_value
from metacog_pipeline.benchmark.answers.whole_scale import without_scale

Scale = Literal["tokens", "percent"]
Kind = Literal["value", "invalid", "placeholder", "words"]

_NUMERAL = r"(?:\d{1,3}(?:[,' ]\d{3})+(?!\d)|\d+[.,]\d+|\d+|[.,]\d+)"
_AMOUNT = rf"(?:{_NUMERAL}|{WORDS})"
_PERCENT = r"(?: ?(?:%|percent\b|per cent\b|pct\b))"
_UNIT = rf"(?:{_PERCENT}| ?(?:tokens?|chips?|points?|pts?)\b)?"
_LEADING = re.compile(
    r"(?:[~≈<>≤≥=≲≳(\"':]+|(?:about|around|roughly|approximately|approx\.?|circa|ca\.|nearly|almost|close to|maybe|perhaps"
    r"|probably|likely|say|just|only|exactly|precisely|at most|at least|up to|no more than|not more than|no less than"
    r"|less than|more than|fewer than|greater than|under|over|below|above|well|somewhere|in the region of|a|an|my|the|i|i'd"
    r"|i'll|i'm|i would|i will|i am|estimated|estimate|stake|staking|bet|betting|wager|wagering|put|putting|place|placing"
    r"|of|is|be|total|modest|small|cautious|conservative|firm|full|solid|whopping|mere|fairly|very|quite|rather|high|low"
    r"|medium|moderate|moderately|reasonably|confident|sure)(?=[ ,:(\-]|$)[,:(\-]?) ?",
    re.IGNORECASE,
)
_LEADING_AT_MOST = 7
_BRACKET = re.compile(r"[<\[{]([^<>\[\]{}\n]{0,80})[>\]}] ?")
_HALF = re.compile(
    r"(?:50 ?[/-] ?50|fifty[- ]fifty|fifty/fifty|even (?:odds|chance)|(?:coin (?:flip|toss))|half)\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"(?:all[- ]in|all(?: of)? (?:my |the |100 |of ){0,3}(?:tokens|it|them|chips)|all\b|everything|the lot"
    r"|max(?:imum)?\b|full stack)",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"(?:nothing|none|nil|no (?:tokens|bet|stake|wager)|not betting)\b", re.IGNORECASE)
_RANGE = re.compile(
    rf"(?:between |from )?(?P<a>{_AMOUNT}){_UNIT}"
    rf"(?:(?<=[\d%s]) ?- ?(?=[\d.,])| ?(?:to|\.\.+|→) ?|(?: and )(?=\S)) ?(?P<b>{_AMOUNT})(?P<u>{_UNIT})(?![\w/])",
    re.IGNORECASE,
)
_SINGLE = re.compile(
    rf"(?P<sign>[-−] ?|(?:minus|negative) )?(?P<a>{_AMOUNT})(?! ?(?:halves|thirds?|quarters?|fifths?|tenths?)\b|[eE]\d)"
    rf"(?:(?P<pct>{_PERCENT})| ?(?:/|out of(?: a)?|of(?: my| the| a possible)?) ?(?P<of>\d+(?:\.0+)?)(?![\d.,]\d))?",
    re.IGNORECASE,
)
_RANGE_INSIDE = re.compile(rf"{_NUMERAL} ?%? ?(?:-|to|\.\.+|and) ?{_NUMERAL}", re.IGNORECASE)


class Amount(NamedTuple):
    """``value`` 0..100 when ``kind`` is "value".

    "invalid": a number that is none on this scale; "placeholder": an echoed template or the whole scale; "words": no
    number at the beginning.
    """

    kind: Kind
    value: float | None = None


INVALID = Amount("invalid")


def read_amount(text: str, scale: Scale) -> Amount:
    """Read the amount at the beginning of ``text`` (prepared, markup off). Total."""
    given = text.strip()[:400]
    rest = without_scale(without_template(given)).strip()
    if (bracket := _BRACKET.match(rest)) is not None:
        rest = bracket[1].strip() + " " + rest[bracket.end() :]
    found = _read(rest, scale)
    return Amount("placeholder") if found.kind == "words" and len(rest) < len(given) else found


def without_template(text: str) -> str:
    """Return a text without the echoed templates it begins with: ``<whole number>``, ``[0-100]``."""
    while (bracket := _BRACKET.match(text)) is not None and _is_template(bracket[1].strip()):
        text = text[bracket.end() :]
    return text


def _is_template(inner: str) -> bool:
    if _RANGE_INSIDE.search(inner) is not None:
        return True
    return re.fullmatch(rf"[~≈]? ?{_AMOUNT} ?(?:%|/ ?\d+|tokens?|percent)?", inner, re.IGNORECASE) is None


def _read(rest: str, scale: Scale) -> Amount:
    for _ in range(_LEADING_AT_MOST):
        if (named := _named(rest, scale)) is not None:
            return named
        if (found := _RANGE.match(rest)) is not None:
            return _middle(found, scale)
        if (single := _SINGLE.match(rest)) is not None:
            return _single(single, scale)
        leading = _LEADING.match(rest)
        if leading is None:
            break
        rest = rest[leading.end() :]
    return Amount("words")


def _named(rest: str, scale: Scale) -> Amount | None:
    if _HALF.match(rest):
        return Amount("value", 50.0)
    if scale == "tokens" and _ALL.match(rest):
        return Amount("value", 100.0)
    return Amount("value", 0.0) if scale == "tokens" and _NOTHING.match(rest) else None


def _middle(found: re.Match[str], scale: Scale) -> Amount:
    percent = "%" in found[0] or "per" in found["u"].lower()
    low, high = _scaled(found["a"], scale, percent), _scaled(found["b"], scale, percent)
    if low.value is None or high.value is None:
        return INVALID
    if high.value - low.value == 100:
        return Amount("placeholder")
    return Amount("value", (low.value + high.value) / 2)


def _single(found: re.Match[str], scale: Scale) -> Amount:
    if found["sign"]:
        return INVALID
    if found["of"] is None:
        return _scaled(found["a"], scale, bool(found["pct"]))
    above, whole = _number(found["a"]), int(float(found["of"]))
    allowed = (10, 100) if scale == "tokens" else range(2, 101)
    if above is None or whole not in allowed or above > whole:
        return INVALID
    return Amount("value", float(above * 100 / whole))


def _scaled(body: str, scale: Scale, percent: bool) -> Amount:
    value = _number(body)
    if value is None:
        return INVALID
    has_mark = re.search(r"[.,]", body) is not None and not body[0].isalpha()
    if not percent and has_mark and value <= 1:
        if scale == "percent":
            value *= 100
        elif 0 < value < 1:
            return INVALID
    return Amount("value", float(value)) if 0 <= value <= 100 else INVALID


def _number(body: str) -> Fraction | None:
    if body[0].isalpha():
        return Fraction(word_value(body))
    if re.fullmatch(r"\d+,\d{3,}|\d{1,3}(?:[,' ]\d{3})+", body):
        return None  # a group of thousands
    return numeral_value(body)
