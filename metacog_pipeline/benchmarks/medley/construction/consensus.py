"""What the analysts together say of each claim: three rules, all of them called a jackknife by somebody.

=======================  ===========================================================================================
`label_median`           the rule behind the published files, although they name it ``adaptive_jackknife_median``: the
                         upper median of the labels of the selected analysts; nothing is left out in turn
`jackknife_majority`     what the paper describes: the position most of the whole pool takes, kept only if it leads
                         whoever is left out; for new instances
`leave_one_out_median`   behind ``consensus_val`` of the published verification: the mean of the medians that result
                         when each analyst is left out in turn; made from answers that are not published
=======================  ===========================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.benchmarks.medley.construction.ratings import (
    NOT_RATED,
    POSITIONS,
    SCALE,
    Counts,
    Ranks,
    position_counts,
    ranks,
)
from metacog_pipeline.benchmarks.medley.items import Consensus

PUBLISHED_METHOD, MAJORITY_METHOD = "adaptive_jackknife_median", "jackknife_majority"
# What the labels stand for in the published consensus; very low does not occur there, its value is the verification's.
PUBLISHED_VALUES = {"very_high": 0.9, "high": 0.75, "moderate": 0.5, "low": 0.25, "very_low": 0.1}
UNDECIDED = 0.5
# Of a majority, exceeded. More than half of 28 is at least 15 of 28 = 0.536, where the range that the paper states for
# confidences, 0.54 to 1, begins.
MORE_THAN_HALF = 0.5


def label_median(rated: Sequence[Mapping[str, Any] | None], claim_ids: Sequence[str]) -> Consensus:
    """Return the consensus by the rule of the published files, from the labels of the selected analysts.

    The label is the upper median; positions are counted, and of equal counts support comes before oppose before
    uncertain. A claim nobody rated is moderate and uncertain, with 0 raters.
    """
    table = ranks(rated, claim_ids)
    confidences, details = {}, {}
    for claim, column, counts in zip(claim_ids, table.T, position_counts(table), strict=True):
        given = np.sort(column[column != NOT_RATED])
        label = SCALE[given[len(given) // 2]] if len(given) else "moderate"
        confidences[claim] = PUBLISHED_VALUES[label]
        details[claim] = {
            "median_confidence": label,
            "majority_position": POSITIONS[counts.argmax()] if len(given) else "uncertain",
            "majority_strength": int(counts.max()),
            "total_analysts": len(given),
            "position_distribution": _distribution(counts),
        }
    return Consensus(confidences, details, PUBLISHED_METHOD)


def jackknife_majority(table: Ranks, claim_ids: Sequence[str]) -> Consensus:
    """Return the consensus of a whole pool, kept only where it survives leaving out each analyst in turn.

    ``table`` are (analysts, claims) ranks, see `ratings.ranks`. ``claim_confidences`` holds how far the pool stands behind
    the claim, 0..1: the majority's share where it supports, 1 minus that share where it opposes, 0.5 where the majority is
    uncertain, not stable, or not more than half. ``majority_share`` in the details is the share itself.
    ``majority_position`` is ``uncertain`` where no position is stable; ``stable`` says which.
    """
    tally = position_counts(table)
    confidences, details = {}, {}
    for claim, counts, stable in zip(claim_ids, tally, stable_majority(tally), strict=True):
        raters = int(counts.sum())
        share = float(counts.max() / raters) if raters else 0.0
        position = POSITIONS[counts.argmax()] if stable else "uncertain"
        behind = {"support": share, "oppose": 1 - share}.get(position, UNDECIDED)
        confidences[claim] = behind if share > MORE_THAN_HALF else UNDECIDED
        details[claim] = {
            "majority_position": position,
            "majority_strength": int(counts.max()),
            "majority_share": share,
            "stable": bool(stable),
            "total_analysts": raters,
            "position_distribution": _distribution(counts),
        }
    return Consensus(confidences, details, MAJORITY_METHOD)


def stable_majority(tally: ArrayLike) -> NDArray[np.bool_]:
    """Say of each row of position counts (claims, 3) whether more than half take one position that leads whoever is left
    out.

    Nobody's rating, a tie, or a tie after one deletion is not stable; nor is the opinion of one analyst alone.
    """
    counts = np.asarray(tally, dtype=np.int64)
    stable: NDArray[np.bool_] = counts.max(axis=-1) > MORE_THAN_HALF * counts.sum(axis=-1)
    for place in range(counts.shape[-1]):
        left = counts.copy()
        left[..., place] -= 1
        impossible = left[..., place] < 0
        stable &= impossible | (_leads(left) & (left.argmax(axis=-1) == counts.argmax(axis=-1)))
    return stable


def _leads(counts: Counts) -> NDArray[np.bool_]:
    """Say whether the largest count is alone."""
    ordered = np.sort(counts, axis=-1)
    leads: NDArray[np.bool_] = ordered[..., -1] > ordered[..., -2]
    return leads


def leave_one_out_median(values: ArrayLike) -> float:
    """Return the mean of the medians that result when each value is left out in turn, to three decimals.

    One value is its own median; none gives 0.5.
    """
    given = np.asarray(values, dtype=np.float64)
    if given.size < 2:
        return round(float(given[0]), 3) if given.size else UNDECIDED
    medians = [np.median(np.delete(given, place)) for place in range(given.size)]
    return round(float(np.mean(medians)), 3)


def _distribution(counts: Counts) -> dict[str, int]:
    return {name: int(count) for name, count in zip(POSITIONS, counts, strict=True)}
