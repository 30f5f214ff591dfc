"""Some trivia: sums to finish, and how sure of them. A benchmark of somebody else's package, in one file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from metacog_pipeline.benchmark import contract as c
from metacog_pipeline.llm.types import Message
from metacog_pipeline.scoring.measures import share

REPLY = re.compile(r"\s*(-?\d{1,9})\s*,\s*(\d{1,3})\s*%?\s*")


class Settings(c.Settings):
    """How many sums."""

    sums: int = c.setting(c.Stage.ITEMS, 20, ge=1, le=100)


class Item(c.Item):
    """One sum."""

    question: str
    answer: int


@dataclass(slots=True)
class Response(c.Response):
    """What was said."""

    said: int | None = None
    correct: c.Flag = None
    confidence: float | None = None
    status: str = "not_run"
    reason: str | None = "no answer"


@dataclass(slots=True)
class Mistake:
    """A wrong sum."""

    model: str
    item_id: str
    said: int


class Observer:
    """Knows sums, and how often it is right."""

    def __init__(self, items: Sequence[Item], parameters: Any) -> None:
        self.items, self.parameters = {item.question: item for item in items}, parameters

    def __call__(self, request: Any) -> str:
        item = self.items[request.messages[-1].content]
        luck = np.random.default_rng([self.parameters.seed, item.position]).random()
        right = luck < self.parameters.accuracy
        return f"{item.answer if right else item.answer + 1}, {90 if right else 60} %"


def make(benchmark: Any, inputs: c.Inputs) -> c.Made:
    chance = np.random.default_rng(benchmark.seed)
    sums = [
        Item(item_id=f"sum-{n}", dataset="sums", position=n, question=f"Sum {n}: {a} + {b} = ?", answer=a + b)
        for n, (a, b) in enumerate(chance.integers(10, 99, (benchmark.settings.sums, 2)).tolist())
    ]
    return c.Made(rows=sums)


def mistakes(benchmark: Any, scored: c.Scored) -> pl.DataFrame:
    return scored.responses.filter(correct=0).select("model", "item_id", "said")


class SomeTrivia(c.Benchmark[Settings, Item, Response]):
    """Sums, and how sure of them."""

    name, title, paper = "sometrivia", "Some trivia", c.Paper("Some trivia", "A. Author", 2026, "nowhere")
    Settings, Item, Response = Settings, Item, Response
    coded, unreadable = ("correct",), ("unreadable", "refused")
    measures = (
        c.Measure("accuracy", "accuracy", share({"correct": 1}), headline=True, words="Share right."),
    )
    questions = (c.Question("Who is right more often?", ("confidence_models", "harmonised_accuracy")),)
    tables = (c.Table("mistakes", Mistake, mistakes, "Sums that were got wrong."),)
    board = c.Board((c.Column("accuracy", "accuracy"),), legend="Sums.\n")
    trial_settings: ClassVar = {"sums": 20}
    ladders = (c.Ladder("accuracy", "accuracy", 0.3, 0.9),)

    @classmethod
    def sections(cls) -> tuple[c.Section, ...]:
        return (c.Section("Sums", lambda home: "Sums that were <asked>."),)

    def construction(self) -> tuple[c.Step, ...]:
        return (c.Step("items", "Sums to finish.", make, writes=Item),)

    def probes(self) -> Iterator[c.Probe]:
        for item in self.items:
            yield c.Probe("sums", item.item_id, (), (str(item.answer),), item.question)

    async def ask(self, item: Any, condition: str, chat: c.Chat) -> None:
        await chat("answer", (Message("system", "Answer: sum, confidence %"), Message("user", item.question)))

    def parse(self, item: Any, condition: str, calls: c.Calls) -> Any:
        call = calls.get("answer")
        if call is None or call.status == "failed":
            return Response(status="transport_error" if call else "not_run")
        if (found := REPLY.fullmatch(call.text)) is None or int(found[2]) > 100:
            return Response(status="unreadable", reason="neither a sum nor a confidence")
        return Response(int(found[1]), int(int(found[1]) == item.answer), int(found[2]) / 100, "ok", None)

    def observer(self, parameters: Any) -> Observer:
        return Observer(self.items, parameters)
