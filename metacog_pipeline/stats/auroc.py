"""Does higher confidence go with correct answers? The area under the type-2 ROC curve.

Value: the chance that a correct answer carries more confidence than a wrong one, ties counting half (Bamber 1975).
Interval: DeLong, DeLong & Clarke-Pearson (1988), *Biometrics* 44; with several runs per item its extension to
clusters, Obuchowski (1997), *Biometrics* 53, which equals DeLong's where every item has one run.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, Ints, binary, floats, ratio, same_length
from metacog_pipeline.stats.estimate import ALL_CORRECT, ALL_WRONG, NO_ITEMS, ONE_LEVEL, Estimate, unavailable
from metacog_pipeline.stats.proportions import Z95
from metacog_pipeline.stats.resampling import Patterns

TOO_FEW = "fewer than two correct or two wrong items"
SEPARATED = "correct and wrong perfectly separated"


def auroc_statistic(totals: Floats) -> Floats:
    """Return the area for each row of totals ``(B, 2 L)`` (level × wrong, correct); NaN where undefined.

    >>> auroc_statistic(np.array([[4.0, 1.0, 1.0, 4.0]]))
    array([0.8])
    """
    wrong, right = totals[:, 0::2], totals[:, 1::2]
    below = np.cumsum(wrong, axis=1) - wrong
    return ratio((right * (below + wrong / 2)).sum(axis=1), right.sum(axis=1) * wrong.sum(axis=1))


def auroc(confidence: ArrayLike, correct: ArrayLike, items: ArrayLike | None = None) -> Estimate:
    """Return the area with its interval from confidences on any scale.

    Parameters
    ----------
    confidence
        Shape ``(N,)``, any finite numbers; only their order counts.
    correct
        Shape ``(N,)``, 0/1 or booleans.
    items
        Shape ``(N,)``: the item of each observation; None means one run per item.

    Examples
    --------
    >>> found = auroc([0.9, 0.8, 0.8, 0.6, 0.5, 0.3], [1, 1, 0, 1, 0, 0])
    >>> round(found.value, 3), round(found.low, 3), found.high
    (0.833, 0.456, 1.0)
    """
    stated, right = floats("confidence", confidence), binary("correct", correct)
    same_length(confidence=stated, correct=right)
    levels, index = np.unique(stated, return_inverse=True)
    rows = np.arange(len(stated)) if items is None else np.asarray(items)
    same_length(confidence=stated, items=rows)
    table = np.bincount(2 * index + right, minlength=2 * len(levels))
    status = _why_not(table)
    if status is not None:
        return unavailable(len(stated), _method(items is not None), status)
    _, item = np.unique(rows, return_inverse=True)
    return _with_interval(table, item, 2 * index + right, np.ones(len(item), dtype=np.int64))


def auroc_from_patterns(patterns: Patterns) -> Estimate:
    """Return the area of items over the 2 L cells, with DeLong's interval or its extension to clusters.

    Returns
    -------
    Estimate
        Value and interval in 0..1 (0.5: confidence says nothing), method ``"delong"`` or ``"delong, clustered"``.
        No value, with the status, where all answers are correct, all are wrong, one level alone was used or
        there are no items. A value without interval where fewer than two items are correct or wrong, or where
        the separation is perfect.

    Examples
    --------
    >>> items = Patterns(np.eye(4, dtype=int), np.array([4, 1, 1, 4]))  # level × (wrong, correct)
    >>> auroc_from_patterns(items).value
    0.8
    """
    if patterns.counts.shape[1] % 2:
        raise ValueError(f"{patterns.counts.shape[1]} cells are no levels × (wrong, correct)")
    clustered = bool((patterns.counts.sum(axis=1) > 1).any())
    status = _why_not(patterns.totals)
    if status is not None:
        return unavailable(int(patterns.totals.sum()), _method(clustered), status)
    pattern, cell = np.nonzero(patterns.counts)
    return _with_interval(patterns.totals, pattern, cell, patterns.counts[pattern, cell], patterns.weights)


def _method(clustered: bool) -> str:
    return "delong, clustered" if clustered else "delong"


def _why_not(table: Ints) -> str | None:
    wrong, right = int(table[0::2].sum()), int(table[1::2].sum())
    if wrong + right == 0:
        return NO_ITEMS
    if wrong == 0:
        return ALL_CORRECT
    if right == 0:
        return ALL_WRONG
    return ONE_LEVEL if int((table[0::2] + table[1::2] > 0).sum()) == 1 else None


def _with_interval(
    table: Ints, cluster: Ints, cell: Ints, number: Ints, weights: Ints | None = None
) -> Estimate:
    """Estimate from long-form clusters: ``number`` observations in ``cell`` of ``cluster``, ``weights`` times."""
    wrong, right = table[0::2].astype(np.float64), table[1::2].astype(np.float64)
    n_wrong, n_right = float(wrong.sum()), float(right.sum())
    # Placement of a correct answer: the share of wrong ones it beats; of a wrong one: the share that beats it.
    placement = np.empty(len(table))
    placement[1::2] = (np.cumsum(wrong) - wrong / 2) / n_wrong
    placement[0::2] = (n_right - np.cumsum(right) + right / 2) / n_right
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
    n, method = int(table.sum()), _method(clustered)
    if i_right < 2 or i_wrong < 2:
        return Estimate(value, None, None, n, method, TOO_FEW)
    items = float(weight.sum())
    variance = i_right / (i_right - 1) * float(weight @ a**2) + i_wrong / (i_wrong - 1) * float(weight @ b**2)
    variance += 2 * items / (items - 1) * float(weight @ (a * b))
    # Perfect separation has no spread at all: an interval of width 0 would claim too much.
    if value in (0.0, 1.0):
        return Estimate(value, None, None, n, method, SEPARATED)
    sem = math.sqrt(max(variance, 0.0))
    return Estimate(value, max(0.0, value - Z95 * sem), min(1.0, value + Z95 * sem), n, method, sem=sem)
