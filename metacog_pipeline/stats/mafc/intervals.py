"""Measures of one cell of a choice among m with their intervals: M-ratio, meta-d', AUROC2, eta.

Profile likelihood keeps the intervals of meta-d' and of the M-ratio honest where errors are few::

    l(M) = max over d' of [ C log A_m(d') + E log(1 - A_m(d')) + l_prof(M d') ]      interval {M: 2 (max l - l(M)) <= 3.84}

A side on which the likelihood never falls that far is unbounded: its end is infinite. Coverage is 92 to 97 % from three
wrong answers on; Wald's is too wide near chance, the bootstrap's too short where errors are few.

``eta = (AUROC2 - 1/2) / (AUROC2_ideal - 1/2)`` needs no fit: the ideal observer has the same accuracy and uses every rating
as often as the respondent did (this project's form). It exists where the M-ratio does not, and saturates near accuracy 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.auroc import area_of, delong
from metacog_pipeline.stats.identifiability import BOUNDARY_DOWN, BOUNDARY_UP, OK
from metacog_pipeline.stats.intervals import scaled_score, wilson_interval
from metacog_pipeline.stats.mafc import accuracy as type1
from metacog_pipeline.stats.mafc.fit import checked, fit, one_cell, turn
from metacog_pipeline.stats.mafc.likelihood import Problem, climb, pack, shares_to_criteria
from metacog_pipeline.stats.mafc.table import table

DROP = 3.841458820694124 / 2  # half the 95 % point of chi-squared with one degree of freedom
LOWEST, HIGHEST, POINTS = -3.0, 5.95, 42  # of meta-d'; constant beyond
WIDTH = 4.5  # standard errors of d' that are looked at
D_POINTS = 161
# An interval that reaches further is unbounded: it depends on how small a d' is looked at.
LARGEST_RATIO = 100.0
_BLOCK = 1 << 14  # ratings of all strata and resamples at once: more memory is asked of the system each time


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the ends of its 95 % interval; NaN without a value, ±inf where a side is unbounded."""

    value: float
    low: float
    high: float


class Cell:
    """The fit of one cell and its profile over meta-d', which both intervals read; ``m`` alternatives, 2 to 10.

    >>> around = Cell([4, 18, 26, 64, 126], [7, 8, 13, 15, 19], 4).m_ratio_interval()
    >>> round(around.value, 2), round(around.low, 2), round(around.high, 2)
    (0.55, 0.28, 0.8)
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
        """Return the M-ratio with its profile interval; the value alone is NaN at a boundary and at chance."""
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
    below = heights < level
    low = _crossing(height, level, grid[: top + 1][::-1], below[: top + 1][::-1], -math.inf)
    high = _crossing(height, level, grid[top:], below[top:], math.inf)
    if status == BOUNDARY_UP:
        high = math.inf
    elif status == BOUNDARY_DOWN:
        low = -math.inf
    return Interval(value if status == OK else math.nan, low, high)


def _crossing(
    height: Callable[[Floats], Floats], level: float, away: Floats, below: NDArray[np.bool_], never: float
) -> float:
    """Return where the likelihood first falls below ``level`` on the way ``away`` from its maximum, or ``never``."""
    from scipy.optimize import brentq  # late: few commands need it

    if not below.any():
        return never
    first = int(below.argmax())
    return float(brentq(lambda x: float(height(np.array([x]))[0]) - level, away[first - 1], away[first]))


def auroc2(right: ArrayLike, wrong: ArrayLike) -> Floats:
    """Return the area under the type-2 ROC of counts ``(N, K)`` or ``(N, S, K)``; strata weighted by their pairs."""
    correct, errors, _ = checked(right, wrong, 2)
    area, pairs = _areas(correct, errors)
    return _weighted(area, pairs)


def auroc2_interval(right: ArrayLike, wrong: ArrayLike) -> Interval:
    """Return the area of one cell, counts ``(K,)``, with its interval (see `scaled_score`)."""
    correct, errors, _ = one_cell(right, wrong, 2)
    c, e = correct[0, 0], errors[0, 0]
    n_right, n_wrong = float(c.sum()), float(e.sum())
    if n_right == 0 or n_wrong == 0:
        return Interval(math.nan, math.nan, math.nan)
    theta = float(_areas(correct, errors)[0][0, 0])
    low, high = scaled_score(theta, n_right, n_wrong, float(delong(c, e)))
    return Interval(theta, min(float(low), theta), max(float(high), theta))


def ideal_auroc2(right: ArrayLike, wrong: ArrayLike, m: ArrayLike, d: ArrayLike) -> Floats:
    """Return AUROC2 of the ideal observer of sensitivity ``d`` ``(N,)`` that uses each rating as often as was seen."""
    correct, errors, alternatives = checked(right, wrong, m)
    sensitivity = np.asarray(d, float)
    size = max(1, _BLOCK // max(1, correct.shape[1] * correct.shape[2]))
    blocks = np.split(np.arange(len(sensitivity)), range(size, len(sensitivity), size))
    found = [_matched(correct[at], errors[at], alternatives[at], sensitivity[at]) for at in blocks]
    return np.concatenate(found)


def _matched(correct: Floats, errors: Floats, m: Ints, d: Floats) -> Floats:
    problem: Problem = pack(correct, errors, m)
    used, alternatives, real = problem.right + problem.wrong, problem.m[..., None], problem.real
    n = np.maximum(used.sum(axis=2, keepdims=True), 1e-300)
    above = np.cumsum(used[..., ::-1], axis=2)[..., ::-1][..., 1:] / n
    share = type1.accuracy(d[:, None], problem.m)[..., None]
    size = np.abs(d)[:, None, None]
    # Of a negative d the roles of right and wrong are exchanged.
    turned = np.where(d[:, None, None] < 0, 1 - share, share)
    zeta = shares_to_criteria(np.where(real, above, 0.5), turned, alternatives, size)
    lift = table().lift(alternatives, zeta, size)[0]
    area, pairs = _areas(*(_shares(np.where(real, special.ndtr(each), 0.0)) for each in (zeta + lift, zeta)))
    area = np.where(d[:, None] < 0, 1 - area, area)
    weight = problem.right.sum(axis=2) * problem.wrong.sum(axis=2)
    return _weighted(area, np.where(pairs > 0, weight, 0.0))


def _shares(above: Floats) -> Floats:
    """Return the share of each rating, rising, from the shares above each cut."""
    shape = (*above.shape[:2], 1)
    return np.asarray(-np.diff(above, axis=2, prepend=np.ones(shape), append=np.zeros(shape)))


def _areas(right: Floats, wrong: Floats) -> tuple[Floats, Floats]:
    return area_of(right, wrong), right.sum(axis=2) * wrong.sum(axis=2)


def _weighted(area: Floats, weight: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(weight > 0, area * weight, 0.0).sum(axis=1) / weight.sum(axis=1))


def eta(right: ArrayLike, wrong: ArrayLike, m: ArrayLike) -> Interval:
    """Return eta of one cell, counts ``(K,)`` or ``(S, K)``, with the MOVER interval of a ratio.

    NaN where none was wrong or right or at chance; unbounded where it may be.
    """
    correct, errors, alternatives = one_cell(right, wrong, m)
    n, n_right = float((correct + errors).sum()), float(correct.sum())
    nothing = Interval(math.nan, math.nan, math.nan)
    if n_right in (0.0, n) or pack(correct, errors, alternatives).used.max(initial=0) < 2:
        return nothing
    seen = float(auroc2(correct, errors)[0])
    x = seen - 0.5
    around = auroc2_interval(correct.sum(axis=(0, 1)), errors.sum(axis=(0, 1)))
    shift = seen - around.value  # zero but where strata are weighted
    x_low, x_high = around.low + shift - 0.5, around.high + shift - 0.5
    low_share, high_share = wilson_interval(n_right / n, n)
    chance = float(((correct + errors).sum(axis=2) / alternatives).sum() / n)
    ideals = []  # the ideal's area at the accuracy and at Wilson's limits of it
    for share in (n_right / n, low_share, high_share):
        d = _common_d(share, correct, errors, alternatives)
        ideals.append(float(_matched(correct, errors, alternatives, np.array([d]))[0]) - 0.5)
    y, y_low, y_high = ideals
    if not n_right / n > chance or y <= 0:
        return nothing
    if y_low <= 0 or low_share <= chance:
        return Interval(x / y, -math.inf, math.inf)
    return Interval(x / y, _mover(x, y, x_low, y_high, -1), _mover(x, y, x_high, y_low, 1))


def _common_d(share: float, correct: Floats, errors: Floats, m: Ints) -> float:
    """Return the d' at which all strata together are right in ``share`` of their answers."""
    from scipy.optimize import brentq  # late: few commands need it

    n = (correct + errors).sum(axis=2)[0]
    if (n > 0).sum() == 1:
        return float(type1.sensitivity(share, int(m[0, n.argmax()])))
    ends = -type1.LARGEST, type1.LARGEST
    return float(brentq(lambda d: float((n * type1.accuracy(d, m[0])).sum() / n.sum()) - share, *ends))


def _mover(x: float, y: float, x_end: float, y_end: float, sign: int) -> float:
    below = y_end * (2 * y - y_end)
    inside = (x * y) ** 2 - x_end * below * (2 * x - x_end)
    if below <= 0 or inside < 0:
        return sign * math.inf
    return (x * y + sign * math.sqrt(inside)) / below
