"""MetaCog-Bench as the rest of the pipeline sees it."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.benchmarks.common.files import write_frame
from metacog_pipeline.benchmarks.common.rows import table
from metacog_pipeline.benchmarks.metacogbench import comparisons, scoring
from metacog_pipeline.benchmarks.metacogbench.asking import steps
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.judging.agreement import agreement, shifts
from metacog_pipeline.benchmarks.metacogbench.judging.observe import JUDGEMENT_SCHEMA
from metacog_pipeline.benchmarks.metacogbench.lengths import lengths
from metacog_pipeline.benchmarks.metacogbench.reliability import reliability
from metacog_pipeline.benchmarks.metacogbench.sensitivity import write_sensitivity
from metacog_pipeline.benchmarks.metacogbench.stages.asking import (
    fingerprint,
    modes,
    parse,
    respondent,
    tasks,
)
from metacog_pipeline.benchmarks.metacogbench.stages.construction import (
    construct,
    expected_rows,
    fetch,
    items_current,
    needed_sources,
)
from metacog_pipeline.benchmarks.metacogbench.stages.judging import JUDGING, every_judgement
from metacog_pipeline.benchmarks.metacogbench.stages.settings import conditions, settings
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
    """Return the comparisons; thresholds, reliability, matched lengths and what judges say are written beside."""
    folder, seed = study.home.estimates / BENCHMARK, study.study.seed
    write_sensitivity(observations, folder, seed)
    write_frame(reliability(observations), folder / "reliability" / "reliability.parquet", "")
    write_frame(lengths(observations, seed=seed), folder / "lengths" / "lengths.parquet", "")
    judgements = every_judgement(study, observations)
    if judgements is None:
        judgements = JUDGEMENT_SCHEMA.to_frame()
    found = agreement(judgements, observations, seed=seed)
    write_frame(found, folder / "judges" / "judges.parquet", "")
    shifted = table(BENCHMARK, shifts(judgements, observations, seed=seed), comparisons.COMPARISON_SCHEMA)
    return pl.concat([comparisons.compare(observations, seed=seed), shifted])


METACOGBENCH = Benchmark(
    name=BENCHMARK,
    parsing_version="2",
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
    source_names=(),
    needed_sources=needed_sources,
    observation_preview=("item_id", "tier", "condition", "passed", "bet", "pre", "answer", "status"),
    estimate_preview=("condition", "measure", "estimate", "low", "high", "n", "status"),
    judging=JUDGING,
)
