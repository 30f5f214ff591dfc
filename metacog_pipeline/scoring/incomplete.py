"""Measures of confidence of runs that lack answers: withheld or labelled, as a benchmark's own numbers are."""

from __future__ import annotations

from typing import Any

import polars as pl

from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.benchmark.contract import Benchmark
from metacog_pipeline.scoring.estimates import WITHHELD
from metacog_pipeline.scoring.files import scored_partitions, scored_path
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frame

CELL = ["benchmark", "dataset", "condition", "model"]
#: One row per cell that lacks answers: how many of those asked, and whether its numbers are shown all the same.
LACKING = pl.Schema(
    {**dict.fromkeys(CELL, pl.String), "lacking": pl.Int64, "asked": pl.Int64, "shown": pl.Boolean}
)
_NUMBERS = ("estimate", "low", "high", "sem", "low_n")


def lacking(benchmark: Benchmark[Any, Any, Any], scored: pl.DataFrame) -> pl.DataFrame:
    """Return what scored responses lack, in `LACKING`, of all that would stand in the table had it been answered.

    An unanswered response belongs to the condition it would be harmonised to if it could be read.
    """
    unanswered = pl.col("status").is_in(benchmark.unanswered)
    if scored.filter(unanswered).is_empty():
        return LACKING.to_frame()
    whole = scored.with_columns(_lacks=unanswered, status=pl.lit("ok"))
    counted = benchmark.harmonise(whole).group_by("dataset", "condition", "model")
    found = counted.agg(lacking=pl.col("_lacks").sum(), asked=pl.len()).filter(pl.col("lacking") > 0)
    named = found.with_columns(
        benchmark=pl.lit(benchmark.name), shown=pl.lit(benchmark.settings.allow_incomplete)
    )
    return named.select(pl.col(name).cast(kind) for name, kind in LACKING.items())


def lacking_of(study: Study) -> pl.DataFrame:
    """Return what the study lacks; the runs of a model count together."""
    found = [LACKING.to_frame()]
    for benchmark in enabled(study):
        for partitions in scored_partitions(benchmark).values():
            runs = [read_frame(scored_path(each)) for each in partitions]
            found.append(lacking(benchmark, pl.concat(runs, how="diagonal_relaxed")))
    return pl.concat(found)


def labelled(measured: pl.DataFrame, lacks: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `schemas.CALIBRATION` without the numbers of what ``lacks`` answers, or with a label."""
    missing = pl.format("incomplete: {} of {} not answered", "lacking", "asked")
    label = pl.when(pl.col("status") == OK).then(missing).otherwise(pl.format("{}; {}", "status", missing))
    has, hidden = pl.col("lacking").is_not_null(), pl.col("shown").not_().fill_null(False)
    known = has & pl.col("estimate").is_not_null()
    found = measured.join(lacks, on=CELL, how="left", maintain_order="left").with_columns(
        *(pl.when(~hidden).then(name).alias(name) for name in _NUMBERS),
        status=pl.when(hidden).then(missing).when(known).then(label).otherwise("status"),
        method=pl.when(hidden).then(pl.lit(WITHHELD)).otherwise("method"),
    )
    return found.select(measured.columns)


def without_withheld(points: pl.DataFrame, lacks: pl.DataFrame) -> pl.DataFrame:
    """Return rows, of curves, without those of cells whose numbers are withheld."""
    return points.join(lacks.filter(~pl.col("shown")), on=CELL, how="anti", maintain_order="left")
