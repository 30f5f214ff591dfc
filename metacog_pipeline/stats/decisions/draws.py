"""Two sets of posterior draws, or one against optimality.

The statistic is T = log first - log second, draw by draw, and the two differ where the symmetric 95 % interval of T
leaves out 0. The sign of T is the sign of first - second, so the difference gives the same test; it also stands where
a set holds draws at or below 0, which have no logarithm.

Draws that came out of one random stream move together, and an interval of their difference is then too narrow. So the
second set is always put in a random order, and two sets that visibly are one stream are refused: whoever fitted
them with one seed should hear of it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, floats, mean_ranks
from metacog_pipeline.stats.decisions.verdicts import Verdict, hdi, rope, symmetric_interval
from metacog_pipeline.stats.estimate import OK

Scale = Literal["log_ratio", "difference"]
NO_LOG = "draws at or below 0: no log ratio"

# Independent chains of 400 effective draws correlate beyond ±0.2 once in 15,000; shared seeds gave 0.7.
SAME_STREAM = 0.5
_COMPARED = 1_000  # draws, evenly taken, whose ranks tell that: ranks of all tell no more and take longer
FEWEST = 100


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
    verdict
        ``not_significant``, ``significant``, ``negligible`` or ``inconclusive``.
    """

    first: Floats = field(repr=False)
    second: Floats = field(repr=False)
    rope: float
    scale: Scale
    level: float
    status: str = OK
    verdict: Verdict = field(init=False)

    def __post_init__(self) -> None:
        # At once, so that a level or a region that is none is refused here.
        object.__setattr__(self, "verdict", rope(*self._judged, self.rope, self.differs))

    @cached_property
    def _delta(self) -> Floats:
        return self.first - self.second

    @cached_property
    def _logs(self) -> Floats | None:
        return np.log(self.first) - np.log(self.second) if self.status == OK else None

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return symmetric_interval(self._delta, self.level)

    @cached_property
    def _log_ends(self) -> tuple[float, float] | tuple[None, None]:
        return (None, None) if self._logs is None else symmetric_interval(self._logs, self.level)

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
        return float((self._delta > 0).mean() + (self._delta == 0).mean() / 2)

    @property
    def differs(self) -> bool:
        """Whether the symmetric interval leaves out 0 (the same on both scales)."""
        low, high = self._judged
        return low > 0 or high < 0

    @property
    def _judged(self) -> tuple[float, float]:
        low, high = self._log_ends if self.scale == "log_ratio" else self._ends
        assert low is not None and high is not None
        return low, high


def compare(
    first_draws: ArrayLike,
    second_draws: ArrayLike,
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
        one set is longer, a random part of it is used.
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
    _refuse_one_stream(one, two)
    rng = resampling.generator(seed)
    n = min(len(one), len(two))
    one = one if len(one) == n else rng.permutation(one)[:n]
    return _decide(one, rng.permutation(two)[:n], rope, scale, level)


def against_optimality(
    draws: ArrayLike, rope: float = 0.05, *, scale: Scale = "log_ratio", level: float = 0.95
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
    ratio = _flat("draws", draws)
    return _decide(ratio, np.ones(len(ratio)), rope, scale, level)


def _decide(one: Floats, two: Floats, half_width: float, scale: Scale, level: float) -> Comparison:
    if scale not in ("log_ratio", "difference"):
        raise ValueError(f"scale is {scale!r}: log_ratio or difference")
    positive = bool((one > 0).all() and (two > 0).all())
    used: Scale = scale if positive else "difference"
    return Comparison(one, two, half_width, used, level, OK if positive else NO_LOG)


def _flat(name: str, draws: ArrayLike) -> Floats:
    flat = floats(name, np.asarray(draws).reshape(-1))
    if len(flat) < FEWEST:
        raise ValueError(f"{name} holds {len(flat)} draws: at least {FEWEST} are needed")
    return flat


def _refuse_one_stream(one: Floats, two: Floats) -> None:
    n = min(len(one), len(two))
    first, second = one[:n], two[:n]
    if np.array_equal(first, second):
        raise ValueError("the two sets of draws are the same numbers: give the draws of two fits")
    # Ranks: the M-ratio of an observer near chance has tails that would hide a correlation of the rest.
    step = -(-n // _COMPARED)
    together = float(_ranks(first[::step].tobytes()) @ _ranks(second[::step].tobytes()))
    if abs(together) > SAME_STREAM:
        raise ValueError(
            f"the two sets of draws move together (rank correlation {together:.2f}): they come from one random "
            "stream; fit them with different seeds"
        )


@functools.lru_cache(maxsize=512)  # the draws of a model are compared with those of all others
def _ranks(draws: bytes) -> Floats:
    """Return ranks about their mean, of length 1; zeros where all draws are the same."""
    ranks = mean_ranks(np.frombuffer(draws))
    about = ranks - ranks.mean()
    scaled: Floats = about / max(float(np.sqrt(about @ about)), 1.0)
    return scaled
