"""A benchmark of a few lines, to see what the pipeline makes of a contract: sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import (
    Calls,
    Chat,
    Check,
    Checked,
    Comparison,
    Condition,
    Contrast,
    Flag,
    Inputs,
    Made,
    Measure,
    Paper,
    Published,
    Response,
    Scored,
    Stage,
    Step,
    Table,
    setting,
)
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Message
from metacog_pipeline.scoring.measures import share

PLAIN = "plain"


class Settings(contract.Settings):
    """``broken`` names what raises."""

    limit: int = setting(Stage.ITEMS, 4)
    broken: str = setting(Stage.SCORING, "")


class Item(contract.Item):
    a: int
    b: int


@dataclass(slots=True)
class Said(Response):
    said: str | None = None
    correct: Flag = None
    status: str = "not_run"
    reason: str | None = None


@dataclass(frozen=True)
class Missed:
    model: str
    missed: int


def _make(bench: Sums, inputs: Inputs) -> Made:
    rows = [
        Item(item_id=f"sum-{n}", dataset="sample", position=n, a=n, b=2 * n)
        for n in range(bench.settings.limit)
    ]
    return Made(rows, checks={"enough": Checked(bool(rows), {"rows": len(rows)})})


def _sources(bench: Sums, inputs: Inputs) -> Made:
    return Made(frame=pl.DataFrame({"numbers": list(range(bench.settings.limit))}))


def _missed(bench: Sums, scored: Scored) -> pl.DataFrame:
    if bench.settings.broken == "table":
        raise ValueError("the table is broken")
    return scored.responses.group_by("model").agg(missed=(1 - pl.col("correct")).sum()).sort("model")


def _pairs(bench: Sums, groups: Sequence[Any]) -> list[Comparison]:
    if bench.settings.broken == "comparisons":
        raise ValueError("the comparison is broken")
    models = sorted({group.model for group in groups})
    return [Comparison("pairs", "accuracy", a, b, value=0.0, p=1.0) for a in models for b in models if a < b]


def _claims(bench: Sums) -> pl.DataFrame:
    if bench.settings.broken == "published":
        raise ValueError("the printed table is broken")
    return pl.DataFrame([{"place": "table 1", "quantity": "sum", "verdict": "follows", "published": 1.0}])


class Adder:
    """Answers sums, but for those its seed forgets."""

    def __init__(self, parameters: ObserverSpec) -> None:
        self.forgets = parameters.seed

    def knows(self, request: ChatRequest) -> bool:
        return "+" in request.messages[-1].content

    def __call__(self, request: ChatRequest) -> str:
        a, b = map(int, request.messages[-1].content.split("+"))
        return "no idea" if a == self.forgets else str(a + b)


class Sums(contract.Benchmark[Settings, Item, Said]):
    """Sums of small numbers."""

    name, title = "sums", "Sums"
    paper = Paper("Sums", "Nobody", 2026, "nowhere")
    Settings, Item, Response = Settings, Item, Said
    coded = ("correct",)
    measures = (
        Measure("accuracy", "accuracy", share({"correct": 1}), headline=True, words="Share of right sums."),
    )
    contrasts = (Contrast("pairs", _pairs),)
    tables = (Table("missed", Missed, _missed, "How many sums each model missed."),)
    published = Published(
        lambda bench: pl.DataFrame([{"place": "table 1", "measure": "accuracy", "value": 0.5}]), _claims
    )

    def construction(self) -> tuple[Step, ...]:
        return (
            Step("sources", "The numbers.", _sources),
            Step(
                "items",
                "The sums.",
                _make,
                needs=("sources",),
                writes=Item,
                checks={"enough": Check("There are sums.", blocking=True)},
            ),
        )

    def conditions(self) -> tuple[Condition, ...]:
        return (Condition(PLAIN),)

    def steps(self, condition: str, mode: str = "text") -> tuple[str, ...]:
        return ("answer",)

    async def ask(self, item: Item, condition: str, chat: Chat) -> None:
        await chat("answer", [Message("user", f"{item.a}+{item.b}")], max_tokens=8)

    def observer(self, parameters: ObserverSpec) -> Adder:
        return Adder(parameters)

    def parse(self, item: Item, condition: str, calls: Calls) -> Said:
        call = calls.get("answer")
        if call is None:
            return Said()
        if call.status == "failed":
            return Said(status="transport_error", reason=call.error)
        return Said(call.text, int(call.text == str(item.a + item.b)), "ok")
