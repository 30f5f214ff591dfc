"""Tables over all benchmarks of one study: measures of confidence, traits, correlations, and two models compared."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.scoring import calibration, correlations, human_respondents, traits
from metacog_pipeline.scoring.estimates import WITHHELD
from metacog_pipeline.scoring.files import pooled_estimates, scored_partitions
from metacog_pipeline.scoring.harmonised import answers
from metacog_pipeline.scoring.model_pairs import paired
from metacog_pipeline.scoring.schemas import table_of
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frame, write_frame

CALIBRATION, CURVES, TRAITS, CORRELATIONS = "calibration", "curves", "traits", "correlations"
VERSION = f"{calibration.VERSION}.{correlations.VERSION}"
CELL = ["benchmark", "dataset", "condition", "model"]
#: One row per cell that lacks answers: how many of those asked, and whether its numbers are shown all the same.
LACKING = table_of("String benchmark dataset condition model", "Int64 lacking asked", "Boolean shown")
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
    own = {each.name: each.trait_estimates(rows) for each, rows in pooled if rows.width}
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


def compare(study: Study, a: str, b: str) -> pl.DataFrame:
    """Return the paired comparison of two models of the study over every benchmark with right and wrong answers.

    Raises StudyError for a name the study does not list, or one name twice; StoreError where nothing was answered.
    """
    for name in (a, b):
        study.model(name)
    if a == b:
        raise StudyError(f'compare: "{a}" twice; name two models')
    found = paired(answers(study, frozenset((a, b))), a, b, seed=study.study.seed)
    if not found.height:
        raise StoreError(f"compare: no answers of {a} or {b} yet; run `metacog run {study.path.name}` first")
    return found


def table_path(study: Study, name: str) -> Path:
    """Return where a table over all benchmarks is kept."""
    return study.home.cross_benchmark / f"{name}.parquet"


# --- runs that lack answers: withheld or labelled, as a benchmark's own numbers are -------------------------------------
def lacking(benchmark: Bound, scored: pl.DataFrame) -> pl.DataFrame:
    """Return what scored responses lack, in `LACKING`, of all that would stand in the table had it been answered.

    An unanswered response belongs to the condition it would be harmonised to if it could be read.
    """
    unanswered = pl.col("status").is_in(benchmark.unanswered)
    if scored.filter(unanswered).is_empty():
        return LACKING.to_frame()
    whole = scored.with_columns(_lacks=unanswered, status=pl.lit("ok"))
    counted = benchmark.harmonise(whole).group_by("dataset", "condition", "model")
    found = counted.agg(lacking=pl.col("_lacks").sum(), asked=pl.len()).filter(pl.col("lacking") > 0)
    shown = pl.lit(benchmark.settings.allow_incomplete)
    named = found.with_columns(benchmark=pl.lit(benchmark.name), shown=shown)
    return named.select(pl.col(name).cast(kind) for name, kind in LACKING.items())


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
