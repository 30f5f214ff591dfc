"""The signs of a formula: 3/7 is no -3/7, 6 - 5i no 6 + 5i and C++ no C#, though their words are the same.

Readers find a right answer by its words, without punctuation. A hyphen in a name is punctuation (Catch-22, Catch 22); what
stands between the parts of a formula is not.
"""

from __future__ import annotations

import re
from functools import lru_cache

_INNER = re.compile(
    r"[\^=±<>√]"
    r"|(?<=[\w)²³])[ ]?\+[ ]?(?=[\w(√])"
    # A hyphen is a minus sign before a term with one letter, such as 5i or x, behind a number, a letter or a bracket;
    # 3-D and 2-d have none.
    r"|(?:(?<=\d)|(?<=\b[A-Za-z])|(?<=\d[A-Za-z])|(?<=[)²³]))"
    r"(?:[ ]-[ ](?=\d{0,9}[A-Za-z](?![\w-]))|[ ]?-[ ]?(?=(?:\d{1,9}[A-Za-z]|\d{0,9}[iq-zπ])(?![\w-])|\d{0,9}[√(]))"
)
_BEFORE = re.compile(r"(?:(?<![\w)])[-±]|\b(?:minus|negative) )\(?\Z", re.IGNORECASE)
_AFTER = re.compile(r"\+\+|#")
# A number, and what stands between it and the other end of a range: "1990-1995", "between 1990 and 1995".
_WHOLE = re.compile(r"\W*(\d{1,9})\W*")
_OTHER_END = r"[ ]?(?:-|~|\.\.|to|until|till|through|thru|bis|hasta|至|到|에서)[ ]?"
_FROM = re.compile(
    rf"(?<![\d.,/-])(\d{{1,9}}){_OTHER_END}\Z|\bbetween[ ](\d{{1,9}})[ ]and[ ]\Z", re.IGNORECASE
)
_UP_TO = re.compile(rf"{_OTHER_END}(\d{{1,9}})(?![\d/-]|[.,]\d)", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween[ ]\Z", re.IGNORECASE)
_AND = re.compile(r"[ ]and[ ](\d{1,9})\b", re.IGNORECASE)
_MONTHS = 12  # 1995-03 is a month, 1995-96 a range
_REACH = 12  # characters before an answer in which its sign stands


def alike(form: str, text: str, start: int, end: int) -> bool:
    """Whether the words of ``form`` that stand in ``text`` from ``start`` to ``end`` have the signs that they have in it.

    What has no sign of its own is only told from its negative, and only where it begins with a digit. A number is not one
    end of a range.
    """
    if (number := _WHOLE.fullmatch(form)) and _ends_range(int(number[1]), text, start, end):
        return False
    needed, digit = _signs_of(form)
    if needed:
        return _signs(text, start, end) == needed
    return not digit or _leading(text, start) != "-"


def _ends_range(number: int, text: str, start: int, end: int) -> bool:
    """Return whether a number that stands in ``text`` from ``start`` to ``end`` is one end of a range."""
    before = text[max(0, start - 2 * _REACH) : start]
    first = _FROM.search(before)
    if first and int(first[1] or first[2]) < number and not _UP_TO.match(text, end):
        return True
    last = _UP_TO.match(text, end) or (_AND.match(text, end) if _BETWEEN.search(before) else None)
    if last is None or re.search(r"\d[.,/-]\Z", before):
        return False
    other = int(last[1])
    return other > number or (number > 999 and number % 100 < other < 100 and other > _MONTHS)


@lru_cache(maxsize=4_096)
def _signs_of(form: str) -> tuple[str, bool]:
    places = [place for place, each in enumerate(form) if each.isalnum()]
    if not places:
        return "", False
    return _signs(form, places[0], places[-1] + 1), form[places[0]].isdigit()


def _signs(text: str, start: int, end: int) -> str:
    inner = "".join(each[0].strip() for each in _INNER.finditer(text, start, end))
    # behind a letter: what is said of C++ and C# is none of C
    after = _AFTER.match(text, end) if text[end - 1 : end].isalpha() else None
    return _leading(text, start) + inner + (after[0] if after else "")


def _leading(text: str, start: int) -> str:
    found = _BEFORE.search(text[max(0, start - _REACH) : start])
    return "" if found is None else "±" if "±" in found[0] else "-"
