"""Comparing texts: folding, word overlap, character similarity."""

from __future__ import annotations

import re
import unicodedata

_QUOTES = str.maketrans("‘’‚‛“”„‟«»`´′″", "''''\"\"\"\"\"\"'''\"")


def straight_quotes(text: str) -> str:
    """Return ``text`` with curly and angular quotes, accents and primes as the straight quotes of a keyboard."""
    return text.translate(_QUOTES)


def fold(text: str) -> str:
    """Return ``text`` for comparison: NFKC, case-folded, white space collapsed, one trailing full stop dropped.

    Other punctuation stays: arrows and signs tell choices apart.
    """
    if text.isascii():  # is NFKC already
        flat = " ".join(text.lower().split())
    else:
        flat = " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())
    return flat[:-1].rstrip() if flat.endswith(".") else flat


def word_jaccard(a: str, b: str) -> float:
    """Return the Jaccard similarity (0..1) of the two texts' sets of folded words; 1 when both have none."""
    left, right = set(re.findall(r"\w+", fold(a))), set(re.findall(r"\w+", fold(b)))
    union = left | right
    return len(left & right) / len(union) if union else 1.0


def similarity(a: str, b: str) -> float:
    """Return 100 · 2·LCS(a, b) / (len(a) + len(b)), the share of characters two texts have in common, in order.

    LCS is the length of the longest common subsequence, by Hyyrö's bit-parallel recurrence: symmetric and
    exact, where ``difflib`` is neither. Two empty texts give 100.
    """
    total = len(a) + len(b)
    return 200.0 * _lcs_length(a, b) / total if total else 100.0


def _lcs_length(a: str, b: str) -> int:
    places: dict[str, int] = {}
    for index, character in enumerate(a):
        places[character] = places.get(character, 0) | 1 << index
    mask = (1 << len(a)) - 1
    row = mask
    for character in b:
        hits = row & places.get(character, 0)
        row = ((row + hits) | (row - hits)) & mask
    return len(a) - row.bit_count()
