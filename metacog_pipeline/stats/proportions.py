"""Means and proportions of independent items.

Sources: E. B. Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA 22,
for the interval of a proportion; the standard error is s / sqrt(n) with the n - 1 form of s, which for 0/1 data
is sqrt(p (1 - p) / (n - 1)).
"""

from __future__ import annotations

import math

import numpy as np

from metacog_pipeline.stats._arrays import Floats, whole
from metacog_pipeline.stats.estimate import NO_ITEMS, SINGLE_ITEM, Estimate, unavailable

# Half width of a 95 % interval in standard errors, to the two decimals the published tables use.
Z95 = 1.96


def sem_interval(value: float, sem: float) -> tuple[float, float]:
    """Return ``value`` ± 1.96 ``sem``, not clipped: one right of six gives 0.167 ± 0.327.

    >>> sem_interval(0.5, 0.1)
    (0.304, 0.696)
    """
    return value - Z95 * sem, value + Z95 * sem


def wilson_interval(share: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Return Wilson's score interval of a share, inside 0..1.

    Parameters
    ----------
    share
        Observed share, 0..1.
    n
        Number of independent items, above 0; an effective number need not be whole.
    z
        Half width in standard errors.

    Examples
    --------
    >>> [round(end, 4) for end in wilson_interval(0.9, 20)]
    [0.699, 0.9721]
    """
    if not 0.0 <= share <= 1.0 or not n > 0 or not math.isfinite(n):
        raise ValueError(f"no Wilson interval for share {share} of n {n}: 0 <= share <= 1 and n > 0 needed")
    low, high = wilson_ends(np.array([share]), np.array([n]), z)
    return float(low[0]), float(high[0])


def wilson_ends(share: Floats, n: Floats, z: float = Z95) -> tuple[Floats, Floats]:
    """Return the ends of `wilson_interval` of many shares, arrays of one shape."""
    z2 = z * z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # Exact ends where the algebra says so: rounding would leave 1e-17 below or above.
    low = np.where(share <= 0, 0.0, np.maximum(middle - half, 0.0))
    high = np.where(share >= 1, 1.0, np.minimum(middle + half, 1.0))
    return np.minimum(low, share), np.maximum(high, share)


def proportion(successes: int, n: int) -> Estimate:
    """Return a share with Wilson's interval and its standard error.

    Parameters
    ----------
    successes, n
        Whole numbers, 0 <= successes <= n.

    Returns
    -------
    Estimate
        Value in 0..1, method ``"wilson"``. ``n = 0``: no value, ``"no items"``; ``n = 1``: value without
        interval and standard error, ``"single item"``.

    Examples
    --------
    >>> found = proportion(9, 10)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.9, 0.596, 0.982)
    """
    n = whole("n", n)
    successes = whole("successes", successes)
    if successes > n:
        raise ValueError(f"{successes} successes among {n} items")
    if n == 0:
        return unavailable(0, "wilson", NO_ITEMS)
    share = successes / n
    if n == 1:
        return Estimate(share, None, None, 1, "wilson", SINGLE_ITEM)
    low, high = wilson_interval(share, n)
    return Estimate(share, low, high, n, "wilson", sem=math.sqrt(share * (1 - share) / (n - 1)))
