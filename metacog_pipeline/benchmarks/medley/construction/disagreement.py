"""How much the analysts of the pool disagree about a claim, from the counts of their labels.

The published ``jsd_score`` is the mean Jensen–Shannon divergence, in nats, between each rater's label (all weight on one
of five) and the mean of all raters' labels. With p the share of each label that is

    D = Σ p · ½ · [ ln(2/(1+p)) + p·ln(2p/(1+p)) + (1−p)·ln 2 ]

from 0 (all agree) to 0.42281 (five labels equally often). The raters are the whole pool, whose answers are not
published, so the published values can be checked against counts but not made anew from the eight analysts shown.
"""

from __future__ import annotations

import functools
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.benchmarks.medley.construction.ratings import SCALE

Floats = NDArray[np.float64]


def disagreement(counts: ArrayLike) -> Floats:
    """Return the disagreement in nats, 0..0.42281, from (..., 5) counts of labels in any order; below two raters it is 0.

    Raises ValueError for another last dimension than 5, or a count that is negative or not finite.
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim == 0 or table.shape[-1] != len(SCALE):
        raise ValueError(f"label counts need a last dimension of {len(SCALE)}, got shape {table.shape}")
    if not np.all(np.isfinite(table) & (table >= 0)):
        raise ValueError("label counts must be finite and not negative")
    raters = table.sum(axis=-1, keepdims=True)
    p = table / np.maximum(raters, 1.0)
    inside = np.log(np.where(p > 0, 2 * p / (1 + p), 1.0))
    terms = p * 0.5 * (np.log(2 / (1 + p)) + p * inside + (1 - p) * np.log(2))
    value: Floats = np.where(raters[..., 0] < 2, 0.0, np.maximum(terms.sum(axis=-1), 0.0))
    return value


@functools.lru_cache(maxsize=64)
def count_sets(raters: int) -> NDArray[np.int64]:
    """Return every way to give ``raters`` labels of five kinds, up to order: (ways, 5), largest count first."""
    cuts = np.array(list(combinations_with_replacement(range(raters + 1), len(SCALE) - 1)), dtype=np.int64)
    edges = np.concatenate(
        [np.zeros((len(cuts), 1), np.int64), cuts, np.full((len(cuts), 1), raters, np.int64)], axis=1
    )
    return np.unique(-np.sort(-np.diff(edges, axis=1), axis=1), axis=0)


def counts_behind(value: float, raters: int, tolerance: float = 1e-12) -> list[tuple[int, ...]]:
    """Return the sets of label counts whose disagreement is ``value``, largest count first; ``raters`` of 1 to 60."""
    if not 1 <= raters <= 60:
        return []
    sets = count_sets(raters)
    found = sets[np.abs(disagreement(sets) - value) <= tolerance]
    return [tuple(int(n) for n in row) for row in found]
