"""Tables over all benchmarks of one study: measures of confidence, traits, correlations."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.scoring import calibration, correlations, human_respondents, traits
from metacog_pipeline.scoring.estimates import WITHHELD
from metacog_pipeline.scoring.files import pooled_estimates, scored_partitions
from metacog_pipeline.scoring.harmonised import LACKING, answers, lacking
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frame, write_frame

CALIBRATION, CURVES, TRAITS, CORRELATIONS = "calibration", "curves", "traits", "correlations"
VERSION = f"{calibration.VERSION}.{correlations.VERSION}"
CELL = ["benchmark", "dataset", "condition", "model"]
_NUMBERS = ("estimate", "low", "high", "sem", "low_n")


def publish(study: Study) -> dict[str, int]:
    """Compute what the benchmarks have in common and whether they agree; return rows per table."""
    measured, points = calibration.with_curves(answers(study), seed=study.study.seed)
    lacks = lacking_of(study)
    measured, points = labelled(measured, lacks), without_withheld(points, lacks)
    order = [*CELL, "source"]
    people = human_respondents.measured(study, measured)
    measured = pl.concat([measured, people]).sort(order, maintain_order=True)
    pooled = ((each, pooled_estimates(each)) for each in enabled(study))
    own = {each.name: rows for each, rows in pooled if rows.width}
    found = traits.values(traits.traits(enabled(study)), measured, own)
    made = {
        CALIBRATION: measured,
        CURVES: points.sort(order, maintain_order=True),
        TRAITS: found,
        CORRELATIONS: correlations.correlations(found, seed=study.study.seed),
    }
    for name, frame in made.items():
        write_frame(frame, table_path(study, name), "")
    return {name: frame.height for name, frame in made.items()}


def table_path(study: Study, name: str) -> Path:
    """Return where a table over all benchmarks is kept."""
    return study.home.cross_benchmark / f"{name}.parquet"


# --- runs that lack answers: withheld or labelled, as a benchmark's own numbers are -------------------------------------
def lacking_of(study: Study) -> pl.DataFrame:
    """Return what the study lacks; the runs of a model count together."""
    found = [LACKING.to_frame()]
    for benchmark in enabled(study):
        for partitions in scored_partitions(benchmark).values():
            runs = [read_frame(each.below("scored")) for each in partitions]
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
