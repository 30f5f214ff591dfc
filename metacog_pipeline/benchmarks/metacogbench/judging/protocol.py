"""Who judges whom, and how one judgement is asked: one call, whatever comes of it."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from metacog_pipeline.benchmarks.metacogbench.judging.cases import Case
from metacog_pipeline.benchmarks.metacogbench.judging.prompts import JudgeWording, case_hash, messages
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.simulated import Respond
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Constraint, JsonObject
from metacog_pipeline.querying.panel import Panelist
from metacog_pipeline.querying.session import Partition, asked_as
from metacog_pipeline.querying.types import Ask, Task

BENCHMARK = "metacogbench_judgements"
STEP = "judge"
MODES = ("json_schema", "text")
JUDGE_TOKENS = 2_000  # the least a judgement may take
SELF = "self"  # in a study's list of judges: the model that is judged
VERSION = "1"  # raised when the same replies would be asked about otherwise


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge of a model: ``name`` as the study's list has it, `SELF` or a row; ``spec`` who is asked."""

    name: str
    spec: ModelSpec


def judges_of(named: Sequence[str], rows: Mapping[str, ModelSpec], model: ModelSpec) -> tuple[Judge, ...]:
    """Return who judges ``model``, in the order of ``named``."""
    return tuple(Judge(name, model if name == SELF else rows[name]) for name in named)


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the answer modes to try with a judge, best first."""
    if spec.answer_mode in MODES:
        return (spec.answer_mode,)
    return ("text",) if spec.provider == "simulated" else MODES


def constraint(mode: str) -> Constraint | None:
    """Return what a judgement is held to: an object with a verdict, in mode ``json_schema``."""
    return None if mode == "text" else _verdict_object()


def judge_tasks(judged: Sequence[Case], judge: ModelSpec, wording: JudgeWording) -> list[Task]:
    """Return one task per reply."""
    tokens = max(judge.max_tokens, JUDGE_TOKENS)

    def task(case: Case) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            await ask(
                STEP, messages(case, wording), constraint=constraint(mode), max_tokens=tokens, top_logprobs=0
            )

        return Task(case.item_id, case_hash(case, wording), case.condition, run)

    return [task(case) for case in judged]


def panel(
    judges: Sequence[Judge],
    judged: Sequence[Case],
    wording: JudgeWording,
    respondent: Callable[[ModelSpec], Respond],
) -> list[Panelist]:
    """Return the judges with what each is asked, as `query_panel` takes them; ``respondent`` gives a simulated judge."""
    return [
        Panelist(
            judge.spec,
            judge_tasks(judged, judge.spec, wording),
            modes(judge.spec),
            respondent(judge.spec) if judge.spec.provider == "simulated" else None,
        )
        for judge in judges
    ]


def fingerprint(
    partition: Partition, judges: Sequence[Judge], wording: JudgeWording, observed: str | None
) -> str:
    """Return a digest of everything the judgements of a partition depend on; ``observed`` marks the observations."""
    depends_on = {
        "version": VERSION,
        "observations": observed,
        "words": wording.digest,
        "judges": [[judge.name, asked_as(judge.spec)] for judge in judges],
        "seed": partition.seed,
    }
    return sha256_hex(canonical_json(depends_on))


@functools.cache
def _verdict_object() -> JsonObject:
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["pass", "fail"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    return JsonObject("judgement", json.dumps(schema))
