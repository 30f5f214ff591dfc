"""Which calls an item takes in each answer mode."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.benchmarks.metamedqa.prompts import Wording, ask_item, steps
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import JsonObject, Message, OneOf, Status, TokenBias

SPEC = ModelSpec(name="m", provider="openai", model="x")
IDS = {
    **{letter: [n, n + 100] for n, letter in enumerate("ABCDEF")},
    **{str(n): [50 + n] for n in range(1, 6)},
}
BIASED = SPEC.model_copy(update={"token_ids": IDS})


@dataclass
class Call:
    step: str
    messages: tuple[Message, ...]
    options: dict[str, Any]


@dataclass
class Chat:
    """What asks: answers are given in their order."""

    mode: str
    answers: Sequence[Answer]
    spec: ModelSpec = SPEC
    calls: list[Call] = field(default_factory=list)

    async def __call__(self, step: str, messages: Sequence[Message], **options: Any) -> Answer:
        self.calls.append(Call(step, tuple(messages), options))
        return self.answers[len(self.calls) - 1]


def asked(
    item: Item,
    wording: Wording,
    mode: str,
    answers: Sequence[Answer],
    spec: ModelSpec = SPEC,
    condition: str = "baseline",
) -> list[Call]:
    chat: Any = Chat(mode, answers, spec)
    asyncio.run(ask_item(item, condition, chat, wording))
    found: list[Call] = chat.calls
    return found


def ok(text: str) -> Answer:
    return Answer(Status.OK, text)


def test_json_schema_is_one_call_with_answer_before_confidence(items, wording):
    (call,) = asked(items[0], wording, "json_schema", [ok('{"answer": "A", "confidence": 3}')])
    constraint = call.options["constraint"]
    assert call.step == "answer" and isinstance(constraint, JsonObject)
    schema = json.loads(constraint.schema_json)
    assert list(schema["properties"]) == schema["required"] == ["answer", "confidence"]
    assert schema["properties"]["answer"]["enum"] == list("ABCDEF")
    assert schema["properties"]["confidence"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    assert schema["additionalProperties"] is False


def test_choice_is_two_calls_in_one_conversation(items, wording):
    first, second = asked(items[0], wording, "choice", [ok("C"), ok("4")])
    assert (first.step, second.step) == steps("choice") == ("choice", "confidence")
    assert first.options["constraint"] == OneOf(tuple("ABCDEF"))
    assert second.options["constraint"] == OneOf(("1", "2", "3", "4", "5"))
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[-2] == Message("assistant", "Answer: C")
    assert second.messages[-1] == Message("user", wording.confidence_request)


def test_logit_bias_admits_every_form_of_the_options_and_one_token(items, wording):
    first, second = asked(items[0], wording, "logit_bias", [Answer(Status.TRUNCATED, "C"), ok("4")], BIASED)
    assert first.options["max_tokens"] == second.options["max_tokens"] == 1
    assert first.options["constraint"] == TokenBias(
        tuple((token, 100) for token in sorted(t for letter in "ABCDEF" for t in IDS[letter]))
    )
    assert second.options["constraint"] == TokenBias(tuple((50 + n, 100) for n in range(1, 6)))


def test_logit_bias_without_token_ids_says_which_are_missing(items, wording):
    with pytest.raises(StudyError, match=r"models.m.*token_ids for A, B, C, D, E, F"):
        asked(items[0], wording, "logit_bias", [])


def test_text_is_one_unconstrained_call(items, wording):
    (call,) = asked(items[0], wording, "text", [ok("Answer: A\nConfidence: 3")])
    assert call.step == "answer"
    assert call.options == {"constraint": None, "max_tokens": None}


def test_confidence_is_not_asked_without_a_readable_letter(items, wording):
    unread = (Answer(Status.REFUSED, "C"), Answer(Status.TRUNCATED, "C"), ok("I am not sure"), ok(""))
    assert all(len(asked(items[0], wording, "choice", [answer])) == 1 for answer in unread)


def test_unknown_mode_and_condition_are_errors_before_anything_is_asked(items, wording):
    with pytest.raises(StudyError, match="unknown answer mode 'guess'"):
        asked(items[0], wording, "guess", [])
    with pytest.raises(StudyError, match='unknown condition "nope"'):
        asked(items[0], wording, "text", [], condition="nope")
