"""Average ranks and Spearman's correlation, many rows at once.

Spearman (1904), *Am. J. Psychol.* 15: Pearson's correlation of average ranks. Its p is that of t = ρ sqrt((n - 2) /
(1 - ρ²)) with n - 2 degrees of freedom, and never below 2 / n!, that of n values in perfect order; its interval goes
through Fisher's z (1921).

*Guarded* means: where there is nothing to rank (fewer than three pairs, or no spread) ρ is 0, p is 1, and a status says
so. Values are ranked as the doubles they are: 0.55 - 0.35 and 0.35 - 0.15 do not tie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gamma, stdtr

from metacog_pipeline.stats._arrays import Floats, Ints, floats, same_length, whole
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable
from metacog_pipeline.stats.proportions import Z95

LEAST_PAIRS = 3
TOO_FEW = "fewer than three pairs"
NO_SPREAD = "no spread"
PERFECT = "all ranks agree"
# A standard deviation (of n) below this is no spread: so MEDLEY-BENCH has it, for scores of 0 to 1.
LEAST_SPREAD = 1e-10
# The same where no unit is given: of the largest value, below which equal values may differ by rounding.
_ROUNDING = 1e-12

Strings = NDArray[np.str_]


@dataclass(frozen=True, slots=True, eq=False)
class Spearman:
    """Guarded rank correlations of many rows.

    Attributes
    ----------
    rho
        Shape ``(rows,)``, -1..1; 0 where the guard holds.
    p
        Shape ``(rows,)``, two-sided; 1 where the guard holds.
    n
        Shape ``(rows,)``: pairs with both values.
    status
        Shape ``(rows,)``: ``"ok"``, ``"fewer than three pairs"`` or ``"no spread"``.
    """

    rho: Floats
    p: Floats
    n: Ints
    status: Strings


def average_ranks(values: ArrayLike) -> Floats:
    """Return the ranks of each row of ``values`` ``(rows, k)``, 1 = smallest, ties sharing their mean rank.

    NaN means "no value": it gets the rank NaN and moves no other. Infinite values are a ValueError.

    >>> average_ranks([[0.3, 0.1, 0.3, np.nan]])
    array([[2.5, 1. , 2.5, nan]])
    """
    table = floats("values", values, 2, gaps=True)
    size = table.shape[1]
    order = np.argsort(table, axis=1)  # NaN at the end
    ordered = np.take_along_axis(table, order, axis=1)
    other = ordered[:, 1:] != ordered[:, :-1]
    first, last = np.zeros(table.shape), np.full(table.shape, float(size - 1))
    first[:, 1:] = np.where(other, np.arange(1, size), 0)
    last[:, :-1] = np.where(other, np.arange(size - 1), size - 1)
    first = np.maximum.accumulate(first, axis=1)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(table.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return np.where(np.isnan(table), np.nan, ranks)


def spearman_rows(x: ArrayLike, y: ArrayLike, least: float | None = LEAST_SPREAD) -> Spearman:
    """Return the guarded Spearman correlation of each row of ``x`` with the same row of ``y``.

    Parameters
    ----------
    x, y
        Shape ``(rows, k)``; a pair with a NaN in either is left out.
    least
        The standard deviation below which there is no spread; None: that of rounding, whatever the unit of the values.

    Examples
    --------
    >>> found = spearman_rows([[1, 2, 3, 4], [1, 1, 1, 1]], [[1, 3, 2, 4], [1, 2, 3, 4]])
    >>> found.rho, found.status.tolist()
    (array([0.8, 0. ]), ['ok', 'no spread'])
    """
    across, up = floats("x", x, 2, gaps=True), floats("y", y, 2, gaps=True)
    if across.shape != up.shape:
        raise ValueError(f"x has shape {across.shape} and y {up.shape}: they must be equal")
    rho, one, other = _rho(across, up, least)
    enough, spread = one.n >= LEAST_PAIRS, one.spread & other.spread
    status = np.full(len(across), OK, dtype="<U22")
    status[~spread] = NO_SPREAD
    status[~enough] = TOO_FEW
    p = np.ones(len(across))
    tested = enough & spread
    p[tested] = _two_sided(rho[tested], one.n[tested])
    return Spearman(rho, p, one.n, status)


def guarded_rho(x: Floats, y: Floats) -> Floats:
    """Return only ρ of `spearman_rows`, for arrays known to be floats of equal shape ``(rows, k)``."""
    return _rho(x, y, LEAST_SPREAD)[0]


def spearman(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Return Spearman's ρ of ``x`` and ``y``, shapes ``(n,)``, with its Fisher-z interval; no value where guarded.

    Only the order of the values counts, in any unit.

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
    """Return ρ with tanh(atanh ρ ± 1.96 / sqrt(n - 3)).

    No interval below four pairs, nor where |ρ| is 1.

    Parameters
    ----------
    rho
        Spearman's correlation, -1..1.
    n
        How many pairs.

    Examples
    --------
    >>> found = fisher_interval(0.6, 20)
    >>> round(found.low, 3), round(found.high, 3)
    (0.214, 0.824)
    """
    n = whole("n", n)
    if not -1.0 <= rho <= 1.0:
        raise ValueError(f"rho is {rho}, outside -1..1")
    method = "spearman, fisher z"
    if n < 4:
        return Estimate(rho, None, None, n, method, TOO_FEW if n < 3 else OK)
    if 1 - abs(rho) <= 1e-14:
        return Estimate(rho, None, None, n, method, PERFECT)
    z, half = math.atanh(rho), Z95 / math.sqrt(n - 3)
    return Estimate(rho, math.tanh(z - half), math.tanh(z + half), n, method)


def spearman_p(rho: float, n: int) -> float:
    """Return the two-sided p of a published ρ over ``n`` pairs, 1 below three pairs.

    Parameters
    ----------
    rho
        Spearman's correlation, -1..1.
    n
        How many pairs.

    Examples
    --------
    >>> round(spearman_p(0.6, 20), 4)
    0.0052
    """
    n = whole("n", n)
    if not -1.0 <= rho <= 1.0:
        raise ValueError(f"rho is {rho}, outside -1..1")
    return float(_two_sided(np.array([rho]), np.array([n]))[0]) if n > 2 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Rows of values as ranks, made once for all that they are correlated with.

    Attributes
    ----------
    centred
        Shape ``(rows, k)``: average ranks less their mean, 0 where there is no value.
    deviation
        Shape ``(rows,)``: the standard deviation of the ranks.
    n
        Shape ``(rows,)``: values.
    spread
        Shape ``(rows,)``: whether they differ by more than rounding.
    """

    centred: Floats
    deviation: Floats
    n: Ints
    spread: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class RankedDraws(Ranked):
    """Ranks of resamples: ``centred`` has shape ``(respondents, draws)``, ``n`` ``(1,)``, the others ``(draws,)``.

    Attributes
    ----------
    weighted
        ``centred`` times how often each respondent was drawn.
    varied
        Shape ``(draws,)``: whether the values differ at all.
    """

    weighted: Floats
    varied: NDArray[np.bool_]


def ranked_draws(values: Floats, often: Floats) -> RankedDraws:
    """Return the ranks of resamples without sorting any: whoever is drawn twice takes two places of one order.

    Parameters
    ----------
    values
        Shape ``(respondents,)``, finite.
    often
        Shape ``(respondents, draws)``: how often each of them was drawn.

    Examples
    --------
    >>> ranked_draws(np.array([0.3, 0.1, 0.2]), np.array([[1.0], [2.0], [0.0]])).centred.ravel()
    array([ 1. , -0.5,  0.5])
    """
    distinct, first, place = np.unique(values, return_index=True, return_inverse=True)
    drawn = often[first]
    if len(distinct) < len(values):
        order = np.argsort(place, kind="stable")
        drawn = np.add.reduceat(often[order], np.searchsorted(place[order], np.arange(len(distinct))))
    n = often[:, :1].sum(axis=0).astype(np.int64)
    centred = (drawn.cumsum(axis=0) - (drawn + n) / 2)[place]
    weighted = often * centred
    deviation = np.sqrt((weighted * centred).sum(axis=0) * _share(n))
    varied = (drawn < n).all(axis=0)
    spread = varied if _far_apart(distinct, len(values)) else _drawn_spread(values[:, None], often, n)
    return RankedDraws(centred, deviation, n, spread, weighted, varied)


def rho_of_draws(one: RankedDraws, other: RankedDraws) -> Floats:
    """Return the guarded ρ of each resample, shape ``(draws,)``.

    Parameters
    ----------
    one, other
        Ranks of the same resamples, of `ranked_draws`.

    Examples
    --------
    >>> first, second = (ranked_draws(np.array(each), np.ones((4, 1))) for each in ([1.0, 2, 3, 4], [1.0, 3, 2, 4]))
    >>> rho_of_draws(first, second)
    array([0.8])
    """
    return _guarded((one.weighted * other.centred).sum(axis=0), one, other)


def _guarded(products: Floats, one: Ranked, other: Ranked) -> Floats:
    """Return the guarded ρ of sums of products of ranks, which are changed."""
    told = (one.n >= LEAST_PAIRS) & one.spread & other.spread
    # Sums of products of half ranks are exact; the rest is divided in the order in which covariances usually are, because
    # scores rounded further on can sit on the edge of a digit.
    rho: Floats = products * _share(one.n)
    for each in (other, one):
        np.divide(rho, each.deviation, out=rho, where=told)
    rho[~told] = 0.0
    return np.clip(rho, -1.0, 1.0)


def _rho(x: Floats, y: Floats, least: float | None) -> tuple[Floats, Ranked, Ranked]:
    missing = np.isnan(x) | np.isnan(y)
    if missing.any():
        x, y = np.where(missing, np.nan, x), np.where(missing, np.nan, y)
    one, other = _ranked(x, missing, least), _ranked(y, missing, least)
    return _guarded((one.centred * other.centred).sum(axis=1), one, other), one, other


def _ranked(values: Floats, missing: NDArray[np.bool_], least: float | None) -> Ranked:
    n: Ints = values.shape[1] - np.count_nonzero(missing, axis=1)
    middle = ((n + 1) / 2)[:, None]  # the mean of average ranks
    centred = np.where(missing, 0.0, average_ranks(values) - middle)
    deviation = np.sqrt((centred * centred).sum(axis=1) * _share(n))
    return Ranked(centred, deviation, n, _has_spread(values, missing, n, least))


def _share(n: Ints) -> Floats:
    share: Floats = 1 / np.maximum(n - 1, 1)
    return share


def _has_spread(
    values: Floats, missing: NDArray[np.bool_], n: Ints, least: float | None
) -> NDArray[np.bool_]:
    known = np.where(missing, 0.0, values)
    if least is None:
        largest = np.abs(known).max(axis=1, initial=0.0, keepdims=True)
        known, least = known / np.where(largest > 0, largest, 1.0), _ROUNDING
    count = np.maximum(n, 1)
    gap = np.where(missing, 0.0, known - (known.sum(axis=1) / count)[:, None])
    spread: NDArray[np.bool_] = np.sqrt((gap * gap).sum(axis=1) / count) >= least
    return spread


def _far_apart(distinct: Floats, n: int) -> bool:
    """Whether any two of ``n`` rising numbers have spread, even where one is drawn once and the other n - 1 times."""
    largest = max(abs(float(distinct[0])), abs(float(distinct[-1])))
    return bool(np.diff(distinct).min(initial=np.inf) > 10 * _ROUNDING * largest * n)


def _drawn_spread(values: Floats, often: Floats, n: Ints) -> NDArray[np.bool_]:
    """Return `_has_spread` of resamples of ``values`` ``(respondents, 1)``, beyond rounding."""
    largest = np.where(often > 0, np.abs(values), 0.0).max(axis=0, initial=0.0)
    known = values / np.where(largest > 0, largest, 1.0)
    gap = known - (often * known).sum(axis=0) / n
    spread: NDArray[np.bool_] = np.sqrt((often * gap * gap).sum(axis=0) / n) >= _ROUNDING
    return spread


def _two_sided(rho: Floats, n: Ints | NDArray[np.int64]) -> Floats:
    df = n - 2
    rest = (1 - rho) * (1 + rho)
    p = np.zeros(len(rho))
    loose = rest > 0
    t = np.abs(rho[loose]) * np.sqrt(df[loose] / rest[loose])
    p[loose] = 2 * stdtr(df[loose], -t)
    return np.asarray(np.maximum(p, 2 / gamma(n + 1.0)))
