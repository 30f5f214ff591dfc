"""A least-squares line through two measures of models: `scipy.stats.linregress` with an interval of the slope.

In a simple regression the p of the slope and the p of Pearson's r are one number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from metacog_pipeline.stats._arrays import Floats, floats, same_length
from metacog_pipeline.stats.estimate import OK

TOO_FEW = "fewer than three points"
NO_SPREAD_X = "no spread in x"
NO_SPREAD_Y = "no spread in y"
PERFECT = "all points on one line"
# 1 - |r| of points on one line, after rounding.
_ON_A_LINE = 1e-14


@dataclass(frozen=True, slots=True)
class Regression:
    """Least-squares line y = intercept + slope x over ``n`` points; None where ``status`` says why."""

    slope: float | None
    intercept: float | None
    slope_se: float | None  # sqrt(SSres / (n - 2) / Sxx)
    slope_low: float | None  # slope ± t(0.975, n - 2) SE
    slope_high: float | None
    r: float | None  # Pearson's
    p: float | None  # two-sided, of either
    df: int
    n: int
    status: str = OK


def regression(x: ArrayLike, y: ArrayLike) -> Regression:
    """Return the least-squares line of ``y`` on ``x``, shapes ``(n,)``, with Pearson's r.

    No line below three points or without spread in x; without spread in y the slope is 0 and there is no test.

    >>> found = regression([1, 2, 3, 4], [1, 3, 2, 4])
    >>> round(found.slope, 3), round(found.r, 3), round(found.p, 3)
    (0.8, 0.8, 0.2)
    """
    from scipy.stats import linregress  # late: it takes longer to import than all of this package

    across, up = floats("x", x), floats("y", y)
    n = same_length(x=across, y=up)
    df = max(n - 2, 0)
    if n < 3 or _flat(across):
        return Regression(None, None, None, None, None, None, None, df, n, TOO_FEW if n < 3 else NO_SPREAD_X)
    if _flat(up):
        return Regression(0.0, float(up.mean()), 0.0, 0.0, 0.0, None, None, df, n, NO_SPREAD_Y)
    found = linregress(across, up)
    slope, level, r, p, error = map(float, (*found[:4], found.stderr))
    if perfect := 1 - abs(r) <= _ON_A_LINE:
        r, p, error = float(np.sign(r)), 0.0, 0.0
    half = float(stdtrit(df, 0.975)) * error
    status = PERFECT if perfect else OK
    return Regression(slope, level, error, slope - half, slope + half, r, p, df, n, status)


def _flat(values: Floats) -> bool:
    """Whether the deviations from the mean are nothing but rounding of the mean."""
    return float(np.abs(values - values.mean()).max()) <= 1e-14 * float(np.abs(values).max())
