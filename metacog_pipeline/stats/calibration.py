"""Does stated confidence match the share of correct answers?

Expected calibration error: Naeini, Cooper & Hauskrecht (2015), AAAI; Guo, Pleiss, Sun & Weinberger (2017), "On
calibration of modern neural networks", ICML, eq. 3, with bins ((b - 1) / B, b / B]. Brier score: Brier (1950).

Confidence on a scale of L levels is kept as counts of shape ``(L, 2)``: level × (wrong, correct). Flattened, level
index l with outcome y is cell 2 l + y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, Ints, binary, counts, floats, ratio, same_length, whole
from metacog_pipeline.stats.clusters import Patterns, Statistic, percentile_interval
from metacog_pipeline.stats.estimate import MOSTLY_UNDEFINED, NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.proportions import mean_estimate, proportion
from metacog_pipeline.stats.ratios import ratio_estimate

Mapping = Literal["(c-1)/(L-1)", "c/L"]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """One point of a reliability diagram.

    Attributes
    ----------
    low, high
        Bounds of the bin on the probability scale; both are the level's probability on a discrete scale.
    confidence
        Mean confidence inside the bin, 0..1, or None when it is empty.
    accuracy
        Share correct with Wilson's interval.
    """

    low: float
    high: float
    confidence: float | None
    accuracy: Estimate


@dataclass(frozen=True, slots=True)
class LevelUse:
    """How much of the scale was used.

    Attributes
    ----------
    levels_used
        Number of distinct levels.
    commonest_share
        Share of the commonest level, 0..1, or None without answers.
    informative
        Whether at least two levels were used: with one, nothing can be learnt about confidence.
    """

    levels_used: int
    commonest_share: float | None
    informative: bool


def level_probability(n_levels: int = 5, mapping: Mapping = "(c-1)/(L-1)") -> Floats:
    """Return the probability each level 1..L stands for, shape ``(L,)``.

    ``"(c-1)/(L-1)"`` reads the lowest level as 0 and the highest as 1; ``"c/L"`` reads the lowest as 1/L.
    """
    n_levels = whole("n_levels", n_levels, 2)
    level = np.arange(1, n_levels + 1, dtype=np.float64)
    if mapping == "(c-1)/(L-1)":
        return (level - 1) / (n_levels - 1)
    if mapping == "c/L":
        return level / n_levels
    raise ValueError(f"unknown mapping {mapping!r}: '(c-1)/(L-1)' or 'c/L'")


def confidence_cells(level: ArrayLike, correct: ArrayLike, n_levels: int = 5) -> Ints:
    """Return the cell 2 (level - 1) + correct of each observation.

    Parameters
    ----------
    level
        Shape ``(N,)``, whole numbers 1..L.
    correct
        Shape ``(N,)``, 0/1 or booleans.
    """
    levels, right = counts("level", level), binary("correct", correct)
    same_length(level=levels, correct=right)
    if levels.size and not 1 <= int(levels.min()) <= int(levels.max()) <= n_levels:
        raise ValueError(f"levels {int(levels.min())} to {int(levels.max())} are outside 1..{n_levels}")
    return 2 * (levels - 1) + right


def level_use(table: ArrayLike) -> LevelUse:
    """Return how many levels the counts ``(L, 2)`` use and the share of the commonest."""
    by_level = _table(table).sum(axis=1)
    n = int(by_level.sum())
    used = int((by_level > 0).sum())
    return LevelUse(used, int(by_level.max()) / n if n else None, used >= 2)


def reliability(table: ArrayLike, probability: ArrayLike) -> tuple[ReliabilityBin, ...]:
    """Return one bin per level from counts ``(L, 2)`` and the level's probability ``(L,)``."""
    cells = _table(table)
    stated = _probability(probability, len(cells))
    return tuple(
        ReliabilityBin(float(p), float(p), float(p) if n else None, proportion(int(right), int(n)))
        for p, right, n in zip(stated, cells[:, 1], cells.sum(axis=1), strict=True)
    )


def reliability_bins(confidence: ArrayLike, correct: ArrayLike, bins: int = 10) -> tuple[ReliabilityBin, ...]:
    """Return ``bins`` equal-width bins (low, high] of confidences ``(N,)`` in 0..1; 0 joins the first bin."""
    stated, right, index = _binned(confidence, correct, bins)
    n = np.bincount(index, minlength=bins)
    hits = np.bincount(index, weights=right, minlength=bins)
    total = np.bincount(index, weights=stated, minlength=bins)
    return tuple(
        ReliabilityBin(
            b / bins,
            (b + 1) / bins,
            float(total[b] / n[b]) if n[b] else None,
            proportion(int(hits[b]), int(n[b])),
        )
        for b in range(bins)
    )


def ece_statistic(probability: ArrayLike) -> Statistic:
    """Return the function ``(B, 2 L) -> (B,)`` of the expected calibration error, for a bootstrap."""
    stated = floats("probability", probability)

    def statistic(totals: Floats) -> Floats:
        gaps = np.abs(totals[:, 1::2] - (totals[:, 0::2] + totals[:, 1::2]) * stated)
        return ratio(gaps.sum(axis=1), totals.sum(axis=1))

    return statistic


def ece_from_counts(table: ArrayLike, probability: ArrayLike) -> Estimate:
    """Return the expected calibration error Σ_l n_l / n |accuracy_l - probability_l|, without an interval.

    Parameters
    ----------
    table
        Counts, shape ``(L, 2)``.
    probability
        Shape ``(L,)``, 0..1: what each level stands for.

    Returns
    -------
    Estimate
        Value in 0..1 (0 is perfect), method ``"ece, levels"``.
    """
    cells = _table(table)
    stated = _probability(probability, len(cells))
    n = int(cells.sum())
    if n == 0:
        return unavailable(0, "ece, levels", NO_ITEMS)
    value = float(ece_statistic(stated)(cells.reshape(1, -1).astype(np.float64))[0])
    return Estimate(min(value, 1.0), None, None, n, "ece, levels", SINGLE_ITEM if n == 1 else OK)


def ece(confidence: ArrayLike, correct: ArrayLike, bins: int = 10) -> Estimate:
    """Return the expected calibration error of confidences ``(N,)`` in 0..1 over equal-width bins.

    The gap of a bin is between its share correct and its mean confidence; no interval.
    """
    stated, right, index = _binned(confidence, correct, bins)
    method = f"ece, {bins} bins"
    n = len(stated)
    if n == 0:
        return unavailable(0, method, NO_ITEMS)
    gaps = np.abs(np.bincount(index, weights=right - stated, minlength=bins))
    return Estimate(min(float(gaps.sum()) / n, 1.0), None, None, n, method, SINGLE_ITEM if n == 1 else OK)


def ece_estimate(patterns: Patterns, probability: ArrayLike, draws: Floats) -> Estimate:
    """Return the expected calibration error with an item-bootstrap interval.

    Absolute values make the error of a resample larger on average than that of the sample, so the draws are
    moved by the difference between their mean and the value (a bootstrap bias correction; Efron & Tibshirani 1993,
    ch. 10) and cut at 0 and 1. The value itself is the usual one.

    Parameters
    ----------
    patterns
        Items over the 2 L cells.
    probability
        Shape ``(L,)``, 0..1.
    draws
        Resampled totals ``(B, 2 L)``.
    """
    statistic = ece_statistic(probability)
    cells = patterns.totals
    plain = ece_from_counts(cells.reshape(-1, 2), probability)
    method = "item bootstrap, recentred"
    if plain.value is None:
        return unavailable(plain.n, method, plain.status)
    if patterns.n_items < 2:
        return Estimate(plain.value, None, None, plain.n, method, SINGLE_ITEM)
    values = statistic(draws)
    defined = values[~np.isnan(values)]
    # Without a defined draw there is nothing to move, and no interval comes out below.
    moved = plain.value - (float(defined.mean()) if len(defined) else 0.0)
    low, high = percentile_interval(np.clip(values + moved, 0.0, 1.0))
    if low is None or high is None:
        return Estimate(plain.value, None, None, plain.n, method, MOSTLY_UNDEFINED)
    low, high = min(low, plain.value), max(high, plain.value)
    return Estimate(plain.value, low, high, plain.n, method, sem=float(defined.std()))


def brier(confidence: ArrayLike, correct: ArrayLike) -> Estimate:
    """Return the mean of (confidence - correct)² with its SEM interval; confidences ``(N,)`` in 0..1, 0 is best."""
    stated, right = floats("confidence", confidence), binary("correct", correct)
    same_length(confidence=stated, correct=right)
    _check_probability(stated)
    return mean_estimate((stated - right) ** 2)


def brier_from_patterns(patterns: Patterns, probability: ArrayLike) -> Estimate:
    """Return the Brier score of items over the 2 L cells, clustered where an item has several runs."""
    stated = _probability(probability, patterns.counts.shape[1] // 2)
    loss = np.column_stack([stated**2, (stated - 1) ** 2]).ravel()
    return ratio_estimate(patterns, loss, np.ones(len(loss)))


def _table(table: ArrayLike) -> Ints:
    cells = counts("counts by level and outcome", table, 2)
    if cells.shape[0] < 1 or cells.shape[1] != 2:
        raise ValueError(f"counts have shape {cells.shape}: (levels, 2) needed, wrong before correct")
    return cells


def _probability(probability: ArrayLike, n_levels: int) -> Floats:
    stated = floats("probability", probability)
    if len(stated) != n_levels:
        raise ValueError(f"probability has {len(stated)} values for {n_levels} levels")
    _check_probability(stated)
    return stated


def _check_probability(stated: Floats) -> None:
    if stated.size and not (float(stated.min()) >= 0.0 and float(stated.max()) <= 1.0):
        raise ValueError(f"confidences {stated.min()} to {stated.max()} are outside 0..1")


def _binned(confidence: ArrayLike, correct: ArrayLike, bins: int) -> tuple[Floats, Ints, Ints]:
    stated, right = floats("confidence", confidence), binary("correct", correct)
    same_length(confidence=stated, correct=right)
    _check_probability(stated)
    edges = np.arange(1, whole("bins", bins, 1)) / bins
    return stated, right, np.searchsorted(edges, stated, side="left").astype(np.int64)
