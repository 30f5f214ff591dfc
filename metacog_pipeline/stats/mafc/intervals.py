"""Intervals of meta-d' and of the M-ratio by profile likelihood: they stay honest where errors are few.

    l(M) = max over d' of [ C log A_m(d') + E log(1 - A_m(d')) + l_prof(M d') ]      interval {M: 2 (max l - l(M)) <= 3.84}

A side on which the likelihood never falls that far is unbounded, and says so by an infinite end. Where meta-d' itself is
at a boundary the interval has its finite side only. Coverage of 92 to 97 % from three wrong answers on; Wald's is too
wide near chance, the bootstrap's too short where errors are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.identifiability import BOUNDARY_DOWN, BOUNDARY_UP, OK
from metacog_pipeline.stats.mafc import accuracy as type1
from metacog_pipeline.stats.mafc.companions import Interval
from metacog_pipeline.stats.mafc.fit import fit, one_cell, turn
from metacog_pipeline.stats.mafc.likelihood import Problem, pack
from metacog_pipeline.stats.mafc.search import climb

DROP = 3.841458820694124 / 2  # half the 95 % point of chi-squared with one degree of freedom
LOWEST, HIGHEST, POINTS = -3.0, 5.95, 42  # of meta-d'; constant beyond
WIDTH = 4.5  # standard errors of d' that are looked at
D_POINTS = 161
LARGEST_RATIO = (
    100.0  # an interval that reaches further is unbounded: it hangs on how small a d' is looked at
)


class Cell:
    """The fit of one cell and its profile over meta-d', which both intervals read.

    Parameters
    ----------
    right, wrong
        How many right and how many wrong answers at each rating, ``(K,)`` or ``(S, K)``, by rising confidence.
    m
        How many alternatives, 2 or more.

    Examples
    --------
    >>> cell = Cell([4, 18, 26, 64, 126], [7, 8, 13, 15, 19], 4)
    >>> [round(each, 2) for found in (cell.m_ratio_interval(),) for each in (found.value, found.low, found.high)]
    [0.55, 0.28, 0.8]
    >>> [round(each, 2) for found in (cell.meta_d_interval(),) for each in (found.value, found.low, found.high)]
    [1.02, 0.53, 1.47]
    """

    def __init__(self, right: ArrayLike, wrong: ArrayLike, m: ArrayLike) -> None:
        self.right, self.wrong, self.m = one_cell(right, wrong, m)
        self.found = found = fit(self.right, self.wrong, self.m)
        self.status = str(found.status[0])
        self.d, self.se_d = float(found.d[0]), float(found.se_d[0])
        self.meta_d, self.ratio = float(found.meta_d[0]), float(found.m_ratio[0])
        self.curve: Callable[[Floats], Floats] | None = None
        if np.isfinite(found.d[0]) and not math.isnan(self.meta_d):
            self.curve = _profile_curve(pack(self.right, self.wrong, self.m))

    def m_ratio_interval(self) -> Interval:
        """Return the M-ratio with its profile interval.

        NaN throughout where meta-d' or d' does not exist; the value alone is NaN at a boundary and at chance.
        """
        if self.curve is None or not self.d > 0:
            return Interval(math.nan, math.nan, math.nan)
        share = self._type1_likelihood()

        def height(ratios: Floats) -> Floats:
            return np.asarray((share[1] + self._profile(ratios[:, None] * share[0])).max(axis=1))

        return _interval(height, self.ratio, self.status)

    def meta_d_interval(self) -> Interval:
        """Return meta-d' in m-AFC units with its profile interval."""
        if self.curve is None:
            return Interval(math.nan, math.nan, math.nan)
        return _interval(self._profile, self.meta_d, self.status, HIGHEST + 0.1)

    def _profile(self, d: Floats) -> Floats:
        assert self.curve is not None
        return self.curve(np.minimum(np.maximum(d, LOWEST), HIGHEST))

    def _type1_likelihood(self) -> tuple[Floats, Floats]:
        """Return values of d' above 0 and the likelihood of the accuracy at each."""
        low = max(self.d - WIDTH * self.se_d, 1e-3)
        d = np.linspace(low, max(self.d + WIDTH * self.se_d, 2 * low), D_POINTS)
        correct, errors = self.right.sum(axis=2)[0], self.wrong.sum(axis=2)[0]
        alternatives: Ints = self.m[0]
        with np.errstate(divide="ignore"):
            hit = np.log(type1.accuracy(d[:, None], alternatives))
            miss = np.log(type1.error_share(d[:, None], alternatives))
        return d, (correct * hit + errors * miss).sum(axis=1)


def _profile_curve(problem: Problem) -> Callable[[Floats], Floats]:
    from scipy.interpolate import CubicSpline  # late: half a second

    grid = np.linspace(LOWEST, HIGHEST, POINTS)
    copies = problem.take(np.zeros(POINTS, dtype=np.intp))
    found = climb(turn(copies, grid < 0), np.abs(grid), fixed=True)
    curve: Callable[[Floats], Floats] = CubicSpline(grid, found.slopes.value)
    return curve


def _interval(
    height: Callable[[Floats], Floats], value: float, status: str, most: float = LARGEST_RATIO
) -> Interval:
    """Return where ``height``, of many places at once, has fallen by `DROP` on either side of its maximum."""
    centre = value if math.isfinite(value) else 0.0
    reach = np.geomspace(0.01, most, 120)
    grid = np.unique(np.clip(np.concatenate([[centre], centre - reach, centre + reach]), -most, most))
    heights = height(grid)
    top = int(heights.argmax())
    level = heights[top] - DROP
    low, high = _crossings(height, grid, heights < level, top, level)
    if status == BOUNDARY_UP:
        high = math.inf
    elif status == BOUNDARY_DOWN:
        low = -math.inf
    return Interval(value if status == OK else math.nan, low, high)


def _crossings(
    height: Callable[[Floats], Floats], grid: Floats, below: NDArray[np.bool_], top: int, level: float
) -> tuple[float, float]:
    """Return where the likelihood first falls below ``level`` downwards and upwards from ``grid[top]``; infinite where
    it never does. Both are looked for in one go: a call costs as much as what it computes.
    """
    down, up = np.flatnonzero(below[:top]), np.flatnonzero(below[top:])
    ends = [-math.inf, math.inf]
    first = {side: place for side, place in ((0, down[-1:]), (1, top + up[:1])) if len(place)}
    if not first:
        return ends[0], ends[1]
    outside = grid[np.concatenate([*first.values()])]
    inside = grid[np.concatenate([place + (1, -1)[side] for side, place in first.items()])]
    for _ in range(50):
        middle = (inside + outside) / 2
        lower = height(middle) < level
        inside, outside = np.where(lower, inside, middle), np.where(lower, middle, outside)
    for side, found in zip(first, (inside + outside) / 2, strict=True):
        ends[side] = float(found)
    return ends[0], ends[1]
