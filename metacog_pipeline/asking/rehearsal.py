"""Rehearsal: a benchmark's `ask` run against a recorder, so that a mistake in it shows before anything is paid."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metacog_pipeline.asking import construction, roles, tasks
from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Item
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling, Status

REPLY = "42"


@dataclass(slots=True)
class Recorder:
    """A `contract.Chat` that records every call and gives each the same reply."""

    spec: ModelSpec
    mode: str = "text"
    requests: list[ChatRequest] = field(default_factory=list)

    async def __call__(self, step: str, messages: Sequence[Message], **how: Any) -> Answer:
        """Record one call."""
        sampling = Sampling(seed=1, top_logprobs=how.get("top_logprobs"))
        self.requests.append(ChatRequest(tuple(messages), sampling, how.get("constraint"), step, 1))
        return Answer(Status.OK, REPLY)


def rehearsed(
    benchmark: Bound, item: Item, condition: str, spec: ModelSpec, mode: str = "text"
) -> list[ChatRequest]:
    """Return the calls one item takes under a condition."""
    chat = Recorder(spec, mode)
    asyncio.run(benchmark.ask(item, condition, chat))
    return chat.requests


def require_askable(benchmark: Bound, *, items: bool = True) -> None:
    """Raise the error a run of ``benchmark`` would end with before its first call; without ``items`` none are built."""
    for condition in benchmark.conditions():
        benchmark.worded_by(condition.name)
    if not items:
        return
    with construction.with_items(benchmark, _built_elsewhere) as found:
        spec = next((each for each in found.context.study.models if each.provider != "replay"), None)
        if spec is None:
            return
        for name, asked in tasks.asked(found, spec):
            for item in asked[:1]:
                rehearsed(found, item, name, spec, found.modes(spec)[0])


@contextmanager
def _built_elsewhere(benchmark: Bound) -> Iterator[Bound]:
    """Give the benchmark with new items in a temporary folder: a check writes nothing into the study's own."""
    with tempfile.TemporaryDirectory(prefix="metacog-doctor-") as folder:
        home, kept = Home(Path(folder)), benchmark.context.home
        for link, target in ((home.sources, kept.sources), (home.imported, kept.imported)):
            if target.is_dir():
                link.symlink_to(target, target_is_directory=True)
        elsewhere = roles.in_home(benchmark, folder)
        construction.build(elsewhere)
        yield elsewhere
