"""Every benchmark as a task of inspect_ai: ``inspect eval metacog/NAME --model PROVIDER/MODEL -T study=study.toml``.

inspect_ai asks and keeps its log, `Benchmark.ask` words the calls, `Benchmark.parse` reads them. Its score is whether the
item was answered correctly; intervals, paired tests and meta-d′ come with the board (`metacog import LOG`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.registry import RegistryInfo, registry_add
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    get_model,
)
from inspect_ai.scorer import Score, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver

from metacog_pipeline import __version__, registry
from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.types import Message, Status
from metacog_pipeline.study import load_study

NAMESPACE, CALLS = "metacog", "metacog_calls"
_TURNS = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_STATUS = {"content_filter": Status.REFUSED, "max_tokens": Status.TRUNCATED, "model_length": Status.TRUNCATED}
_QUESTIONS, _KEYS = ("question", "stem", "text", "vignette"), ("key", "answer", "answer_idx", "target")
STUDY = "study.toml"  # in the folder that inspect_ai is called in


@functools.cache  # solver and scorer share the items
def _benchmark(name: str, study: str) -> tuple[Bound, dict[str, Any]]:
    """Return a benchmark, set as in a study file, with its items by id."""
    found = load_study(Path(study))
    if name not in found.enabled:
        raise StudyError(f"{study}: does not run {name}; it runs: {', '.join(found.enabled)}")
    found.prepare()
    made = bound(found, name)
    construction.build(made)
    return made, {each.item_id: each for each in made.items}


@solver
def asked_as_published(name: str, study: str = STUDY) -> Any:
    """Ask every call of an item as the benchmark words it."""
    benchmark, items = _benchmark(name, study)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        kept: dict[str, Call] = {}
        state.messages = []

        async def ask(
            step: str, messages: Sequence[Message], *, max_tokens: int | None = None, send_temperature: bool = True,
            **rest: Any,
        ) -> Answer:  # fmt: skip
            config = GenerateConfig(temperature=0.0 if send_temperature else None, max_tokens=max_tokens)
            turns = [_TURNS[each.role](content=each.content) for each in messages]
            state.output = await get_model().generate(turns, config=config)
            said = [state.output.message] if state.output.choices else []
            # A later call repeats the talk before it: only its last turn is new.
            state.messages = [*state.messages, *(turns[-1:] if kept else turns), *said]
            status = _STATUS.get(state.output.stop_reason, Status.OK)
            kept[step] = Call(status.value, state.output.completion, "text")
            return Answer(status, state.output.completion)

        item, condition = items[state.metadata["item_id"]], str(state.metadata["condition"])
        await benchmark.ask(item, condition, tasks.ItemChat(ask, "text", benchmark.context.study.models[0]))
        state.store.set(CALLS, kept)
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def read_as_published(name: str, study: str = STUDY) -> Any:
    """Read the calls of an item as the benchmark does; no score where nothing is right or wrong."""
    benchmark, items = _benchmark(name, study)

    async def score(state: TaskState, target: Target) -> Score:
        item, condition = items[state.metadata["item_id"]], str(state.metadata["condition"])
        read = benchmark.parse(item, condition, state.store.get(CALLS) or {})
        known = {name: value for name, value in asdict(read).items() if value is not None}
        right = known.get("correct", float("nan"))
        if "correct" not in known and read.status in benchmark.unreadable and "correct" in benchmark.coded:
            right = 0  # what cannot be read is not right
        return Score(value=float(right), explanation=read.reason, metadata=known)

    return score


def _sample(item: Any, condition: str) -> Sample:
    """Return an item under a condition, shown by its question: its own solver words what is asked."""
    shown, key = (
        next((each for name in names if isinstance(each := getattr(item, name, None), str)), "")
        for names in (_QUESTIONS, _KEYS)
    )
    about = {"item_id": item.item_id, "condition": condition}
    return Sample(input=shown or item.item_id, target=key, id=f"{condition}/{item.item_id}", metadata=about)


def _register(name: str) -> None:
    """Make a task known as metacog/NAME: inspect_ai itself would name it after the package."""

    def made(study: str = STUDY, condition: str | None = None) -> Task:
        benchmark, _ = _benchmark(name, study)
        asked = dict(tasks.asked(benchmark))
        if condition is not None and condition not in asked:
            raise StudyError(f"condition={condition}: {name} asks {', '.join(asked)}")
        arms = asked if condition is None else [condition]
        samples = [_sample(item, arm) for arm in arms for item in asked[arm]]
        return Task(
            dataset=MemoryDataset(samples, name=name), solver=asked_as_published(name, study),
            scorer=read_as_published(name, study), name=f"{NAMESPACE}/{name}", version=__version__,
            metadata={"benchmark": name, "paper": benchmark.paper.title},
        )  # fmt: skip

    made.__name__ = made.__qualname__ = name
    known = {"attribs": {}, "params": ["study", "condition"]}
    registry_add(task(made), RegistryInfo(type="task", name=f"{NAMESPACE}/{name}", metadata=known))


for _name in registry.names():
    _register(_name)
