"""How responses are judged, as the pipeline sees it: by which judges, what is asked, how it is read and combined."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import polars as pl

from metacog_pipeline.asking.tasks import asked
from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.contract import Judging, Scored
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.judging import asking
from metacog_pipeline.benchmarks.medley.judging.agreement import AGREEMENT_SCHEMA, agreement
from metacog_pipeline.benchmarks.medley.judging.simulated import SimulatedJudge
from metacog_pipeline.benchmarks.medley.read import JUDGE_DIMENSIONS
from metacog_pipeline.judges.verdicts import modes
from metacog_pipeline.llm.spec import ModelSpec

_KEY = ("model", "run", "condition", "item_id")


def _longest(benchmark: Any, model: ModelSpec, judge: ModelSpec) -> list[Task]:
    if model.provider == "replay":
        return []  # nobody knows how much of it will be imported
    found = [
        asking.longest(item, condition)
        for condition, items in asked(benchmark)
        for item in items
        if isinstance(item, Instance)
    ]
    return asking.judge_tasks(found, judge)


def _read(benchmark: Any, transcripts: pl.DataFrame, responses: pl.DataFrame) -> pl.DataFrame:
    if responses.is_empty():
        return pl.DataFrame(schema=asking.JUDGEMENT_SCHEMA)
    name, run = responses.select("model", "run").row(0)
    cases, model = asking.cases(benchmark.items, responses), benchmark.context.study.model(name)
    return asking.read_judgements(transcripts, cases, benchmark.judges, model=model, run=run)


def combined(judgements: pl.DataFrame) -> dict[tuple[str, int, str, str], dict[str, float | None]]:
    """Return {(model, run, condition, instance): {dimension: median grade over judges, of 0..1, or None}}."""
    found: dict[tuple[str, int, str, str], list[tuple[float | None, ...]]] = {}
    ordered = judgements.sort("judge_place", maintain_order=True)
    for row in ordered.select(*_KEY, *JUDGE_DIMENSIONS).iter_rows():
        found.setdefault(row[:4], []).append(row[4:])

    def middle(given: Sequence[float | None]) -> float | None:
        known = [grade for grade in given if grade is not None]
        return median(known) if known else None

    return {
        case: dict(zip(JUDGE_DIMENSIONS, map(middle, zip(*rows, strict=True)), strict=True))
        for case, rows in found.items()
    }


def graded_by(scored: pl.DataFrame, judgements: pl.DataFrame | None, judges: Sequence[str]) -> pl.DataFrame:
    """Return scored responses with ``judge_grades``: the mean grade by each of ``judges``, null where one gave none."""
    if judgements is None or judgements.is_empty():
        return scored.with_columns(judge_grades=pl.lit(None, pl.List(pl.Float64)))
    # Not `mean_horizontal`, which adds in the order in which threads happen to come: the last digit would be chance.
    means = judgements.with_columns(grade=pl.concat_list(JUDGE_DIMENSIONS).list.mean())
    by_judge = [
        pl.col("grade").filter(pl.col("judge") == name).first().alias(f"_{i}")
        for i, name in enumerate(judges)
    ]
    listed = means.group_by(_KEY).agg(by_judge).select(
        *_KEY, judge_grades=pl.concat_list(f"_{place}" for place in range(len(judges)))
    )  # fmt: skip
    return scored.join(listed, on=_KEY, how="left", maintain_order="left")


def agreements(benchmark: Any, scored: Scored) -> pl.DataFrame:
    """Return how far the judges of a study agree; nothing where nothing was judged."""
    if scored.judgements is None or scored.judgements.is_empty():
        return pl.DataFrame(schema=AGREEMENT_SCHEMA)
    # The order of answers is part of the resamples.
    ordered = scored.judgements.sort("model", "run", maintain_order=True)
    return agreement(ordered, seed=benchmark.stream("items"))


JUDGING = Judging(
    wanted=lambda benchmark: bool(benchmark.judges),
    judges=lambda benchmark, spec: asking.eligible(benchmark.judges, spec),
    tasks=lambda benchmark, judge, responses: asking.judge_tasks(asking.cases(benchmark.items, responses), judge),
    longest=_longest,
    modes=modes,
    read=_read,
    row=asking.Judgement,
    respondent=lambda benchmark, spec: SimulatedJudge(spec.observer),
    prompt_digest=lambda benchmark: [asking.judge_wording().digest],
)  # fmt: skip
