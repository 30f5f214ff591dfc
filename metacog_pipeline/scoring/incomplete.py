"""Measures of confidence of runs that lack answers: withheld or labelled, as a benchmark's own numbers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.benchmark.contract import Benchmark
from metacog_pipeline.scoring.estimates import WITHHELD
from metacog_pipeline.scoring.files import scored_path
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frame

CELL = ["benchmark", "dataset", "condition", "model"]
#: One row per cell that lacks answers: how many of those asked, and whether its numbers are shown all the same.
LACKING = pl.Schema(
    {**dict.fromkeys(CELL, pl.String), "lacking": pl.Int64, "asked": pl.Int64, "shown": pl.Boolean}
)
_NUMBERS = ("estimate", "low", "high", "sem")


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
    """Return what the study lacks; the runs of a model count together. Only those of models that lack anything are read."""
    found = [LACKING.to_frame()]
    for benchmark in enabled(study):
        runs: dict[str, list[Path]] = {}
        for partition in tasks.partitions(benchmark):
            if (path := scored_path(partition)).exists():
                runs.setdefault(partition.spec.name, []).append(path)
        for model in _that_lack(runs, benchmark.unanswered):
            frames = [read_frame(path) for path in runs[model]]
            found.append(lacking(benchmark, pl.concat(frames, how="diagonal_relaxed")))
    return pl.concat(found)


def _that_lack(runs: Mapping[str, Sequence[Path]], unanswered: Sequence[str]) -> list[str]:
    """Return the models of which an answer lacks; read together, files take a quarter of the time of one after another."""
    every = [path for own in runs.values() for path in own]
    if not every:
        return []
    try:
        rows = pl.read_parquet(every, columns=["model", "status"], glob=False, hive_partitioning=False)
    except (OSError, pl.exceptions.PolarsError):  # other columns, or one that is damaged
        return [model for model, own in runs.items() if any(_lacks(path, unanswered) for path in own)]
    found = set(rows.filter(pl.col("status").is_in(list(unanswered)))["model"].unique())
    return [model for model in runs if model in found]


def _lacks(path: Path, unanswered: Sequence[str]) -> bool:
    try:
        frame = pl.read_parquet(path, columns=["status"], glob=False, hive_partitioning=False)
    except (OSError, pl.exceptions.PolarsError):
        return True  # who reads the whole of it says what is wrong
    return bool(frame["status"].is_in(list(unanswered)).any())


def told(measured: pl.DataFrame, lacks: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `schemas.CALIBRATION` without the numbers of what ``lacks`` answers, or with a label."""
    missing = pl.format("incomplete: {} of {} not answered", "lacking", "asked")
    label = pl.when(pl.col("status") == OK).then(missing).otherwise(pl.format("{}; {}", "status", missing))
    has, hidden = pl.col("lacking").is_not_null(), pl.col("shown").not_().fill_null(False)
    known = pl.col("estimate").is_not_null()
    status = pl.when(hidden).then(missing).when(has & known).then(label).otherwise("status")
    return (
        measured.join(lacks, on=CELL, how="left", maintain_order="left")
        .with_columns(
            *(pl.when(~hidden).then(name).alias(name) for name in _NUMBERS),
            status=status,
            method=pl.when(hidden).then(pl.lit(WITHHELD)).otherwise("method"),
            low_n=pl.when(~hidden).then("low_n"),
        )
        .select(measured.columns)
    )


def without_withheld(points: pl.DataFrame, lacks: pl.DataFrame) -> pl.DataFrame:
    """Return rows, of curves, without those of cells whose numbers are withheld."""
    return points.join(lacks.filter(~pl.col("shown")), on=CELL, how="anti", maintain_order="left")
