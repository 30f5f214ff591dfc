"""A few questions in some languages, transcript rows about them, and an asker that answers from a list."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmarks.selfknowledge import SelfKnowledge
from metacog_pipeline.benchmarks.selfknowledge.imports import read_row
from metacog_pipeline.benchmarks.selfknowledge.items import Item
from metacog_pipeline.conformance.case import small_study
from metacog_pipeline.llm.types import Message, Status

CAPITAL = Item(
    item_id="sk-1", dataset="sample", split="all", question_id="1", event_id="france",
    questions=(
        ("en", "What is the capital of France?"), ("zh", "法国的首都是哪里？"), ("ko", "프랑스의 수도는 어디입니까?"),
        ("es", "¿Cuál es la capital de Francia?"),
    ),
    answers=(("en", ("Paris",)), ("zh", ("巴黎",)), ("ko", ("파리",)), ("es", ("París", "Paris"))),
)  # fmt: skip
PLAIN = Item(
    item_id="sk-2", dataset="sample", split="all", position=1, questions=(("en", "Who wrote {question}? {0} 100%"),),
    answers=(("en", ("Nobody",)),),
)  # fmt: skip


def abstains(text: str, *accepted: str) -> bool:
    """Return whether a reply withholds its answer."""
    return bool(read_row({"responses": {"idk": text}, "answers": [*accepted]})["abstained"])


class Listening:
    """A chat that answers every step with what the list has for it, and remembers what it was asked."""

    def __init__(self, mode: str = "text", spec: Any = None, **answers: str) -> None:
        self.mode, self.spec, self.answers = mode, spec, answers
        self.calls: list[tuple[str, tuple[Message, ...], dict[str, Any]]] = []

    async def __call__(self, step: str, messages: Sequence[Message], **how: Any) -> Answer:
        how = {"constraint": None, "max_tokens": None, "top_logprobs": None, "send_temperature": True} | how
        self.calls.append((step, tuple(messages), how))
        return Answer(Status.OK, self.answers.get(step, ""))


def bind(folder: Path = Path("nowhere"), **settings: Any) -> SelfKnowledge:
    """Return the benchmark bound to a small study with these settings."""
    found: SelfKnowledge = SelfKnowledge.of(small_study(SelfKnowledge, folder, settings))
    return found


@pytest.fixture
def bench():
    """Return this module: its items and helpers by name."""
    return sys.modules[__name__]
