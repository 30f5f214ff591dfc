"""A generation in numbers, the learning curve, and why a run that does not move cannot.

d'type2 is undefined where the benchmark says so: without a right or without a wrong answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from metacog_pipeline.benchmarks.selfknowledge.measures import BY_CORRECTION, undefined
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import Counts
from metacog_pipeline.stats.estimate import Estimate, unavailable
from metacog_pipeline.stats.resampling import Z95
from metacog_pipeline.stats.yes_no import type2_dprime

D = "d_type2"
SHARES = ("accuracy", "yes_ratio", "raw_alignment", "yfr", "nfr")


def estimates(counts: Counts, times: int = 1) -> dict[str, Estimate]:
    """Return d'type2 (log-linear, delta-method interval) and the shares of counts.

    ``times`` is how often each item was asked, by different individuals: the interval counts each item once.
    """
    right, wrong, alarms = counts.correct, counts.n - counts.correct, counts.yes - counts.hits
    cells = type2_dprime(counts.hits, alarms, right, wrong, "loglinear")
    found = cells.estimate("d")
    if (why := undefined(right, wrong)) is not None:
        found = unavailable(counts.n, found.method, why)
    else:
        if found.value is not None and found.sem is not None:
            sem = found.sem * math.sqrt(times)
            found = replace(found, low=found.value - Z95 * sem, high=found.value + Z95 * sem, sem=sem)
        if counts.hits in (0, right) or alarms in (0, wrong):
            found = replace(found, status=BY_CORRECTION)
    return {D: found, **{name: cells.estimate(name) for name in SHARES}}


@dataclass(frozen=True, slots=True)
class Generation:
    """What the log keeps of a generation besides its commit."""

    # made so far, this one included
    updates: int
    fitness: Sequence[float]
    # over all individuals together
    counts: Counts
    # of the updated model; None where it was not asked
    held_out: Counts | None
    norm: float  # Euclidean, of the update
    seconds: float

    def numbers(self) -> dict[str, Any]:
        """Return a row of the learning curve; what is undefined is None."""
        d = estimates(self.counts, len(self.fitness))
        row: dict[str, Any] = {"updates": self.updates, "reward": sum(self.fitness) / len(self.fitness)}
        row |= {"distinct_fitness": len(set(self.fitness)) / len(self.fitness), "update_norm": self.norm}
        row |= {"n": self.counts.n, **{name: each.value for name, each in d.items()}}
        row |= {f"{D}_low": d[D].low, f"{D}_high": d[D].high, f"{D}_status": d[D].status}
        return {**row, **held_out(self.held_out), "seconds": self.seconds}

    def line(self) -> str:
        """Return the end of a progress line."""
        d = estimates(self.counts, len(self.fitness))
        told = [f"reward {sum(self.fitness) / len(self.fitness):.3f}"]
        told += [f"accuracy {shown(d['accuracy'])}", f"yes {shown(d['yes_ratio'])}"]
        told += [
            f"d′ {shown(d[D]) or d[D].status}",
            f"{len(set(self.fitness))} of {len(self.fitness)} differ",
        ]
        return ", ".join([*told, f"update {self.norm:.2g}", f"{self.seconds:.1f} s"])


def held_out(counts: Counts | None) -> dict[str, Any]:
    """Return the held-out columns of a row of the learning curve."""
    if counts is None:
        return {f"held_out_{name}": None for name in ("n", D, *SHARES)}
    found = {f"held_out_{name}": each.value for name, each in estimates(counts).items()}
    return {"held_out_n": counts.n, **found}


def curves(base: Counts | None, generations: Sequence[Generation]) -> pl.DataFrame:
    """Return the learning curve: a row per number of updates, from 0; columns without prefix pool all individuals."""
    rows = [{"updates": 0, **held_out(base)}, *(each.numbers() for each in generations)]
    floats = ("reward", "distinct_fitness", "update_norm", D, *SHARES, f"{D}_low", f"{D}_high", "seconds")
    held = (f"held_out_{name}" for name in (D, *SHARES))
    schema: dict[str, Any] = {
        "updates": pl.Int64,
        "n": pl.Int64,
        "held_out_n": pl.Int64,
        f"{D}_status": pl.String,
    }
    return pl.DataFrame(rows, schema={**schema, **dict.fromkeys((*floats, *held), pl.Float64)})


def cause(counts: Counts, reward: str, sigma: float, base: Counts | None = None) -> str:
    """Return why individuals with these counts leave nothing to select, and what to do."""
    # Where the base can do what no individual does, noise or steps that are too large have spoilt the model.
    if base is not None and (lost := _lost(counts, base, reward)):
        return f"{lost}: noise of sigma = {sigma:g}, or the steps, may spoil the model; take a smaller sigma or alpha"
    if not counts.correct:
        return "no answer was right: ask easier questions"
    if counts.parsed == 0 and reward != "direct":
        return 'no reply could be read as yes or no: use meta = "threshold", or give more max_tokens'
    if counts.yes in (0, counts.n) and reward != "direct":
        said = "yes" if counts.yes else "no"
        return f"every reply says {said}, and no noise of sigma = {sigma:g} changes that: take a larger sigma"
    if counts.correct == counts.n:
        return "every answer was right: ask harder questions"
    return f"noise of sigma = {sigma:g} changes nothing that the reward {reward} counts: take a larger sigma"


def _lost(counts: Counts, base: Counts, reward: str) -> str:
    if base.correct and not counts.correct:
        return f"no answer was right, though the base has {base.correct} of {base.n} right"
    if reward == "direct":
        return ""
    if base.parsed and counts.parsed == 0:
        return f"no reply could be read as yes or no, though {base.parsed} of {base.n} of the base can"
    if 0 < base.yes < base.n and counts.yes in (0, counts.n):
        return f"every reply says {'yes' if counts.yes else 'no'}, though the base says both"
    return ""


def table_of(found: Mapping[str, Mapping[str, Estimate]], first: str = "model") -> pl.DataFrame:
    """Return one row per label and measure, with interval, number of items and status."""
    rows = [
        (label, measure, each.value, each.low, each.high, each.n, each.status)
        for label, measures in found.items()
        for measure, each in measures.items()
    ]
    floats = dict.fromkeys(("estimate", "low", "high"), pl.Float64)
    schema = {first: pl.String, "measure": pl.String, **floats, "n": pl.Int64, "status": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def shown(estimate: Estimate) -> str | None:
    """Return ``0.52 [0.47, 0.58]``, the number alone where it has no interval, None where there is none."""
    if estimate.value is None:
        return None
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
