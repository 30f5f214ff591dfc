"""How responses are judged, as the pipeline sees it: who judges whom, what is asked, and how it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from metacog_pipeline.asking.construction import KeptInputs, result_path
from metacog_pipeline.asking.states import source_of
from metacog_pipeline.asking.tasks import asked
from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.contract import Judging, Scored
from metacog_pipeline.benchmarks.medley.grades import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.judging import asking, cases, suite
from metacog_pipeline.benchmarks.medley.judging.agreement import AGREEMENT_SCHEMA, agreement
from metacog_pipeline.benchmarks.medley.judging.rows import JUDGEMENT_SCHEMA, Judgement, read_judgements
from metacog_pipeline.benchmarks.medley.judging.simulated import SimulatedJudge
from metacog_pipeline.llm.spec import ModelSpec


def tasks(benchmark: Any, judge: ModelSpec, responses: pl.DataFrame) -> list[Task]:
    """Return what a judge is asked about the responses of a model and run."""
    return asking.judge_tasks(_cases(benchmark, responses), judge, benchmark.judge_wording)


def longest(benchmark: Any, model: ModelSpec, judge: ModelSpec) -> list[Task]:
    """Return tasks as long as responses can make them; none about a model whose answers are imported."""
    if model.provider == "replay":
        return []  # nobody knows how much of it will be imported
    found = [
        cases.longest(item, condition)
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


def agreements(benchmark: Any, scored: Scored) -> pl.DataFrame:
    """Return how far the judges of a study agree, and the bias of each; no agreement where nothing was judged."""
    found = pl.DataFrame(_bias_rows(benchmark), schema=AGREEMENT_SCHEMA, orient="row")
    if scored.judgements is None or scored.judgements.is_empty():
        return found
    # The order of answers is part of the resamples.
    ordered = scored.judgements.sort("model", "run", maintain_order=True)
    return pl.concat([agreement(ordered, seed=benchmark.stream("items")), found])


def graded_by(scored: pl.DataFrame, judgements: pl.DataFrame | None, judges: Sequence[str]) -> pl.DataFrame:
    """Return scored responses with ``judge_grades``: the mean grade by each of ``judges``, null where one gave none."""
    if judgements is None or judgements.is_empty():
        return scored.with_columns(judge_grades=pl.lit(None, pl.List(pl.Float64)))
    keys = ["model", "run", "condition", "item_id"]
    # Not `mean_horizontal`, which adds in the order in which threads happen to come: the last digit would be chance.
    means = judgements.with_columns(grade=pl.concat_list(JUDGE_DIMENSIONS).list.mean())
    by_judge = [
        pl.col("grade").filter(pl.col("judge") == name).first().alias(f"_{place}")
        for place, name in enumerate(judges)
    ]
    wide = means.group_by(keys).agg(by_judge)
    listed = wide.select(*keys, judge_grades=pl.concat_list(f"_{place}" for place in range(len(judges))))
    return scored.join(listed, on=keys, how="left", maintain_order="left")


def biases(benchmark: Any) -> list[suite.Bias]:
    """Return how much each form of a fixed answer moves the grades of each judge; nothing without judges."""
    if not benchmark.judges or not result_path(benchmark, suite.NAME).exists():
        return []
    judges = [spec.name for spec in benchmark.judges]
    return suite.biases(KeptInputs(benchmark).frame(suite.NAME), judges)


def _bias_rows(benchmark: Any) -> list[tuple[object, ...]]:
    source = {spec.name: source_of(spec) for spec in benchmark.judges}
    return [
        (
            *(
                benchmark.name,
                benchmark.settings.dataset,
                source[each.judge],
                "strict",
                f"bias_{each.form}",
                "all",
            ),
            *(each.judge, None, each.found.value, each.found.low, each.found.high),
            *(each.found.n, each.found.method, each.found.status),
        )
        for each in biases(benchmark)
    ]


def _cases(benchmark: Any, responses: pl.DataFrame) -> list[cases.Case]:
    return cases.cases(benchmark.items, responses)


JUDGING = Judging(
    wanted=lambda benchmark: bool(benchmark.judges),
    judges=lambda benchmark, spec: asking.eligible(benchmark.judges, spec),
    tasks=tasks,
    longest=longest,
    modes=asking.modes,
    read=read,
    row=Judgement,
    respondent=lambda benchmark, spec: SimulatedJudge(
        spec.observer, benchmark.judge_wording, suite.translations()
    ),
    needs=(suite.NAME,),
    worded_by=lambda benchmark: [benchmark.judge_wording.digest],
)
