"""A small question set, written for these tests, with every kind of item."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, NONE_OF_THE_ABOVE, Item
from metacog_pipeline.benchmarks.metamedqa.observe import observe
from metacog_pipeline.benchmarks.metamedqa.prompts import Wording, load_wording
from metacog_pipeline.benchmarks.metamedqa.protocol import ask_item
from metacog_pipeline.benchmarks.metamedqa.simulate import Responder
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling, Status
from metacog_pipeline.querying.types import Answer

KINDS = (
    *(("Original", letter) for letter in "ABCDABCDABCD"),
    ("Answer removed", "E"),
    ("Answer modified", "E"),
    ("Bad", "F"),
    ("Question modified", "F"),
    ("Fictional", "F"),
)


def make_items(number: int) -> list[Item]:
    found = []
    for n in range(number):
        kind, target = KINDS[n % len(KINDS)]
        found.append(
            Item(
                item_id=f"test-{n:04d}",
                position=n,
                question=f"Patient {n} has finding {n * 7}. Which mechanism explains it?",
                options=(
                    f"Mechanism {n}a",
                    f"Mechanism {n}b",
                    f"Mechanism {n}c",
                    f"Mechanism {n}d",
                    NONE_OF_THE_ABOVE,
                    CANNOT_ANSWER,
                ),
                target=target,
                kind=kind,
                meta_info="step1",
                dataset="sample",
                source_target="B" if kind == "Fictional" else None,
                tags=("media_absent_but_answerable",) if n % len(KINDS) == 1 else (),
            )
        )
    return found


@pytest.fixture(scope="session")
def items() -> list[Item]:
    return make_items(170)


@pytest.fixture(scope="session")
def many_items() -> list[Item]:
    return make_items(2040)


@pytest.fixture(scope="session")
def wording() -> Wording:
    return load_wording()


@pytest.fixture(scope="session")
def transcript() -> Callable[..., dict[str, Any]]:
    """Return a function that makes one transcript row; anything can be overridden."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    made = 0

    def row(item: Item, text: str = "", **changed: Any) -> dict[str, Any]:
        nonlocal made
        made += 1
        return {
            "answer_id": f"{made:064x}",
            "benchmark": "metamedqa",
            "model": "m",
            "run": 1,
            "item_id": item.item_id,
            "item_hash": item.item_hash,
            "condition": "baseline",
            "step": "answer",
            "source": "measured",
            "mode": "text",
            "request_json": '{"messages":[]}',
            "status": "ok",
            "text": text,
            "logprobs_json": None,
            "input_tokens": 100,
            "output_tokens": 8,
            "cost_usd": 0.001,
            "latency_s": 0.5,
            "error_code": None,
            "error_message": None,
            "started_at": start + timedelta(seconds=made),
            "superseded": False,
            **changed,
        }

    return row


@pytest.fixture(scope="session")
def table() -> Callable[[Sequence[dict[str, Any]]], pl.DataFrame]:
    types: dict[str, Any] = {
        **dict.fromkeys(
            ("answer_id", "benchmark", "model", "item_id", "item_hash", "condition", "step"), pl.String
        ),
        **dict.fromkeys(("source", "mode", "request_json", "status", "text", "logprobs_json"), pl.String),
        **dict.fromkeys(("error_code", "error_message"), pl.String),
        **dict.fromkeys(("input_tokens", "output_tokens"), pl.Int64),
        **dict.fromkeys(("cost_usd", "latency_s"), pl.Float64),
        "run": pl.Int32,
        "started_at": pl.Datetime("us", "UTC"),
        "superseded": pl.Boolean,
    }
    return lambda rows: pl.DataFrame(list(rows), schema=types)


@pytest.fixture(scope="session")
def answered(
    transcript: Callable[..., dict[str, Any]],
    table: Callable[[Sequence[dict[str, Any]]], pl.DataFrame],
    wording: Wording,
) -> Callable[..., pl.DataFrame]:
    """Return a function that asks a simulated observer everything and gives the observations."""

    def run_observer(
        asked: Sequence[Item],
        observer: ObserverSpec,
        *,
        model: str = "m",
        run: int = 1,
        conditions: Sequence[str] = ("baseline",),
        mode: str = "text",
    ) -> pl.DataFrame:
        spec = ModelSpec(name=model, provider="simulated", observer=observer)
        respond = Responder(asked, observer)
        rows: list[dict[str, Any]] = []

        async def everything() -> None:
            for condition in conditions:
                for item in asked:

                    async def ask(
                        step: str,
                        messages: Sequence[Message],
                        *,
                        constraint: Any = None,
                        max_tokens: int | None = None,
                        top_logprobs: int | None = None,
                        item: Item = item,
                        condition: str = condition,
                    ) -> Answer:
                        request = ChatRequest(tuple(messages), Sampling(seed=run), constraint, step, run)
                        text = respond(request)
                        rows.append(
                            transcript(
                                item, text, model=model, run=run, condition=condition, step=step, mode=mode,
                                source="simulated",
                            )
                        )  # fmt: skip
                        return Answer(Status.OK, text)

                    await ask_item(item, condition, mode, ask, wording, spec)

        asyncio.run(everything())
        return observe(asked, table(rows), conditions=conditions, model=model, run=run)

    return run_observer
