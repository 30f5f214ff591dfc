"""The claim of the paper's title: whether scores grow with size, within families, and one of them more than another.

A slope is that of a score on log10 of the parameters (billions, in total), with a level of its own for each family: what a
tenfold size adds among models of one maker. Its interval is Student's t over the models. The slope of a difference of two
scores is the difference of their slopes, with the interval that pairs them by model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from metacog_pipeline.benchmark.contract import Comparison
from metacog_pipeline.benchmarks.medley.rule_based.panel import Floats

FAMILY = "size_slope"
DIFFERENCE = "evaluation - control"
TOO_FEW = "two families of two sizes are needed, or three models of one"
SAME_SIZE = 1e-9  # difference of log10 below which two sizes are one
_METHOD = "level per family, Student's t over models"


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope within groups: ``df`` degrees of freedom, ``n`` points and ``groups`` that have more than one size."""

    value: float
    low: float
    high: float
    se: float
    p: float
    n: int
    groups: int


def within_slope(size: ArrayLike, score: ArrayLike, groups: Sequence[str]) -> Slope | None:
    """Return the common slope of ``score`` on ``size`` with a level per group; None where it has no interval.

    Points without a size or a score, and groups left with one size, say nothing of a slope within groups.
    """
    x, y = np.asarray(size, dtype=np.float64), np.asarray(score, dtype=np.float64)
    known = np.isfinite(x) & np.isfinite(y)
    kept = [
        rows
        for name in dict.fromkeys(groups)
        if len(rows := np.array([i for i, each in enumerate(groups) if each == name and known[i]], dtype=int))
        > 1
        and np.ptp(x[rows]) > SAME_SIZE
    ]
    n = sum(map(len, kept))
    df = n - len(kept) - 1
    if df < 1:
        return None
    dx = np.concatenate([x[rows] - x[rows].mean() for rows in kept])
    dy = np.concatenate([y[rows] - y[rows].mean() for rows in kept])
    spread = float(dx @ dx)
    value = float(dx @ dy) / spread
    rest = dy - value * dx
    se = float(np.sqrt(rest @ rest / df / spread))
    half = float(stdtrit(df, 0.975)) * se
    p = float(2 * stdtr(df, -abs(value) / se)) if se > 0 else (1.0 if value == 0 else 0.0)
    return Slope(value, value - half, value + half, se, p, n, len(kept))


def slopes(size: Floats, scores: Mapping[str, Floats], groups: Sequence[str]) -> dict[str, Slope | None]:
    """Return the slope of every score, and of evaluation minus control."""
    found = {name: within_slope(size, values, groups) for name, values in scores.items()}
    found[DIFFERENCE] = within_slope(size, scores["evaluation"] - scores["control"], groups)
    return found


def rows(
    base: Comparison, size: Floats, scores: Mapping[str, Floats], groups: Sequence[str]
) -> Iterator[Comparison]:
    """Yield a row per score: by how much a tenfold size raises it within families."""
    for name, found in slopes(size, scores, groups).items():
        row = replace(base, family=FAMILY, measure=name, a="log10 of params_b")
        if found is None:
            yield replace(row, n=int(np.isfinite(size).sum()), status=TOO_FEW)
            continue
        yield replace(
            row, value=found.value, se=found.se, low=found.low, high=found.high, p=found.p, n=found.n,
            note=f"{found.groups} families; {_METHOD}",
        )  # fmt: skip


def same_direction(
    series: Sequence[str], place: ArrayLike, first: ArrayLike, second: ArrayLike
) -> tuple[int, int]:
    """Return in how many series two scores change the same way from the smallest to the largest, and how many there are."""
    order, one, other = (np.asarray(each, dtype=np.float64) for each in (place, first, second))
    same = total = 0
    for name in dict.fromkeys(each for each in series if each):
        own = [i for i, each in enumerate(series) if each == name]
        low, high = min(own, key=lambda i: order[i]), max(own, key=lambda i: order[i])
        if low != high:
            total += 1
            same += bool(np.sign(one[high] - one[low]) == np.sign(other[high] - other[low]))
    return same, total
