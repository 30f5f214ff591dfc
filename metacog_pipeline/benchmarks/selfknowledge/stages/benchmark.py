"""Self-knowledge as the rest of the pipeline sees it."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.benchmarks.selfknowledge import comparisons, scoring
from metacog_pipeline.benchmarks.selfknowledge.curves import write_curves
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK
from metacog_pipeline.benchmarks.selfknowledge.protocol import steps
from metacog_pipeline.benchmarks.selfknowledge.stages.asking import (
    fingerprint,
    modes,
    parse,
    respondent,
    tasks,
)
from metacog_pipeline.benchmarks.selfknowledge.stages.construction import (
    SOURCE_NAMES,
    construct,
    expected_rows,
    fetch,
    items_current,
    needed_sources,
)
from metacog_pipeline.benchmarks.selfknowledge.stages.settings import conditions, settings
from metacog_pipeline.study import Study


def _score(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    return scoring.score(
        observations, seed=study.study.seed, allow_incomplete=settings(study).allow_incomplete
    )


def _pool(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    return scoring.pool(
        observations, seed=study.study.seed, allow_incomplete=settings(study).allow_incomplete
    )


def _compare(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    """Return the comparisons; the curves of the graded yes are written beside."""
    write_curves(observations, study.home.estimates / BENCHMARK)
    return comparisons.compare(observations, seed=study.study.seed)


SELFKNOWLEDGE = Benchmark(
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
    fetch=fetch,
    source_names=SOURCE_NAMES,
    needed_sources=needed_sources,
    observation_preview=(
        "item_id",
        "condition",
        "output",
        "meta_output",
        "correct",
        "yes",
        "confidence",
        "status",
    ),
    estimate_preview=("condition", "measure", "estimate", "low", "high", "n", "status"),
)
