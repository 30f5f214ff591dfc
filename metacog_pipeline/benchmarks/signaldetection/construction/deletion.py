"""The word "the": where it stands in a sentence, and the sentence without one of them (Servajean & Servajean 2026).

A match is the three letters in any case, with no ASCII letter before or behind: digits, hyphens, apostrophes,
underscores and accented letters beside it do not hide it.
"""

from __future__ import annotations

import re

# No IGNORECASE: with it the ranges would take in the long s, the Kelvin sign and the dotless i.
_THE = re.compile(r"(?<![A-Za-z])[Tt][Hh][Ee](?![A-Za-z])")
_SPACES = re.compile(r"\s{2,}")
_SPACE_BEFORE = re.compile(r"\s+([,;:.!?)])")


def matches(sentence: str) -> list[tuple[int, int]]:
    """Return the places (start, end) of the word in ``sentence``, in order."""
    return [match.span() for match in _THE.finditer(sentence)]


def can_be_asked(sentence: str) -> bool:
    """Whether the word stands in ``sentence`` and something would be left of it without any one of them."""
    return _THE.search(sentence) is not None and len(sentence.strip()) > len("the")


def delete(sentence: str, place: tuple[int, int]) -> str:
    """Return ``sentence`` without the characters at ``place``, tidied; the next word keeps its case.

    Tidied means: two or more white-space characters in a row become one space, white space before ``, ; : . ! ? )``
    goes, and so does white space at both ends.
    """
    start, end = place
    rest = _SPACES.sub(" ", sentence[:start] + sentence[end:])
    return _SPACE_BEFORE.sub(r"\1", rest).strip()
