"""Numbers that a reply speaks of and does not state: of the scale, of what it would say, of what it does not say."""

from __future__ import annotations

import re

_SUPPOSED_BEFORE = re.compile(r"\b(?:not|never|if|had|were|unless|nearly|almost|most)\b|n't\b", re.IGNORECASE)
_SUPPOSED_BEHIND = re.compile(
    r"^[ \t]{0,3}(?:=|\([^)\n]{0,40}\)[ \t]{0,3}(?:to|-)\b)"
    r"|^[^(]*\b(?:would|could|requires?|needs?|if|unless|lowest|highest|only\s+with)\b",
    re.IGNORECASE,
)


def supposed(text: str, start: int, end: int) -> bool:
    """Return whether the number that ends at ``end``, whose name begins at ``start``, is only spoken of, not stated."""
    before = re.split(r"[.!?\n,;]|\bbut\b", text[max(0, start - 80) : start])[-1]
    behind = re.split(r"[.!?\n;]", text[end : end + 60])[0]
    return bool(_SUPPOSED_BEFORE.search(before) or _SUPPOSED_BEHIND.search(behind))
