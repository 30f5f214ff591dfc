"""Benchmarks as a task of inspect_ai: ``inspect eval metacog_pipeline/benchmark --model M -T name=metamedqa``.

inspect_ai asks and keeps its log, `Benchmark.ask` words the calls, `Benchmark.parse` reads them. Its score is whether the
item was answered correctly; intervals, paired tests and meta-d′ come with the board (`metacog import LOG`).
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from inspect_ai import Task, model, scorer, solver, task
from inspect_ai.dataset import Sample

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.llm.types import Status
from metacog_pipeline.study import load_study

CALLS = "metacog_calls"
_TURNS = {
    "system": model.ChatMessageSystem, "user": model.ChatMessageUser, "assistant": model.ChatMessageAssistant,
}  # fmt: skip
_STATUS = {"content_filter": Status.REFUSED, "max_tokens": Status.TRUNCATED, "model_length": Status.TRUNCATED}


@task
def benchmark(name: str, study: str = "study.toml") -> Task:
    """Return a benchmark as the study file sets it: a sample for each item and condition."""
    found = load_study(Path(study))
    found.prepare()
    made = bound(found, name)
    construction.build(made)
    asked = {f"{arm}/{item.item_id}": (item, arm) for arm, items in tasks.asked(made) for item in items}

    @solver.solver
    def asked_as_published() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            calls, state.messages = dict[str, Call](), []

            async def ask(step: str, messages: Any, **options: Any) -> Answer:
                turns = [_TURNS[each.role](content=each.content) for each in messages]
                warm = 0.0 if options.get("send_temperature", True) else None
                config = model.GenerateConfig(temperature=warm, max_tokens=options.get("max_tokens"))
                output = state.output = await model.get_model().generate(turns, config=config)
                # A later call repeats the talk before it: only its last turn is new.
                state.messages += turns[-1:] if calls else turns
                state.messages += [each.message for each in output.choices[:1]]
                status = _STATUS.get(output.stop_reason, Status.OK)
                calls[step] = Call(status.value, output.completion, "text")
                return Answer(status, output.completion)

            await made.ask(*asked[state.sample_id], tasks.ItemChat(ask, "text", found.models[0]))
            state.store.set(CALLS, calls)
            return state

        return solve

    @scorer.scorer(metrics=[scorer.accuracy(), scorer.stderr()])
    def read_as_published() -> Any:
        async def score(state: Any, target: Any) -> scorer.Score:
            read = made.parse(*asked[state.sample_id], state.store.get(CALLS) or {})
            known = {key: value for key, value in asdict(read).items() if value is not None}
            # What cannot be read is not right; no score where nothing is right or wrong.
            unread = read.status in made.unreadable and "correct" in made.coded
            right = known.get("correct", 0 if unread else float("nan"))
            return scorer.Score(value=float(right), explanation=read.reason, metadata=known)

        return score

    samples = [Sample(getattr(item, "question", key), id=key) for key, (item, _) in asked.items()]
    return Task(samples, solver=asked_as_published(), scorer=read_as_published(), name=f"metacog_{name}")
