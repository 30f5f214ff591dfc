"""Learning curves of a run as a table, one row per generation; an undefined number is null."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metacog_pipeline.benchmarks.selfknowledge.training.figures import SHARES, D, estimates
from metacog_pipeline.benchmarks.selfknowledge.training.log import Generation
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import EpisodeReward
from metacog_pipeline.files import replacing

if TYPE_CHECKING:
    import polars as pl

    from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings

FILE = "curves.parquet"
MEASURES = (*SHARES, D)


def measures(outcome: EpisodeReward | None) -> dict[str, float | None]:
    """Return the measures of counts, d'type2 with the log-linear correction; null where undefined."""
    if outcome is None:
        return dict.fromkeys(MEASURES)
    found = estimates(outcome)
    return {name: found[name].value for name in MEASURES}


def frame(settings: Settings, base: EpisodeReward | None, generations: Sequence[Generation]) -> pl.DataFrame:
    """Return the curves.

    One row per number of updates, from 0. Columns without prefix pool all individuals of the generation that led there
    (null in row 0); ``held_out_…`` are of the updated model on questions held out (null where they were not asked).
    """
    import polars as pl

    rows = [_row(0, None, base)]
    rows += [_row(k + 1, each, each.held_out) for k, each in enumerate(generations)]
    numbers = dict.fromkeys(rows[0], pl.Float64)
    whole = dict.fromkeys(("updates", "n", "held_out_n"), pl.Int64)
    return pl.DataFrame(rows, schema={**numbers, **whole}).with_columns(reward=pl.lit(settings.reward))


def write(
    path: Path, settings: Settings, base: EpisodeReward | None, generations: Sequence[Generation]
) -> None:
    """Write the curves as Parquet."""
    with replacing(path) as temporary:
        frame(settings, base, generations).write_parquet(temporary)


def _row(updates: int, generation: Generation | None, held_out: EpisodeReward | None) -> dict[str, Any]:
    fitness = [] if generation is None else generation.commit.fitness
    return {
        "updates": updates,
        "reward_mean": float(np.mean(fitness)) if fitness else None,
        "reward_sd": float(np.std(fitness, ddof=1)) if fitness else None,
        "reward_max": max(fitness, default=None),
        "alpha": None if generation is None else generation.commit.alpha,
        "n": None if generation is None else generation.outcome.n,
        **measures(None if generation is None else generation.outcome),
        "held_out_n": None if held_out is None else held_out.n,
        **{f"held_out_{name}": value for name, value in measures(held_out).items()},
        "seconds": None if generation is None else generation.seconds,
    }
