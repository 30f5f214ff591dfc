"""How one item is asked: one call, both answers in one JSON object.

The ladder of modes is tried from the top by whoever opens a model: a strict schema where the provider holds answers
to one, plain text otherwise. The words ask for the same object either way.
"""

from __future__ import annotations

import functools
import json

from metacog_pipeline.benchmark.contract import Chat
from metacog_pipeline.benchmarks.signaldetection.items import Item
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE, Wording, messages
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.types import Constraint, JsonObject

MODES = ("json_schema", "text")
STEP = "answer"


def constraint(mode: str, condition: str, ratings: int) -> Constraint | None:
    """Return what the answer is held to: an object with ``decision`` and, where it is asked, ``confidence``."""
    if mode == "text":
        return None
    if mode not in MODES:
        raise StudyError(f"signaldetection: unknown answer mode {mode!r}; allowed are: {', '.join(MODES)}")
    return _answer_object(ratings if condition == CONFIDENCE else None)


@functools.cache
def _answer_object(ratings: int | None) -> JsonObject:
    properties: dict[str, object] = {"decision": {"type": "string", "enum": ["0", "1"]}}
    if ratings is not None:
        properties["confidence"] = {"type": "integer", "enum": list(range(1, ratings + 1))}
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    name = "decision" if ratings is None else "decision_with_confidence"
    return JsonObject(name=name, schema_json=json.dumps(schema))


async def ask(item: Item, condition: str, chat: Chat, wording: Wording) -> None:
    """Ask the one step of ``item``; the answer is kept by ``chat``. Raises `StudyError` for a wrong mode or condition."""
    held = constraint(chat.mode, condition, wording.ratings)
    await chat(STEP, messages(item, condition, wording), constraint=held)
