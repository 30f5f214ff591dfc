"""Ordinals in digits, all with the one ending: the fourteenth is the 14th, the 2nd and the second are the 2th."""

from __future__ import annotations

import re

from metacog_pipeline.benchmark.answers.number_words import TENS
from metacog_pipeline.benchmark.answers.text import uncased

_TO_NINETEENTH = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
)
_BELOW_20 = _TO_NINETEENTH.split()
_ORDINALS = {word: place for place, word in enumerate(_BELOW_20, 1)}
for _word, _ten in TENS.items():
    _ORDINALS[f"{_word[:-1]}ieth"] = _ten
    _ORDINALS |= {f"{_word}-{one}": _ten + place for place, one in enumerate(_BELOW_20[:9], 1)}
_ANY = "|".join(sorted(_ORDINALS, key=len, reverse=True)).replace("-", "[- ]")
_ORDINAL = re.compile(rf"\b(?:({_ANY})|(\d{{1,3}})(?:st|nd|rd|th|º|ª))\b", re.IGNORECASE)


def ordinals(text: str) -> str:
    """Return a text with its ordinals in digits."""
    return _ORDINAL.sub(_in_digits, text)


def _in_digits(found: re.Match[str]) -> str:
    return f"{found[2] or _ORDINALS[uncased(found[1]).replace(' ', '-')]}th"
