"""How many trials does it take? Power of differences in M-ratio, d′ and the criterion by the normal approximation.

Two observers (or one under two conditions) answer and rate as :mod:`~metacog_pipeline.stats.observers` describes, are
measured as real data would be, and are compared by a two-sided Z::

    mratio      M₂ - M₁ = delta, by maximum likelihood on padded counts; errors hold the uncertainty of d′ and c
    optimality  M - 1 of one observer
    dprime      d₂ - d₁ = delta, log-linear rates
    criterion   c₂ - c₁ = delta, log-linear rates

Every observer uses each rating equally often with either answer. `make proofs` simulates experiments of the planned size
and keeps their power in ``coverage.csv``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.metad import fit_metad
from metacog_pipeline.stats.observers import expected_counts
from metacog_pipeline.stats.type1 import type1

Quantity = Literal["mratio", "optimality", "dprime", "criterion"]
#: What of an observer each quantity compares.
QUANTITIES = {"mratio": "m_ratio", "optimality": "m_ratio", "dprime": "d", "criterion": "c"}
LEAST_TRIALS = 20
# Outside, the limits of meta-d′ (±10) or rates of 0 and 1 decide what comes out.
LARGEST = {"d": 5.0, "m_ratio": 5.0, "c": 3.0, "delta": 5.0}


@dataclass(frozen=True, slots=True)
class Observer:
    """d′, M-ratio and criterion of who answers."""

    d: float
    m_ratio: float
    c: float


@dataclass(frozen=True, slots=True)
class Design:
    """What is to be detected, and with which observers; a value out of range is a ValueError."""

    quantity: Quantity  # ``mratio``, ``optimality``, ``dprime`` or ``criterion``
    # d, m_ratio and c: the first observer: d′ (-5..5, not 0 for an M-ratio), M-ratio (-5..5), criterion (-3..3, unit
    # of d′)
    d: float
    m_ratio: float
    delta: float | None = None  # what the second has more of the quantity, -5..5; None for ``optimality``
    c: float = 0.0
    # ratings, alpha and p_s2: confidence levels, 2..20; level of the test, above 0 and below 0.5; share of S2,
    # 0.01..0.99
    ratings: int = 5
    alpha: float = 0.05
    p_s2: float = 0.5

    def __post_init__(self) -> None:
        if self.quantity not in QUANTITIES:
            raise ValueError(f"quantity is {self.quantity!r}: one of {', '.join(QUANTITIES)}")
        if self.d == 0 and self.quantity in ("mratio", "optimality"):
            raise ValueError("d is 0: there is no M-ratio at chance; give another d")
        if (self.delta is None) != (self.quantity == "optimality"):
            raise ValueError(
                "delta is needed for every quantity but optimality, where it follows from m_ratio"
            )
        for name, limit in LARGEST.items():
            value = getattr(self, name)
            if value is not None and not abs(value) <= limit:
                raise ValueError(f"{name} is {value:g}: -{limit:g} to {limit:g} is possible")
        for each in self.observers:
            if not (abs(each.d) <= 5 and abs(each.m_ratio * each.d) <= 8 and abs(each.c) <= 3):
                raise ValueError(f"{each}: |d| up to 5, |M d| up to 8 and |c| up to 3 are possible")
        if not (2 <= self.ratings <= 20 and 0 < self.alpha < 0.5 and 0.01 <= self.p_s2 <= 0.99):
            raise ValueError("ratings are 2 to 20, alpha is above 0 and below 0.5, p_s2 is 0.01 to 0.99")

    @property
    def difference(self) -> float:
        """What the test should find, in the unit of the quantity."""
        return 1.0 - self.m_ratio if self.delta is None else self.delta

    @property
    def observers(self) -> tuple[Observer, ...]:
        """The one or two observers that are measured."""
        first = Observer(self.d, self.m_ratio, self.c)
        if self.delta is None:
            return (first,)
        compared = QUANTITIES[self.quantity]
        return first, replace(first, **{compared: getattr(first, compared) + self.delta})


def approximate_trials(design: Design, power: float = 0.8) -> int | None:
    """Return the trials per observer of ``design`` for ``power`` (above alpha, up to 0.99), at least 20; None where
    expected counts have no estimate. The error is taken to fall with √trials from that of 1,000,000 trials.

    >>> approximate_trials(Design("mratio", d=1.5, m_ratio=0.8, delta=0.1))
    15616
    """
    if design.difference == 0:
        raise ValueError(f"the difference in {design.quantity} is 0: there is nothing to detect")
    if not design.alpha < power <= 0.99:
        raise ValueError(f"power is {power:g}: above alpha ({design.alpha:g}) and up to 0.99 is needed")
    total, trials = 0.0, 1_000_000
    for observer in design.observers:
        table = expected_counts(*shape(design, observer), trials, design.p_s2)
        total += float(measured(design, table)[1][0]) ** 2
    if not (math.isfinite(total) and total > 0):
        return None
    wanted = float(ndtri(power) - ndtri(design.alpha / 2))
    return max(int(trials * total * (wanted / design.difference) ** 2), LEAST_TRIALS)


def shape(design: Design, observer: Observer) -> tuple[float, float, float, Floats, Floats]:
    """Return d′, M-ratio, c and the confidence criteria below and above meta-c that use each rating equally often."""
    from scipy.optimize import brentq  # late: few commands need it

    middle = observer.m_ratio * observer.c
    means = np.array([-0.5, 0.5]) * observer.m_ratio * observer.d
    shown = np.array([1 - design.p_s2, design.p_s2])
    said_s2 = shown * ndtr(np.array([-0.5, 0.5]) * observer.d - observer.c)
    sides = []
    for sign, weight in ((-1.0, shown - said_s2), (1.0, said_s2)):
        share = weight / weight.sum()

        def beyond(distance: float, level: float, sign: float = sign, share: Floats = share) -> float:
            tail = ndtr(sign * (means - middle) - distance) / ndtr(sign * (means - middle))
            return float(share @ tail) - level

        levels = [1 - j / design.ratings for j in range(1, design.ratings)]
        sides.append([middle + sign * brentq(beyond, 0.0, 60.0, args=(level,)) for level in levels])
    return observer.d, observer.m_ratio, observer.c, np.array(sides[0][::-1]), np.array(sides[1])


def measured(design: Design, table: Counts) -> tuple[Floats, Floats]:
    """Return the quantity less what is tested of one observer, and its standard error, NaN where there is none."""
    if design.quantity in ("mratio", "optimality"):
        fit = fit_metad(table, padding=1 / (2 * table.ratings))
        shown = np.array([not why for why in fit.withheld])
        value = fit.m_ratio - 1.0 if design.quantity == "optimality" else fit.m_ratio
        return np.where(shown, value, np.nan), np.where(shown, fit.se_m_ratio, np.nan)
    first = type1(table, correction="loglinear")
    known = np.isin(first.status, ("ok", "zero_dprime"))
    value, variance = (first.d, first.var_d) if design.quantity == "dprime" else (first.c, first.var_c)
    return np.where(known, value, np.nan), np.where(known, np.sqrt(variance), np.nan)
