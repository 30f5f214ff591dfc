"""What every benchmark with a confidence shares: was the item answered correctly, how sure was the respondent.

Each benchmark says in `Benchmark.harmonise` how its responses are brought to right or wrong, a confidence in 0..1 and a
number of alternatives; a benchmark in which nothing is right or wrong has no rows.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.benchmark.contract import Benchmark
from metacog_pipeline.scoring.schemas import HARMONISED, table_of
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import read_frame

#: One row per cell that lacks answers: how many of those asked, and whether its numbers are shown all the same.
LACKING = table_of("String benchmark dataset condition model", "Int64 lacking asked", "Boolean shown")
LONGEST = 280  # characters of a response that are kept beside its reading, to see what it was


def harmonised(benchmark: Benchmark[Any, Any, Any], scored: pl.DataFrame) -> pl.DataFrame:
    """Return the harmonised responses of scored ones in `HARMONISED`; those without right or wrong are left out."""
    made = benchmark.harmonise(scored)
    text = pl.col("response").str.slice(0, LONGEST) if "response" in made.columns else pl.lit(None, pl.String)
    source = pl.when(pl.col("source") == "simulated").then(pl.col("source")).otherwise(pl.lit("measured"))
    whole = made.with_columns(response=text, source=source)
    columns = [pl.col(name).cast(kind) for name, kind in HARMONISED.items()]
    return whole.select(columns).filter(pl.col("correct").is_not_null())


def answers(study: Study) -> pl.DataFrame:
    """Return the harmonised responses of the study's models, by benchmark."""
    frames = [HARMONISED.to_frame()]
    for benchmark in sorted(enabled(study), key=lambda each: each.name):
        for partition in tasks.partitions(benchmark):
            path = partition.below("harmonised")
            if path.exists():
                frames.append(read_frame(path))
    return pl.concat(frames)


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
    shown = pl.lit(benchmark.settings.allow_incomplete)
    named = found.with_columns(benchmark=pl.lit(benchmark.name), shown=shown)
    return named.select(pl.col(name).cast(kind) for name, kind in LACKING.items())
