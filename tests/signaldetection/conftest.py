"""Items of all three tasks from the shipped sample, and an observer asked in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmarks.signaldetection.construction import build
from metacog_pipeline.benchmarks.signaldetection.items import Item
from metacog_pipeline.benchmarks.signaldetection.observe import observe
from metacog_pipeline.benchmarks.signaldetection.prompts import Wording, load_wording
from metacog_pipeline.benchmarks.signaldetection.protocol import ask_item
from metacog_pipeline.benchmarks.signaldetection.simulate import Responder
from metacog_pipeline.benchmarks.signaldetection.texts import Texts, read_table
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling, Status
from metacog_pipeline.querying.types import Answer

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "signaldetection" / "sample"


@pytest.fixture(scope="session")
def reviews() -> Texts:
    return read_table(SAMPLE / "reviews.tsv", "reviews")


@pytest.fixture(scope="session")
def sentences() -> Texts:
    return read_table(SAMPLE / "sentences.tsv", "sentences")


@pytest.fixture(scope="session")
def items(reviews: Texts, sentences: Texts) -> list[Item]:
    return build(reviews, sentences, dataset="sample", trials=40)


@pytest.fixture(scope="session")
def many_items() -> list[Item]:
    """Enough trials of task A for sampling error to be small: half of each label."""
    texts = Texts(
        "numbers", [n % 2 for n in range(8000)], [f"Film number {n} is what it is." for n in range(8000)]
    )
    return build(texts, None, tasks=("A",), trials=8000)


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
            "benchmark": "signaldetection",
            "model": "m",
            "run": 1,
            "item_id": item.item_id,
            "item_hash": item.item_hash,
            "condition": "confidence",
            "step": "answer",
            "source": "measured",
            "mode": "text",
            "status": "ok",
            "text": text,
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
        **dict.fromkeys(("source", "mode", "status", "text", "error_code", "error_message"), pl.String),
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
        conditions: Sequence[str] = ("confidence",),
        mode: str = "text",
    ) -> pl.DataFrame:
        spec = ModelSpec(name=model, provider="simulated", observer=observer)
        respond = Responder(asked, observer, wording)
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
                        told = {"condition": condition, "step": step, "mode": mode, "source": "simulated"}
                        rows.append(transcript(item, text, model=model, run=run, **told))
                        return Answer(Status.OK, text)

                    await ask_item(item, condition, mode, ask, wording, spec)

        asyncio.run(everything())
        return observe(asked, table(rows), conditions=conditions, model=model, run=run)

    return run_observer
