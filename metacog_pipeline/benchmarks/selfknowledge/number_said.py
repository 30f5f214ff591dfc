"""The number a reply says, compared with accepted ones as a number: in its unit, as a share or a percentage, rounded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from metacog_pipeline.benchmark.answers.candidates import CONTEXT, Candidate, candidates
from metacog_pipeline.benchmark.answers.dates import date_of
from metacog_pipeline.benchmark.answers.number_words import numbers
from metacog_pipeline.benchmark.answers.question import question_of
from metacog_pipeline.benchmark.answers.reading import Prepared
from metacog_pipeline.benchmark.answers.units import unit_after

_COUNTS = re.compile(
    r"\bhow (?:many|much|long|far|tall|high|deep)\b|多少|几[个座]|몇 (?!년)|\bcuánt", re.IGNORECASE
)
_EACH = re.compile(
    r" (?:\w+ )?(?:per|each|apiece|on each|for each|por|cada)\b|[名个人]?每|[명개]?씩", re.IGNORECASE
)
_ALL = re.compile(r"\b(?:total|altogether|in all|both)\b|总共|一共|모두", re.IGNORECASE)
_OR = re.compile(
    r",? ?(?:or|o|oder|ou|或者?|또는|아니면)(?: maybe| perhaps| possibly| even)?(?: in)? ?", re.IGNORECASE
)
_ROUGH = re.compile(r"\b(?:approximate\w*|about|roughly|around|estimated?)\b", re.IGNORECASE)
_YEAR = range(1_000, 2_101)


def number_of(form: str) -> tuple[Fraction, str] | None:
    """Return the number an accepted answer is, with its unit; None where it is something else."""
    text = form.strip().lower().removeprefix("the ").strip(" .")
    if re.fullmatch(r"[12]\d\d0['’]?s", text) or date_of(text):
        return None
    found = numbers(text)
    if len(found) != 1 or found[0].start > 1:
        return None
    unit, end = unit_after(text, found[0].end)
    rest = text[end:].strip(" .")
    return (
        (found[0].value, unit.name if unit else "")
        if not rest or (rest.isalpha() and unit is None and len(rest) > 2)
        else None
    )


def says_number(said: Prepared, wanted: Sequence[tuple[Fraction, str]], question: str) -> bool:
    """Whether the number a reply says is one of those wanted, each with its unit."""
    years = all(value.denominator == 1 and int(value) in _YEAR and not unit for value, unit in wanted)
    asked = question_of(question, wanted[0][1], year=years and not _COUNTS.search(question))
    text = _whole_years(said.text, [value for value, _ in wanted]) if years else said.text
    found = candidates(text, asked, said.emphasised, labelled=True)
    standing = [each for each in found if each.rank >= CONTEXT and not _ordinal(text, each)]
    best = max((each.rank for each in standing), default=0.0)
    top = [each for each in standing if each.rank >= best - 0.35]
    first = standing[0] if standing and not re.search(r"\w", text[: standing[0].start]) else None
    if first and any(_is(first.value, value) for value, _ in wanted) and _EACH.match(text, first.end):
        return _ALL.search(question) is None  # "11 per side, 22 in total"
    rough = _ROUGH.search(question) is not None
    right = next((each for each in top if any(_meets(each, *one, text, rough=rough) for one in wanted)), None)
    if right is None or any(each.low is not None for each in top):
        return False
    if _offered_beside(text, right, standing):
        return False
    other = next((each for each in top if not (each.same(right) or _converted(each, right))), None)
    if other is None:
        return True
    between = text[right.end : other.start]  # the first of two in clauses of their own is the answer
    return re.search(r"[,;(]", between) is not None and re.search(r"\b(?:or|o)\b|或|또는", between) is None


def _offered_beside(text: str, right: Candidate, standing: Sequence[Candidate]) -> bool:
    """Return whether another number is offered for the right one: "4 or 5"."""
    for each in standing:
        one, two = sorted((each, right), key=lambda number: number.start)
        apart = one is not two and not one.same(two) and not _converted(one, two)
        if apart and _OR.fullmatch(text[one.end : two.start]):
            return True
    return False


def _whole_years(text: str, wanted: Sequence[Fraction]) -> str:
    """Return a text with '58 as 1958, in the century of the accepted year."""
    century = int(wanted[0]) // 100
    return re.sub(r"(?<![\w'’])['’](\d\d)\b(?!['’])", rf"{century}\1", text)


def _is(said: Fraction, wanted: Fraction) -> bool:
    """Return whether a number is the one wanted, or the same more finely."""
    return said == wanted or (
        wanted >= 1_000 and wanted.denominator == 1 and said.denominator > 1 and round(said) == wanted
    )


def _meets(each: Candidate, wanted: Fraction, unit: str, text: str, *, rough: bool = False) -> bool:
    """Return whether a number of a reply is the one wanted: as it is, as a share of one, or rounded to three digits."""
    written = text[each.start : each.end].strip()
    if _is(each.value, wanted):
        return True
    if unit == "pct" and each.unit is None and re.match(r"0?\.\d", written) and each.value * 100 == wanted:
        return True
    if wanted.denominator == 1:
        zeros = len(str(wanted)) - len(str(wanted).rstrip("0"))
        return rough and zeros > 2 and round(each.value, -zeros) == wanted
    if re.match(r"\d{1,3},\d{3}(?!\d)", written) and each.value == wanted * 1_000:
        return True  # a decimal comma
    digits = len(re.sub(r"\D", "", re.match(r"[\d.,]*", written)[0]).lstrip("0"))  # type: ignore[index]
    step = each.step or Fraction(1)
    return digits >= 3 and abs(each.value - wanted) <= step / 2


def _converted(one: Candidate, two: Candidate) -> bool:
    """Return whether two numbers with units are one value, converted and rounded."""
    return bool(one.unit and two.unit) and abs(one.value - two.value) * 500 <= abs(two.value)


def _ordinal(text: str, each: Candidate) -> bool:
    """Return whether a number is a place in an order; a date is none, though its day may be: 15th April 1912."""
    return not each.is_date and re.match(r"\d+(?:st|nd|rd|th)\b", text[each.start : each.end + 2]) is not None
