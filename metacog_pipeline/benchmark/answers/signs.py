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
_REACH = 12  # characters before an answer in which its sign stands


def alike(form: str, text: str, start: int, end: int) -> bool:
    """Whether the words of ``form`` that stand in ``text`` from ``start`` to ``end`` have the signs that they have in it.

    What has no sign of its own is only told from its negative, and only where it begins with a digit.
    """
    needed, digit = _signs_of(form)
    if needed:
        return _signs(text, start, end) == needed
    return not digit or _leading(text, start) != "-"


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
