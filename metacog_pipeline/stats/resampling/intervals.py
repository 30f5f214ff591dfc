"""From draws to an interval, a standard error and a p value.

Sources: Efron & Tibshirani (1993), *An Introduction to the Bootstrap*, ch. 13 (percentiles), 10 (bias) and 16 (tests);
Davison & Hinkley (1997), *Bootstrap Methods and their Application*, eq. 4.11 (the added draw of a share).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, stdtr

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.estimate import MOSTLY_UNDEFINED, OK, Estimate

Kind = Literal["percentile", "recentred", "widened"]

LEVEL = 0.95
# Half width of a 95 % interval of a normal distribution, in standard deviations.
Z95 = 1.959963984540054


class PValue(enum.Enum):
    """What a difference is held against.

    ``NORMAL``: difference / standard deviation of the draws, against the normal distribution. ``NORMAL_WIDTH``: the same
    with the width of the percentile interval / 3.92 as standard error, which a few wild draws do not move. ``T``:
    difference / a standard error over clusters, against Student's t. ``SHARE``: twice the smaller share of draws on either
    side of 0, one draw added to it and to all, so never below 2 / (B + 1).
    """

    NORMAL = "normal"
    NORMAL_WIDTH = "normal, from the width of the interval"
    T = "t"
    SHARE = "share of resamples"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference with what its draws say about it.

    Attributes
    ----------
    value
        The difference itself, in the unit of the measure.
    low, high
        Ends of the 95 % interval, both None where most draws are undefined.
    se, statistic, p
        Standard error, value / se and two-sided p; None where there is none.
    usable, drawn
        Number of finite draws, and of all.
    """

    value: float
    low: float | None
    high: float | None
    se: float | None
    statistic: float | None
    p: float | None
    usable: int
    drawn: int

    @property
    def usable_note(self) -> str:
        """``"4000 resamples"``, and how many of them were usable where not all were."""
        few = f", {self.usable} of {self.drawn} usable" if self.usable < self.drawn else ""
        return f"{self.drawn} resamples{few}"


def interval(
    draws: Floats, value: float | None = None, kind: Kind = "percentile", level: float = LEVEL
) -> tuple[float | None, float | None]:
    """Return the interval that holds the central ``level`` share of ``draws`` ``(B,)``; NaN draws are left out.

    Parameters
    ----------
    draws
        Shape ``(B,)``, NaN where a resample has no value.
    value
        The value of the sample; needed by all kinds but ``"percentile"``.
    kind
        ``"percentile"``: the percentiles. ``"widened"``: moved out, where needed, so as to hold ``value``.
        ``"recentred"``: the draws are first moved by the difference between ``value`` and their mean and cut at 0 and 1,
        for errors that are larger in a resample than in the sample, and the ends widened.
    level
        Share of the draws inside, 0..1.

    Returns
    -------
    tuple
        Both ends None when fewer than half of the draws are defined.

    Examples
    --------
    >>> [round(end, 3) for end in interval(np.arange(101) / 100)]
    [0.025, 0.975]
    >>> [round(end, 3) for end in interval(np.arange(101) / 100, 0.99, "widened")]
    [0.025, 0.99]
    >>> interval(np.array([np.nan, np.nan, 1.0]))
    (None, None)
    """
    if kind == "recentred" and value is not None and not np.isnan(draws).all():
        draws = np.clip(draws + value - float(np.nanmean(draws)), 0.0, 1.0)
    defined = draws[~np.isnan(draws)]
    if 2 * len(defined) < max(len(draws), 1):
        return None, None
    low, high = map(float, np.quantile(defined, [(1 - level) / 2, (1 + level) / 2]))
    if kind == "percentile":
        return low, high
    if value is None:
        raise ValueError(f"an interval of kind {kind!r} needs the value")
    return min(low, value), max(high, value)


def intervals(draws: Floats, level: float = LEVEL) -> Floats:
    """Return the percentile `interval` of each row of ``draws`` ``(rows, B)``, as ``(rows, 2)``, NaN for None.

    >>> intervals(np.vstack([np.arange(101), np.full(101, np.nan)]))
    array([[ 2.5, 97.5],
           [ nan,  nan]])
    """
    ends = np.full((len(draws), 2), np.nan)
    holes = np.isnan(draws).any(axis=1)
    if not holes.all() and draws.shape[1]:
        ends[~holes] = np.quantile(draws[~holes], [(1 - level) / 2, (1 + level) / 2], axis=1).T
    for row in np.flatnonzero(holes):
        low, high = interval(draws[row], level=level)
        if low is not None and high is not None:
            ends[row] = low, high
    return ends


def from_draws(
    value: float, draws: Floats, n: int, method: str, status: str = OK, kind: Kind = "percentile"
) -> Estimate:
    """Return ``value`` with the `interval` of its draws ``(B,)`` and their standard deviation as ``sem``.

    Examples
    --------
    >>> from_draws(0.5, np.arange(101) / 100, 101, "item bootstrap").high
    0.975
    """
    low, high = interval(draws, value, kind)
    if low is None or high is None:
        return Estimate(value, None, None, n, method, MOSTLY_UNDEFINED)
    return Estimate(value, low, high, n, method, status, float(np.nanstd(draws)))


def standard_error(draws: Floats, reference: PValue = PValue.NORMAL, z: float = Z95) -> float | None:
    """Return the standard error that ``draws`` ``(B,)`` tell; None where they tell none.

    ``z`` is the half width of the interval in standard errors, where the width is what counts (`PValue.NORMAL_WIDTH`).

    >>> round(standard_error(np.arange(101.0)), 2), round(standard_error(np.arange(101.0), PValue.NORMAL_WIDTH), 2)
    (29.15, 24.24)
    """
    if reference is PValue.NORMAL_WIDTH:
        low, high = interval(draws)
        return None if low is None or high is None else (high - low) / (2 * z)
    known = draws[~np.isnan(draws)]
    if not len(known):
        return None
    # The two add in another order where draws are undefined; both are kept, digit for digit.
    return float(np.nanstd(draws)) if reference is PValue.NORMAL else float(known.std())


def p_value(
    value: float,
    draws: Floats,
    reference: PValue = PValue.NORMAL,
    *,
    se: float | None = None,
    df: int | None = None,
    tolerance: float = 0.0,
) -> float | None:
    """Return the two-sided p of a difference.

    Parameters
    ----------
    value
        The difference.
    draws
        Shape ``(B,)``: the difference in each resample, NaN where undefined. Not used by ``T``.
    reference
        What it is held against.
    se
        The standard error, where it is known already; ``T`` needs it.
    df
        Degrees of freedom of ``T``: clusters - 1.
    tolerance
        What counts as 0: draws this close count on both sides (``SHARE``), and a standard error this small leaves p 1 for
        a value as small and None for any other.

    Examples
    --------
    >>> round(p_value(1.0, np.array([0.0, 1.0, 2.0]), PValue.SHARE), 3)
    1.0
    >>> p_value(2.0, np.arange(1.0, 5000), PValue.SHARE) == 2 / 5000
    True
    >>> round(p_value(1.96, np.array([0.96, 2.96])), 3)
    0.05
    """
    if reference is PValue.SHARE:
        known = draws[np.isfinite(draws)]
        below, above = int((known <= tolerance).sum()), int((known >= -tolerance).sum())
        return min(1.0, 2 * (min(below, above) + 1) / (len(known) + 1))
    if reference is PValue.T and (se is None or df is None):
        raise ValueError("p of Student's t needs a standard error and degrees of freedom")
    error = standard_error(draws, reference) if se is None else se
    if error is None:
        return None
    if error <= tolerance:  # the same in every resample
        return 1.0 if abs(value) <= tolerance else None
    size = -abs(value / error)
    return min(1.0, 2 * float(stdtr(df, size))) if reference is PValue.T else float(2 * ndtr(size))


def difference(
    value: float,
    draws: Floats,
    reference: PValue = PValue.NORMAL,
    kind: Kind = "widened",
    *,
    z: float = Z95,
    tolerance: float = 0.0,
) -> Difference:
    """Return a difference with interval, standard error and p from its draws ``(B,)``; infinite draws count as undefined.

    The arguments are those of `interval`, `standard_error` and `p_value`. Without an interval there is no p, save that of
    ``SHARE``; nor is there a statistic where the standard error is not above ``tolerance``.

    Examples
    --------
    >>> found = difference(0.5, np.arange(101) / 100)
    >>> round(found.low, 3), found.high, round(found.p, 3), found.usable_note
    (0.025, 0.975, 0.086, '101 resamples')
    """
    draws = np.where(np.isfinite(draws), draws, np.nan)
    usable = int((~np.isnan(draws)).sum())
    low, high = interval(draws, value, kind)
    if low is None and reference is not PValue.SHARE:
        return Difference(value, None, None, None, None, None, usable, len(draws))
    se = standard_error(draws, reference, z)
    p = p_value(value, draws, reference, se=se, tolerance=tolerance)
    statistic = value / se if se is not None and se > tolerance else None
    return Difference(value, low, high, se, statistic, p, usable, len(draws))
