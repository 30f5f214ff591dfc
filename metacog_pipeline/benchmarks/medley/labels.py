"""Confidence labels → numbers.

=================================  =========  =====
label                              reference  paper
=================================  =========  =====
``very_high``                      0.95       0.9
``high``                           0.80       0.7
``moderate`` (paper: "medium")     0.55       0.5
``low``                            0.35       0.3
``very_low``                       0.15       0.1
not recognised                     0.55       0.5
=================================  =========  =====

Whatever a reply holds in the place of a label gives a number: what is not recognised counts as moderate, as in the
authors' package. Numbers are taken as they are, without clamping; a number that is not finite, or too large to be
squared, is not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

LABELS = ("very_high", "high", "moderate", "low", "very_low")
# How a label may be shortened or spelled, after cleaning; "ve" and "very" are very high, "very_lo" is very low.
_SPELLINGS = {
    "very_high": ("ve", "ver", "very", "very high", "veryhigh", "v_high", "very_hi", "vhigh", "vh"),
    "high": ("hi", "h"),
    "moderate": ("mod", "med", "medium", "m", "not applicable", "n/a", "na", "uncertain", "unsure"),
    "low": ("lo", "l"),
    "very_low": ("very low", "verylow", "very_lo", "v_low", "vlow", "vl"),
}
_LABEL_OF = {**{spelling: label for label, all_ in _SPELLINGS.items() for spelling in all_}}
_LABEL_OF |= {label: label for label in LABELS}
_IN_PARENTHESES = re.compile(r"\s*\([^)]*\)")
_WRAPPERS = ("level", "confidence", "value", "rating")
LONGEST_LABEL = 1000  # characters; a longer text is no label
LARGEST = 1e100  # squares of confidences stay finite


@dataclass(frozen=True, slots=True)
class LabelMap:
    """What the five labels stand for, each 0..1, and what anything unrecognised stands for."""

    name: str
    very_high: float
    high: float
    moderate: float
    low: float
    very_low: float
    unrecognised: float
    by_text: dict[str, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = {text: float(getattr(self, label)) for text, label in _LABEL_OF.items()}
        object.__setattr__(self, "by_text", table)


REFERENCE_MAP = LabelMap("reference", 0.95, 0.80, 0.55, 0.35, 0.15, 0.55)
PAPER_MAP = LabelMap("paper", 0.9, 0.7, 0.5, 0.3, 0.1, 0.5)


def num(value: object, labels: LabelMap = REFERENCE_MAP) -> float:
    """Return the number any JSON value stands for; wrapped values are unwrapped, never raises."""
    while not isinstance(value, str | int | float):
        if isinstance(value, dict):
            inner = next((key for key in _WRAPPERS if key in value), None)
            if inner is None:
                return labels.unrecognised
            value = value[inner]
        elif isinstance(value, list) and value:
            value = value[0]
        else:
            return labels.unrecognised
    return _text_number(value, labels) if isinstance(value, str) else _plain_number(value, labels)


def confidence_number(value: object, labels: LabelMap = REFERENCE_MAP) -> float:
    """Return what the ``confidence`` of a claim stands for: wrapped values are not unwrapped there."""
    if isinstance(value, str):
        return _text_number(value, labels)
    return _plain_number(value, labels) if isinstance(value, int | float) else labels.unrecognised


def claim_items(response: object) -> Sequence[Any]:
    """Return the claim items of a reply: of an object its ``claim_level_assessments``, of an array itself."""
    if isinstance(response, dict):
        response = response.get("claim_level_assessments")
    return response if isinstance(response, list) else ()


def claim_confidence(
    response: object, claim_id: str, claim_text: str = "", labels: LabelMap = REFERENCE_MAP
) -> float | None:
    """Return the confidence a reply states for a claim, or None where it states none.

    The first item with exactly this id counts. Where there is none and the claim has a text: the first item whose text
    contains that text or is contained in it, upper and lower case being one; an item without text is contained in any.
    """
    items = [item for item in claim_items(response) if isinstance(item, dict)]
    for item in items:
        if item.get("claim_id") == claim_id:
            return confidence_number(item.get("confidence"), labels)
    found = item_by_text(items, claim_text)
    return None if found is None else confidence_number(found.get("confidence"), labels)


def item_by_text(items: Sequence[Any], claim_text: str) -> dict[str, Any] | None:
    """Return the first item whose text matches a claim's, see `claim_confidence`."""
    wanted = claim_text.lower()
    if not wanted:
        return None
    for item in items:
        text = item.get("claim_text", "") if isinstance(item, dict) else None
        if isinstance(text, str) and (text.lower() in wanted or wanted in text.lower()):
            return dict(item)
    return None


def _plain_number(value: float, labels: LabelMap) -> float:
    return float(value) if abs(value) <= LARGEST else labels.unrecognised


def _text_number(text: str, labels: LabelMap) -> float:
    known = labels.by_text.get(text)
    if known is not None:
        return known
    cleaned = text.strip()
    if len(cleaned) > LONGEST_LABEL:
        return labels.unrecognised
    cleaned = cleaned.lower().replace("-", "_")
    for candidate in (cleaned, _IN_PARENTHESES.sub("", cleaned).strip()):
        if candidate in labels.by_text:
            return labels.by_text[candidate]
    if len(cleaned) >= 2:
        for label in LABELS:
            if label.startswith(cleaned):
                return labels.by_text[label]
    return labels.unrecognised
