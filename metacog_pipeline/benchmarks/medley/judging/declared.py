"""How responses are judged, as the pipeline sees it: who judges whom, what is asked, and how it is read."""

from __future__ import annotations

from typing import Any

import polars as pl

from metacog_pipeline.asking.tasks import asked
from metacog_pipeline.benchmark.contract import Judging, Scored
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.judging import asking, cases
from metacog_pipeline.benchmarks.medley.judging.agreement import AGREEMENT_SCHEMA, agreement
from metacog_pipeline.benchmarks.medley.judging.combine import combine, grades
from metacog_pipeline.benchmarks.medley.judging.rows import JUDGEMENT_SCHEMA, Judgement, read_judgements
from metacog_pipeline.benchmarks.medley.judging.simulated import SimulatedJudge
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.types import Task


def tasks(benchmark: Any, judge: ModelSpec, responses: pl.DataFrame) -> list[Task]:
    """Return what a judge is asked about the responses of a model and run."""
    return asking.judge_tasks(_cases(benchmark, responses), judge, benchmark.judge_wording)


def longest(benchmark: Any, model: ModelSpec, judge: ModelSpec) -> list[Task]:
    """Return tasks as long as responses can make them; none about a model whose answers are imported."""
    if model.provider == "replay":
        return []  # nobody knows how much of it will be imported
    found = [
        cases.longest(item, condition, benchmark.masking)
        for condition, items in asked(benchmark)
        for item in items
        if isinstance(item, Instance)
    ]
    return asking.judge_tasks(found, judge, benchmark.judge_wording)


def read(benchmark: Any, transcripts: pl.DataFrame, responses: pl.DataFrame) -> pl.DataFrame:
    """Return one row per instance, condition and judge of one model and run."""
    if responses.is_empty():
        return pl.DataFrame(schema=JUDGEMENT_SCHEMA)
    model, run = responses.select("model", "run").row(0)
    return read_judgements(
        transcripts,
        _cases(benchmark, responses),
        benchmark.judges,
        model=benchmark.context.study.model(model),
        run=run,
        wording=benchmark.judge_wording,
    )


def combined(judgements: pl.DataFrame) -> dict[tuple[str, int, str, str], dict[str, float | None]]:
    """Return {(model, run, condition, instance): {dimension: one grade of 0..1 or None}}."""
    found = {}
    for (model, run), own in judgements.partition_by("model", "run", as_dict=True).items():
        for (item_id, condition), dimensions in grades(combine(own)).items():
            found[str(model), int(str(run)), condition, item_id] = dimensions
    return found


def agreements(benchmark: Any, scored: Scored) -> pl.DataFrame:
    """Return how far the judges of a study agree; empty where nothing was judged."""
    if scored.judgements is None or scored.judgements.is_empty():
        return pl.DataFrame(schema=AGREEMENT_SCHEMA)
    # The order of answers is part of the resamples.
    ordered = scored.judgements.sort("model", "run", maintain_order=True)
    return agreement(ordered, seed=benchmark.stream("items"))


def _cases(benchmark: Any, responses: pl.DataFrame) -> list[cases.Case]:
    return cases.cases(benchmark.items, responses, masking=benchmark.masking)


JUDGING = Judging(
    wanted=lambda benchmark: bool(benchmark.judges),
    judges=lambda benchmark, spec: asking.eligible(benchmark.judges, spec),
    tasks=tasks,
    longest=longest,
    modes=asking.modes,
    read=read,
    row=Judgement,
    respondent=lambda benchmark, spec: SimulatedJudge(spec.observer, benchmark.judge_wording),
    plan_note="A judgement is counted as one call; where a reply tells little it takes up to three, which tokens and "
    "dollars allow for.",
)
