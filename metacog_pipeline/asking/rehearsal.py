"""How a benchmark asks, tried without anybody to answer: every call gets the same text and nothing is kept or paid."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from metacog_pipeline.asking import tasks
from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmark.contract import Benchmark, Item
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling, Status

REPLY = "42"


@dataclass(slots=True)
class Recorder:
    """A `contract.Chat` that notes every call and answers each with the same text."""

    spec: ModelSpec
    mode: str = "text"
    text: str = REPLY
    requests: list[ChatRequest] = field(default_factory=list)

    async def __call__(self, step: str, messages: Sequence[Message], **how: Any) -> Answer:
        """Note one call."""
        sampling = Sampling(seed=1, top_logprobs=how.get("top_logprobs"))
        self.requests.append(ChatRequest(tuple(messages), sampling, how.get("constraint"), step, 1))
        return Answer(Status.OK, self.text)


def rehearsed(
    benchmark: Benchmark[Any, Any, Any], item: Item, condition: str, spec: ModelSpec, mode: str = "text"
) -> list[ChatRequest]:
    """Return the calls one item takes under a condition."""
    chat = Recorder(spec, mode)
    asyncio.run(benchmark.ask(item, condition, chat))
    return chat.requests


def misasked(benchmark: Benchmark[Any, Any, Any], spec: ModelSpec) -> str | None:
    """Return why a model is asked in vain: of no condition, of two with one name, or by steps that nobody would read.

    None where it is not, or where asking fails: that is said of the item that is asked.
    """
    names = [condition.name for condition in benchmark.conditions()]
    if not names or len(set(names)) < len(names):
        named = f"names one twice: {', '.join(map(str, names))}" if names else "returns none"
        return f"{benchmark.name}.conditions() {named}; return each arm once"
    mode = benchmark.modes(spec)[0]
    for condition, items in tasks.asked(benchmark, spec):
        for item in items[:1]:
            try:
                made = {request.step for request in rehearsed(benchmark, item, condition, spec, mode)}
            except Exception:
                continue
            named = ", ".join(steps := benchmark.steps(condition, mode))
            if other := ", ".join(sorted(map(str, made - set(steps)))):
                return (
                    f"{benchmark.name}.ask makes the call {other} under {condition}, which steps() does not name (it names "
                    f"{named}): its answers could not be read; make them agree"
                )
    return None
