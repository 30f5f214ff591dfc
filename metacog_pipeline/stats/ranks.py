"""Average ranks and Spearman's correlation, many rows at once.

Spearman (1904), *Am. J. Psychol.* 15: Pearson's correlation of average ranks (`scipy.stats.rankdata`). Its p is that of
t = ρ sqrt((n - 2) / (1 - ρ²)) with n - 2 degrees of freedom, and never below 2 / n!, that of n values in perfect order; its
interval goes through Fisher's z (1921).

*Guarded* means: where there is nothing to rank (fewer than three pairs, or no spread) ρ is 0, p is 1, and a status says
so, where `scipy.stats.spearmanr` gives NaN. Values are ranked as the doubles they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gamma, stdtr

from metacog_pipeline.stats._arrays import Floats, Ints, Rows, floats, mean_ranks, same_length, whole
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable
from metacog_pipeline.stats.resampling import Z95

LEAST_PAIRS = 3
TOO_FEW = "fewer than three pairs"
NO_SPREAD = "no spread"
PERFECT = "all ranks agree"
# A standard deviation (of n) below this is no spread: so MEDLEY-BENCH has it, for scores of 0 to 1.
LEAST_SPREAD = 1e-10
# The same where no unit is given: of the largest value, below which equal values may differ by rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Spearman:
    """Guarded rank correlations of many rows."""

    rho: Floats
    p: Floats
    n: Ints
    status: NDArray[np.str_]


def spearman_rows(x: ArrayLike, y: ArrayLike, least: float | None = LEAST_SPREAD) -> Spearman:
    """Return the guarded correlation of each row of ``x`` ``(rows, k)`` with that of ``y``; a pair with a NaN is left out.

    ``least``: the standard deviation below which there is no spread; None: that of rounding, in any unit.

    >>> found = spearman_rows([[1, 2, 3, 4], [1, 1, 1, 1]], [[1, 3, 2, 4], [1, 2, 3, 4]])
    >>> found.rho, found.status.tolist()
    (array([0.8, 0. ]), ['ok', 'no spread'])
    """
    across, up = floats("x", x, 2, gaps=True), floats("y", y, 2, gaps=True)
    if across.shape != up.shape:
        raise ValueError(f"x has shape {across.shape} and y {up.shape}: they must be equal")
    missing = np.isnan(across) | np.isnan(up)
    sides = [np.where(missing, np.nan, side) for side in (across, up)]
    n: Ints = np.count_nonzero(~missing, axis=1)
    spread = np.logical_and(*(_has_spread(side, n, least) for side in sides))
    tested = (n >= LEAST_PAIRS) & spread
    status = np.where(n < LEAST_PAIRS, TOO_FEW, np.where(spread, OK, NO_SPREAD))
    rho, p = np.zeros(len(across)), np.ones(len(across))
    a, b = (np.nan_to_num(mean_ranks(side) - ((n + 1) / 2)[:, None]) for side in sides)
    # Divided in the order in which covariances usually are: scores rounded further on can sit on the edge of a digit.
    share = 1 / np.maximum(n - 1, 1)
    rho[tested] = ((a * b).sum(axis=1) * share)[tested]
    for each in (b, a):
        rho[tested] /= np.sqrt((each * each).sum(axis=1) * share)[tested]
    rho = np.clip(rho, -1.0, 1.0)
    p[tested] = _two_sided(rho[tested], n[tested])
    return Spearman(rho, p, n, status)


def spearman(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Return Spearman's ρ of ``x`` and ``y``, shapes ``(n,)``, with its Fisher-z interval; no value where guarded.

    >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 4]).value, 3)
    0.8
    """
    across, up = floats("x", x), floats("y", y)
    same_length(x=across, y=up)
    found = spearman_rows(across[None, :], up[None, :], least=None)
    n, status = int(found.n[0]), str(found.status[0])
    if status != OK:
        return unavailable(n, "spearman, fisher z", status)
    return fisher_interval(float(found.rho[0]), n)


def fisher_interval(rho: float, n: int) -> Estimate:
    """Return Spearman's ``rho`` of ``n`` pairs with tanh(atanh ρ ± 1.96 / sqrt(n - 3)); none below four, or where |ρ| is 1.

    >>> found = fisher_interval(0.6, 20)
    >>> round(found.low, 3), round(found.high, 3)
    (0.214, 0.824)
    """
    n, rho = whole("n", n), _checked(rho)
    method = "spearman, fisher z"
    if n < 4:
        return Estimate(rho, None, None, n, method, TOO_FEW if n < 3 else OK)
    if 1 - abs(rho) <= 1e-14:
        return Estimate(rho, None, None, n, method, PERFECT)
    z, half = math.atanh(rho), Z95 / math.sqrt(n - 3)
    return Estimate(rho, math.tanh(z - half), math.tanh(z + half), n, method)


def spearman_p(rho: float, n: int) -> float:
    """Return the two-sided p of a published ``rho`` over ``n`` pairs, 1 below three pairs.

    >>> round(spearman_p(0.6, 20), 4)
    0.0052
    """
    n, rho = whole("n", n), _checked(rho)
    return float(_two_sided(np.array([rho]), np.array([n]))[0]) if n > 2 else 1.0


def _checked(rho: float) -> float:
    if not -1.0 <= rho <= 1.0:
        raise ValueError(f"rho is {rho}, outside -1..1")
    return rho


def _has_spread(table: Floats, n: Ints, least: float | None) -> Rows:
    known = np.nan_to_num(table)
    if least is None:
        largest = np.abs(known).max(axis=1, initial=0.0, keepdims=True)
        known, least = known / np.where(largest > 0, largest, 1.0), _ROUNDING
    count = np.maximum(n, 1)
    gap = np.where(np.isnan(table), 0.0, known - (known.sum(axis=1) / count)[:, None])
    return np.asarray(np.sqrt((gap * gap).sum(axis=1) / count) >= least)


def _two_sided(rho: Floats, n: Ints) -> Floats:
    with np.errstate(divide="ignore"):
        t = np.abs(rho) * np.sqrt((n - 2) / ((1 - rho) * (1 + rho)))
    return np.asarray(np.maximum(2 * stdtr(n - 2, -t), 2 / gamma(n + 1.0)))
