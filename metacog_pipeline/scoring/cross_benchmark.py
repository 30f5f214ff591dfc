"""The table over all benchmarks of one study: measures of confidence, computed alike for each."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.scoring import calibration, human_respondents
from metacog_pipeline.scoring.estimates import WITHHELD
from metacog_pipeline.scoring.files import scored_partitions
from metacog_pipeline.scoring.harmonised import LACKING, lacking, with_verdict
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frames, write_frame

VERSION = calibration.VERSION
CELL = ["benchmark", "dataset", "condition", "model"]
_NUMBERS = ("estimate", "low", "high", "sem", "low_n")


def publish(study: Study) -> int:
    """Compute the measures of confidence of every benchmark and keep them; return how many rows there are."""
    bound = sorted(enabled(study), key=lambda each: each.name)
    paths = (part.below("harmonised") for each in bound for part in tasks.partitions(each))
    answers = with_verdict(path for path in paths if path.exists())
    measured = calibration.every_measure(answers, seed=study.study.seed)
    whole = pl.concat([labelled(measured, lacking_of(study)), human_respondents.measured(study)])
    target = study.home.cross_benchmark / "calibration.parquet"
    write_frame(whole.sort([*CELL, "source"], maintain_order=True), target, "")
    return whole.height


# --- runs that lack answers: withheld or labelled, as a benchmark's own numbers are -------------------------------------
def lacking_of(study: Study) -> pl.DataFrame:
    """Return what the study lacks; the runs of a model count together."""
    found = [LACKING.to_frame()]
    for benchmark in enabled(study):
        for runs in scored_partitions(benchmark).values():
            found.append(lacking(benchmark, read_frames([each.below("scored") for each in runs])))
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
