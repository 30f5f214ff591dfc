"""A few questions in some languages, transcript rows about them, and an asker that answers from a list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK, Item
from metacog_pipeline.llm.types import Constraint, Message, Status, TokenLogprob
from metacog_pipeline.querying.types import Answer
from metacog_pipeline.transcripts.logprobs import encode_logprobs

CAPITAL = Item(
    "sk-1",
    "sample",
    "all",
    0,
    questions=(
        ("en", "What is the capital of France?"),
        ("zh", "法国的首都是哪里？"),
        ("ko", "프랑스의 수도는 어디입니까?"),
        ("es", "¿Cuál es la capital de Francia?"),
    ),
    answers=(("en", ("Paris",)), ("zh", ("巴黎",)), ("ko", ("파리",)), ("es", ("París", "Paris"))),
    question_id="1",
    event_id="france",
)
PLAIN = Item("sk-2", "sample", "all", 1, (("en", "Who wrote {question}? {0} 100%"),), (("en", ("Nobody",)),))
UNANSWERABLE = Item(
    "sk-3", "mkqa", "all", 2, (("en", "When will it rain?"), ("es", "¿Lloverá?")), (("en", ()), ("es", ()))
)
ITEMS = (CAPITAL, PLAIN, UNANSWERABLE)


class Listening:
    """Answers every step with what the list has for it, and remembers what it was asked."""

    def __init__(self, **answers: str) -> None:
        self.answers = answers
        self.calls: list[tuple[str, tuple[Message, ...], dict[str, Any]]] = []

    async def __call__(
        self,
        step: str,
        messages: Sequence[Message],
        *,
        constraint: Constraint | None = None,
        max_tokens: int | None = None,
        top_logprobs: int | None = None,
        send_temperature: bool = True,
    ) -> Answer:
        how = {
            "constraint": constraint,
            "max_tokens": max_tokens,
            "top_logprobs": top_logprobs,
            "send_temperature": send_temperature,
        }
        self.calls.append((step, tuple(messages), how))
        return Answer(Status.OK, self.answers.get(step, ""))


def call(
    step: str,
    text: str = "",
    *,
    item: Item = CAPITAL,
    condition: str = "dual",
    status: str = "ok",
    **more: Any,
) -> dict[str, Any]:
    """Return one transcript row."""
    logprobs: tuple[TokenLogprob, ...] = more.pop("logprobs", ())
    after = more.pop("after", 0)
    return {
        "answer_id": f"{item.item_id}-{condition}-{step}-{status}-{after}",
        "benchmark": BENCHMARK,
        "model": "m",
        "run": 1,
        "item_id": item.item_id,
        "item_hash": item.item_hash,
        "condition": condition,
        "step": step,
        "status": status,
        "mode": "text",
        "text": text,
        "logprobs_json": encode_logprobs(logprobs),
        "input_tokens": 10,
        "output_tokens": 2,
        "cost_usd": 0.5,
        "latency_s": 1.0,
        "error_code": None,
        "error_message": None,
        "source": "measured",
        "superseded": False,
        "started_at": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=after),
        **more,
    }


def transcripts(*calls: dict[str, Any]) -> pl.DataFrame:
    """Return transcript rows as a frame."""
    strings = dict.fromkeys(("logprobs_json", "error_code", "error_message", "text"), pl.String)
    return pl.DataFrame(list(calls), schema_overrides=strings, infer_schema_length=None)


@pytest.fixture
def bench() -> Any:
    """Return the helpers above, by name."""
    from types import SimpleNamespace

    return SimpleNamespace(
        CAPITAL=CAPITAL,
        PLAIN=PLAIN,
        UNANSWERABLE=UNANSWERABLE,
        ITEMS=ITEMS,
        Listening=Listening,
        call=call,
        transcripts=transcripts,
    )
