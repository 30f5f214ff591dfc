"""Anthropic Messages: what is sent, and what an answer means."""

import json

import pytest

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import (
    ChatRequest,
    ErrorKind,
    JsonObject,
    Message,
    OneOf,
    Sampling,
    Status,
    TokenBias,
)
from metacog_pipeline.llm.wire import UnsupportedConstraint, anthropic
from tests.tables import every

SPEC = ModelSpec(
    name="m", provider="anthropic", model="some-model", stream=False, base_url="http://127.0.0.1:9"
)
TURNS = (
    Message("system", "Be brief."),
    Message("user", "Which?"),
    Message("assistant", "B"),
    Message("user", "Sure?"),
)
SAMPLED = ChatRequest(TURNS, Sampling())
PLAIN = ChatRequest(TURNS, Sampling(temperature=None))


def read(status, value):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return anthropic.read(SPEC, status, {}, body)


def answered(**fields):
    return {
        "type": "message",
        "model": "some-model-2",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "B"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 2},
        **fields,
    }


@pytest.mark.parametrize("base", ["http://h", "http://h/", "http://h/v1", "http://h/v1/"])
def test_the_address_may_end_in_a_slash_or_the_version(base):
    spec = SPEC.model_copy(update={"base_url": base})
    assert anthropic.build(spec, PLAIN, None).url == "http://h/v1/messages"


def test_system_messages_stand_apart_from_the_turns():
    body = json.loads(anthropic.build(SPEC, PLAIN, None).body)
    assert body["system"] == "Be brief."
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]


def test_the_required_token_limit_is_the_models_own_where_the_request_has_none():
    request = ChatRequest(TURNS, Sampling(max_tokens=None))
    body = json.loads(anthropic.build(SPEC, request, None, Capabilities(reasons=False)).body)
    assert body["max_tokens"] == SPEC.max_tokens


def test_the_api_version_is_the_newest_that_takes_the_request():
    with_temperature, without = anthropic.build(SPEC, SAMPLED, "k"), anthropic.build(SPEC, PLAIN, "k")
    assert with_temperature.headers["anthropic-version"] == "2023-06-01"
    assert with_temperature.headers["x-api-key"] == "k"
    assert json.loads(with_temperature.body)["temperature"] == 0
    assert without.headers["anthropic-version"] == "2026-10-21"
    assert without.headers["authorization"] == "Bearer k"
    assert "temperature" not in json.loads(without.body)


def test_the_key_stands_in_the_header_and_nowhere_else():
    for request in (SAMPLED, PLAIN):
        call = anthropic.build(SPEC, request, "canary-123")
        assert b"canary" not in call.body
        assert "canary" not in repr(call) + call.url


def test_a_json_schema_goes_under_the_output_configuration():
    request = ChatRequest(TURNS, Sampling(), JsonObject("answer", '{"type":"object"}'))
    body = json.loads(anthropic.build(SPEC, request, None).body)
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": {"type": "object"}}}


@pytest.mark.parametrize("constraint", [OneOf(("A",)), TokenBias(((1, 100),))])
def test_constraints_without_a_field_are_declined(constraint):
    with pytest.raises(UnsupportedConstraint):
        anthropic.build(SPEC, ChatRequest(TURNS, Sampling(), constraint), None)


def test_an_answer_is_its_text_blocks_and_cached_tokens_count_as_input():
    completion = read(200, answered())
    assert (completion.status, completion.text, completion.model_reported) == (Status.OK, "B", "some-model-2")
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (12, 2)


@every(
    ("reason", "status"),
    [
        ("end_turn", Status.OK),
        ("stop_sequence", Status.OK),
        ("max_tokens", Status.TRUNCATED),
        ("model_context_window_exceeded", Status.TRUNCATED),
        ("refusal", Status.REFUSED),
    ],
)
def test_the_stop_reason_decides_the_status(reason, status):
    assert read(200, answered(stop_reason=reason)).status is status
    assert read(200, answered(stop_reason=reason, content=[])).status is status


@every("body", [b"", b"{", b"[]", b'{"content":"B"}', b'{"content":[]}', b"<html>"])
def test_a_success_without_a_readable_answer_is_transient(body):
    completion = read(200, body)
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)


def problem(kind, code=None):
    details = {"details": {"error_code": code}} if code else {}
    return {"type": "error", "error": {"type": kind, "message": "sorry", **details}}


@every(
    ("status", "value", "kind", "code"),
    [
        (429, problem("rate_limit_error"), ErrorKind.RATE_LIMIT, "rate_limit_error"),
        (429, problem("rate_limit_error", "ramp_limit_exceeded"), ErrorKind.RATE_LIMIT, "ramp_limit_exceeded"),
        (429, problem("rate_limit_error", "contract_spend_limit_reached"), ErrorKind.FATAL,
         "contract_spend_limit_reached"),
        (529, problem("overloaded_error"), ErrorKind.RATE_LIMIT, "overloaded_error"),
        (200, problem("overloaded_error"), ErrorKind.RATE_LIMIT, "overloaded_error"),
        (402, problem("billing_error"), ErrorKind.FATAL, "billing_error"),
        (400, problem("invalid_request_error", "organization_on_hold"), ErrorKind.FATAL, "organization_on_hold"),
        (401, problem("authentication_error"), ErrorKind.FATAL, "authentication_error"),
        (404, problem("not_found_error"), ErrorKind.FATAL, "not_found_error"),
        (404, b"<html>", ErrorKind.UNSUPPORTED, None),
        (400, problem("invalid_request_error"), ErrorKind.UNSUPPORTED, "invalid_request_error"),
        (500, problem("api_error"), ErrorKind.TRANSIENT, "api_error"),
        (504, problem("timeout_error"), ErrorKind.TRANSIENT, "timeout_error"),
    ],
)  # fmt: skip
def test_errors_are_classified_by_status_and_code(status, value, kind, code):
    completion = read(status, value)
    assert (completion.status, completion.error_kind, completion.error_code) == (Status.FAILED, kind, code)
