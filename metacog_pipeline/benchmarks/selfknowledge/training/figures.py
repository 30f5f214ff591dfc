"""What a run says of itself, generation by generation, and why one that does not move cannot.

d'type2 is undefined where the benchmark says so: without a right or without a wrong answer there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from metacog_pipeline.benchmarks.selfknowledge.measures import BY_CORRECTION, undefined
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import NOTHING, EpisodeReward
from metacog_pipeline.stats.estimate import Estimate, unavailable
from metacog_pipeline.stats.resampling import Z95
from metacog_pipeline.stats.type2_dprime import type2_dprime

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit

D = "d_type2"
SHARES = ("accuracy", "yes_ratio", "raw_alignment", "yfr", "nfr")


def estimates(counts: EpisodeReward, times: int = 1) -> dict[str, Estimate]:
    """Return d'type2 (log-linear, delta-method interval) and the shares of counts.

    ``times`` is how often each item was asked, by different individuals: intervals are those of the items.
    """
    right, alarms = counts.correct, counts.yes - counts.hits
    cells = type2_dprime(counts.hits, alarms, right, wrong := counts.n - right, "loglinear")
    found = cells.estimate("d")
    if (why := undefined(right, wrong)) is not None:
        found = unavailable(counts.n, found.method, why)
    else:
        if found.value is not None and found.sem is not None:
            half = Z95 * (sem := found.sem * math.sqrt(times))
            found = replace(found, low=found.value - half, high=found.value + half, sem=sem)
        if counts.hits in (0, right) or alarms in (0, wrong):
            found = replace(found, status=BY_CORRECTION)
    return {D: found, **{name: cells.estimate(name) for name in SHARES}}


@dataclass(frozen=True, slots=True)
class Figures:
    """A generation in numbers."""

    updates: int  # made so far, this one included
    reward: float  # mean over the individuals
    outcome: EpisodeReward  # counts over all individuals together; each item was asked ``population`` times
    population: int
    # share of the individuals with a fitness of their own: 1/N where all are equal, and nothing can be selected
    distinct: float
    update_norm: float | None  # Euclidean norm of the update; None where the worker did not say
    seconds: float
    # questions_per_s, eta_s: asked while evaluating the population; seconds left at the pace of this session
    questions_per_s: float
    eta_s: float
    # counts of the updated model on questions held out; None where they were not asked
    held_out: EpisodeReward | None = None

    def numbers(self) -> dict[str, float | int | str | None]:
        """Return them as flat JSON values; undefined ones are null, with the reason beside d'type2."""
        n, d = self.outcome.n, estimates(self.outcome, self.population)[D]
        found: dict[str, float | int | str | None] = {
            "updates": self.updates,
            "reward": self.reward,
            "accuracy": self.outcome.correct / n if n else None,
            "yes_ratio": self.outcome.yes / n if n else None,
            "parsed": None if self.outcome.parsed is None or not n else self.outcome.parsed / n,
            D: d.value,
            f"{D}_low": d.low,
            f"{D}_high": d.high,
            f"{D}_status": d.status,
            "distinct_fitness": self.distinct,
            "update_norm": self.update_norm,
            "questions_per_s": self.questions_per_s,
            "seconds": self.seconds,
            "eta_s": self.eta_s,
        }
        if self.held_out is not None:
            held = estimates(self.held_out)
            found |= {f"held_out_{name}": each.value for name, each in held.items()}
            found |= {"held_out_n": self.held_out.n, f"held_out_{D}_status": held[D].status}
        return found

    def line(self) -> str:
        """Return them as the end of a progress line."""
        n, d = max(1, self.outcome.n), estimates(self.outcome, self.population)[D]
        moved = "" if self.update_norm is None else f", update {self.update_norm:.2g}"
        return (
            f"reward {self.reward:.3f}, accuracy {self.outcome.correct / n:.3f}, yes {self.outcome.yes / n:.2f}, "
            f"d′ {shown(d) or d.status}, distinct {self.distinct:.0%}{moved}, {self.questions_per_s:.3g} questions/s, "
            f"{duration(self.eta_s)} left"
        )


def distinct(fitness: Sequence[float]) -> float:
    """Return the share of individuals with a fitness of their own."""
    return len(set(fitness)) / len(fitness)


def is_dead(commit: Commit) -> bool:
    """Whether the update of a generation is exactly nothing."""
    return not any(commit.z)


def cause(counts: EpisodeReward, reward: str, sigma: float, base: EpisodeReward | None = None) -> str:
    """Say why individuals with these counts together leave nothing to be selected, and what to do.

    What the ``base`` does, noise or updates that are too large have spoilt where the individuals do not.
    """
    if base is not None and (lost := _lost(counts, base, reward)):
        why = f"{lost}: noise of sigma = {sigma:g}, or the steps, may spoil the model; take a smaller --sigma or --alpha"
    elif not counts.correct:
        why = "no answer was right: ask easier questions, or look at the replies (metacog train evaluate --output)"
    elif counts.parsed == 0 and reward != "direct":
        why = "no reply could be read as yes or no: use --meta threshold, or give more --max-tokens"
    elif counts.yes in (0, counts.n) and reward != "direct":
        said = "yes" if counts.yes else "no"
        why = (
            f"every reply says {said}, and no noise of sigma = {sigma:g} changes that: take a larger --sigma"
        )
    elif counts.correct == counts.n:
        why = "every answer was right: ask harder questions"
    else:
        why = f"noise of sigma = {sigma:g} changes nothing that the reward {reward} counts: take a larger --sigma"
    return why


def _lost(counts: EpisodeReward, base: EpisodeReward, reward: str) -> str:
    """Return what the base does and these individuals never do; nothing where there is no such thing."""
    if base.correct and not counts.correct:
        return f"no answer was right, though the base has {base.correct} of {base.n} right"
    if reward != "direct" and base.parsed and counts.parsed == 0:
        return f"no reply could be read as yes or no, though {base.parsed} of {base.n} of the base can"
    if reward != "direct" and 0 < base.yes < base.n and counts.yes in (0, counts.n):
        return f"every reply says {'yes' if counts.yes else 'no'}, though the base says both"
    return ""


def together(outcomes: Sequence[EpisodeReward]) -> EpisodeReward:
    """Return counts added up."""
    return sum(outcomes, NOTHING)


def duration(seconds: float) -> str:
    """Return ``50 s``, ``12 min`` or ``3.4 h``."""
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def shown(estimate: Estimate | None) -> str | None:
    """Return ``0.52 [0.47, 0.58]``, the number alone where it has no interval, None where there is none."""
    if estimate is None or estimate.value is None:
        return None
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
