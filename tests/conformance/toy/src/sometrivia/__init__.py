"""Some trivia: sums to finish, and how sure of them. A benchmark of somebody else's package, in one file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from metacog_pipeline.benchmark import contract as c
from metacog_pipeline.llm.types import Message
from metacog_pipeline.scoring.measures import share
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.estimate import unavailable

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

    said: Annotated[int | None, "the sum as it was given"] = None
    correct: c.Flag = None
    sure: c.Small = None
    status: str = "not_run"
    reason: str | None = "not asked yet"


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

    def knows(self, request: Any) -> bool:
        return request.messages[-1].content in self.items

    def __call__(self, request: Any) -> str:
        item = self.items[request.messages[-1].content]
        luck = np.random.default_rng([self.parameters.seed, item.position]).random()
        right = luck < self.parameters.accuracy
        return f"{item.answer if right else item.answer + 1}, {90 if right else 60} %"


def make(benchmark: Any, inputs: c.Inputs) -> c.Made:
    draw = np.random.default_rng(benchmark.context.seed)
    numbers = draw.integers(10, 99, (benchmark.settings.sums, 2)).tolist()
    sums = [
        Item(item_id=f"sum-{n}", dataset="sums", position=n, question=f"Sum {n}: {a} + {b} = ?", answer=a + b)
        for n, (a, b) in enumerate(numbers)
    ]
    return c.Made(rows=sums, checks={"sums_add_up": c.Checked(True)})


def mean_confidence(group: c.Group) -> c.Estimate:
    sure, _, clusters = group.graded("sure")
    return resampling.mean(sure / 100, clusters) if len(sure) else unavailable(0, "mean", "no items")


def between_models(benchmark: Any, groups: Sequence[c.Group]) -> Iterator[c.Comparison]:
    for a, b in combinations([group for group in groups if group.complete], 2):
        rates = [group.rows["correct"].mean() for group in (a, b)]
        held = {"dataset": a.dataset, "source": a.source, "condition": a.condition}
        yield c.Comparison(
            "models", "accuracy", a.model, b.model, value=rates[0] - rates[1], p=0.5, n=9, **held
        )


def mistakes(benchmark: Any, scored: c.Scored) -> pl.DataFrame:
    return scored.responses.filter(correct=0).select("model", "item_id", "said")


class SomeTrivia(c.Benchmark[Settings, Item, Response]):
    """Sums, and how sure of them."""

    name, title, paper = "sometrivia", "Some trivia", c.Paper("Some trivia", "A. Stranger", 2026, "nowhere")
    Settings, Item, Response = Settings, Item, Response
    coded, unreadable, monitored_under = ("correct",), ("unreadable", "refused"), ("asked",)
    measures = (
        c.Measure("accuracy", "accuracy", share({"correct": 1}), headline=True, words="Share of right sums."),
        c.Measure("confidence", "sure", mean_confidence, higher_is_better=None, words="Mean confidence."),
    )
    contrasts = (c.Contrast("models", between_models, words="Two models on the sums both answered."),)
    questions = (c.Question("Is one model right more often than another?", ("models", "accuracy")),)
    tables = (c.Table("mistakes", Mistake, mistakes, "Sums that were got wrong."),)
    board = c.Board((c.Column("accuracy", "accuracy"), c.Column("confidence", "sure")), legend="Sums.\n")
    trial_settings: ClassVar = {"sums": 10}

    @classmethod
    def sections(cls) -> tuple[c.Section, ...]:
        return (c.Section("Sums", lambda home: "Sums that were <asked>."),)

    def construction(self) -> tuple[c.Step, ...]:
        checks = {"sums_add_up": c.Check("They add up.")}
        return (c.Step("items", "Sums to finish.", make, writes=Item, checks=checks),)

    def conditions(self) -> tuple[c.Condition, ...]:
        return (c.Condition("asked"),)

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        return ("answer",)

    async def ask(self, item: Any, condition: str, chat: c.Chat) -> None:
        await chat("answer", (Message("system", "Answer: sum, confidence %"), Message("user", item.question)))

    def parse(self, item: Any, condition: str, calls: c.Calls) -> Any:
        call = calls.get("answer")
        if call is None:
            return Response()
        if call.status == "failed":
            return Response(status="transport_error", reason=call.error or "failed")
        if (found := REPLY.fullmatch(call.text)) is None or int(found[2]) > 100:
            return Response(status="unreadable", reason="neither a sum nor a confidence")
        return Response(int(found[1]), int(int(found[1]) == item.answer), int(found[2]), "ok", None)

    def harmonise(self, responses: pl.DataFrame) -> pl.DataFrame:
        read = responses.filter(status="ok")
        return read.with_columns(confidence=pl.col("sure") / 100, n_alternatives=pl.lit(None, pl.Int32))

    def observer(self, parameters: Any) -> Observer:
        return Observer(self.items, parameters)
