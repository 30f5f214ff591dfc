"""Two measures across models: Pearson's r, a straight line, and the same without named outliers.

Sources: Pearson (1896); R. A. Fisher (1921), *Metron* 1, for the interval of r through z = atanh r with standard error
1 / sqrt(n - 3). In a simple regression the p of the slope and the p of r are one number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from metacog_pipeline.stats._arrays import LARGEST, Floats, floats, same_length, whole
from metacog_pipeline.stats.anova import two_sided_t
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.stats.proportions import Z95

TOO_FEW = "fewer than three points"
NO_SPREAD_X = "no spread in x"
NO_SPREAD_Y = "no spread in y"
PERFECT = "all points on one line"
# 1 - |r| of points on one line, after rounding.
_ON_A_LINE = 1e-14


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's r over ``n`` points.

    Attributes
    ----------
    r
        -1..1, or None with the reason in ``status``.
    t, df, p
        t = r sqrt(n - 2) / sqrt(1 - r²), its degrees of freedom n - 2, and the two-tailed p.
    low, high
        95 % interval through Fisher's z; None below four points or where the points lie on one line.
    """

    r: float | None
    low: float | None
    high: float | None
    t: float | None
    df: int
    p: float | None
    n: int
    status: str = OK


@dataclass(frozen=True, slots=True)
class Regression:
    """Least-squares line y = intercept + slope x over ``n`` points.

    Attributes
    ----------
    slope, intercept
        Units of y per unit of x, and units of y.
    slope_se, intercept_se
        sqrt(SSres / (n - 2) / Sxx), and the same for the intercept.
    slope_low, slope_high
        slope ± t(0.975, n - 2) SE.
    p
        Two-tailed p of the slope: the same number as ``correlation.p``.
    """

    slope: float | None
    intercept: float | None
    slope_se: float | None
    slope_low: float | None
    slope_high: float | None
    intercept_se: float | None
    p: float | None
    df: int
    n: int
    correlation: Correlation
    status: str = OK


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A point left out on purpose: its position and why."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class WithAndWithout:
    """The line over all points, and over those that remain after the exclusions."""

    with_all: Regression
    without: Regression
    excluded: tuple[Exclusion, ...]


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Return Pearson's r of ``x`` and ``y``, shapes ``(n,)``.

    >>> round(pearson([1, 2, 3, 4], [1, 2, 2, 4]).r, 3)
    0.923
    """
    return regression(x, y).correlation


def pearson_from_r(r: float, n: int) -> Correlation:
    """Return t, p and interval of a published r over n points.

    >>> found = pearson_from_r(0.5, 30)
    >>> round(found.t, 2), round(found.p, 4), round(found.low, 2), round(found.high, 2)
    (3.06, 0.0049, 0.17, 0.73)
    """
    n = whole("n", n)
    if not -1.0 <= r <= 1.0:
        raise ValueError(f"r is {r}, outside -1..1")
    if n < 3:
        return _no_correlation(n, TOO_FEW)
    df = n - 2
    if 1 - abs(r) <= _ON_A_LINE:
        return Correlation(math.copysign(1.0, r), None, None, None, df, 0.0, n, PERFECT)
    t = r * math.sqrt(df) / math.sqrt((1 - r) * (1 + r))
    p = two_sided_t(t, df)
    if n == 3:
        return Correlation(r, None, None, t, df, p, n)
    z, half = math.atanh(r), Z95 / math.sqrt(n - 3)
    return Correlation(r, math.tanh(z - half), math.tanh(z + half), t, df, p, n)


def regression(x: ArrayLike, y: ArrayLike) -> Regression:
    """Return the least-squares line of ``y`` on ``x``, shapes ``(n,)``, with Pearson's r.

    >>> found = regression([1, 2, 3, 4], [1, 2, 2, 4])
    >>> round(found.slope, 3), round(found.slope_se, 3), round(found.p, 3)
    (0.9, 0.265, 0.077)
    """
    across, up = floats("x", x), floats("y", y)
    n = same_length(x=across, y=up)
    if n < 3:
        return _no_line(n, TOO_FEW)
    dx, dy = across - across.mean(), up - up.mean()
    # Scaled to a largest deviation of 1, so that squares neither overflow nor vanish.
    wide, tall = float(np.abs(dx).max()), float(np.abs(dy).max())
    if _flat(across, wide):
        return _no_line(n, NO_SPREAD_X)
    if _flat(up, tall):
        return _flat_line(float(up.mean()), n)
    dx, dy = dx / wide, dy / tall
    sxx, syy, sxy = float(dx @ dx), float(dy @ dy), float(dx @ dy)
    r = max(-1.0, min(1.0, sxy / math.sqrt(sxx * syy)))
    correlation = pearson_from_r(r, n)
    unit = tall / wide
    slope = sxy / sxx * unit
    intercept = float(up.mean()) - slope * float(across.mean())
    residual = dy - sxy / sxx * dx
    perfect = correlation.status == PERFECT
    variance = 0.0 if perfect else float(residual @ residual) / (n - 2)
    slope_se = math.sqrt(variance / sxx) * unit
    centre = float(across.mean()) / wide
    intercept_se = math.sqrt(variance * (1 / n + centre * centre / sxx)) * tall
    half = float(stdtrit(n - 2, 0.975)) * slope_se
    p = 0.0 if perfect or slope_se == 0 else two_sided_t(slope / slope_se, n - 2)
    return Regression(
        slope, intercept, slope_se, slope - half, slope + half, intercept_se, p, n - 2, n, correlation,
        correlation.status,
    )  # fmt: skip


def slope_interval(slope: float, r: float, n: int) -> tuple[float, float] | None:
    """Return the 95 % interval a slope must have, given r and n points: SE = |slope / r| sqrt((1 - r²) / (n - 2)).

    A published interval that differs cannot come from a simple regression over n points. None where r is 0 or
    there are fewer than three points.

    >>> [round(end, 3) for end in slope_interval(0.9, 0.5, 30)]
    [0.297, 1.503]
    """
    if whole("n", n) < 3 or r == 0:
        return None
    if not -1.0 <= r <= 1.0 or not math.isfinite(slope):
        raise ValueError(f"slope {slope} must be finite and r {r} within -1..1")
    half = float(stdtrit(n - 2, 0.975)) * abs(slope / r) * math.sqrt((1 - r) * (1 + r) / (n - 2))
    return slope - half, slope + half


def with_and_without(x: ArrayLike, y: ArrayLike, exclusions: Mapping[int, str]) -> WithAndWithout:
    """Return the line with all points and without those named in ``exclusions`` (position -> reason).

    Parameters
    ----------
    x, y
        Finite numbers, shapes ``(n,)``.

    Examples
    --------
    >>> both = with_and_without([1, 2, 3, 9], [1, 2, 3, 0], {3: "another language"})
    >>> round(both.with_all.slope, 2), round(both.without.slope, 2)
    (-0.22, 1.0)
    """
    across, up = floats("x", x), floats("y", y)
    n = same_length(x=across, y=up)
    for index, reason in exclusions.items():
        if not 0 <= whole("position", index) < n:
            raise ValueError(f"excluded position {index} is none of the {n} points")
        if not reason.strip():
            raise ValueError(f"position {index} is excluded without a reason")
    kept = np.array([i for i in range(n) if i not in exclusions], dtype=np.int64)
    listed = tuple(Exclusion(i, exclusions[i]) for i in sorted(exclusions))
    return WithAndWithout(regression(across, up), regression(across[kept], up[kept]), listed)


def _flat(values: Floats, largest_deviation: float) -> bool:
    """Say whether the deviations from the mean are nothing but rounding of the mean, or too small to divide by."""
    return largest_deviation <= max(1e-14 * float(np.abs(values).max()), 1 / LARGEST)


def _no_correlation(n: int, status: str) -> Correlation:
    return Correlation(None, None, None, None, max(n - 2, 0), None, n, status)


def _no_line(n: int, status: str) -> Regression:
    nothing = _no_correlation(n, status)
    return Regression(None, None, None, None, None, None, None, max(n - 2, 0), n, nothing, status)


def _flat_line(level: float, n: int) -> Regression:
    """Return the horizontal line: a slope of 0, but no r and no test."""
    nothing = _no_correlation(n, NO_SPREAD_Y)
    return Regression(0.0, level, 0.0, 0.0, 0.0, 0.0, None, n - 2, n, nothing, NO_SPREAD_Y)
