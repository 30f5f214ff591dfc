"""What analysts rated: labels by claim, as ranks in an array and as positions.

Labels are read by their exact spelling here, as the published construction reads them; scoring (`labels`) is more
lenient. A label outside the five counts as moderate, a claim without an item as not rated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.labels import claim_items

Ranks = NDArray[np.int8]
Counts = NDArray[np.int64]

SCALE = ("very_low", "low", "moderate", "high", "very_high")
POSITIONS = ("support", "oppose", "uncertain")
NOT_RATED = -1
_RANK = {label: rank for rank, label in enumerate(SCALE)}
_POSITION_OF_RANK = np.array([1, 1, 2, 0, 0], dtype=np.int8)  # index into POSITIONS


def rank(label: object) -> int:
    """Return 0 (very low) to 4 (very high); anything but the five labels is moderate, 2."""
    return _RANK.get(label, 2) if isinstance(label, str) else 2


def rated_labels(response: object, claim_ids: Iterable[str] | None = None) -> dict[str, str]:
    """Return {claim id: label} of a reply: the last item of each id; with ``claim_ids``, of these only.

    An item without a label that is text counts as rated, with an empty label.
    """
    wanted = None if claim_ids is None else set(claim_ids)
    found: dict[str, str] = {}
    for item in claim_items(response):
        name = item.get("claim_id") if isinstance(item, dict) else None
        if isinstance(name, str) and (wanted is None or name in wanted):
            label = item.get("confidence")
            found[name] = label if isinstance(label, str) else ""
    return found


def ranks(rated: Sequence[Mapping[str, Any] | None], claim_ids: Sequence[str]) -> Ranks:
    """Return (analysts, claims): 0..4, -1 where a claim is not rated or the analyst's reply (None) has none."""
    table = np.full((len(rated), len(claim_ids)), NOT_RATED, dtype=np.int8)
    for row, labels in enumerate(rated):
        for column, claim in enumerate(claim_ids):
            if labels is not None and claim in labels:
                table[row, column] = rank(labels[claim])
    return table


def label_counts(table: Ranks) -> Counts:
    """Return (claims, 5): how many analysts gave each label, very low first."""
    return np.stack([(table == value).sum(axis=0) for value in range(len(SCALE))], axis=-1)


def positions(table: Ranks) -> Ranks:
    """Return the places in :data:`POSITIONS` of ranks; -1 where not rated."""
    return np.where(table == NOT_RATED, np.int8(NOT_RATED), _POSITION_OF_RANK[table])


def position_counts(table: Ranks) -> Counts:
    """Return (claims, 3) from ranks: how many support, oppose, are uncertain."""
    places = positions(table)
    return np.stack([(places == value).sum(axis=0) for value in range(len(POSITIONS))], axis=-1)
