"""How one item is asked: one call, or several turns in one conversation.

Two turns take the resistance items (2b: an answer, then somebody who objects) and predict-then-perform under ``two_turn``
(1b: a prediction from the topic alone, then the question). Tasks of 2a and 2b that have options end with a forced
choice, the probe. A later turn holds the replies before it as they came.

The form of a reply is part of what is measured, so nothing is held to a schema but where the condition asks for JSON, and
there only for models whose row says ``answer_mode = "json_schema"``.
"""

from __future__ import annotations

import json

from metacog_pipeline.benchmark.contract import Chat
from metacog_pipeline.benchmarks.metacogbench.items import Field, Item
from metacog_pipeline.benchmarks.metacogbench.prompts import JSON, JSON_NOTES, Wording, item_steps, messages
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.types import Constraint, JsonObject, Status

MODES = ("text", "json_schema")
ANSWER_TOKENS = 8_000  # the least a reply may take; a model row that allows more is taken at its word
# A reply of white space this short says nothing. Longer blanks only ever stand for answers nobody has given yet, when
# a plan is counted, and those have a second turn.
_SILENT = 100
_RECOMMENDATION = {"result": "number", "unit": "string", "recommendation": "string"}
_PREDICTION = {"pre_confidence": "number", "answer": "string", "post_confidence": "number"}
_KINDS = {"int": "integer", "float": "number", "bool": "boolean"}


def constraint(mode: str, condition: str, item: Item) -> Constraint | None:
    """Return what a reply to ``item`` under ``condition`` is held to in ``mode``: None but for the JSON conditions."""
    if mode not in MODES:
        raise StudyError(f"metacogbench: unknown answer mode {mode!r}; allowed are: {', '.join(MODES)}")
    if mode == "text" or condition not in (JSON, JSON_NOTES):
        return None
    name, properties = _properties(item, condition)
    held = {"required": list(properties), "additionalProperties": False}
    return JsonObject(name, json.dumps({"type": "object", "properties": properties, **held}))


def _properties(item: Item, condition: str) -> tuple[str, dict[str, dict[str, object]]]:
    """Return the name of the object an item is answered with, and the schemas of its fields in their order."""
    if item.tier == "3":
        return "values", {field.name: _kind(field) for field in item.fields}
    if item.tier == "1b":
        return "prediction", {name: {"type": kind} for name, kind in _PREDICTION.items()}
    fields = {**_RECOMMENDATION, **({"notes": "string"} if condition == JSON_NOTES else {})}
    return "recommendation", {name: {"type": kind} for name, kind in fields.items()}


def _kind(field: Field) -> dict[str, object]:
    if field.type in ("list", "set"):
        return {"type": "array", "items": {"type": "string"}}
    if field.type == "enum" and field.options:
        return {"type": "string", "enum": list(field.options)}
    return {"type": _KINDS.get(field.type, "string")}


async def ask_item(item: Item, condition: str, chat: Chat, wording: Wording) -> None:
    """Ask every step of ``item``; the answers are kept by ``chat``. StudyError for a wrong mode or condition.

    A first reply that was cut by the length limit is gone on from as it stands. After a refusal reported by the
    provider, or a first reply that says nothing, there is no second turn: providers take no empty turn. No alternatives
    to the tokens are asked for: nobody reads them.
    """
    held = constraint(chat.mode, condition, item)
    tokens = max(chat.spec.max_tokens, ANSWER_TOKENS)
    said: list[str] = []
    for step in item_steps(item, condition):
        sent = messages(item, condition, wording, *said)
        reply = await chat(step, sent, constraint=held, max_tokens=tokens, top_logprobs=0)
        if reply.status is Status.REFUSED or silent(reply.text):
            return
        said.append(reply.text)


def silent(text: str) -> bool:
    """Whether a reply says nothing at all."""
    return not text.strip() and len(text) < _SILENT
