"""One number of a board computed again from the responses as they were read."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.errors import StoreError
from metacog_pipeline.scoring import cross_benchmark, files
from metacog_pipeline.scoring.calibration import with_curves
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.harmonised import harmonised, lacking
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study import Study


class Recount(NamedTuple):
    """A number computed again, and the responses it could be about."""

    made: Estimate
    asked: pl.DataFrame


def recount(
    study: Study, benchmark: str, condition: str, model: str, measure: str, *, alike: bool
) -> Recount:
    """Compute one number of a board again from the responses of the study; ``condition`` is as boards show it.

    ``alike``: it is one of those that are computed alike for every benchmark. Raises StoreError if there are no
    responses of the model, or the measure is not computed from them.
    """
    own = bound(study, benchmark)
    runs = [
        files.Run(own, each)
        for each in tasks.partitions(own)
        if each.spec.name == model and each.below("responses").exists()
    ]
    if not runs:
        raise StoreError(f"show: no responses of {model} to {benchmark} yet; run `metacog run` first")
    scored = pl.concat([each.derived() for each in runs], how="diagonal_relaxed")
    if alike:
        frame = _harmonised_under(own, scored, condition)
        answers = harmonised(own, frame).filter(condition=condition)
        table = with_curves(answers, seed=own.context.seed)[0]
        rows = cross_benchmark.labelled(table, lacking(own, frame))
    else:
        groups = groups_of(own, scored, by_run=False)
        whole = files.with_reader_error(own, runs, estimates(own, groups), by_run=False)
        rows = whole.filter(condition=condition)
        frame = next((each.frame for each in groups if each.label == condition), scored.clear())
    rows = rows.filter(measure=measure)
    if not rows.height:
        raise StoreError(
            f"show: {benchmark} gives no {measure} under {condition} from the responses of {model}; "
            f"run `metacog run {study.path.name}` to bring the board up to date"
        )
    value = Estimate(*rows.select("estimate", "low", "high", "n", "method", "status", "sem").row(0))
    return Recount(value, frame)


def _harmonised_under(benchmark: Bound, scored: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Return the responses of the conditions that are called ``condition`` in what all benchmarks share."""
    parts = scored.partition_by("dataset", *benchmark.grouped_by, "condition", maintain_order=True)
    own = [part for part in parts if (harmonised(benchmark, part)["condition"] == condition).any()]
    return pl.concat([scored.clear(), *own])
