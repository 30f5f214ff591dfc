"""Dates in six languages, in one spelling: 12/25/1991, 25.12.1991 and le 25 décembre 1991 are December 25 1991.

A date says day, month and year, month and year, or day and month; a finer one in a reply holds a coarser one. 4/5/1991
means two days: a reader may take the one that is accepted, or neither.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from metacog_pipeline.benchmark.answers.ordinals import ordinals
from metacog_pipeline.benchmark.answers.text import uncased

_NAMES = (
    "january jan janvier januar enero ene janeiro gennaio", "february feb février fevrier februar febrero",
    "march mar mars märz marzo", "april apr avril abril abr", "may mai mayo", "june jun juin juni junio",
    "july jul juillet juli julio", "august aug août aout agosto ago",
    "september sep sept septembre septiembre setiembre", "october oct octobre oktober okt octubre",
    "november nov novembre noviembre", "december dec décembre decembre dezember dez diciembre dic",
)  # fmt: skip
_MONTHS = {name: at for at, names in enumerate(_NAMES, 1) for name in names.split()}
ENGLISH = tuple(names.split()[0].title() for names in _NAMES)
_MONTH = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_YEAR = r"(?:[12]\d{3}\b|['’]\d{2}\b)"
_TH = r"(?:st|nd|rd|th|er|[.;]|º)?"
_DATE = re.compile(
    rf"\b(?P<d1>\d{{1,2}}){_TH}(?: day)?(?: of| de)? (?P<m1>{_MONTH})(?:,?(?: of| de| del| in)? (?P<y1>{_YEAR}))?"
    rf"|\b(?P<m2>{_MONTH}) (?:the )?(?P<d2>\d{{1,2}}){_TH}(?!\d)(?:,?(?: of| in)? (?P<y2>{_YEAR}))?"
    rf"|\b(?P<m3>{_MONTH}),?(?: of| de| del)? (?P<y3>{_YEAR})"
    r"|\b(?P<y4>[12]\d{3})[-/.](?P<m4>\d{1,2})[-/.](?P<d4>\d{1,2})\b"
    r"|\b(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})(?P=mark)(?P<y5>\d{4}|\d{2})\b"
    r"|(?P<y6>\d{4}) ?[年년] ?(?P<m6>\d{1,2}) ?[月월](?: ?(?P<d6>\d{1,2}) ?[日号일])?"
    r"|(?<![\d年년])(?P<m7>\d{1,2}) ?[月월] ?(?P<d7>\d{1,2}) ?[日号일]"
    r"|(?<![\d/.-])(?P<m8>\d{1,2})[/.-](?P<y8>[12]\d{3})\b(?![/.-]\d)"
    r"|\b(?P<y9>[12]\d{3})[/-](?P<m9>0\d|1[0-2])\b(?![/.-]\d)",
    re.IGNORECASE,
)
_SHORT = re.compile(r"(?<![\d/.-])(\d{1,2})[/.](\d{1,2})(?![\d/-]|\.\d)\.?")
_SPAN = re.compile(r"\d\d(\d\d)[-/](\d\d)")  # of years: 1910-12, which may be a month, too
_WEEKDAY = re.compile(
    r"\A(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b\.?,? (?:the )?", re.IGNORECASE
)


class Date(NamedTuple):
    """A date; what it does not say is None. Of a year of two digits ``year`` is below 100."""

    year: int | None
    month: int
    day: int | None

    def said(self) -> str:
        """Return the date in one spelling: December 25 1991."""
        parts = (ENGLISH[self.month - 1], self.day, self.year)
        return " ".join(str(part) for part in parts if part is not None)


def date_of(form: str) -> Date | None:
    """Return the date an accepted answer is, None where it is something else; of two days the month first.

    >>> date_of("25.12.1991"), date_of("May 1968"), date_of("May")
    (Date(year=1991, month=12, day=25), Date(year=1968, month=5, day=None), None)
    """
    return next(iter(_meanings(form)), None)


@lru_cache(maxsize=4_096)
def sure_date_of(form: str) -> Date | None:
    """Return the date a right answer is and can only be; None of 5/6/1990, of 1910-12, and without a century.

    >>> sure_date_of("Sunday, the fifth of May, 1968"), sure_date_of("5/6/1968")
    (Date(year=1968, month=5, day=5), None)
    """
    span = _SPAN.fullmatch(form.strip())
    read = _meanings(_WEEKDAY.sub("", ordinals(form.strip())))
    if len(read) != 1 or (read[0].year or 1_000) < 100 or (span and span[1] < span[2]):
        return None
    return read[0]


def _meanings(form: str) -> list[Date]:
    form = re.sub(r"\A(?:on |the )+", "", form.strip().rstrip("."), flags=re.IGNORECASE)
    found = _DATE.fullmatch(form) if len(form) <= 40 else None
    return _readings(found) if found else []


def as_date(text: str, wanted: Date, *, either: bool = True) -> str:
    """Return a text with its dates in one spelling, no finer than the one wanted, and its ordinals in digits.

    ``either``: where a date means two days, the one wanted is taken; else it is left.
    """
    text = ordinals(text)
    if not re.search(r"\d", text):
        return text
    if wanted.year is None:
        text = _SHORT.sub(lambda found: _without_year(found, wanted, either=either), text)
    return _DATE.sub(lambda found: _respelled(found, wanted, either=either), text)


def _without_year(found: re.Match[str], wanted: Date, *, either: bool) -> str:
    """Return a day and a month in digits, 14/7, as the date that is wanted where they can mean it."""
    read = {
        (m, d) for m, d in ((int(found[1]), int(found[2])), (int(found[2]), int(found[1]))) if _is_day(m, d)
    }
    return wanted.said() if (wanted.month, wanted.day) in read and (either or len(read) == 1) else found[0]


def _respelled(found: re.Match[str], wanted: Date, *, either: bool) -> str:
    read = list(dict.fromkeys(_no_finer(each, wanted) for each in _readings(found)))
    if not read or (len(read) > 1 and not either):
        return found[0]
    if wanted in read:
        return wanted.said()
    enough = (read[0].day is None) == (wanted.day is None) and (read[0].year is None) == (wanted.year is None)
    return read[0].said() if enough else found[0]


def _no_finer(date: Date, wanted: Date) -> Date:
    """Return a date without what the wanted one does not say; a year of two digits in its century."""
    year = date.year
    if year is not None and year < 100 and wanted.year is not None and wanted.year % 100 == year:
        year = wanted.year
    return Date(None if wanted.year is None else year, date.month, None if wanted.day is None else date.day)


def _readings(found: re.Match[str]) -> list[Date]:
    """Return what a date can mean: of 4/5/1991 two dates, the month first."""
    part = found.groupdict()
    if part["a"]:
        one, two, year = int(part["a"]), int(part["b"]), int(part["y5"])
        return [
            Date(year, month, day)
            for month, day in dict.fromkeys(((one, two), (two, one)))
            if _is_day(month, day)
        ]
    at = next(n for n in "12346789" if part.get(f"m{n}"))
    named = uncased((part[f"m{at}"] or "").rstrip("."))
    day, said = part.get(f"d{at}"), part.get(f"y{at}")
    in_year = int(said.lstrip("'’")) if said else None
    made = Date(in_year, _MONTHS[named] if named in _MONTHS else int(named), int(day) if day else None)
    return [made] if _is_day(made.month, made.day or 1) else []


def _is_day(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= 31
