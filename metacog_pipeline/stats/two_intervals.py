"""The difference of two estimates from their own intervals and their correlation.

Each end of the interval of a - b lies as far from it as the two ends that lead there are from a and b, the correlation
taken into account (method of variance estimates recovery: Zou & Donner 2008, *Statistics in Medicine* 27; for paired shares
with Wilson's intervals it is method 8 of Newcombe 1998, *Statistics in Medicine* 17). So the interval of a difference is as
good as those of the two, where a bootstrap of few errors is not: resamples cannot hold errors that were not made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.resampling.intervals import Z95


def difference(
    first: Estimate, second: Estimate, correlation: float, n_items: int | None = None
) -> tuple[float | None, float | None, float | None]:
    """Return the ends of the 95 % interval of ``first`` - ``second`` and the two-sided p that belongs to it.

    p (`p_of`) is below 0.05 exactly where the interval leaves out 0, but never below what the items can give.

    Parameters
    ----------
    first, second
        Estimates with intervals; without them there is no interval and no p.
    correlation
        Of the two estimates, -1..1: 0 where the items are not the same.
    n_items
        Shared items on which the two differ, as of `p_of`.

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
    low, high = map(float, both_ends((a, low_a, high_a), (b, low_b, high_b), correlation))
    return low, high, p_of(a - b, low, high, n_items)


def both_ends(
    first: tuple[ArrayLike, ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike, ArrayLike],
    correlation: ArrayLike,
) -> tuple[Floats, Floats]:
    """Return the ends of the 95 % intervals of many differences."""
    (a, low_a, high_a), (b, low_b, high_b) = (
        tuple(np.asarray(each, dtype=np.float64) for each in side) for side in (first, second)
    )
    r = np.clip(
        np.nan_to_num(np.asarray(correlation, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0), -1, 1
    )

    def together(one: Floats, other: Floats) -> Floats:
        return np.asarray(np.sqrt(np.maximum(one * one + other * other - 2 * r * one * other, 0.0)))

    return a - b - together(a - low_a, high_b - b), a - b + together(high_a - a, b - low_b)


def p_of(value: float, low: float, high: float, n_items: int | None = None) -> float | None:
    """Return the two-sided p that belongs to an interval: normal, with the spread it has towards 0.

    At the end of a scale that spread is small and the p far smaller than the items allow: it is held at the least p of all
    their exchanges (`exact.least_p`). None where there is no spread.

    Parameters
    ----------
    value
        The estimate of a difference.
    low, high
        Ends of its 95 % interval.
    n_items
        Items whose exchange can change the difference; None: the two have no items in common.

    Examples
    --------
    >>> round(p_of(0.1, 0.0, 0.3), 3), p_of(0.0, 0.0, 0.0), p_of(0.1, 0.1, 0.1)
    (0.05, 1.0, None)
    >>> p_of(0.9, 0.8, 1.0, 13)
    0.000244140625
    """
    towards = value - low if value > 0 else high - value
    if towards <= 0:
        return 1.0 if value == 0 else None
    least = 0.0 if n_items is None else exact.least_p(n_items)
    return max(least, resampling.wald_p(Z95 * value / towards))
