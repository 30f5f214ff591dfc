"""Tasks stand in the order of conditions and items, each hashed once; modes of a benchmark are tried best first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from metacog_pipeline.benchmarks.common.asking import item_tasks, mode_ladder
from metacog_pipeline.llm.spec import ModelSpec


class Item:
    def __init__(self, item_id: str) -> None:
        self.item_id, self.hashed = item_id, 0

    @property
    def item_hash(self) -> str:
        self.hashed += 1
        return f"hash of {self.item_id}"


def test_every_task_asks_its_own_item_under_its_own_condition() -> None:
    a, b = Item("a"), Item("b")
    said: list[tuple[str, str, str, Any]] = []

    async def ask_one(item: Item, condition: str, mode: str, ask: Any) -> None:
        said.append((item.item_id, condition, mode, ask))

    tasks = item_tasks({"one": [a, b], "two": [b], "none": []}, ask_one)
    assert [(task.item_id, task.item_hash, task.condition) for task in tasks] == [
        ("a", "hash of a", "one"),
        ("b", "hash of b", "one"),
        ("b", "hash of b", "two"),
    ]
    assert (a.hashed, b.hashed) == (1, 1)
    ask: Any = object()
    for task in tasks:
        asyncio.run(task.run(ask, "text"))
    assert said == [("a", "one", "text", ask), ("b", "one", "text", ask), ("b", "two", "text", ask)]


@pytest.mark.parametrize(
    ("provider", "answer_mode", "expected"),
    [
        ("simulated", "auto", ("text",)),
        ("simulated", "json_schema", ("json_schema",)),
        ("openai", "auto", ("json_schema", "text")),
        ("openai", "choice", ("json_schema", "text")),
        ("openai", "text", ("text",)),
    ],
)
def test_a_mode_the_benchmark_has_is_the_only_one_and_any_other_means_the_ladder(
    provider: Any, answer_mode: Any, expected: tuple[str, ...]
) -> None:
    named = {} if provider == "simulated" else {"model": "x", "base_url": "https://host.invalid/v1"}
    spec = ModelSpec(name="m", provider=provider, answer_mode=answer_mode, **named)
    assert mode_ladder(spec, ("json_schema", "text")) == expected
