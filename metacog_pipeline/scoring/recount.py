"""One number of a board computed again from the responses as they were read."""

from __future__ import annotations

import copy
from typing import NamedTuple

import polars as pl

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.benchmark.contract import Measure, MeasureSet
from metacog_pipeline.errors import StoreError
from metacog_pipeline.scoring import cross_benchmark, files
from metacog_pipeline.scoring.calibration import PREFIX, with_curves
from metacog_pipeline.scoring.estimates import COVERAGE, estimates, groups_of
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.harmonised_measures import DECLARED
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frame


class Recount(NamedTuple):
    """A number computed again; ``declared`` is its measure, ``asked`` are the responses it could be about."""

    made: Estimate
    declared: Measure
    asked: pl.DataFrame


def recount(study: Study, benchmark: str, condition: str, model: str, measure: str) -> Recount:
    """Compute one number of a board again from the responses of the study; ``condition`` is as boards show it.

    Raises StoreError if there are no responses of the model, or the measure is not computed from them.
    """
    own = bound(study, benchmark)
    scored = _responses(own, model)
    declared, whole = _declaration(own, measure)
    if declared is None:
        raise StoreError(f"explain: {benchmark} declares no {measure}")
    if whole is None:
        frame = _harmonised_under(own, scored, condition)
        answers = harmonised(own, frame).filter(condition=condition)
        table = with_curves(answers, seed=own.context.seed)[0]
        rows = cross_benchmark.labelled(table, cross_benchmark.lacking(own, frame))
    else:
        narrow = copy.copy(own)
        # Only what holds the measure is computed; the coverage of a benchmark that declares none is always there.
        narrow.measures = () if whole is COVERAGE else (whole,)  # type: ignore[misc]
        groups = groups_of(narrow, scored, by_run=False)
        runs = [
            each
            for each in tasks.partitions(own)
            if each.spec.name == model and responses_path(each).exists()
        ]
        rows = files.with_reader_error(narrow, runs, estimates(narrow, groups), by_run=False)
        rows = rows.filter(condition=condition)
        frame = next((each.frame for each in groups if each.label == condition), scored.clear())
    rows = rows.filter(measure=measure)
    if not rows.height:
        raise StoreError(
            f"explain: {benchmark} gives no {measure} under {condition} from the responses of {model}; "
            f"run `metacog run {study.path.name}` to bring the board up to date"
        )
    if declared.only is not None:
        column, values = declared.only
        frame = frame.filter(pl.col(column).is_in(list(values)))
    made = Estimate(*rows.select("estimate", "low", "high", "n", "method", "status", "sem").row(0))
    return Recount(made, declared, frame)


def _responses(benchmark: Bound, model: str) -> pl.DataFrame:
    """Return the responses of a model over all runs as they were read, with derived columns."""
    made = [
        files.derived(benchmark, read_frame(each.below("responses")), files.kept_judgements(benchmark, each))
        for each in tasks.partitions(benchmark)
        if each.spec.name == model and each.below("responses").exists()
    ]
    if not made:
        raise StoreError(f"explain: no responses of {model} to {benchmark.name} yet; run `metacog run` first")
    return pl.concat(made, how="diagonal_relaxed")


def _declaration(benchmark: Bound, measure: str) -> tuple[Measure | None, Measure | MeasureSet | None]:
    """Return the declaration of a measure and what computes it: itself, a set, or nothing where all benchmarks share it."""
    for each in (*benchmark.measures, COVERAGE):
        for one in each.measures if isinstance(each, MeasureSet) else (each,):
            if one.name == measure:
                return one, each
    return next((each for each in DECLARED if PREFIX + each.name == measure), None), None


def _harmonised_under(benchmark: Bound, scored: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Return the responses of the conditions that are called ``condition`` in what all benchmarks share."""
    parts = scored.partition_by("dataset", *benchmark.grouped_by, "condition", maintain_order=True)
    own = [part for part in parts if (harmonised(benchmark, part)["condition"] == condition).any()]
    return pl.concat([scored.clear(), *own])
