"""One call per item, both answers in it."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from metacog_pipeline.asking.tasks import ItemChat
from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmarks.signaldetection.asking import ask, constraint
from metacog_pipeline.benchmarks.signaldetection.items import Item
from metacog_pipeline.benchmarks.signaldetection.prompts import Wording
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import JsonObject, Message, Status

SPEC = ModelSpec(name="m", provider="openai", model="x")
Call = tuple[str, tuple[Message, ...], dict[str, Any]]


def asked(item: Item, condition: str, mode: str, wording: Wording) -> list[Call]:
    calls: list[Call] = []

    async def kept(step: str, messages: Sequence[Message], **options: Any) -> Answer:
        calls.append((step, tuple(messages), options))
        return Answer(Status.OK, "")

    asyncio.run(ask(item, condition, ItemChat(kept, mode, SPEC), wording))
    return calls


def test_schema_asks_decision_before_confidence_and_confidence_where_it_is_asked():
    both, alone = (constraint("json_schema", condition, 5) for condition in ("confidence", "risk_s1"))
    assert isinstance(both, JsonObject) and isinstance(alone, JsonObject) and both.name != alone.name
    schema = json.loads(both.schema_json)
    assert list(schema["properties"]) == schema["required"] == ["decision", "confidence"]
    assert schema["properties"]["decision"] == {"type": "string", "enum": ["0", "1"]}
    assert schema["properties"]["confidence"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    assert schema["additionalProperties"] is False
    assert list(json.loads(alone.schema_json)["properties"]) == ["decision"]


def test_schema_follows_the_scale_of_the_words(items, wording):
    four = Wording("four", wording.prompts, ratings=4)
    ((_, _, options),) = asked(items[0], "confidence", "json_schema", four)
    schema = json.loads(options["constraint"].schema_json)
    assert schema["properties"]["confidence"]["enum"] == [1, 2, 3, 4]


def test_text_mode_is_not_constrained(items, wording):
    ((_, _, options),) = asked(items[0], "confidence", "text", wording)
    assert options["constraint"] is None


def test_unknown_modes_and_conditions_are_refused_before_anything_is_asked(items, wording):
    with pytest.raises(StudyError, match="unknown answer mode 'choice'"):
        asked(items[0], "confidence", "choice", wording)
    with pytest.raises(StudyError, match="no text for task A under baseline"):
        asked(items[0], "baseline", "text", wording)
