"""How many trials does it take to distinguish two M-ratios? By the normal approximation.

Two unbiased observers of one d′ (`stats.observers`) use each rating equally often with either answer, are measured as real
data would be (maximum likelihood on padded counts) and are compared by a two-sided Z.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.metad import fit_metad
from metacog_pipeline.stats.observers import expected_counts

LEAST_TRIALS = 20
ALPHA = 0.05
_MANY = 1_000_000


def approximate_trials(
    d: float, m_ratio: float, delta: float, *, ratings: int = 5, power: float = 0.8
) -> int | None:
    """Return the trials per observer to distinguish M-ratios ``m_ratio`` and ``m_ratio`` + ``delta`` with ``power``.

    At least 20; None where expected counts have no estimate. ``d`` is -5..5 but 0, |M d| up to 8, ``ratings`` 2..20,
    ``power`` above 0.05 and up to 0.99. The error is taken to fall with √trials.

    >>> approximate_trials(1.5, 0.8, 0.1)
    15616
    """
    if delta == 0:
        raise ValueError("the difference in M-ratio is 0: there is nothing to detect")
    if not ALPHA < power <= 0.99:
        raise ValueError(f"power is {power:g}: above {ALPHA:g} and up to 0.99 is needed")
    ratios = (m_ratio, m_ratio + delta)
    if not (0 < abs(d) <= 5 and max(map(abs, ratios)) * abs(d) <= 8 and 2 <= ratings <= 20):
        raise ValueError(f"d {d:g}, M {ratios}, {ratings} ratings: |d| up to 5 but 0, |M d| up to 8, 2 to 20")
    tables = [expected_counts(d, each, 0.0, *criteria(d, each, ratings), _MANY) for each in ratios]
    total = sum(float(measured(table)[1][0]) ** 2 for table in tables)
    if not (math.isfinite(total) and total > 0):
        return None
    wanted = float(ndtri(power) - ndtri(ALPHA / 2))
    return max(int(_MANY * total * (wanted / delta) ** 2), LEAST_TRIALS)


def criteria(d: float, m_ratio: float, ratings: int) -> tuple[Floats, Floats]:
    """Return the confidence criteria below and above meta-c = 0 that use each rating equally often."""
    from scipy.optimize import brentq  # late: few commands need it

    means = np.array([-0.5, 0.5]) * m_ratio * d
    share = ndtr(np.array([-0.5, 0.5]) * d)

    def beyond(distance: float, level: float) -> float:
        return float(share @ (ndtr(means - distance) / ndtr(means))) - level

    levels = [1 - j / ratings for j in range(1, ratings)]
    above = np.array([brentq(beyond, 0.0, 60.0, args=(level,)) for level in levels])
    return -above[::-1], above


def measured(table: Counts) -> tuple[Floats, Floats]:
    """Return the M-ratio of each cell and its standard error, NaN where there is none."""
    fit = fit_metad(table, padding=1 / (2 * table.ratings))
    shown = np.array([not why for why in fit.withheld])
    return np.where(shown, fit.m_ratio, np.nan), np.where(shown, fit.se_m_ratio, np.nan)
