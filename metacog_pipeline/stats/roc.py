"""The type-2 ROC curve, its densities, and the difference of two areas over the same items.

Sources: Fawcett (2006), *Pattern Recognition Letters* 27, for the curve; DeLong, DeLong & Clarke-Pearson (1988),
*Biometrics* 44, for correlated areas, with whole items as clusters (Obuchowski 1997, *Biometrics* 53); Zou & Donner
(2008), *Statistics in Medicine* 27, for the interval of their difference (`intervals.difference`), as DeLong's covers too
little where errors are few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.stats import intervals
from metacog_pipeline.stats._arrays import Floats, Ints, binary, floats, ratio, same_length, whole
from metacog_pipeline.stats.auroc import area_of, auroc
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, Estimate, unavailable

BINS = 30
NO_SPREAD = "the same in both"
PAIRED = "scaled score, paired"


@dataclass(frozen=True, slots=True, eq=False)
class Roc:
    """Points of a ROC curve from (0, 0) to (1, 1), shape ``(P,)`` each."""

    false_alarms: Floats
    hits: Floats
    threshold: Floats
    area: float | None
    status: str = OK


@dataclass(frozen=True, slots=True, eq=False)
class Densities:
    """Two histograms over equal bins of 0..1, each with an area of 1; zeros where there are no such items."""

    edges: Floats
    correct: Floats
    wrong: Floats
    n_correct: Ints
    n_wrong: Ints


@dataclass(frozen=True, slots=True, eq=False)
class MovedArea:
    """An area with its interval, and how much each of the ``items``, which rise, moves it; ``(items,)`` both."""

    area: Estimate
    items: NDArray[Any]
    moved: Floats


def roc_curve(confidence: ArrayLike, correct: ArrayLike) -> Roc:
    """Return the curve over all distinct values of ``confidence``; ``correct`` is 0 or 1, shapes ``(N,)``.

    >>> curve = roc_curve([0.9, 0.8, 0.8, 0.3], [1, 1, 0, 0])
    >>> curve.false_alarms, curve.hits, curve.area
    (array([0. , 0. , 0.5, 1. ]), array([0. , 0.5, 1. , 1. ]), 0.875)
    """
    stated, right = floats("confidence", confidence), binary("correct", correct)
    n = same_length(confidence=stated, correct=right)
    n_right = int(right.sum())
    if n_right in (0, n):
        status = NO_ITEMS if n == 0 else "all correct" if n_right == n else "all wrong"
        nothing = np.zeros(0)
        return Roc(nothing, nothing, nothing, None, status)
    levels, index = np.unique(stated, return_inverse=True)
    hits = np.bincount(index, weights=right, minlength=len(levels))[::-1]
    alarms = np.bincount(index, weights=1 - right, minlength=len(levels))[::-1]
    x = np.concatenate(([0.0], np.cumsum(alarms) / (n - n_right)))
    y = np.concatenate(([0.0], np.cumsum(hits) / n_right))
    area = float(area_of(hits[::-1].astype(np.float64), alarms[::-1].astype(np.float64)))
    return Roc(x, y, np.concatenate(([np.inf], levels[::-1])), min(area, 1.0))


def thinned(curve: Roc, points: int) -> Roc:
    """Return the curve with at most ``points`` of its points, spread evenly along it, both ends kept.

    >>> len(thinned(roc_curve(np.arange(50), np.arange(50) % 3 == 0), 10).hits)
    10
    """
    most = whole("points", points, 2)
    if len(curve.hits) <= most:
        return curve
    # Along the curve, so that steep and flat stretches keep their shape.
    along = curve.false_alarms + curve.hits
    kept = np.unique(np.searchsorted(along, np.linspace(0.0, along[-1], most)))
    kept[-1] = len(along) - 1
    return Roc(
        curve.false_alarms[kept], curve.hits[kept], curve.threshold[kept], curve.area, curve.status
    )  # fmt: skip


def confidence_densities(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> Densities:
    """Return the densities of ``confidence`` ``(N,)`` in 0..1 among ``correct`` (1) and wrong (0) items, in equal
    ``bins``.

    >>> confidence_densities([0.2, 0.9, 0.8], [0, 1, 1], bins=2).correct
    array([0., 2.])
    """
    stated, right = floats("confidence", confidence), binary("correct", correct)
    same_length(confidence=stated, correct=right)
    if stated.size and not (float(stated.min()) >= 0.0 and float(stated.max()) <= 1.0):
        raise ValueError(f"confidences {stated.min()} to {stated.max()} are outside 0..1")
    edges = np.linspace(0.0, 1.0, whole("bins", bins, 1) + 1)
    n_correct, n_wrong = (np.histogram(stated[right == side], edges)[0].astype(np.int64) for side in (1, 0))
    width = 1.0 / bins

    def density(number: Ints) -> Floats:
        made: Floats = np.nan_to_num(ratio(number.astype(np.float64), np.full(bins, number.sum() * width)))
        return made

    return Densities(edges, density(n_correct), density(n_wrong), n_correct, n_wrong)


def moved_area(confidence: ArrayLike, correct: ArrayLike, item: ArrayLike) -> MovedArea:
    """Return the area under the type-2 ROC and what each item makes of it, for `area_difference`.

    Of each answer, ``(N,)``: ``confidence``, ``correct`` (0/1), and which ``item`` it is to.

    >>> found = moved_area([0.9, 0.8, 0.8, 0.3], [1, 1, 0, 0], ["a", "b", "c", "d"])
    >>> found.area.value, found.moved.tolist()
    (0.875, [0.0625, -0.0625, -0.0625, 0.0625])
    """
    area = auroc(confidence, correct, item)
    items, place = np.unique(np.asarray(item), return_inverse=True)
    if area.value is None:
        return MovedArea(area, items, np.zeros(len(items)))
    each = _influence(np.asarray(confidence, dtype=np.float64), np.asarray(correct), area.value)
    moved = np.bincount(place, weights=each, minlength=len(items))
    return MovedArea(area, items, moved.astype(np.float64))


def area_difference(first: MovedArea, second: MovedArea) -> Estimate:
    """Return the ``first`` area minus the ``second``, -1..1; n is the number of items, those of both make them correlate.

    ``sem`` is DeLong's (None where no item moves either area); the 95 % interval follows from the score intervals of
    both areas and their correlation. Without a value, with the status of the area that has none.

    >>> first, second = [0.9, 0.8, 0.8, 0.6, 0.5, 0.3], [0.5, 0.8, 0.6, 0.6, 0.5, 0.3]
    >>> areas = [moved_area(each, [1, 1, 0, 1, 0, 0], range(6)) for each in (first, second)]
    >>> round(area_difference(*areas).value, 3)
    0.056
    """
    items = first.items
    influences = [first.moved, second.moved]
    if not np.array_equal(items, second.items):
        items = np.union1d(items, second.items)
        influences = [np.zeros(len(items)) for _ in influences]
        for influence, side in zip(influences, (first, second), strict=True):
            influence[np.searchsorted(items, side.items)] = side.moved
    for side in (first, second):
        if side.area.value is None:
            return unavailable(len(items), PAIRED, side.area.status)
    n, value = len(items), float(first.area.value or 0.0) - float(second.area.value or 0.0)
    if n < 2:
        return Estimate(value, None, None, n, PAIRED, "single item")
    moved = influences[0] - influences[1]
    sem = math.sqrt(n / (n - 1) * float(moved @ moved))
    if sem <= 1e-12 and abs(value) <= 1e-12:
        return Estimate(value, None, None, n, PAIRED, NO_SPREAD)
    spread = math.sqrt(float(influences[0] @ influences[0]) * float(influences[1] @ influences[1]))
    together = float(influences[0] @ influences[1]) / spread if spread > 0 else 0.0
    low, high, _ = intervals.difference(first.area, second.area, together)
    # Areas of 0 and of 1 have no influence of any item; their own intervals still show how sure they are.
    return Estimate(value, low, high, n, PAIRED, sem=sem if sem > 1e-12 else None)


def _influence(confidence: Floats, correct: Ints, area: float) -> Floats:
    """Return how much each observation moves the area: its placement less the area, over the number of its kind."""
    levels, index = np.unique(confidence, return_inverse=True)
    right = np.bincount(index, weights=correct, minlength=len(levels))
    wrong = np.bincount(index, weights=1 - correct, minlength=len(levels))
    beaten = (np.cumsum(wrong) - wrong / 2) / wrong.sum()
    beating = 1 - (np.cumsum(right) - right / 2) / right.sum()
    made: Floats = np.where(
        correct == 1, (beaten[index] - area) / right.sum(), (beating[index] - area) / wrong.sum()
    )
    return made
