"""Does higher confidence go with correct answers? The area under the type-2 ROC curve.

Value: the chance that a correct answer carries more confidence than a wrong one, ties counting half (Bamber 1975).
Standard error: DeLong, DeLong & Clarke-Pearson (1988), *Biometrics* 44; with several runs per item its extension to
clusters, Obuchowski (1997), *Biometrics* 53, which equals DeLong's where every item has one run. Interval: the scaled score
interval of `intervals.scaled_score`: DeLong's own covers 39 to 95 % where errors are few, the usual case with good models.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, Ints, binary, floats, ratio, same_length
from metacog_pipeline.stats.estimate import ALL_CORRECT, ALL_WRONG, NO_ITEMS, ONE_LEVEL, Estimate, unavailable
from metacog_pipeline.stats.intervals import SCALED, scaled_score
from metacog_pipeline.stats.resampling import Patterns

TWO_LEVELS = f"{SCALED}, two levels"


def auroc_statistic(totals: Floats) -> Floats:
    """Return the area for each row of totals ``(B, 2 L)`` (level × wrong, correct); NaN where undefined.

    >>> auroc_statistic(np.array([[4.0, 1.0, 1.0, 4.0]]))
    array([0.8])
    """
    return area_of(totals[:, 1::2], totals[:, 0::2])


def area_of(right: Floats, wrong: Floats) -> Floats:
    """Return the area of counts of right and wrong answers by rising confidence, ``(..., L)``; NaN where a kind lacks."""
    # The only place that makes an area of counts; ties count one half.
    below = np.cumsum(wrong, axis=-1) - wrong
    pairs = np.asarray(right.sum(axis=-1) * wrong.sum(axis=-1))
    return ratio(np.asarray((right * (below + wrong / 2)).sum(axis=-1)), pairs)


def delong(right: Floats, wrong: Floats) -> Floats:
    """Return DeLong's variance of `area_of` for independent answers; NaN with fewer than two of a kind."""
    area = area_of(right, wrong)[..., None]
    parts = []
    for one, other, sign in ((right, wrong, 1.0), (wrong, right, -1.0)):
        n, of_other = (side.sum(axis=-1, keepdims=True) for side in (one, other))
        beats = ratio(np.cumsum(other, axis=-1) - other / 2, of_other)
        excess = beats - area if sign > 0 else (1 - beats) - area
        two = np.where(n >= 2, n * (n - 1), 0.0)[..., 0]
        parts.append(ratio(np.asarray((one * excess**2).sum(axis=-1)), two))
    return np.asarray(parts[0] + parts[1])


def influences(counts: Ints, totals: Ints) -> Floats:
    """Return how far each cluster of ``counts`` ``(clusters, 2 L)`` moves the area of ``totals`` ``(2 L,)``.

    Sums of their products are DeLong's variance and covariance, but for factors n / (n - 1); 0 where one kind lacks.

    >>> counts = np.eye(4, dtype=int)[[0, 0, 0, 1, 2, 3, 3, 3]]
    >>> influences(counts, counts.sum(axis=0)).round(3)[[0, 3]].tolist()
    [0.031, -0.094]
    """
    wrong, right = totals[0::2].astype(np.float64), totals[1::2].astype(np.float64)
    n_wrong, n_right = float(wrong.sum()), float(right.sum())
    if not n_wrong or not n_right:
        return np.zeros(len(counts))
    placement = _placements(wrong, right)
    value = float(right @ placement[1::2]) / n_right
    excess = counts * (placement - value)
    found: Floats = excess[:, 1::2].sum(axis=1) / n_right + excess[:, 0::2].sum(axis=1) / n_wrong
    return found


def _placements(wrong: Floats, right: Floats) -> Floats:
    """Return of each cell the share of wrong answers a right one beats, and of right ones that beat a wrong one."""
    placement = np.empty(2 * len(wrong))
    placement[1::2] = (np.cumsum(wrong) - wrong / 2) / wrong.sum()
    placement[0::2] = (right.sum() - np.cumsum(right) + right / 2) / right.sum()
    return placement


def auroc(confidence: ArrayLike, correct: ArrayLike, items: ArrayLike | None = None) -> Estimate:
    """Return the area of ``confidence`` ``(N,)`` on any scale and 0/1 ``correct``; ``items``: of each; None: its own.

    >>> found = auroc([0.9, 0.8, 0.8, 0.6, 0.5, 0.3], [1, 1, 0, 1, 0, 0])
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.833, 0.351, 0.977)
    """
    stated, right = floats("confidence", confidence), binary("correct", correct)
    same_length(confidence=stated, correct=right)
    levels, index = np.unique(stated, return_inverse=True)
    rows = np.arange(len(stated)) if items is None else np.asarray(items)
    same_length(confidence=stated, items=rows)
    table = np.bincount(2 * index + right, minlength=2 * len(levels))
    status = _why_not(table)
    if status is not None:
        return unavailable(len(stated), _method(table, items is not None), status)
    _, item = np.unique(rows, return_inverse=True)
    return _scored(table, item, 2 * index + right, np.ones(len(item), dtype=np.int64))


def auroc_from_patterns(patterns: Patterns) -> Estimate:
    """Return the area of items over the 2 L cells of ``patterns``, level by level, wrong before correct: 0.5 is chance.

    The method has ``", two levels"`` where no more are used and ``", clustered"`` where items have several answers. No
    standard error where fewer than two items are correct or wrong, or where the separation is perfect.

    >>> auroc_from_patterns(Patterns(np.eye(4, dtype=int), np.array([4, 1, 1, 4]))).value
    0.8
    """
    totals = patterns.totals
    status = _why_not(totals)
    if status is not None:
        clustered = bool((patterns.counts.sum(axis=1) > 1).any())
        return unavailable(int(totals.sum()), _method(totals, clustered), status)
    pattern, cell = np.nonzero(patterns.counts)
    return _scored(totals, pattern, cell, patterns.counts[pattern, cell], patterns.weights)


def _method(table: Ints, clustered: bool) -> str:
    name = TWO_LEVELS if np.count_nonzero(table[0::2] + table[1::2]) == 2 else SCALED
    return f"{name}, clustered" if clustered else name


def _why_not(table: Ints) -> str | None:
    wrong, right = int(table[0::2].sum()), int(table[1::2].sum())
    if wrong + right == 0:
        return NO_ITEMS
    if wrong == 0:
        return ALL_CORRECT
    if right == 0:
        return ALL_WRONG
    return ONE_LEVEL if int((table[0::2] + table[1::2] > 0).sum()) == 1 else None


def _scored(table: Ints, cluster: Ints, cell: Ints, number: Ints, weights: Ints | None = None) -> Estimate:
    """Return the area of long-form clusters: ``number`` observations in ``cell`` of ``cluster``, ``weights`` times."""
    wrong, right = table[0::2].astype(np.float64), table[1::2].astype(np.float64)
    n_wrong, n_right = float(wrong.sum()), float(right.sum())
    placement = _placements(wrong, right)
    value = min(1.0, float(right @ placement[1::2]) / n_right)
    size = int(cluster.max()) + 1
    weight = np.ones(size) if weights is None else weights.astype(np.float64)
    is_right = cell % 2 == 1
    clustered = bool((np.bincount(cluster, weights=number, minlength=size) > 1).any())
    excess = number * (placement[cell] - value)
    parts = []
    for side, total in ((is_right, n_right), (~is_right, n_wrong)):
        holding = float(weight @ (np.bincount(cluster, weights=number * side, minlength=size) > 0))
        parts.append((np.bincount(cluster, weights=excess * side, minlength=size) / total, holding))
    (a, i_right), (b, i_wrong) = parts
    variance = math.nan
    if i_right >= 2 and i_wrong >= 2:
        items = float(weight.sum())
        own = [n / (n - 1) * float(weight @ part**2) for part, n in parts]
        variance = max(own[0] + own[1] + 2 * items / (items - 1) * float(weight @ (a * b)), 0.0)
    low, high = map(float, scaled_score(value, i_right, i_wrong, variance))
    # Perfect separation has no spread at all: a standard error of 0 would claim too much.
    sem = None if math.isnan(variance) or value in (0.0, 1.0) else math.sqrt(variance)
    n, method = int(table.sum()), _method(table, clustered)
    return Estimate(value, min(low, value), max(high, value), n, method, sem=sem)
