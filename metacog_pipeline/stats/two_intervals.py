"""The difference of two estimates from their own intervals and their correlation.

Each end of the interval of a - b lies as far from it as the two ends that lead there are from a and b, the correlation
taken into account (method of variance estimates recovery: Zou & Donner 2008, *Statistics in Medicine* 27; for paired shares
with Wilson's intervals it is method 8 of Newcombe 1998, *Statistics in Medicine* 17). So the interval of a difference is as
good as those of the two, where a bootstrap of few errors is not: resamples cannot hold errors that were not made.
"""

from __future__ import annotations

import math

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.resampling.intervals import Z95


def difference(
    first: Estimate, second: Estimate, correlation: float
) -> tuple[float | None, float | None, float | None]:
    """Return the ends of the 95 % interval of ``first`` - ``second`` and the two-sided p that belongs to it.

    p (`p_of`) is below 0.05 exactly where the interval leaves out 0, and it has no floor.

    Parameters
    ----------
    first, second
        Estimates with intervals; without them there is no interval and no p.
    correlation
        Of the two estimates, -1..1: 0 where the items are not the same.

    Examples
    --------
    >>> a, b = Estimate(0.9, 0.84, 0.94, 100, "wilson"), Estimate(0.8, 0.72, 0.86, 100, "wilson")
    >>> [round(each, 3) for each in difference(a, b, 0.0)], [round(each, 3) for each in difference(a, b, 0.5)]
    ([0.015, 0.189, 0.021], [0.04, 0.169, 0.001])
    """
    ends = (first.value, first.low, first.high, second.value, second.low, second.high)
    if any(each is None for each in ends):
        return None, None, None
    a, low_a, high_a, b, low_b, high_b = (float(each) for each in ends if each is not None)
    r = min(max(correlation, -1.0), 1.0) if math.isfinite(correlation) else 0.0
    below = _together(a - low_a, high_b - b, r)
    above = _together(high_a - a, b - low_b, r)
    value = a - b
    return value - below, value + above, p_of(value, value - below, value + above)


def p_of(value: float, low: float, high: float) -> float | None:
    """Return the two-sided p that belongs to an interval: normal, with the spread it has towards 0.

    None where there is no spread.

    Parameters
    ----------
    value
        The estimate of a difference.
    low, high
        Ends of its 95 % interval.

    Examples
    --------
    >>> round(p_of(0.1, 0.0, 0.3), 3), p_of(0.0, 0.0, 0.0), p_of(0.1, 0.1, 0.1)
    (0.05, 1.0, None)
    """
    towards = value - low if value > 0 else high - value
    if towards <= 0:
        return 1.0 if value == 0 else None
    return resampling.wald_p(Z95 * value / towards)


def _together(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(one * one + other * other - 2 * correlation * one * other, 0.0))
