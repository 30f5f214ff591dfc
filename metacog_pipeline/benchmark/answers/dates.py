"""The ways a date is written: whoever answers "5 May 1990" says what the key "May 5, 1990" says."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_NUMBER = {
    name[:length].casefold(): n for n, name in enumerate(_MONTHS, start=1) for length in (3, len(name))
} | {"sept": 9}
_MONTH = rf"(?P<month>{'|'.join(sorted(_NUMBER, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? )?"
_WRITTEN = tuple(
    re.compile(each, re.IGNORECASE)
    for each in (
        rf"{_WEEKDAY}{_MONTH} {_DAY}(?:,? {_YEAR})?", rf"{_WEEKDAY}(?:the )?{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?",
        rf"{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)", rf"{_MONTH},? {_YEAR}",
    )
)  # fmt: skip


def spellings(text: str) -> tuple[str, ...]:
    """Return the ways to write the date that ``text`` is, all of it; () where it is none.

    A day and a month, with or without a year, or a month of a year; 05/06/1990 means two days and is no date.

    >>> spellings("May 1990")
    ('May 1990', 'May of 1990', '1990-05', '1990年5月')
    """
    plain = " ".join(text.split())
    found = next((match for each in _WRITTEN if (match := each.fullmatch(plain))), None)
    if found is None:
        return ()
    parts = found.groupdict()
    month = int(parts["month"]) if parts["month"].isdecimal() else _NUMBER[parts["month"].casefold()]
    year, day = parts.get("year"), parts.get("day")
    if not 1 <= month <= 12 or (day and not 1 <= int(day) <= monthrange(int(year or 2000) or 2000, month)[1]):
        return ()
    name = _MONTHS[month - 1]
    names = dict.fromkeys((name, name[:3], *(("Sept",) if month == 9 else ())))
    if day is None:
        return (*(f"{each} {year}" for each in names), *(f"{each} of {year}" for each in names), f"{year}-{month:02}",
                f"{year}年{month}月")  # fmt: skip
    made = [each for name in names for each in _of_a_day(name, int(day), "" if year is None else f" {year}")]
    return tuple(dict.fromkeys((*made, *([] if year is None else _in_digits(year, month, int(day))))))


def _of_a_day(name: str, day: int, year: str) -> Iterator[str]:
    """Yield a day of a month in words; readers pass over a comma before the year."""
    end = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    for number in (f"{day}", f"{day}{end}"):
        yield from (f"{name} {number}{year}", f"{number} {name}{year}", f"{number} of {name}{year}")


def _in_digits(year: str, month: int, day: int) -> Iterator[str]:
    """Yield a date in digits; readers take 5.6.1990 for 5/6/1990, which may be the other way round."""
    yield from (f"{year}-{month:02}-{day:02}", f"{year}年{month}月{day}日")
    if day > 12 or day == month:
        for one, two in ((day, month), (month, day)):
            yield from (f"{one}/{two}/{year}", f"{one:02}/{two:02}/{year}")
