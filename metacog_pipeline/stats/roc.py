"""The type-2 ROC curve (Fawcett 2006, *Pattern Recognition Letters* 27) and the densities of confidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, Ints, binary, floats, same_length, whole
from metacog_pipeline.stats.auroc import area_of
from metacog_pipeline.stats.estimate import NO_ITEMS, OK

EDGES = np.linspace(0.0, 1.0, 31)  # of the densities


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
    """Two histograms over `EDGES`, each with an area of 1; zeros where there are no such items."""

    edges: Floats
    correct: Floats
    wrong: Floats
    n_correct: Ints
    n_wrong: Ints


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
    return replace(
        curve, false_alarms=curve.false_alarms[kept], hits=curve.hits[kept], threshold=curve.threshold[kept]
    )


def confidence_densities(confidence: ArrayLike, correct: ArrayLike) -> Densities:
    """Return the densities of ``confidence`` ``(N,)`` in 0..1 among ``correct`` (1) and wrong (0) items.

    >>> confidence_densities([0.2, 0.9, 0.8], [0, 1, 1]).correct[-4:]
    array([ 0., 15.,  0.,  0.])
    """
    stated, right = floats("confidence", confidence), binary("correct", correct)
    same_length(confidence=stated, correct=right)
    if stated.size and not (float(stated.min()) >= 0.0 and float(stated.max()) <= 1.0):
        raise ValueError(f"confidences {stated.min()} to {stated.max()} are outside 0..1")
    n_correct, n_wrong = (np.histogram(stated[right == side], EDGES)[0].astype(np.int64) for side in (1, 0))
    width = 1.0 / (len(EDGES) - 1)
    made = [number / (max(number.sum(), 1) * width) for number in (n_correct, n_wrong)]
    return Densities(EDGES, made[0], made[1], n_correct, n_wrong)
