"""A model that answers by a function, the tasks that are asked of it, and one session that asks them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from metacog_pipeline.asking.loop import Loop
from metacog_pipeline.asking.states import SessionResult
from metacog_pipeline.asking.step import Session
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Message, Status
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import PartitionStore

Reply = Callable[[ChatRequest], Completion]


def good(request: ChatRequest) -> Completion:
    return Completion(Status.OK, f"re: {request.messages[-1].content}", cost_usd=0.01, model_reported="x")


class Scripted:
    """Answers every call by ``reply`` and keeps the calls."""

    def __init__(self, reply: Reply = good) -> None:
        self.reply = reply
        self.calls: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Completion:
        self.calls.append(request)
        await asyncio.sleep(0)
        return self.reply(request)

    async def close(self) -> None:
        """Nothing to release."""

    @property
    def asked(self) -> Counter[str]:
        """How often each question was asked."""
        return Counter(each.messages[-1].content for each in self.calls)


def one_step(name: str, words: str | None = None, condition: str = "baseline") -> Task:
    async def run(ask: Ask, mode: str) -> None:
        await ask("answer", [Message("user", words or f"{mode}:{name}")])

    return Task(name, "hash", condition, run)


def two_steps(name: str) -> Task:
    """Return a task whose second question quotes the first answer."""

    async def run(ask: Ask, mode: str) -> None:
        first = await ask("first", [Message("user", f"first {name}")])
        await ask("second", [Message("user", f"second after {first.text}")])

    return Task(name, "hash", "baseline", run)


def asked(
    store: PartitionStore,
    model: Any,
    tasks: Sequence[Task],
    spec: ModelSpec,
    *,
    modes: Sequence[str] = ("text",),
    run: int = 1,
    **more: Any,
) -> SessionResult:
    """Ask in one session of an open partition; return how it ended."""
    return asyncio.run(Loop(Session("metamedqa", spec, run, 7, model, store), tasks, modes, **more).run())


def query(
    folder: PartitionFolder, model: Any, tasks: Sequence[Task], spec: ModelSpec, **more: Any
) -> SessionResult:
    """Ask in one session, and compact what was kept."""
    with PartitionStore(folder) as store:
        outcome = asked(store, model, tasks, spec, **more)
        store.compact(outcome.tally.current if outcome.complete else None)
    return outcome
