"""Who judges whom, and how one judgement is asked: one call, and up to two more where it says next to nothing.

The three calls are steps of their own, so that each is paid for once and found again: a judge that gave hardly any grade
other than 1, or none that can be read, is asked once more with a reminder of the form, and then a last time.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence

from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.benchmarks.medley import items
from metacog_pipeline.benchmarks.medley.grades import BEST_GRADE, CRITERIA, parse_judgement
from metacog_pipeline.benchmarks.medley.judging.cases import Case
from metacog_pipeline.benchmarks.medley.judging.prompts import JudgeWording, case_hash, messages
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import JsonObject, Status
from metacog_pipeline.transcripts.folder import judgements_of

BENCHMARK = judgements_of(items.BENCHMARK)
MODES = ("json_schema", "text")
STEPS = ("judge", "judge_2", "judge_3")
JUDGE_TOKENS = 2_000  # the least a reply may take: thirty grades are about 300


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the answer modes to try with a judge, best first."""
    if spec.answer_mode in MODES:
        return (spec.answer_mode,)
    return ("text",) if spec.provider == "simulated" else MODES


def eligible(judges: Sequence[ModelSpec], model: ModelSpec) -> tuple[ModelSpec, ...]:
    """Return the judges that may judge ``model``: those of another family; StudyError where nobody can tell."""
    for spec in (model, *judges):
        if not spec.family:
            raise StudyError(f'"{spec.name}": family is missing; no judge may grade its own family')
    own = str(model.family).casefold()
    return tuple(judge for judge in judges if str(judge.family).casefold() != own)


@functools.cache
def constraint(mode: str) -> JsonObject | None:
    """Return what a judgement is held to: an object of thirty grades; nothing where it is asked for as text."""
    if mode == "text":
        return None
    grade = {"type": "integer", "enum": list(range(BEST_GRADE + 1))}
    schema = {
        "type": "object",
        "properties": dict.fromkeys(CRITERIA, grade),
        "required": list(CRITERIA),
        "additionalProperties": False,
    }
    return JsonObject("grades", json.dumps(schema))


async def ask_case(case: Case, mode: str, ask: Ask, wording: JudgeWording, spec: ModelSpec) -> None:
    """Ask ``spec`` for its judgement of ``case``; the answers are kept by ``ask``, nothing is returned."""
    for step in STEPS:
        answer = await ask(
            step,
            messages(case, wording, again=step != STEPS[0]),
            constraint=constraint(mode),
            max_tokens=max(spec.max_tokens, JUDGE_TOKENS),
            top_logprobs=0,
        )
        if answer.status is not Status.OK or not parse_judgement(answer.text).tells_little:
            return


def judge_tasks(cases: Sequence[Case], judge: ModelSpec, wording: JudgeWording) -> list[Task]:
    """Return one task per case in which there is something to judge."""

    def task(case: Case) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            await ask_case(case, mode, ask, wording, judge)

        return Task(case.item_id, case_hash(case, wording), case.condition, run)

    return [task(case) for case in cases if case.unjudged is None]
