"""Names and short texts: equal by normalised form, by date, or by number; never by resemblance."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metacog_pipeline.reading.fields import AMBIGUOUS, NOTHING, UNKNOWN, Found, simple
from metacog_pipeline.reading.numbers import numbers

LONGEST_NAME = 80  # characters of a line that is a name and no prose
_MONTHS = {
    name: place
    for names in (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "jan feb mar apr may jun jul aug sep oct nov dec",
    )
    for place, name in enumerate(names.split(), 1)
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES = (
    re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})\b"),
    re.compile(r"(?P<year>\d{4})\s?[年년]\s?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일]"),
    re.compile(
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?(?P<name>{_MONTH})\.?,?\s+(?:de\s+|del\s+)?(?P<year>\d{{4}})\b"
    ),
    re.compile(rf"\b(?P<name>{_MONTH})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b"),
)
_NUMERIC = re.compile(r"\b(?P<first>\d{1,2})[./-](?P<second>\d{1,2})[./-](?P<year>\d{4})\b")
_SAYS = re.compile(
    r"^.{0,60}?\b(?:is|was|are|were|es|fue|ist|war|est|était)\s+(?:called\s+|named\s+|known\s+as\s+)?",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"\b(?:answer|it|this|that|he|she|they)\s+(?:is|was|are|were|would\s+be)\s+([^.\n]{1,80})", re.IGNORECASE
)
_NOTE = re.compile(r"\s*[(\[][^)\]]{0,120}[)\]]")
_OR = re.compile(r"\s+(?:or|o|oder|ou)\s+|\s*/\s*", re.IGNORECASE)

# What a name may stand with or without: Lake Tanganyika, the Pacific Ocean. "City" is none of them: Mexico is a country.
_KINDS = frozenset(
    ("lake", "ocean", "sea", "river", "mount", "mt", "desert", "strait", "peninsula", "island", "islands")
)

Date = tuple[int, int, int]


def dates_of(text: str) -> Iterator[Date]:
    """Yield what the first date of ``text`` can be as (year, month, day): 9/11/1989 in two orders, others in one."""
    said = text.casefold()
    for form in _DATES:
        if found := form.search(said):
            names = found.groupdict()
            month = int(names.get("month") or _MONTHS[names["name"]])
            yield int(names["year"]), month, int(names["day"])
            return
    if found := _NUMERIC.search(said):
        first, second, year = int(found["first"]), int(found["second"]), int(found["year"])
        yield from ((year, month, day) for month, day in ((second, first), (first, second)) if month <= 12)


def same(said: str, key: str) -> bool:
    """Return whether ``said`` and ``key`` are one: as normalised texts, as dates, or as whole texts that are one number."""
    if simple(said) == simple(key) and (simple(said) or said.strip() == key.strip()):
        return True
    if simple(said) in _without_kind(key) or simple(key) in _without_kind(said):
        return True
    days = {*dates_of(key)}
    if days:
        return not days.isdisjoint(dates_of(said))
    mine, other = _only_number(said), _only_number(key)
    return mine is not None and other is not None and math.isclose(mine, other, rel_tol=1e-9)


def _without_kind(text: str) -> set[str]:
    words = simple(text).split()
    made = (
        words[1:] if words and words[0] in _KINDS else [],
        words[:-1] if words and words[-1] in _KINDS else [],
    )
    return {" ".join(each) for each in made if each}


def _only_number(text: str) -> float | None:
    found = [*numbers(text)]
    if len(found) != 1 or re.search(r"[^\W\d]", text[: found[0].start] + text[found[0].end :]):
        return None
    return found[0].value


@dataclass(frozen=True, slots=True)
class ShortText:
    """A name or a few words. Its value is the text as stated; ``aliases`` are the forms that are right."""

    aliases: Sequence[str]
    name: str = "answer"

    def read(self, said: str) -> Found:
        """Read the text behind a label."""
        bare = said.strip(" \t\n*_,;:!\"'`").removesuffix(".").strip(" *_\"'`")
        if not bare or UNKNOWN.match(bare):
            return NOTHING
        sides = [each for each in _OR.split(bare) if each]
        if len(sides) > 1 and not self.right(bare):
            held = [self.right(each) for each in sides]
            if any(held) and not all(held):
                return AMBIGUOUS
        start = said.find(bare)
        return Found("ok", bare, start, start + len(bare))

    def find(self, text: str) -> Found:
        """Find the name that a turn without labels states."""
        lines = [line.strip(" *_") for line in text.strip().splitlines() if line.strip()]
        if not lines:
            return NOTHING
        stated = _STATED.search(lines[0])
        if stated is not None and len(lines[0]) > LONGEST_NAME:
            return self.read(stated[1])
        return self.read(lines[0]) if len(lines[0]) <= 2 * LONGEST_NAME else NOTHING

    def right(self, said: str) -> bool:
        """Return whether ``said`` is one of the aliases: as it stands, without a note in brackets, or behind "it is"."""
        forms = {said, _NOTE.sub("", said), _SAYS.sub("", said), _SAYS.sub("", _NOTE.sub("", said))}
        forms |= {re.split(r"\s[-–—]+\s|,\s|;\s", form, maxsplit=1)[0] for form in forms}
        return any(same(form, alias) for form in forms for alias in self.aliases)
