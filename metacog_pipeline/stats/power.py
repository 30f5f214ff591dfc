"""How many trials does it take? Simulated power of differences in M-ratio, d′ and the criterion.

Two observers (or one under two conditions) with independent trials answer and rate as
:mod:`metacog_pipeline.stats.observers` simulates, are measured as real data would be, and tested with a two-sided Z::

    mratio      M₂ - M₁ = delta, by maximum likelihood on padded counts; errors hold the uncertainty of d′ and c
    optimality  M - 1 of one observer: whether its confidence uses less (or more) than its answers do
    dprime      d₂ - d₁ = delta, log-linear rates
    criterion   c₂ - c₁ = delta, log-linear rates

Power is the share of simulated experiments that reject, with its Wilson interval. An experiment without an estimate
rejects nothing. The number of trials for a wanted power is found by bisection on a logarithmic scale with the same random
streams at every step, started where the normal approximation Φ(|delta|/se - z) + Φ(-|delta|/se - z) puts it (its se from
expected counts). Ratings are set so that an observer uses each equally often with either answer; few ratings, or
criteria far out, tell less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy  # loads scipy.optimize where it is first used: few commands need it, and it takes long
from scipy.special import ndtr, ndtri

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, whole
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.metad.fit import fit_metad
from metacog_pipeline.stats.observers import expected_counts, simulate
from metacog_pipeline.stats.proportions import proportion
from metacog_pipeline.stats.type1 import type1

Quantity = Literal["mratio", "optimality", "dprime", "criterion"]
QUANTITIES: tuple[Quantity, ...] = ("mratio", "optimality", "dprime", "criterion")

LEAST_TRIALS, MOST_TRIALS = 20, 10_000_000
LEAST_SIMULATIONS, MOST_SIMULATIONS = 100, 20_000
MOST_RATINGS = 20
SIMULATIONS = 2000
BATCH = 1000  # experiments fitted at once: some ten megabytes
CLOSE = 1.02  # bisection ends when the bracket is this narrow
MOST_STEPS = 16
REACHED, TOO_MANY = "ok", f"more than {MOST_TRIALS:,} trials"

# Outside these the model's own limits (meta-d′ within ±10) or rates of 0 and 1 rule what comes out.
LARGEST = {"d": 5.0, "m_ratio": 5.0, "c": 3.0, "delta": 5.0}


@dataclass(frozen=True, slots=True)
class Design:
    """What is to be detected, and with which observers.

    Attributes
    ----------
    quantity
        ``mratio``, ``optimality``, ``dprime`` or ``criterion``.
    d, m_ratio, c
        The first observer: d′ (-5..5, not 0), M-ratio (-5..5), criterion (-3..3, the unit of d′).
    delta
        What the second has more of the quantity, in its unit; for ``optimality`` it follows from ``m_ratio`` (None).
    ratings
        Confidence levels K, 2..20.
    alpha
        Of the two-sided test, above 0 and below 0.5.
    p_s2
        Share of S2 trials.

    Raises
    ------
    ValueError
        For values out of range, with what to give instead.
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
        for which in self.observers:
            if not (abs(which.d) <= 5 and abs(which.m_ratio * which.d) <= 8 and abs(which.c) <= 3):
                raise ValueError(
                    f"an observer has d {which.d:g}, M-ratio {which.m_ratio:g}, c {which.c:g}: |d| up to 5, |M d| up to 8 "
                    "and |c| up to 3 are possible"
                )
        if not 2 <= whole("ratings", self.ratings) <= MOST_RATINGS:
            raise ValueError(f"ratings is {self.ratings}: 2 to {MOST_RATINGS} are possible")
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
        part = {"mratio": "m_ratio", "dprime": "d", "criterion": "c"}[self.quantity]
        return first, replace(first, **{part: getattr(first, part) + self.delta})


@dataclass(frozen=True, slots=True)
class Observer:
    """d′, M-ratio and criterion of who answers."""

    d: float
    m_ratio: float
    c: float


@dataclass(frozen=True, slots=True)
class Power:
    """Simulated power at one number of trials.

    Attributes
    ----------
    trials
        Per observer.
    power
        Share of experiments that rejected, 0..1, with its Wilson 95 % interval; n is the number of experiments.
    approximation
        Power by the normal approximation, 0..1; None where the expected counts have no estimate.
    untestable
        Share of experiments without an estimate to test, 0..1.
    """

    trials: int
    power: Estimate
    approximation: float | None
    untestable: float


@dataclass(frozen=True, slots=True)
class TrialsNeeded:
    """The smallest number of trials whose simulated power reached the target.

    Attributes
    ----------
    status
        ``"ok"``, or that more than 10,000,000 trials are needed; ``found`` is then None.
    found
        Power at the number of trials found.
    steps
        Every number of trials that was tried, in order.
    """

    target: float
    status: str
    found: Power | None
    steps: tuple[Power, ...]


def simulated_power(design: Design, trials: int, *, simulations: int = SIMULATIONS, seed: int = 0) -> Power:
    """Return the power of ``design`` with ``trials`` trials per observer.

    Parameters
    ----------
    trials
        20 to 10,000,000.
    simulations
        Simulated experiments, 100 to 20,000.
    seed
        0 or more; the same streams are used at every number of trials.

    Raises
    ------
    ValueError
        For numbers out of range.

    Examples
    --------
    >>> found = simulated_power(Design("dprime", d=1.0, m_ratio=1.0, delta=0.4), 300, simulations=100, seed=1)
    >>> found.power.n, found.power.value
    (100, 0.44)
    """
    number = _within("trials", trials, LEAST_TRIALS, MOST_TRIALS)
    simulations = _within("simulations", simulations, LEAST_SIMULATIONS, MOST_SIMULATIONS)
    seed = whole("seed", seed)
    critical = -ndtri(design.alpha / 2)
    rejected = untestable = 0
    for start in range(0, simulations, BATCH):
        cells = min(BATCH, simulations - start)
        measured = [
            _measure(design, _draw(design, observer, number, cells, (seed, start, which)))
            for which, observer in enumerate(design.observers)
        ]
        z = _z(design, measured)
        usable = np.isfinite(z)
        rejected += int((np.abs(z[usable]) > critical).sum())
        untestable += int((~usable).sum())
    return Power(
        number, proportion(rejected, simulations), approximate_power(design, number), untestable / simulations
    )


def approximate_power(design: Design, trials: int) -> float | None:
    """Return the power by the normal approximation, 0..1; None where the expected counts have no estimate.

    Parameters
    ----------
    design
        What differs, by how much, and how it is rated.
    trials
        Of each observer.

    Examples
    --------
    >>> round(approximate_power(Design("dprime", d=1.0, m_ratio=1.0, delta=0.4), 300), 2)
    0.45
    """
    se = _expected_error(design, trials)
    if se is None:
        return None
    effect, critical = abs(design.difference) / se, -float(ndtri(design.alpha / 2))
    return float(ndtr(effect - critical) + ndtr(-effect - critical))


def trials_needed(
    design: Design,
    power: float = 0.8,
    *,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> TrialsNeeded:
    """Return the number of trials per observer that gives ``power``.

    Parameters
    ----------
    power
        Wanted, above alpha and up to 0.99.
    simulations, seed
        As for :func:`simulated_power`.

    Raises
    ------
    ValueError
        For a difference of 0, or numbers out of range.
    """
    if design.difference == 0:
        raise ValueError(f"the difference in {design.quantity} is 0: there is nothing to detect")
    if not design.alpha < power <= 0.99:
        raise ValueError(f"power is {power:g}: above alpha ({design.alpha:g}) and up to 0.99 is needed")
    _within("simulations", simulations, LEAST_SIMULATIONS, MOST_SIMULATIONS)
    steps: list[Power] = []

    def enough(trials: int) -> bool:
        steps.append(simulated_power(design, trials, simulations=simulations, seed=seed))
        value = steps[-1].power.value
        return value is not None and value >= power

    low, high = _bracket(enough, _first_guess(design, power))
    if high is None:
        return TrialsNeeded(power, TOO_MANY, None, tuple(steps))
    while low is not None and high > math.ceil(low * CLOSE) and len(steps) < MOST_STEPS:
        middle = round(math.sqrt(low * high))
        low, high = (low, middle) if enough(middle) else (middle, high)
    found = next(step for step in reversed(steps) if step.trials == high)
    return TrialsNeeded(power, REACHED, found, tuple(steps))


def equal_use_criteria(observer: Observer, ratings: int, p_s2: float = 0.5) -> tuple[Floats, Floats]:
    """Return confidence criteria with which each of ``ratings`` levels is used equally often with either answer.

    Returns
    -------
    tuple
        ``criteria_s1``, ``criteria_s2`` as :func:`metacog_pipeline.stats.observers.simulate` takes them.
    """
    middle = observer.m_ratio * observer.c
    means = np.array([-0.5, 0.5]) * observer.m_ratio * observer.d
    said_s2 = np.array([1 - p_s2, p_s2]) * ndtr(np.array([-0.5, 0.5]) * observer.d - observer.c)
    said_s1 = np.array([1 - p_s2, p_s2]) - said_s2
    sides = []
    for sign, weight in ((-1.0, said_s1), (1.0, said_s2)):
        share = weight / weight.sum()

        def beyond(distance: float, level: float, sign: float = sign, share: Floats = share) -> float:
            tail = ndtr(sign * (means - middle) - distance) / ndtr(sign * (means - middle))
            return float(share @ tail) - level

        levels = [1 - j / ratings for j in range(1, ratings)]
        sides.append(
            [middle + sign * scipy.optimize.brentq(beyond, 0.0, 60.0, args=(level,)) for level in levels]
        )
    return np.array(sides[0][::-1]), np.array(sides[1])


def _draw(design: Design, observer: Observer, trials: int, cells: int, stream: tuple[int, ...]) -> Counts:
    low, high = equal_use_criteria(observer, design.ratings, design.p_s2)
    seed = resampling.stream("power", *stream)
    return simulate(
        observer.d, observer.m_ratio, observer.c, low, high, trials, seed, design.p_s2, cells=cells
    )


def _measure(design: Design, table: Counts) -> tuple[Floats, Floats]:
    """Return estimates of the quantity and their standard errors, NaN where there is none."""
    if design.quantity in ("mratio", "optimality"):
        fit = fit_metad(table, padding=1 / (2 * table.ratings))
        shown = np.array([not why for why in fit.withheld])
        return np.where(shown, fit.m_ratio, np.nan), np.where(shown, fit.se_m_ratio, np.nan)
    first = type1(table, correction="loglinear")
    known = np.isin(first.status, ("ok", "zero_dprime"))
    value, variance = (first.d, first.var_d) if design.quantity == "dprime" else (first.c, first.var_c)
    return np.where(known, value, np.nan), np.where(known, np.sqrt(variance), np.nan)


def _z(design: Design, measured: list[tuple[Floats, Floats]]) -> Floats:
    (value, error) = measured[0]
    if len(measured) == 1:
        return (value - 1.0) / error
    other, its_error = measured[1]
    return (other - value) / np.sqrt(error**2 + its_error**2)


def _expected_error(design: Design, trials: int) -> float | None:
    """Return the standard error of the difference from expected counts, or None where they have no estimate."""
    total = 0.0
    for observer in design.observers:
        low, high = equal_use_criteria(observer, design.ratings, design.p_s2)
        table = expected_counts(observer.d, observer.m_ratio, observer.c, low, high, trials, design.p_s2)
        total += float(_measure(design, table)[1][0]) ** 2
    return math.sqrt(total) if math.isfinite(total) and total > 0 else None


def _first_guess(design: Design, power: float) -> int:
    """Return the trials the normal approximation asks for, its error taken to fall with √trials from 1,000,000 on."""
    se = _expected_error(design, 1_000_000)
    if se is None:
        return 1000
    wanted = float(ndtri(power) - ndtri(design.alpha / 2))
    guess = 1_000_000 * (se * wanted / design.difference) ** 2
    return int(min(max(guess, LEAST_TRIALS), 2 * MOST_TRIALS))


def _bracket(enough: Callable[[int], bool], guess: int) -> tuple[int | None, int | None]:
    """Return (too few, enough) trials around ``guess``: no low end where the least is enough, no high one where
    the most is not.
    """
    high = min(guess, MOST_TRIALS)
    if enough(high):
        while high > LEAST_TRIALS:
            low = max(round(high / 1.5), LEAST_TRIALS)
            if not enough(low):
                return low, high
            high = low
        return None, high
    low = high
    while low < MOST_TRIALS:
        high = min(round(low * 1.5), MOST_TRIALS)
        if enough(high):
            return low, high
        low = high
    return low, None


def _within(name: str, value: int, least: int, most: int) -> int:
    number = whole(name, value, least)
    if number > most:
        raise ValueError(f"{name} is {number:,}: at most {most:,} are possible")
    return number
