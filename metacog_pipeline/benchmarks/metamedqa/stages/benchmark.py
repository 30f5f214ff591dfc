"""MetaMedQA as the rest of the pipeline sees it."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.benchmarks.common.files import read_frame
from metacog_pipeline.benchmarks.common.scoring import observations_path
from metacog_pipeline.benchmarks.metamedqa import comparisons, scoring, sources
from metacog_pipeline.benchmarks.metamedqa.protocol import steps
from metacog_pipeline.benchmarks.metamedqa.stages.asking import fingerprint, modes, parse, respondent, tasks
from metacog_pipeline.benchmarks.metamedqa.stages.construction import construct, expected_rows, items_current
from metacog_pipeline.benchmarks.metamedqa.stages.settings import BENCHMARK, conditions, settings
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study


def calibration(partition: Partition) -> pl.DataFrame:
    """Return accuracy by confidence level of one run, for the plot."""
    return scoring.by_confidence(read_frame(observations_path(partition)))


def _score(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    allowed = settings(study).allow_incomplete
    return scoring.score(observations, seed=study.study.seed, allow_incomplete=allowed)


def _pool(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    allowed = settings(study).allow_incomplete
    return scoring.pool(observations, seed=study.study.seed, allow_incomplete=allowed)


def _compare(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    return comparisons.compare(observations, seed=study.study.seed)


METAMEDQA = Benchmark(
    name=BENCHMARK,
    parsing_version="1",
    scoring_version="2",
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
    needed_sources=lambda study: tuple(sources.SOURCES),
    observation_preview=(
        "item_id",
        "condition",
        "kind",
        "target",
        "answer",
        "confidence",
        "correct",
        "status",
    ),
    estimate_preview=("condition", "measure", "estimate", "low", "high", "n", "status"),
    takes_imports=True,
)
