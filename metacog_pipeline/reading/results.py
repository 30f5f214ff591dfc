"""Which of several numbers a text gives as its answer: the result of what it works out, not what it works with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from metacog_pipeline.reading.numbers import Quantity, in_unit, of_kind

_MONTHS = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|ene|abr|ago|dic|mär|mai|okt|dez)\w{0,8}"
# What stands beside an answer: notes in brackets, the day of a date, places in an order, a modulus.
_ASIDE = re.compile(
    r"(?<=[^\s=+*×·/(-])(?:\s+|(?<=[^\x00-\x7f]))[(\[][^()\[\]]{0,200}[)\]]|±\s*[\d.,]+"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\.?(?=\s+(?:de\s+|of\s+)?{_MONTHS})"
    rf"|(?<=[a-z])\s\d{{1,2}}(?:st|nd|rd|th)?(?=,?\s+\d{{4}}\b)|\b\d{{1,4}}(?:st|nd|rd|th)\b|\bmod(?:ulo)?\s+\d+",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\b(?:no|wait|actually|correct(?:ion|ing)|re-?check|recount|hm+|rather|i\s+mean)\b", re.IGNORECASE
)
_STATES = re.compile(
    r"\b(?:(?:answer|result|total|sum)(?:\s+(?:is|was|would\s+be|equals|makes)|\s*=)|remainder|numerator|(?:it|that)\s+(?:is|equals|makes))\b",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"→|[-=]>|≡|\b(?:so|thus|therefore|hence|i\.e\.|comes\s+to|makes|gives|yields)\b", re.IGNORECASE
)
_CLAUSE = re.compile(r"(?<=[\d\w])[,;.:](?=\s|$)|\s(?:because|since|as|though|but)\b|\n", re.IGNORECASE)
_EQUALS = re.compile(r"[=≈]")


def meant(text: str, found: Sequence[Quantity], unit: str | None) -> Quantity | None:
    """Return the number that ``text`` gives as its answer; None where several stand side by side."""
    text = _ASIDE.sub(lambda aside: " " * len(aside[0]), text)
    rest = [each for each in found if text[each.start : each.end].strip()] or list(found)
    for mark in [*_CORRECTS.finditer(text)][-1:]:
        text = " " * mark.end() + text[mark.end() :]
        rest = [each for each in rest if each.start >= mark.end()] or rest
    for part in _parts(text, rest, unit):
        if part and len({round(in_unit(each, unit), 12) for each in part}) == 1:
            return part[0]
    return None


def _parts(text: str, found: Sequence[Quantity], unit: str | None) -> Iterator[list[Quantity]]:
    """Yield the numbers of ever other parts of the text, those first that say most."""
    yield list(found)
    yield [each for each in found if of_kind(each, unit) and all(other.unit for other in found)]
    for marks in (_STATES, _CONCLUDES):
        for place in [mark.end() for mark in marks.finditer(text)][-1:]:
            behind = [each for each in found if each.start >= place]
            yield behind
            yield [each for each in behind if each.start < _end(text, place)]
    yield [each for each in found if each.start < _end(text, 0)]
    sides = [mark.start() for mark in _EQUALS.finditer(text)]
    yield [each for each in found if sides and each.start > sides[-1]]
    yield [each for each in found if len(sides) == 1 and each.start < sides[0]]


def _end(text: str, place: int) -> int:
    """Return where the clause ends that goes on at ``place``."""
    clause = _CLAUSE.search(text, place)
    return clause.start() if clause is not None else len(text)
