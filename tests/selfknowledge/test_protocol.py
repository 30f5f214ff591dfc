"""In which calls an item is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from metacog_pipeline.benchmarks.selfknowledge.prompts import load_wording
from metacog_pipeline.benchmarks.selfknowledge.protocol import ask_item, steps
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import OneOf


def model(**fields: object) -> ModelSpec:
    return ModelSpec.model_validate({"name": "m", "provider": "openai", "model": "x", **fields})


def asked(bench: Any, condition: str, mode: str = "text", spec: ModelSpec | None = None, **more: Any) -> Any:
    ask = bench.Listening(direct="Paris", meta="Yes")
    asyncio.run(ask_item(bench.CAPITAL, condition, mode, ask, load_wording(), spec or model(), **more))
    return ask.calls


def test_both_questions_are_asked_in_contexts_of_their_own(bench: Any) -> None:
    calls = asked(bench, "dual_es")
    assert [step for step, _, _ in calls] == ["direct", "meta"]
    for _, messages, _ in calls:
        (message,) = messages
        assert message.role == "user" and "Paris" not in message.content
        assert "¿Cuál es la capital de Francia?" in message.content


def test_leave_to_abstain_is_one_call(bench: Any) -> None:
    assert [step for step, _, _ in asked(bench, "idk")] == ["idk"]


def test_replies_take_32_tokens_unless_the_row_says_otherwise(bench: Any) -> None:
    assert {how["max_tokens"] for _, _, how in asked(bench, "dual")} == {32}
    assert {how["max_tokens"] for _, _, how in asked(bench, "dual", spec=model(max_tokens=400))} == {400}
    assert {how["max_tokens"] for _, _, how in asked(bench, "dual", spec=model(max_tokens=8))} == {8}


def test_log_probabilities_are_asked_for_in_the_meta_step_only(bench: Any) -> None:
    assert [how["top_logprobs"] for _, _, how in asked(bench, "dual")] == [0, None]
    assert [how["top_logprobs"] for _, _, how in asked(bench, "idk")] == [0]


def test_a_choice_holds_the_meta_step_to_the_words_of_the_language(bench: Any) -> None:
    assert [how["constraint"] for _, _, how in asked(bench, "dual")] == [None, None]
    assert [how["constraint"] for _, _, how in asked(bench, "dual_ko", "choice")] == [
        None,
        OneOf(("예", "아니요")),
    ]
    assert [how["constraint"] for _, _, how in asked(bench, "idk", "choice")] == [None]


def test_decoding_can_be_left_to_the_model(bench: Any) -> None:
    assert {how["send_temperature"] for _, _, how in asked(bench, "dual")} == {True}
    assert {how["send_temperature"] for _, _, how in asked(bench, "dual", send_temperature=False)} == {False}


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(StudyError, match="unknown answer mode 'json_schema'"):
        steps("json_schema")
