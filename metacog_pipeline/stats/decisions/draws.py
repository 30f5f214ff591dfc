"""Two sets of posterior draws, or one against optimality.

The statistic is T = log first - log second, draw by draw, and the two differ where the symmetric 95 % interval of T
leaves out 0. The sign of T is the sign of first - second, so the difference gives the same test; it also stands where
a set holds draws at or below 0, which have no logarithm.

Draws that came out of one random stream move together, and an interval of their difference is then too narrow. So the
second set is always put in a random order, and two sets that visibly are one stream are refused: whoever fitted
them with one seed should hear of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, floats, mean_ranks
from metacog_pipeline.stats.decisions.verdicts import (
    Verdict,
    hdi,
    rope,
    symmetric_interval,
    symmetric_intervals,
)
from metacog_pipeline.stats.estimate import OK

Scale = Literal["log_ratio", "difference"]
NO_LOG = "draws at or below 0: no log ratio"

# Independent chains of 400 effective draws correlate beyond ±0.2 once in 15,000; shared seeds gave 0.7.
SAME_STREAM = 0.5
_COMPARED = 1_000  # draws, evenly taken, whose ranks tell that: ranks of all tell no more and take longer
FEWEST = 100


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of one fit, for whoever compares it with many others: what all comparisons need is made once.

    Attributes
    ----------
    values
        Finite numbers, shape ``(draws,)``, at least 100 of them.
    """

    values: Floats
    _known: dict[int, Floats] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if len(floats("draws", self.values)) < FEWEST:
            raise ValueError(f"there are {len(self.values)} draws: at least {FEWEST} are needed")

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def positive(self) -> bool:
        """Whether all of them have a logarithm."""
        return bool((self.values > 0).all())

    @cached_property
    def logs(self) -> Floats:
        """Their logarithms, where all have one."""
        return np.asarray(np.log(self.values))

    def ranks(self, n: int) -> Floats:
        """Return ranks of some of the first ``n`` about their mean, of length 1; zeros where all draws are the same."""
        if n not in self._known:
            ranks = mean_ranks(self.values[: n : -(-n // _COMPARED)])
            about = ranks - ranks.mean()
            self._known[n] = about / max(float(np.sqrt(about @ about)), 1.0)
        return self._known[n]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Posterior of a difference of two positive quantities, and what follows from it, computed where it is asked for.

    Attributes
    ----------
    first, second
        The draws, of equal number, in the unit of the quantity.
    rope, scale
        Half width of the region of practical equivalence, and the scale it lies on: ``log_ratio`` or ``difference``.
    level
        Of the intervals, 0..1.
    status
        ``"ok"``, or why there is no log ratio; the verdict is then made on the difference.
    statistic, judged
        T on the scale, and its symmetric interval; computed where they are not given.
    verdict
        ``not_significant``, ``significant``, ``negligible`` or ``inconclusive``.
    """

    first: Floats = field(repr=False)
    second: Floats = field(repr=False)
    rope: float
    scale: Scale
    level: float
    status: str = OK
    statistic: Floats | None = field(default=None, repr=False)
    judged: tuple[float, float] | None = field(default=None, repr=False)
    verdict: Verdict = field(init=False)

    def __post_init__(self) -> None:
        # At once, so that a level or a region that is none is refused here.
        object.__setattr__(self, "verdict", rope(*self._judged, self.rope, self.differs))

    @cached_property
    def _delta(self) -> Floats:
        known = self.statistic if self.scale == "difference" else None
        return self.first - self.second if known is None else known

    @cached_property
    def _logs(self) -> Floats | None:
        if self.status != OK:
            return None
        known = self.statistic if self.scale == "log_ratio" else None
        return np.log(self.first) - np.log(self.second) if known is None else known

    @cached_property
    def _ends(self) -> tuple[float, float]:
        known = self.judged if self.scale == "difference" else None
        return known or symmetric_interval(self._delta, self.level)

    @cached_property
    def _log_ends(self) -> tuple[float, float] | tuple[None, None]:
        if self._logs is None:
            return None, None
        known = self.judged if self.scale == "log_ratio" else None
        return known or symmetric_interval(self._logs, self.level)

    @cached_property
    def _hdi(self) -> tuple[float, float]:
        return hdi(self._delta, self.level)

    @property
    def n(self) -> int:
        """How many pairs of draws there are."""
        return len(self.first)

    @property
    def log_ratio(self) -> float | None:
        """Mean of log first - log second (natural logarithm); None where a draw is at or below 0."""
        return None if self._logs is None else float(self._logs.mean())

    @property
    def log_low(self) -> float | None:
        """Lower end of its symmetric interval."""
        return self._log_ends[0]

    @property
    def log_high(self) -> float | None:
        """Upper end of its symmetric interval."""
        return self._log_ends[1]

    @property
    def difference(self) -> float:
        """Mean of first - second, in the unit of the draws."""
        return float(self._delta.mean())

    @property
    def low(self) -> float:
        """Lower end of its symmetric interval."""
        return self._ends[0]

    @property
    def high(self) -> float:
        """Upper end of its symmetric interval."""
        return self._ends[1]

    @property
    def hdi_low(self) -> float:
        """Lower end of the highest-density interval of the difference."""
        return self._hdi[0]

    @property
    def hdi_high(self) -> float:
        """Upper end of the highest-density interval of the difference."""
        return self._hdi[1]

    @property
    def probability(self) -> float:
        """Share of pairs of draws in which the first is the larger, 0..1."""
        above, same = np.count_nonzero(self._delta > 0), np.count_nonzero(self._delta == 0)
        return above / self.n + same / self.n / 2

    @property
    def differs(self) -> bool:
        """Whether the symmetric interval leaves out 0 (the same on both scales)."""
        low, high = self._judged
        return low > 0 or high < 0

    @property
    def _judged(self) -> tuple[float, float]:
        if self.judged is not None:
            return self.judged
        low, high = self._log_ends if self.scale == "log_ratio" else self._ends
        assert low is not None and high is not None
        return low, high


def compare(
    first_draws: ArrayLike | Draws,
    second_draws: ArrayLike | Draws,
    rope: float = 0.05,
    *,
    scale: Scale = "log_ratio",
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two independent fits.

    Parameters
    ----------
    first_draws, second_draws
        Posterior draws of one quantity (M-ratio, d′), any shape, e.g. ``(chains, draws)``; at least 100 each. Where
        one set is longer, a random part of it is used. What is compared many times is given as `Draws`.
    rope
        Half width of the region of practical equivalence on ``scale``.
    level
        Of the intervals, 0..1.
    seed
        Of the order the second set is put in.

    Raises
    ------
    ValueError
        For too few draws, draws that are not finite, or two sets that are one stream.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> found = compare(rng.normal(1.0, 0.05, 1000), rng.normal(0.7, 0.05, 1000))
    >>> round(found.difference, 2), found.differs, found.verdict
    (0.3, True, 'significant')
    """
    one, two = _flat("first_draws", first_draws), _flat("second_draws", second_draws)
    return compare_each([(one, two)], rope, scale=scale, level=level, seeds=[seed])[0]


def compare_each(
    pairs: Sequence[tuple[Draws, Draws]],
    rope: float = 0.05,
    *,
    scale: Scale = "log_ratio",
    level: float = 0.95,
    seeds: Sequence[int],
) -> list[Comparison]:
    """Return `compare` of each pair, in a fraction of the time.

    Parameters
    ----------
    pairs
        The draws of two independent fits each.
    rope, scale, level
        As of `compare`.
    seeds
        Of the order the second set of each pair is put in.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> one, two = (Draws(rng.normal(mean, 0.05, 1000)) for mean in (1.0, 0.7))
    >>> compare_each([(one, two)], seeds=[5])[0].low == compare(one, two, seed=5).low
    True
    """
    made = [_against(one, two, scale, seed) for (one, two), seed in zip(pairs, seeds, strict=True)]
    if len({len(statistic) for *_, statistic in made}) == 1:
        ends = symmetric_intervals(np.stack([statistic for *_, statistic in made]), level)
    else:
        ends = [symmetric_interval(statistic, level) for *_, statistic in made]
    return [
        Comparison(first, second, rope, used, level, status, statistic, judged)
        for (first, second, used, status, statistic), judged in zip(made, ends, strict=True)
    ]


def _against(one: Draws, two: Draws, scale: Scale, seed: int) -> tuple[Floats, Floats, Scale, str, Floats]:
    """Return both sets in the order they are compared in, the scale and why it is another one, and T on it."""
    _refuse_one_stream(one, two)
    rng = resampling.generator(seed)
    n = min(len(one), len(two))
    mine = slice(None) if len(one) == n else rng.permutation(len(one))[:n]
    theirs = rng.permutation(len(two))[:n]
    first, second = one.values[mine], two.values[theirs]
    used, status = _scale(first, second, scale, one.positive and two.positive)
    if used == "difference":
        return first, second, used, status, first - second
    logs = (
        (one.logs[mine], two.logs[theirs]) if one.positive and two.positive else map(np.log, (first, second))
    )
    return first, second, used, status, np.subtract(*logs)


def against_optimality(
    draws: ArrayLike | Draws, rope: float = 0.05, *, scale: Scale = "log_ratio", level: float = 0.95
) -> Comparison:
    """Compare one fit's M-ratio with 1: T = log M, and M - 1 as the difference.

    Parameters are those of :func:`compare`.

    Parameters
    ----------
    draws
        M-ratios of a posterior, shape ``(draws,)``.
    rope, scale, level
        As of `compare`.

    Examples
    --------
    >>> against_optimality(np.random.default_rng(1).normal(0.7, 0.05, 1000)).verdict
    'significant'
    """
    ratio = _flat("draws", draws).values
    optimal = np.ones(len(ratio))
    used, status = _scale(ratio, optimal, scale)
    return Comparison(ratio, optimal, rope, used, level, status)


def _scale(one: Floats, two: Floats, scale: Scale, positive: bool = False) -> tuple[Scale, str]:
    """Return the scale two sets can be compared on, and why it is another one; ``positive``: all are known to be."""
    if scale not in ("log_ratio", "difference"):
        raise ValueError(f"scale is {scale!r}: log_ratio or difference")
    positive = positive or bool((one > 0).all() and (two > 0).all())
    return (scale, OK) if positive else ("difference", NO_LOG)


def _flat(name: str, draws: ArrayLike | Draws) -> Draws:
    if isinstance(draws, Draws):
        return draws
    flat = floats(name, np.asarray(draws).reshape(-1))
    if len(flat) < FEWEST:
        raise ValueError(f"{name} holds {len(flat)} draws: at least {FEWEST} are needed")
    return Draws(flat)


def _refuse_one_stream(one: Draws, two: Draws) -> None:
    n = min(len(one), len(two))
    if np.array_equal(one.values[:n], two.values[:n]):
        raise ValueError("the two sets of draws are the same numbers: give the draws of two fits")
    # Ranks: the M-ratio of an observer near chance has tails that would hide a correlation of the rest.
    together = float(one.ranks(n) @ two.ranks(n))
    if abs(together) > SAME_STREAM:
        raise ValueError(
            f"the two sets of draws move together (rank correlation {together:.2f}): they come from one random "
            "stream; fit them with different seeds"
        )
