"""What a posterior must pass before it gives numbers, alike for one subject and for a group.

**Every** parameter has R̂ < 1.01 and bulk and tail effective sample sizes above 400. Otherwise the chains go on from where
they stand, tuned anew, for twice as many draws, a bounded number of times; if that does not do, no number comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.bayes.draws import Diagnostic, Draws
from metacog_pipeline.stats.bayes.sampler import TARGET, Density, draw, warm_up
from metacog_pipeline.stats.counts import Counts

CONVERGED = "converged"
NOT_CONVERGED = "not_converged"
UNDEFINED_TYPE1 = "undefined_type1"
UNIDENTIFIED = "unidentified"

# Vehtari et al. (2021), *Bayesian Analysis* 16, section 4: below 1.01, and 400 effective draws for a stable R̂.
LARGEST_RHAT = 1.01
LEAST_ESS = 400.0
MOST_STEPS = 64  # a trajectory worth of five to thirty is usual; longer ones only make a hopeless run last


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the last round drew and how it mixed; ``reason`` is empty when it converged."""

    draws: Draws
    diagnostics: Mapping[str, Diagnostic]
    reason: str


def require(table: Counts, least_ess: float) -> None:
    """Raise ValueError for counts that were padded, or a gate wider than the usual one."""
    if table.correction != "none":
        raise ValueError("the counts are padded: give the raw ones, the model needs no correction")
    if not least_ess >= LEAST_ESS:
        raise ValueError(f"least_ess is {least_ess}, below {LEAST_ESS:g}")


def sample_until_sure(
    density: Density,
    starts: Floats,
    stream: np.random.SeedSequence,
    *,
    read: Callable[[Floats], Draws],
    diagnose: Callable[[Draws], Mapping[str, Diagnostic]],
    draws: int,
    warmup: int,
    rounds: int,
    least_ess: float,
    most_calls: float = math.inf,
    shorter: bool = False,
) -> Sampled:
    """Draw until every parameter passes, at most ``rounds`` times."""
    calls = 0
    found: Draws = {}
    diagnostics: Mapping[str, Diagnostic] = {}
    reason = ""
    for effort in (2**i for i in range(rounds)):
        tuned = warm_up(
            density, starts, seed=stream.spawn(1)[0], warmup=warmup * effort, max_steps=MOST_STEPS,
            target=1 - (1 - TARGET) / (effort if shorter else 1),
        )  # fmt: skip
        found = read(draw(density, tuned, draws * effort))
        starts = tuned.position
        diagnostics = diagnose(found)
        reason = doubt(diagnostics, least_ess)
        calls += tuned.gradients
        if not reason or calls > most_calls:
            break
    return Sampled(found, diagnostics, reason)


def doubt(diagnostics: Mapping[str, Diagnostic], least_ess: float = LEAST_ESS) -> str:
    """Return which parameter fails first and by what, or an empty string. NaN fails."""
    for name, row in diagnostics.items():
        if not row.rhat < LARGEST_RHAT:
            return f"R-hat of {name} is {row.rhat:.3f}, not below {LARGEST_RHAT}"
        for kind, size in (("bulk", row.ess_bulk), ("tail", row.ess_tail)):
            if not size > least_ess:
                return f"{kind} ESS of {name} is {size:.0f}, not above {least_ess:g}"
    return ""


def random_stream(
    seed: int, label: str, kind: tuple[object, ...], ratings_given: Floats
) -> np.random.SeedSequence:
    """Return the stream of one model: another one for another seed, label, kind of model or data.

    ``kind`` holds JSON values.
    """
    return resampling.sequence("bayes", seed, label, list(kind), np.asarray(ratings_given).tolist())
