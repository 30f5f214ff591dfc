"""From draws to an interval, a standard error and a p value.

Whether draws have an interval at all is decided by `usable` alone: where more than 5 % of the resamples have no value, what
is left describes another population, and there is neither an interval nor a p. There is one p of resamples, and there is
Wald's, which says so wherever it is used (`Difference.wald`).

Sources: Efron & Tibshirani (1993), *An Introduction to the Bootstrap*, ch. 13 (percentiles), 10 (bias) and 16 (tests);
Davison & Hinkley (1997), *Bootstrap Methods and their Application*, eq. 4.11 (the added draw of a share).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, stdtr

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, OK, Estimate

#: Percentiles, or percentiles that are moved out, where needed, so as to hold the value.
Kind = Literal["percentile", "widened"]

LEVEL = 0.95
# Half width of a 95 % interval of a normal distribution, in standard deviations.
Z95 = 1.959963984540054
#: Share of the resamples that need a value: with fewer there is no interval and no p.
LEAST_USABLE = 0.95
#: Resamples of a test: Holm's correction can reach 0.05 over 250 pairs (see `p_value`).
N_TESTED = 10_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference with what its draws say about it; None where there is no such number."""

    value: float  # in the unit of the measure
    low: float | None  # ends of the 95 % interval
    high: float | None
    se: float | None
    statistic: float | None  # value / se
    p: float | None  # two-sided
    usable: int  # finite draws
    drawn: int
    wald: bool = False  # whether p is Wald's instead of that of the draws

    @property
    def usable_note(self) -> str:
        """``"4000 resamples"``, how many of them were usable where not all were, and that p is Wald's where it is."""
        few = f", {self.usable} of {self.drawn} usable" if self.usable < self.drawn else ""
        return f"{self.drawn} resamples{few}{'; Wald p' if self.wald else ''}"


def usable(draws: Floats) -> Floats | None:
    """Return the finite ones of ``draws`` ``(B,)``; None where more than 5 % have no value."""
    finite = np.isfinite(draws)
    known = draws if finite.all() else draws[finite]
    return known if len(known) and len(known) >= LEAST_USABLE * len(draws) else None


def interval(
    draws: Floats, value: float | None = None, kind: Kind = "percentile", level: float = LEVEL
) -> tuple[float | None, float | None]:
    """Return the interval that holds the central ``level`` share of ``draws`` ``(B,)``.

    A ``kind`` other than percentile needs the ``value``. Both ends are None where more than 5 % of the draws have no
    value.
    """
    known = usable(draws)
    if known is None:
        return None, None
    low, high = _ends(known, level).tolist()
    if kind == "percentile":
        return low, high
    if value is None:
        raise ValueError(f"an interval of kind {kind!r} needs the value")
    return min(low, value), max(high, value)


def intervals(draws: Floats, level: float = LEVEL) -> Floats:
    """Return the percentile `interval` of each row of ``draws`` ``(rows, B)``: ``(rows, 2)``, NaN for None."""
    ends = np.full((len(draws), 2), np.nan)
    holes = ~np.isfinite(draws).all(axis=1)
    if not holes.all() and draws.shape[1]:
        ends[~holes] = _ends(draws[~holes], level)
    for row in np.flatnonzero(holes):
        known = usable(draws[row])
        if known is not None:
            ends[row] = _ends(known, level)
    return ends


def _ends(known: Floats, level: float = LEVEL) -> Floats:
    ends = np.quantile(known, ((1 - level) / 2, (1 + level) / 2), axis=-1)
    return np.asarray(np.moveaxis(ends, 0, -1))


def from_draws(
    value: float, draws: Floats, n: int, method: str, status: str = OK, kind: Kind = "percentile"
) -> Estimate:
    """Return ``value`` with the `interval` of its ``draws`` ``(B,)`` and their standard deviation as ``sem``.

    ``n`` clusters were resampled; ``method``, ``status`` and ``kind`` are those of the estimate and its interval.
    """
    known = usable(draws)
    if known is None:
        return Estimate(value, None, None, n, method, OFTEN_UNDEFINED)
    return Estimate(value, *interval(known, value, kind), n, method, status, float(known.std()))


def p_value(draws: Floats, tolerance: float = 0.0) -> float | None:
    """Return the two-sided p of a difference, from its resamples ``draws`` ``(B,)``: ``2 (1 + k) / (1 + B)``.

    k is the smaller number of resamples on either side of 0, draws within ``tolerance`` of it counted on both; the
    added 1 is the sample itself. p is never below 2 / (B + 1). Where it is below 0.05 the percentile interval leaves
    out 0; where that just leaves out 0, p can be above 0.05, by less than 4 / (B + 1). None where more than 5 % have no
    value.
    """
    known = usable(draws)
    if known is None:
        return None
    fewer = min(int(np.count_nonzero(known <= tolerance)), int(np.count_nonzero(known >= -tolerance)))
    return min(1.0, 2 * (fewer + 1) / (len(known) + 1))


def wald_p(statistic: float, df: int | None = None) -> float:
    """Return the two-sided p of value / standard error: of the normal distribution, or of Student's t with ``df``.

    It has no floor, so a correction over thousands of pairs can reach it, and it trusts the shape of the distribution far
    beyond what resamples show. Whoever uses it names it.
    """
    size = -abs(statistic)
    return min(1.0, 2 * float(ndtr(size) if df is None else stdtr(df, size)))


def difference(
    value: float, draws: Floats, kind: Kind = "widened", *, tolerance: float = 0.0, wald: bool = False
) -> Difference:
    """Return a difference with interval (of this ``kind``), standard error and p from its ``draws`` ``(B,)``.

    A standard error up to ``tolerance`` leaves p 1 for a ``value`` as small, and None for any other. With ``wald`` p is
    Wald's, for statistics of which thousands of resamples cost too much; the standard error is then the width of the
    percentile interval / 3.92, which a few wild draws do not move.
    """
    known, n = usable(draws), int(np.isfinite(draws).sum())
    if known is None:
        return Difference(value, None, None, None, None, None, n, len(draws), wald)
    low, high = interval(known, value, kind)
    middle = _ends(known)
    se = float(middle[1] - middle[0]) / (2 * Z95) if wald else float(known.std())
    if se <= tolerance:  # the same in every resample
        same = 1.0 if abs(value) <= tolerance else None
        return Difference(value, low, high, se, None, same, n, len(draws), wald)
    p = wald_p(value / se) if wald else p_value(known, tolerance)
    return Difference(value, low, high, se, value / se, p, n, len(draws), wald)


def differences(
    values: Sequence[float], draws: Floats, *, tolerance: float = 0.0, wald: bool = False
) -> list[Difference]:
    """Return the `difference` of each of ``values`` and row of ``draws`` ``(rows, B)``, with percentile intervals.

    ``tolerance`` and ``wald`` are as there.
    """
    return [
        difference(value, own, "percentile", tolerance=tolerance, wald=wald)
        for value, own in zip(values, draws, strict=True)
    ]
