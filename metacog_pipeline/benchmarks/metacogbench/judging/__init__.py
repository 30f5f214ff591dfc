"""Judges: models, the judged model itself among them, that give the verdict the rules of the scorer give.

``cases`` says what is judged, ``prompts`` in which words, ``agreement`` says how far judges and rules agree.
``simulated`` judges instead of a model, with errors of a known rate. A judgement enters a score only where words alone do
not decide. The reply under judgement is data: it is quoted line by line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from metacog_pipeline.asking.states import source_of
from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.contract import Flag, Judging, Small, schema_of
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.judging.cases import SELF, Case, cases, longest
from metacog_pipeline.benchmarks.metacogbench.judging.prompts import case_hash, load_judge_wording, messages
from metacog_pipeline.benchmarks.metacogbench.judging.simulated import SimulatedJudge
from metacog_pipeline.judges.verdicts import REPLY_CHARACTERS, STEP, modes, task, verdict_of
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.scoring.responses import Kept, in_order

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench import MetaCogBench

RELATIONS = (SELF, "same family", "other family", "family unknown")


class Judge(NamedTuple):
    """One judge of a model: ``name`` as the study's list has it, `SELF` or a row; ``spec`` who is asked."""

    name: str
    spec: ModelSpec


@dataclass(slots=True)
class Judgement:
    """The verdict of a judge on a reply.

    ``judge`` is the judge's place in the study's list, ``judge_model`` who was asked. ``verdict`` is 1 for a pass, null for
    a reply that says neither; ``by_rules`` is the headline verdict of the scorer. ``cost_usd`` is dollars.
    """

    benchmark: str
    dataset: str
    tier: str
    condition: str
    model: str
    run: Small
    judge: str
    judge_model: str
    relation: str
    item_id: str
    verdict: Flag
    by_rules: Flag
    status: str
    reason: str | None
    mode: str | None
    answer_id: str | None
    cost_usd: float | None
    source: str


def judges_of(bench: MetaCogBench, model: ModelSpec) -> tuple[Judge, ...]:
    """Return who judges ``model``, in the order of the study's list; the reader model where the table names nobody."""
    rows = {row.name: row for row in bench.context.study.judges}
    reader = bench.context.study.reader_model
    names = bench.settings.judges or (() if reader is None else (reader.name,))
    return tuple(Judge(name, model if name == SELF else rows[name]) for name in names)


def relation(judge: ModelSpec, model: ModelSpec) -> str:
    """Return one of `RELATIONS`; ``self`` for the same model under another name, too."""
    if judge.name == model.name or judge.identity_json == model.identity_json:
        return RELATIONS[0]
    if not judge.family or not model.family:
        return RELATIONS[3]
    return RELATIONS[1] if judge.family.casefold() == model.family.casefold() else RELATIONS[2]


def _judge_tasks(judged: Sequence[Case], judge: ModelSpec) -> list[Task]:
    """Return one task per reply."""
    wording = load_judge_wording()
    return [task(each.item_id, each.condition, messages(each, wording), judge) for each in judged]


def _judgements(bench: MetaCogBench, transcripts: pl.DataFrame, responses: pl.DataFrame) -> pl.DataFrame:
    """Return one row per reply and judge; a judgement of another text than the case's is passed over."""
    if responses.is_empty():
        return schema_of(Judgement).to_frame()
    model, run = bench.context.study.model(responses["model"][0]), int(responses["run"][0])
    judged = cases(bench.items, responses, bench.wording)
    kept = transcripts.filter(pl.col("step") == STEP, ~pl.col("superseded"))
    calls = {
        (call["model"], call["item_id"], call["condition"], call["item_hash"]): call
        for call in in_order(kept, ("model", "item_hash", "source"))
    }
    wording = load_judge_wording()
    rows = [
        _row(case, judge, model, run, calls.get((judge.spec.name, *key)))
        for judge in judges_of(bench, model)
        for case in judged
        for key in [(case.item_id, case.condition, case_hash(case, wording))]
    ]
    return pl.DataFrame(rows, schema=schema_of(Judgement), orient="row")


def _row(case: Case, judge: Judge, model: ModelSpec, run: int, call: Kept | None) -> tuple[object, ...]:
    verdict, status, reason = verdict_of(call)
    sources = (case.source, source_of(judge.spec), *((call["source"],) if call else ()))
    return (
        BENCHMARK,
        *(case.dataset, case.tier, case.condition, model.name, run),
        *(judge.name, judge.spec.name, relation(judge.spec, model), case.item_id),
        None if verdict is None else int(verdict),
        case.passed,
        *(status, reason),
        *((None, None, None) if call is None else (call["mode"], call["answer_id"], call["cost_usd"])),
        "simulated" if "simulated" in sources else case.source,
    )


def _longest(bench: MetaCogBench, model: ModelSpec, judge: ModelSpec) -> list[Task]:
    conditions = [condition.name for condition in bench.conditions()]
    return _judge_tasks([*longest(bench.items, conditions, bench.wording, REPLY_CHARACTERS)], judge)


def _tasks(bench: MetaCogBench, judge: ModelSpec, responses: pl.DataFrame) -> list[Task]:
    return _judge_tasks(cases(bench.items, responses, bench.wording), judge)


JUDGING = Judging(
    wanted=lambda bench: bool(bench.settings.judges) or bench.context.study.reader_model is not None,
    judges=lambda bench, model: tuple(judge.spec for judge in judges_of(bench, model)),
    tasks=_tasks,
    longest=_longest,
    modes=modes,
    read=_judgements,
    row=Judgement,
    respondent=lambda bench, spec: SimulatedJudge(bench.items, spec.observer, bench.wording),
    worded_by=lambda bench: [load_judge_wording().digest, bench.wording.digest],
)
