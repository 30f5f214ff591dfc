"""Judges: models, the judged model itself among them, that give the verdict the rules of the scorer give.

``cases`` says what is judged, ``prompts`` in which words, ``parsing`` reads a verdict, ``agreement`` says how far judges
and rules agree. ``simulated`` judges instead of a model, with errors of a known rate. A judgement enters a score only where
words alone do not decide. The reply under judgement is data: it is quoted line by line.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from metacog_pipeline.asking.states import source_of
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.benchmark.contract import Flag, Judging, Small, schema_of
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.judging import prompts
from metacog_pipeline.benchmarks.metacogbench.judging.cases import SELF, Case, cases, longest
from metacog_pipeline.benchmarks.metacogbench.judging.parsing import parse_verdict
from metacog_pipeline.benchmarks.metacogbench.judging.prompts import load_judge_wording
from metacog_pipeline.benchmarks.metacogbench.judging.simulated import SimulatedJudge
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import JsonObject
from metacog_pipeline.scoring.responses import Kept, in_order, why_failed

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench import MetaCogBench

STEP = "judge"
MODES = ("json_schema", "text")
JUDGE_TOKENS = 2_000  # the least a judgement may take
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
    """Return who judges ``model``, in the order of the study's list."""
    rows = {row.name: row for row in bench.context.study.judges}
    return tuple(Judge(name, model if name == SELF else rows[name]) for name in bench.settings.judges)


def relation(judge: ModelSpec, model: ModelSpec) -> str:
    """Return one of `RELATIONS`; ``self`` for the same model under another name, too."""
    if judge.name == model.name or judge.identity_json == model.identity_json:
        return RELATIONS[0]
    if not judge.family or not model.family:
        return RELATIONS[3]
    return RELATIONS[1] if judge.family.casefold() == model.family.casefold() else RELATIONS[2]


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the answer modes to try with a judge, best first."""
    if spec.answer_mode in MODES:
        return (spec.answer_mode,)
    return ("text",) if spec.provider == "simulated" else MODES


def _judge_tasks(judged: Sequence[Case], judge: ModelSpec) -> list[Task]:
    """Return one task per reply: one call, whatever comes of it; held to a verdict in mode ``json_schema``."""
    tokens, wording = max(judge.max_tokens, JUDGE_TOKENS), load_judge_wording()

    def task(case: Case) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            words, held = prompts.messages(case, wording), None if mode == "text" else _verdict_object()
            await ask(STEP, words, constraint=held, max_tokens=tokens, top_logprobs=0)

        return Task(case.item_id, prompts.case_hash(case, wording), case.condition, run)

    return [task(case) for case in judged]


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
        for key in [(case.item_id, case.condition, prompts.case_hash(case, wording))]
    ]
    return pl.DataFrame(rows, schema=schema_of(Judgement), orient="row")


def _row(case: Case, judge: Judge, model: ModelSpec, run: int, call: Kept | None) -> tuple[object, ...]:
    verdict, status, reason = _read(call)
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


def _read(call: Kept | None) -> tuple[bool | None, str, str | None]:
    if call is None:
        return None, "not_run", "not asked yet"
    match call["status"]:
        case "failed":
            return None, "transport_error", why_failed(call)
        case "truncated":
            return None, "too_long", "cut by the length limit; raise the judge's max_tokens"
        case "refused":
            return None, "refused", "the provider reports a refusal or a content filter"
    verdict = parse_verdict(call["text"])
    return (None, "unreadable", "neither pass nor fail") if verdict is None else (verdict, "ok", None)


@functools.cache
def _verdict_object() -> JsonObject:
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["pass", "fail"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    return JsonObject("judgement", json.dumps(schema))


def _longest(bench: MetaCogBench, model: ModelSpec, judge: ModelSpec) -> list[Task]:
    conditions = [condition.name for condition in bench.conditions()]
    return _judge_tasks([*longest(bench.items, conditions, bench.wording, prompts.REPLY_CHARACTERS)], judge)


def _tasks(bench: MetaCogBench, judge: ModelSpec, responses: pl.DataFrame) -> list[Task]:
    return _judge_tasks(cases(bench.items, responses, bench.wording), judge)


JUDGING = Judging(
    wanted=lambda bench: bool(bench.settings.judges),
    judges=lambda bench, model: tuple(judge.spec for judge in judges_of(bench, model)),
    tasks=_tasks,
    longest=_longest,
    modes=modes,
    read=_judgements,
    row=Judgement,
    respondent=lambda bench, spec: SimulatedJudge(bench.items, spec.observer, bench.wording),
    worded_by=lambda bench: [load_judge_wording().digest, bench.wording.digest],
)
