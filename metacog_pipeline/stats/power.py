"""How many trials does it take? Simulated power of differences in M-ratio, d′ and the criterion.

Two observers (or one under two conditions) answer and rate as :mod:`~metacog_pipeline.stats.observers` simulates, are
measured as real data would be, and are compared by a two-sided Z::

    mratio      M₂ - M₁ = delta, by maximum likelihood on padded counts; errors hold the uncertainty of d′ and c
    optimality  M - 1 of one observer
    dprime      d₂ - d₁ = delta, log-linear rates
    criterion   c₂ - c₁ = delta, log-linear rates

Power is the share of simulated experiments that reject, with its Wilson interval; one without an estimate rejects nothing.
Every observer uses each rating equally often with either answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy  # loads scipy.optimize where it is first used: few commands need it, and it takes long
from scipy.special import ndtr, ndtri

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, whole
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.intervals import proportion
from metacog_pipeline.stats.metad import fit_metad
from metacog_pipeline.stats.observers import expected_counts, simulate
from metacog_pipeline.stats.type1 import type1

Quantity = Literal["mratio", "optimality", "dprime", "criterion"]
#: What of an observer each quantity compares.
QUANTITIES = {"mratio": "m_ratio", "optimality": "m_ratio", "dprime": "d", "criterion": "c"}

LEAST_TRIALS, MOST_TRIALS = 20, 10_000_000
LEAST_SIMULATIONS, MOST_SIMULATIONS = 100, 20_000
MOST_RATINGS = 20
SIMULATIONS = 2000
BATCH = 1000  # experiments fitted at once: some ten megabytes
CLOSE = 1.02  # bisection ends when the bracket is this narrow
MOST_STEPS = 16
STRIDE = 1.5  # from one number of trials to the next while no bracket is found
TOO_MANY = f"more than {MOST_TRIALS:,} trials"
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
    """What is to be detected, and with which observers; a value out of range is a ValueError.

    Attributes
    ----------
    quantity
        ``mratio``, ``optimality``, ``dprime`` or ``criterion``.
    d, m_ratio, c
        The first observer: d′ (-5..5, not 0 for an M-ratio), M-ratio (-5..5), criterion (-3..3, the unit of d′).
    delta
        What the second has more of the quantity, -5..5; None for ``optimality``.
    ratings, alpha, p_s2
        Confidence levels, 2..20; level of the two-sided test, above 0 and below 0.5; share of S2 trials, 0.01..0.99.
    """

    quantity: Quantity
    d: float
    m_ratio: float
    delta: float | None = None
    c: float = 0.0
    ratings: int = 5
    alpha: float = 0.05
    p_s2: float = 0.5

    def __post_init__(self) -> None:
        if self.quantity not in QUANTITIES:
            raise ValueError(f"quantity is {self.quantity!r}: one of {', '.join(QUANTITIES)}")
        if self.d == 0 and self.quantity in ("mratio", "optimality"):
            raise ValueError("d is 0: there is no M-ratio at chance; give another d")
        if (self.delta is None) != (self.quantity == "optimality"):
            needed = "delta follows from m_ratio for" if self.delta is not None else "delta is needed for"
            raise ValueError(f"{needed} the quantity {self.quantity}")
        for name, limit in LARGEST.items():
            value = getattr(self, name)
            if value is not None and not abs(value) <= limit:
                raise ValueError(f"{name} is {value:g}: -{limit:g} to {limit:g} is possible")
        for each in self.observers:
            if not (abs(each.d) <= 5 and abs(each.m_ratio * each.d) <= 8 and abs(each.c) <= 3):
                raise ValueError(
                    f"an observer has d {each.d:g}, M-ratio {each.m_ratio:g}, c {each.c:g}: |d| up to 5, |M d| up to 8 "
                    "and |c| up to 3 are possible"
                )
        _within("ratings", self.ratings, 2, MOST_RATINGS)
        if not 0 < self.alpha < 0.5:
            raise ValueError(f"alpha is {self.alpha:g}: above 0 and below 0.5 is needed")
        if not 0.01 <= self.p_s2 <= 0.99:
            raise ValueError(f"p_s2 is {self.p_s2:g}: 0.01 to 0.99 is possible")

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


@dataclass(frozen=True, slots=True)
class Power:
    """Power with ``trials`` per observer.

    ``power`` is the share of experiments that rejected, 0..1, with its interval; ``approximation`` that of the normal
    approximation, None without one; ``untestable`` the share of experiments without an estimate.
    """

    trials: int
    power: Estimate
    approximation: float | None
    untestable: float


@dataclass(frozen=True, slots=True)
class TrialsNeeded:
    """The fewest trials whose simulated power reached ``target``; ``found`` is None where too many are needed."""

    target: float
    status: str
    found: Power | None
    steps: tuple[Power, ...]


def simulated_power(design: Design, trials: int, *, simulations: int = SIMULATIONS, seed: int = 0) -> Power:
    """Return the power of ``design`` with ``trials`` (20 to 10,000,000) per observer.

    ``simulations`` are 100 to 20,000; the streams of ``seed`` are the same at every number of trials.

    >>> found = simulated_power(Design("dprime", d=1.0, m_ratio=1.0, delta=0.4), 300, simulations=100, seed=1)
    >>> found.power.n, found.power.value
    (100, 0.44)
    """
    _within("trials", trials, LEAST_TRIALS, MOST_TRIALS)
    _within("simulations", simulations, LEAST_SIMULATIONS, MOST_SIMULATIONS)
    whole("seed", seed)
    critical = -ndtri(design.alpha / 2)
    rejected = untestable = 0
    for start in range(0, simulations, BATCH):
        cells = min(BATCH, simulations - start)
        measured = []
        for which, observer in enumerate(design.observers):
            stream = resampling.stream("power", seed, start, which)
            table = simulate(*_shape(design, observer), trials, stream, design.p_s2, cells=cells)
            measured.append(_measure(design, table))
        z = _z(measured)
        rejected += int((np.abs(z[np.isfinite(z)]) > critical).sum())
        untestable += int((~np.isfinite(z)).sum())
    share = proportion(rejected, simulations)
    return Power(trials, share, approximate_power(design, trials), untestable / simulations)


def approximate_power(design: Design, trials: int) -> float | None:
    """Return the normal approximation of the power of ``design`` with ``trials`` per observer.

    Its error is that of expected counts; None where these have no estimate.

    >>> round(approximate_power(Design("dprime", d=1.0, m_ratio=1.0, delta=0.4), 300), 2)
    0.45
    """
    se = _expected_error(design, trials)
    if se is None:
        return None
    effect, critical = abs(design.difference) / se, -float(ndtri(design.alpha / 2))
    return float(ndtr(effect - critical) + ndtr(-effect - critical))


def approximate_trials(design: Design, power: float = 0.8) -> int | None:
    """Return the trials per observer of ``design`` for ``power`` by the normal approximation.

    At least 20; None without an error. The error is taken to fall with √trials from that of 1,000,000 trials.

    >>> approximate_trials(Design("mratio", d=1.5, m_ratio=0.8, delta=0.1))
    15616
    """
    _check(design, power)
    se = _expected_error(design, 1_000_000)
    if se is None:
        return None
    wanted = float(ndtri(power) - ndtri(design.alpha / 2))
    return max(int(1_000_000 * (se * wanted / design.difference) ** 2), LEAST_TRIALS)


def trials_needed(
    design: Design, power: float = 0.8, *, simulations: int = SIMULATIONS, seed: int = 0
) -> TrialsNeeded:
    """Return the trials per observer of ``design`` that give ``power`` (above alpha, up to 0.99), by bisection.

    ``simulations`` and ``seed`` are those of :func:`simulated_power`. A difference of 0 is a ValueError.

    >>> trials_needed(Design("dprime", -2.5, 1.0, 5.0), simulations=100).found.trials
    20
    """
    _check(design, power)
    steps: list[Power] = []

    def enough(trials: int) -> bool:
        steps.append(simulated_power(design, trials, simulations=simulations, seed=seed))
        value = steps[-1].power.value
        return value is not None and value >= power

    low = high = min(approximate_trials(design, power) or 1000, MOST_TRIALS)
    if enough(high):
        while high > LEAST_TRIALS:
            low = max(round(high / STRIDE), LEAST_TRIALS)
            if not enough(low):
                break
            high = low
    else:
        while low < MOST_TRIALS:
            high = min(round(low * STRIDE), MOST_TRIALS)
            if enough(high):
                break
            low = high
        else:
            return TrialsNeeded(power, TOO_MANY, None, tuple(steps))
    while high > math.ceil(low * CLOSE) and len(steps) < MOST_STEPS:
        middle = round(math.sqrt(low * high))
        low, high = (low, middle) if enough(middle) else (middle, high)
    found = next(step for step in reversed(steps) if step.trials == high)
    return TrialsNeeded(power, "ok", found, tuple(steps))


def equal_use_criteria(observer: Observer, ratings: int, p_s2: float = 0.5) -> tuple[Floats, Floats]:
    """Return the confidence criteria below and above meta-c with which each rating is used equally often."""
    middle = observer.m_ratio * observer.c
    means = np.array([-0.5, 0.5]) * observer.m_ratio * observer.d
    shown = np.array([1 - p_s2, p_s2])
    said_s2 = shown * ndtr(np.array([-0.5, 0.5]) * observer.d - observer.c)
    sides = []
    for sign, weight in ((-1.0, shown - said_s2), (1.0, said_s2)):
        share = weight / weight.sum()

        def beyond(distance: float, level: float, sign: float = sign, share: Floats = share) -> float:
            tail = ndtr(sign * (means - middle) - distance) / ndtr(sign * (means - middle))
            return float(share @ tail) - level

        levels = [1 - j / ratings for j in range(1, ratings)]
        distances = [scipy.optimize.brentq(beyond, 0.0, 60.0, args=(level,)) for level in levels]
        sides.append([middle + sign * each for each in distances])
    return np.array(sides[0][::-1]), np.array(sides[1])


def _shape(design: Design, observer: Observer) -> tuple[float, float, float, Floats, Floats]:
    low, high = equal_use_criteria(observer, design.ratings, design.p_s2)
    return observer.d, observer.m_ratio, observer.c, low, high


def _measure(design: Design, table: Counts) -> tuple[Floats, Floats]:
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


def _z(measured: list[tuple[Floats, Floats]]) -> Floats:
    (value, error) = measured[0]
    if len(measured) == 1:
        return value / error
    other, its_error = measured[1]
    return (other - value) / np.sqrt(error**2 + its_error**2)


def _expected_error(design: Design, trials: int) -> float | None:
    total = 0.0
    for observer in design.observers:
        table = expected_counts(*_shape(design, observer), trials, design.p_s2)
        total += float(_measure(design, table)[1][0]) ** 2
    return math.sqrt(total) if math.isfinite(total) and total > 0 else None


def _check(design: Design, power: float) -> None:
    if design.difference == 0:
        raise ValueError(f"the difference in {design.quantity} is 0: there is nothing to detect")
    if not design.alpha < power <= 0.99:
        raise ValueError(f"power is {power:g}: above alpha ({design.alpha:g}) and up to 0.99 is needed")


def _within(name: str, value: int, least: int, most: int) -> None:
    if whole(name, value, least) > most:
        raise ValueError(f"{name} is {value:,}: at most {most:,} are possible")
