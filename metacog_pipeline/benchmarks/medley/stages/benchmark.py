"""MEDLEY-BENCH as the rest of the pipeline sees it."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.benchmarks.common.files import read_frame, write_frame
from metacog_pipeline.benchmarks.common.scoring import observations_path
from metacog_pipeline.benchmarks.medley import comparisons, scoring, sources
from metacog_pipeline.benchmarks.medley.judging.agreement import AGREEMENT_SCHEMA, agreement
from metacog_pipeline.benchmarks.medley.presentation import NORMAL, STRIPPED
from metacog_pipeline.benchmarks.medley.protocol import steps
from metacog_pipeline.benchmarks.medley.stages.asking import fingerprint, modes, parse, respondent, tasks
from metacog_pipeline.benchmarks.medley.stages.construction import (
    choose_stripped,
    construct,
    expected_rows,
    items_current,
    needed_sources,
    stripped_ids,
)
from metacog_pipeline.benchmarks.medley.stages.gates import judge_gates
from metacog_pipeline.benchmarks.medley.stages.helping import HELPERS
from metacog_pipeline.benchmarks.medley.stages.judging import JUDGING, every_judgement
from metacog_pipeline.benchmarks.medley.stages.overlap import related
from metacog_pipeline.benchmarks.medley.stages.scores import instance_scores
from metacog_pipeline.benchmarks.medley.stages.settings import BENCHMARK, conditions, settings
from metacog_pipeline.study import Study


def _score(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    return _estimates(study, observations, by_run=True)


def _pool(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    return _estimates(study, observations, by_run=False)


def _estimates(study: Study, observations: pl.DataFrame, *, by_run: bool) -> pl.DataFrame:
    return scoring.estimates(
        instance_scores(study, observations),
        by_run=by_run,
        seed=study.study.seed,
        allow_incomplete=settings(study).allow_incomplete,
    )


def _compare(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    """Return the comparisons; how far judges agree, and the gates that hang on it, are written beside."""
    folder = study.home.estimates / BENCHMARK
    judgements = every_judgement(study, observations)
    found = pl.DataFrame(schema=AGREEMENT_SCHEMA)
    if judgements is not None:
        found = agreement(judgements, seed=study.study.seed)
    write_frame(found, folder / "agreement" / "agreement.parquet", "")
    judge_gates(study, found)
    return comparisons.compare_scored(
        instance_scores(study, observations), seed=study.study.seed, related=related(study)
    )


def _settle(study: Study) -> bool:
    """Choose the instances to strip once every model has answered all of them under the normal condition.

    A replayed model of which not everything was imported is not waited for.
    """
    if STRIPPED not in conditions(study) or stripped_ids(study):
        return False
    partitions = [
        partition
        for partition in MEDLEY.partitions(study)
        if partition.spec.provider != "replay" or observations_path(partition).exists()
    ]
    asked = [partition for partition in partitions if partition.spec.provider != "replay"]
    if not partitions or any(partition.manifest().get("state") != "complete" for partition in asked):
        return False
    frames = [read_frame(observations_path(partition)) for partition in partitions]
    return choose_stripped(study, instance_scores(study, pl.concat(frames)))


MEDLEY = Benchmark(
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
    scoring_inputs=lambda study: [settings(study).variant, settings(study).allow_incomplete],
    fetch=sources.fetch,
    source_names=tuple(sources.SOURCES),
    needed_sources=needed_sources,
    observation_preview=(
        "item_id",
        "condition",
        "status",
        "failed_step",
        "changed_private",
        "changed_social",
    ),
    estimate_preview=("condition", "measure", "estimate", "low", "high", "n", "status"),
    takes_imports=True,
    judging=JUDGING,
    helpers=HELPERS,
    first_board=lambda study: f"{NORMAL} {settings(study).variant}",
    settle=_settle,
)
