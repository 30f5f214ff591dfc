"""Signal detection as the rest of the pipeline sees it."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.benchmarks.signaldetection import comparisons, scoring
from metacog_pipeline.benchmarks.signaldetection.asking import steps
from metacog_pipeline.benchmarks.signaldetection.construction import sources
from metacog_pipeline.benchmarks.signaldetection.stages.asking import (
    fingerprint,
    modes,
    parse,
    respondent,
    tasks,
)
from metacog_pipeline.benchmarks.signaldetection.stages.construction import (
    construct,
    expected_rows,
    items_current,
    needed_sources,
)
from metacog_pipeline.benchmarks.signaldetection.stages.settings import (
    BENCHMARK,
    conditions,
    posteriors,
    settings,
    wording,
)
from metacog_pipeline.study import Study


def _score(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    return scoring.score(
        observations,
        seed=study.study.seed,
        allow_incomplete=settings(study).allow_incomplete,
        ratings=wording(study).ratings,
    )


def _pool(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    return scoring.pool(
        observations,
        seed=study.study.seed,
        posteriors=posteriors(study),
        allow_incomplete=settings(study).allow_incomplete,
        ratings=wording(study).ratings,
    )


def _compare(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    return comparisons.compare(
        observations, seed=study.study.seed, posteriors=posteriors(study), ratings=wording(study).ratings
    )


SIGNALDETECTION = Benchmark(
    name=BENCHMARK,
    parsing_version="1",
    scoring_version="1",
    items_current=items_current,
    construct=construct,
    conditions=conditions,
    expected_rows=expected_rows,
    tasks=tasks,
    modes=modes,
    steps=steps,
    fingerprint=fingerprint,
    respondent=respondent,
    parse=parse,
    score=_score,
    pool=_pool,
    compare=_compare,
    scoring_inputs=lambda study: settings(study).allow_incomplete,
    fetch=sources.fetch,
    source_names=tuple(sources.SOURCES),
    needed_sources=needed_sources,
    observation_preview=("item_id", "condition", "stimulus", "response", "confidence", "correct", "status"),
    estimate_preview=("task", "condition", "measure", "estimate", "low", "high", "n", "status"),
)
