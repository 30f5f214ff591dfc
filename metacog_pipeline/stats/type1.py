"""Sensitivity and criterion of a binary task: d', c, c', ln beta, with their variances.

Sources: Macmillan & Creelman (2005), *Detection Theory*, chapters 1-3 for the measures and for unequal variances
(d_a); Gourevitch & Galanter (1967), *Psychometrika* 32, for the delta-method variances, the two rates being independent
binomials. With z the standard normal quantile, zH = z(hit rate), zF = z(false-alarm rate) and s = sd(S1) / sd(S2),
S1 ~ N(-d/2, 1) and S2 ~ N(d/2, 1/s)::

    d = zH / s - zF        c = -(zH + zF) / (1 + s)        c' = c / d        ln beta = ln s + (zF² - zH²) / 2
    d_a = sqrt(2 / (1 + s²)) s d

At s = 1 these are d' = zH - zF, c = -(zH + zF) / 2 and ln beta = c d'. c below 0: S2 is said too often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from metacog_pipeline.stats._arrays import Floats, Rows, floats
from metacog_pipeline.stats.counts import Counts, check_correction, corrected_rate
from metacog_pipeline.stats.estimate import Estimate, of_numbers
from metacog_pipeline.stats.intervals import both_ends
from metacog_pipeline.stats.resampling import Z95

STATUSES = {
    "ok": "",
    "no_trials": "no trials",
    "no_s1_trials": "no trials with stimulus S1",
    "no_s2_trials": "no trials with stimulus S2",
    "undefined": "both rates are 0, or both are 1: d' has no value",
    "infinite": "a rate is 0 or 1: z is infinite",
    "zero_dprime": "d' is 0: c' has no finite value",
    "undefined_slope": "the ratio s of standard deviations is undefined",
}
Texts = NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Type1:
    """Type-1 measures of many cells; every array has shape ``(cells,)``."""

    hit_rate: Floats  # corrected; NaN without trials
    false_alarm_rate: Floats
    n: Floats  # trials in the counts as given
    accuracy: Floats
    d: Floats  # d, c in standard deviations of S1, da in root-mean-square units; ±inf or NaN with a status
    c: Floats
    c_prime: Floats
    ln_beta: Floats
    da: Floats
    var_d: Floats  # delta method; NaN where a rate is 0 or 1 or undefined (of c' also where d is 0)
    var_c: Floats
    var_c_prime: Floats
    var_ln_beta: Floats
    cov_d_c: Floats
    status: Texts  # a key of ``STATUSES``; ``"no_s1_trials"`` with a finite d: the number is the correction's alone
    s: Floats  # ratio of standard deviations
    correction: str

    def variance(self, measure: str) -> Floats:
        """Return the delta-method variance of ``d``, ``c``, ``c_prime`` or ``ln_beta``."""
        return np.asarray(getattr(self, f"var_{measure}"))

    def interval(self, measure: str) -> tuple[Floats, Floats]:
        """Return low and high of 95 %, value ± 1.96 √variance; NaN where there is no variance."""
        if measure == "ln_beta":
            return self._ln_beta_ends()
        half = Z95 * np.sqrt(self.variance(measure))
        value = np.where(np.isfinite(half), getattr(self, measure), np.nan)
        return value - half, value + half

    def _ln_beta_ends(self) -> tuple[Floats, Floats]:
        # Half the difference of two squares is flat where both rates are 1/2: there a slope says nothing of how far off it
        # may be, so the ends are those of the difference of two intervals of squares.
        with np.errstate(invalid="ignore"):  # of infinite z there is no interval
            both, one = self.var_c * (1 + self.s) ** 2, self.cov_d_c * (1 + self.s)
            v_h = (both - one) / (1 + 1 / self.s)
            z_f = -self.c - self.s * self.d / (1 + self.s)
            z_h = -self.c * (1 + self.s) - z_f
            sides = []
            for z, variance in ((z_f, both - v_h), (z_h, v_h)):
                reach = Z95 * np.sqrt(variance)
                nearest, farthest = np.maximum(np.abs(z) - reach, 0.0), np.abs(z) + reach
                sides.append((z**2 / 2, nearest**2 / 2, farthest**2 / 2))
            low, high = both_ends(sides[0], sides[1], 0.0)
        return low + np.log(self.s), high + np.log(self.s)

    def estimate(self, measure: str, cell: int = 0) -> Estimate:
        """Return one cell's measure as an estimate; where it has no finite value the status says why."""
        low, high = self.interval(measure)
        own = "ok" if measure != "c_prime" and self.status[cell] == "zero_dprime" else str(self.status[cell])
        value, sem = float(getattr(self, measure)[cell]), math.sqrt(float(self.variance(measure)[cell]))
        numbers = (value, float(low[cell]), float(high[cell]), sem, float(self.n[cell]))
        return of_numbers(*numbers, f"delta, correction {self.correction}", STATUSES[own] or "ok")


def type1(table: Counts, correction: str = "none", s: ArrayLike = 1.0) -> Type1:
    """Return the type-1 measures of every cell of a ``table``; confidence is summed over.

    correction: ``none``, ``pad``, ``loglinear`` or ``half``; a padded table is in force as it is (``none``).
    s: sd(S1) / sd(S2), above 0, one number or one per cell; NaN gives a status.
    An unknown or a second correction, or s of 0 or below, is a ValueError.

    >>> from metacog_pipeline.stats.counts import counts
    >>> type1(counts([60, 40, 25, 15], [10, 20, 45, 65])).d.round(3)
    array([1.358])
    """
    name = check_correction(correction, table.correction)
    parts = (table.hits, table.misses, table.false_alarms, table.correct_rejections)
    return _measures(parts, name, s, 2 * table.ratings * table.pad, table.correction != "none")


def type1_from_table(
    hits: ArrayLike, misses: ArrayLike, false_alarms: ArrayLike, correct_rejections: ArrayLike,
    correction: str = "none", s: ArrayLike = 1.0,
) -> Type1:  # fmt: skip
    """Return the type-1 measures from four counts, each a number or ``(cells,)``; ``correction`` and ``s`` as in `type1`.

    hits and misses count S2 answered S2 and S1, false_alarms and correct_rejections S1 answered S2 and S1. Unequal shapes
    and negative or non-finite counts are a ValueError.

    >>> found = type1_from_table(80, 20, 30, 70)
    >>> found.d.round(3), found.c.round(3), np.sqrt(found.var_d).round(3)
    (array([1.366]), array([-0.159]), array([0.194]))
    """
    given = {
        "hits": hits, "misses": misses, "false_alarms": false_alarms, "correct_rejections": correct_rejections,
    }  # fmt: skip
    parts = {name: floats(name, np.atleast_1d(np.asarray(values))) for name, values in given.items()}
    for name, part in parts.items():
        if part.shape != parts["hits"].shape:
            raise ValueError(f"{name} has shape {part.shape}, hits {parts['hits'].shape}: they must be equal")
        if part.size and float(part.min()) < 0:
            raise ValueError(f"{name} holds the negative count {float(part.min()):g}")
    return _measures(tuple(parts.values()), check_correction(correction), s)


def d_and_c(
    hits: Floats, misses: Floats, false_alarms: Floats, correct_rejections: Floats
) -> tuple[Floats, Floats]:
    """Return d' and c on log-linear corrected rates of many resamples: those of `type1_from_table`.

    >>> d, c = d_and_c(*(np.array([n]) for n in (80.0, 20.0, 30.0, 70.0)))
    >>> found = type1_from_table(80, 20, 30, 70, "loglinear")
    >>> bool(d == found.d and c == found.c)
    True
    """
    z_h, z_f = (
        _z(*(corrected_rate(each, one + other, "loglinear")[0] for each in (one, other)))
        for one, other in ((hits, misses), (false_alarms, correct_rejections))
    )
    return z_h - z_f, -(z_h + z_f) / 2


def _measures(
    parts: tuple[Floats, ...], correction: str, s: ArrayLike, added: float = 0.0, padded: bool = False
) -> Type1:
    """Return the measures of hits, misses, false alarms and rejections; ``added`` is what padding gave a stimulus."""
    hits, misses, false_alarms, rejections = parts
    given, shown = hits + misses, false_alarms + rejections
    ratio, in_force = _slope(s, len(hits)), "none" if padded else correction
    hit_rate, n2 = corrected_rate(hits, given, in_force)
    false_alarm_rate, n1 = corrected_rate(false_alarms, shown, in_force)
    # The complement from its own counts: 1 - rate would lose the digits of a rate close to 1.
    miss_rate = corrected_rate(misses, given, in_force)[0]
    rejection_rate = corrected_rate(rejections, shown, in_force)[0]
    z_h, z_f = _z(hit_rate, miss_rate), _z(false_alarm_rate, rejection_rate)
    v_h, v_f = _variance(hit_rate, miss_rate, z_h, n2), _variance(false_alarm_rate, rejection_rate, z_f, n1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        d = z_h / ratio - z_f
        c = -(z_h + z_f) / (1 + ratio)
        ln_beta = np.log(ratio) + (z_f - z_h) * (z_f + z_h) / 2
        c_prime = c / d
        spread = (z_f**2 * v_h + z_h**2 * v_f) / (ratio**2 * d**4)
    right, n = hits + rejections, given + shown
    rounding = 1e-9 * (1 + added) if padded else 0.0
    empty = (shown - added <= rounding, given - added <= rounding)
    return Type1(
        hit_rate=hit_rate, false_alarm_rate=false_alarm_rate, n=np.maximum(n - 2 * added, 0.0),
        accuracy=np.where(n > 0, right / np.where(n > 0, n, 1.0), np.nan), d=d, c=c, c_prime=c_prime,
        ln_beta=ln_beta, da=unit(ratio) * d, var_d=v_h / ratio**2 + v_f,
        var_c=(v_h + v_f) / (1 + ratio) ** 2, var_c_prime=np.where(np.isfinite(spread), spread, np.nan),
        var_ln_beta=_of_half_square(z_h, v_h) + _of_half_square(z_f, v_f),
        cov_d_c=(v_f - v_h / ratio) / (1 + ratio), status=_status(d, c, ratio, empty), s=ratio,
        correction=correction,
    )  # fmt: skip


def _status(d: Floats, c: Floats, s: Floats, empty: tuple[Rows, Rows]) -> Texts:
    against = {
        "no_trials": empty[0] & empty[1],
        "no_s1_trials": empty[0],
        "no_s2_trials": empty[1],
        "undefined_slope": np.isnan(s),
        "undefined": np.isnan(d),
        "infinite": ~(np.isfinite(d) & np.isfinite(c)),
        "zero_dprime": d == 0,
    }
    if not np.any([*against.values()]):  # quicker for the many cells of resamples
        return np.full(len(d), "ok")
    return np.select([*against.values()], [*against], default="ok").astype(np.str_)


def _slope(s: ArrayLike, cells: int) -> Floats:
    ratio = np.asarray(s, dtype=np.float64)
    if ratio.ndim > 1 or (ratio.ndim == 1 and len(ratio) != cells):
        raise ValueError(f"s has shape {ratio.shape}: one number or one per cell ({cells}) needed")
    if not bool((np.isnan(ratio) | ((ratio > 0) & (ratio < 1e6))).all()):
        raise ValueError(f"s is {s!r}: a ratio of standard deviations above 0 is needed")
    return np.broadcast_to(ratio, (cells,)).copy()


def unit(s: Floats) -> Floats:
    """Return the factor from units of S1's standard deviation to root-mean-square units, the same for d and c."""
    return np.asarray(np.sqrt(2 / (1 + s**2)) * s)


def _z(rate: Floats, complement: Floats) -> Floats:
    """Normal quantile of a rate from the smaller of the rate and its complement."""
    return np.asarray(np.where(rate <= complement, ndtri(rate), -ndtri(complement)))


def _variance(rate: Floats, complement: Floats, z: Floats, n: Floats) -> Floats:
    """Var z(rate) = rate (1 - rate) / (n φ(z)²); NaN at a rate of 0 or 1."""
    inside = np.isfinite(z)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = rate * complement / np.where(inside, n, 1.0) * 2 * math.pi
        variance = variance * np.exp(np.where(inside, z, 0.0) ** 2)
    return np.where(inside & np.isfinite(variance), variance, np.nan)


def _of_half_square(z: Floats, variance: Floats) -> Floats:
    """Return the variance of z² / 2: of its slope, and no less than what is left where z is 0 and it is flat."""
    slope: Floats = np.where(np.isfinite(z), z, 0.0) ** 2
    return np.maximum(slope, variance / 2) * variance
