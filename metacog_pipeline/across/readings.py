"""From the observations of any benchmark to one table: item, correct, confidence.

===================  ===============================================  ===================================================
benchmark            which observations                               confidence
===================  ===============================================  ===================================================
``metamedqa``        every condition                                  (rating - 1) / 4, 0..1
``signaldetection``  condition ``confidence``, each task              0.5 + (rating - 1) / (2 (K - 1)), 0.5..1
``metacogbench``     tier 1b                                          the percentage stated before answering / 100
``selfknowledge``    ``dual`` conditions                              P(yes) / (P(yes) + P(no)), where it was kept
``medley``           none: a claim's confidence has no right answer
===================  ===============================================  ===================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.catalogue import every
from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.benchmarks.common.files import read_frame
from metacog_pipeline.benchmarks.common.scoring import observations_path
from metacog_pipeline.benchmarks.signaldetection.prompts import RATINGS
from metacog_pipeline.study import Study

#: One row per answer that could be read; ``correct`` 0 or 1, ``confidence`` 0..1 or null, ``cluster`` the unit of chance.
ANSWER_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "condition", "model", "source"), pl.String),
        "run": pl.Int32,
        **dict.fromkeys(("item_id", "cluster"), pl.String),
        **dict.fromkeys(("correct", "confidence"), pl.Float64),
    }
)
_SIMULATED = "simulated"


def answers(study: Study, models: frozenset[str] | None = None) -> pl.DataFrame:
    """Return the readable answers of the study's models in `ANSWER_SCHEMA`, of ``models`` only where given."""
    frames = [ANSWER_SCHEMA.to_frame()]
    enabled = study.enabled
    for benchmark in every():
        taken = TAKEN.get(benchmark.name)
        if taken is None or benchmark.name not in enabled:
            continue
        for path in _paths(benchmark, study, models):
            frames.append(_whole(taken(read_frame(path), study)))
    return pl.concat(frames)


def observed_from(study: Study) -> list[str]:
    """Return what the answers would be read from, as paths below the home with their age and size."""
    enabled = [each for each in every() if each.name in study.enabled and each.name in TAKEN]
    paths = [path for benchmark in enabled for path in _paths(benchmark, study, None)]
    states = ((path.relative_to(study.home.path), path.stat()) for path in paths)
    return [f"{name}:{state.st_mtime_ns}:{state.st_size}" for name, state in states]


def _paths(benchmark: Benchmark, study: Study, models: frozenset[str] | None) -> list[Path]:
    wanted = [each for each in benchmark.partitions(study) if models is None or each.spec.name in models]
    return [path for path in map(observations_path, wanted) if path.exists()]


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with a verdict, in the columns and types of `ANSWER_SCHEMA`."""
    source = pl.when(pl.col("source") == _SIMULATED).then(pl.lit(_SIMULATED)).otherwise(pl.lit("measured"))
    return (
        frame.filter(pl.col("correct").is_not_null())
        .with_columns(source=source)
        .select(pl.col(name).cast(kind) for name, kind in ANSWER_SCHEMA.items())
    )


def _metamedqa(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    return frame.filter(status="ok").with_columns(
        cluster=pl.col("item_id"), confidence=(pl.col("confidence") - 1) / 4
    )


def _signaldetection(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    steps = RATINGS - 1
    return frame.filter(condition="confidence", status="ok").with_columns(
        condition=pl.col("task") + " confidence",
        cluster=pl.col("item_id"),
        confidence=0.5 + (pl.col("confidence") - 1) / (2 * steps),
    )


def _metacogbench(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    return frame.filter(tier="1b").with_columns(
        condition=pl.lit("1b ") + pl.col("condition"),
        cluster=pl.col("item_id"),
        correct=pl.col("passed"),
        confidence=pl.col("pre") / 100,
    )


def _selfknowledge(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    return frame.filter(pl.col("condition").str.starts_with("dual")).with_columns(
        cluster=pl.coalesce("event_id", "question_id", "item_id")
    )


TAKEN: Mapping[str, Callable[[pl.DataFrame, Study], pl.DataFrame]] = {
    "metamedqa": _metamedqa,
    "signaldetection": _signaldetection,
    "metacogbench": _metacogbench,
    "selfknowledge": _selfknowledge,
}
