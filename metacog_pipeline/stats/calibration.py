"""Does stated confidence match the share of correct answers?

Expected calibration error: Naeini, Cooper & Hauskrecht (2015), AAAI; Guo, Pleiss, Sun & Weinberger (2017), ICML, eq. 3,
with bins ((b - 1) / B, b / B]. Brier score: Brier (1950).

Confidence on a scale of L levels is kept as counts of shape ``(L, 2)``: level × (wrong, correct). Flattened, level
index l with outcome y is cell 2 l + y.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import intervals
from metacog_pipeline.stats._arrays import Floats, Ints, binary, floats, ratio, same_length, whole
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.resampling import Patterns, Statistic

Edges = Literal["equal", "floor", "levels"]

_GUARD = 1e-12  # 0.6 · 5 is not 3 in binary


def level_probability(n_levels: int = 5) -> Floats:
    """Return the probability each level 1 .. ``n_levels`` means, (c - 1) / (L - 1), shape ``(L,)``.

    >>> level_probability(5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    n_levels = whole("n_levels", n_levels, 2)
    return np.arange(n_levels, dtype=np.float64) / (n_levels - 1)


def bin_index(confidence: ArrayLike, bins: int = 10, edges: Edges = "equal") -> Ints:
    """Return the bin, from 0, of each ``confidence`` ``(N,)`` in 0..1.

    ``edges``: ``"equal"`` are ``bins`` (low, high] of equal width, 0 joins the first (Naeini et al. 2015); ``"floor"``
    [low, high), 1 joins the last; ``"levels"`` has a bin for every distinct confidence.

    >>> bin_index([0.0, 0.2, 0.6, 1.0], 5).tolist(), bin_index([0.0, 0.2, 0.6, 1.0], 5, "floor").tolist()
    ([0, 0, 2, 4], [0, 1, 3, 4])
    """
    stated = _stated(confidence)
    bins = whole("bins", bins, 1)
    if edges == "equal":
        return np.searchsorted(np.arange(1, bins) / bins, stated, side="left").astype(np.int64)
    if edges == "floor":
        return np.clip(np.floor(stated * bins + _GUARD), 0, bins - 1).astype(np.int64)
    if edges == "levels":
        return np.unique(stated, return_inverse=True)[1].astype(np.int64)
    raise ValueError(f"unknown edges {edges!r}: equal, floor or levels")


def ece(confidence: ArrayLike, correct: ArrayLike, bins: int = 10, edges: Edges = "equal") -> Estimate:
    """Return the expected calibration error Σ_b n_b / n |accuracy_b - confidence_b|, 0..1, without an interval.

    ``confidence`` ``(N,)`` is 0..1, ``correct`` 0/1 or booleans; ``bins`` and ``edges`` are those of `bin_index`.

    >>> round(ece([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0]).value, 3)
    0.1
    """
    stated, right = _stated(confidence), binary("correct", correct)
    n = same_length(confidence=stated, correct=right)
    method = "ece, levels" if edges == "levels" else f"ece, {bins} bins"
    if n == 0:
        return unavailable(0, method, NO_ITEMS)
    gaps = np.abs(np.bincount(bin_index(stated, bins, edges), weights=right - stated))
    return Estimate(min(float(gaps.sum()) / n, 1.0), None, None, n, method, SINGLE_ITEM if n == 1 else OK)


def ece_statistic(probability: ArrayLike, bins: int = 10, edges: Edges = "levels") -> Statistic:
    """Return the function ``(B, 2 L) -> (B,)`` of the error of totals; arguments as of `ece_estimate`."""
    stated = floats("probability", probability)
    member = _member(stated, bins, edges)

    def statistic(totals: Floats) -> Floats:
        gaps = totals[:, 1::2] - (totals[:, 0::2] + totals[:, 1::2]) * stated
        gaps = np.abs(gaps if member is None else gaps @ member)
        return ratio(gaps.sum(axis=1), totals.sum(axis=1))

    return statistic


def ece_estimate(
    patterns: Patterns, probability: ArrayLike, draws: Floats, bins: int = 10, edges: Edges = "levels"
) -> Estimate:
    """Return the expected calibration error with the interval of `intervals.of_totals`.

    ``patterns`` are items over the 2 L cells, ``draws`` resampled totals ``(B, 2 L)``, ``probability`` ``(L,)`` what each
    level means; ``bins`` and ``edges`` merge levels.

    >>> from metacog_pipeline.stats import resampling
    >>> items = Patterns(np.eye(4, dtype=int), np.array([4, 0, 1, 3]))
    >>> found = ece_estimate(items, [0.0, 1.0], resampling.patterns(items, 1000, 1))
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.125, 0.0, 0.394)
    """
    totals = patterns.totals.astype(np.float64)
    stated = _probability(probability, len(totals) // 2)
    statistic = ece_statistic(stated, bins, edges)
    n, method = int(totals.sum()), intervals.INVERTED
    if n == 0:
        return unavailable(0, method, NO_ITEMS)
    value = min(float(statistic(totals[None])[0]), 1.0)
    if patterns.n_items < 2:
        return Estimate(value, None, None, n, method, SINGLE_ITEM)
    member = _member(stated, bins, edges)
    low, high = intervals.of_totals(totals, draws, stated, member)
    return Estimate(value, low, high, n, method, sem=float(np.nanstd(statistic(draws))))


def brier_from_patterns(patterns: Patterns, probability: ArrayLike) -> Estimate:
    """Return the Brier score of items over the 2 L cells of ``patterns``, levels of ``probability`` ``(L,)``.

    >>> round(brier_from_patterns(Patterns(np.eye(4, dtype=int), np.array([4, 0, 1, 3])), [0.0, 1.0]).value, 3)
    0.125
    """
    loss = brier_loss(_probability(probability, patterns.counts.shape[1] // 2))
    return intervals.ratio(patterns, loss, np.ones(len(loss)), turned(len(loss)))


def brier(confidence: ArrayLike, correct: ArrayLike, clusters: ArrayLike) -> Estimate:
    """Return the Brier score of ``confidence`` 0..1 and ``correct`` 0/1, ``(N,)``; ``clusters`` are whole numbers from 0.

    >>> found = brier([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0], [0, 1, 2, 3])
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.135, 0.086, 0.524)
    """
    stated, right = _stated(confidence), binary("correct", correct)
    same_length(confidence=stated, correct=right)
    return intervals.mean((stated - right) ** 2, clusters, turned=(stated - 1 + right) ** 2)


def turned(n_cells: int) -> Ints:
    """Return of each of ``n_cells`` cells level × (wrong, correct) the one that the other outcome leads to.

    >>> turned(4)
    array([1, 0, 3, 2])
    """
    return np.arange(n_cells) ^ 1


def brier_loss(probability: ArrayLike) -> Floats:
    """Return (probability - outcome)² of each cell level × (wrong, correct), shape ``(2 L,)``.

    >>> brier_loss([0.5, 1.0])
    array([0.25, 0.25, 1.  , 0.  ])
    """
    stated = floats("probability", probability)
    return np.column_stack([stated**2, (1 - stated) ** 2]).ravel()


def brier_statistic(probability: ArrayLike) -> Statistic:
    """Return the function ``(B, 2 L) -> (B,)`` of the Brier score of totals, for a bootstrap."""
    loss = brier_loss(probability)
    return lambda totals: ratio(totals @ loss, totals.sum(axis=1))


def brier_parts(probability: ArrayLike, totals: Floats) -> dict[str, Floats]:
    """Return the parts of the Brier score of totals ``(B, 2 L)`` (Murphy 1973, *J. Appl. Meteorol.* 12)."""
    # Every level is a bin of its own, so the score is reliability - resolution + uncertainty, exactly.
    stated, n = floats("probability", probability), totals[:, 0::2] + totals[:, 1::2]
    every = n.sum(axis=1)
    overall = ratio(totals[:, 1::2].sum(axis=1), every)
    share = np.nan_to_num(ratio(totals[:, 1::2], n))
    return {
        "reliability": ratio((n * (stated - share) ** 2).sum(axis=1), every),
        "resolution": ratio((n * (share - overall[:, None]) ** 2).sum(axis=1), every),
        "uncertainty": np.asarray(overall * (1 - overall)),
    }


def _member(stated: Floats, bins: int, edges: Edges) -> Floats | None:
    """Return which bin each level belongs to, ``(L, bins)``; None where each is a bin of its own."""
    if edges == "levels":
        return None
    return np.asarray(bin_index(stated, bins, edges)[:, None] == np.arange(bins), dtype=np.float64)


def _probability(probability: ArrayLike, n_levels: int) -> Floats:
    stated = _stated(probability)
    if len(stated) != n_levels:
        raise ValueError(f"probability has {len(stated)} values for {n_levels} levels")
    return stated


def _stated(confidence: ArrayLike) -> Floats:
    stated = floats("confidence", confidence)
    if stated.size and not (float(stated.min()) >= 0.0 and float(stated.max()) <= 1.0):
        raise ValueError(f"confidences {stated.min()} to {stated.max()} are outside 0..1")
    return stated
