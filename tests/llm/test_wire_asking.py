"""How calls are worded: thinking and effort per provider, room to think; every call fits the official client's types."""

import functools
import json
from typing import Any

import pydantic
import pytest

from metacog_pipeline.llm.capabilities import AMPLE_THINKING_TOKENS, Capabilities
from metacog_pipeline.llm.costs import output_token_bound
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, Sampling
from metacog_pipeline.llm.wire import wire_for
from metacog_pipeline.llm.wire.events import HttpCall
from tests.tables import every

REQUEST = ChatRequest((Message("system", "Be brief."), Message("user", "Which?")), Sampling())


@functools.cache
def strict(kind: Any) -> pydantic.TypeAdapter[Any]:
    """Return what checks a list of ``kind``, which refuses fields the type does not name, at any depth."""
    return pydantic.TypeAdapter(list[kind], config=pydantic.ConfigDict(extra="forbid"))


def consumed(value: Any) -> None:
    """Go through what pydantic validates lazily: the members of an ``Iterable``."""
    for inner in value.values() if isinstance(value, dict) else value:
        if hasattr(inner, "__iter__") and not isinstance(inner, str | bytes):
            consumed(inner)


def fits_the_official_types(provider: str, call: HttpCall) -> None:
    body = json.loads(call.body)
    if provider == "gemini":
        from google.genai import types

        assert call.url.endswith(":streamGenerateContent?alt=sse" if call.streamed else ":generateContent")
        thinking = types.GenerationConfig.model_validate(body.pop("generationConfig")).thinking_config
        assert thinking is None or None in (thinking.thinking_budget, thinking.thinking_level)
        for content in body.pop("contents"):
            types.Content.model_validate(content)
        assert set(body) <= {"systemInstruction"}
        return
    if provider == "openai":
        from openai.types.chat import completion_create_params as params

        kind = "CompletionCreateParams"
    else:
        from anthropic.types import message_create_params as params

        kind, thinking = "MessageCreateParams", body.get("thinking", {})
        # The client's types no longer have the temperature, which the version before takes without thinking.
        assert "temperature" not in body or thinking in ({}, {"type": "disabled"})
        body.pop("temperature", None)
        assert thinking.get("type") != "enabled" or 1024 <= thinking["budget_tokens"] < body["max_tokens"]
    fields = strict(getattr(params, f"{kind}{'Streaming' if call.streamed else 'NonStreaming'}"))
    consumed(fields.validate_python([body]))
    with pytest.raises(pydantic.ValidationError):
        fields.validate_python([{**body, "unheard_of": 1}])


def build(provider: str, request: Any = REQUEST, known: Any = None, **row: Any) -> HttpCall:
    spec = ModelSpec.model_validate({"name": "m", "provider": provider, "model": "x", **row})
    call = wire_for(spec.provider).build(spec, request, "key", Capabilities(**(known or {})))
    fits_the_official_types(provider, call)
    return call


def sent(provider: str, request: Any = REQUEST, known: Any = None, **row: Any) -> Any:
    return json.loads(build(provider, request, known, **row).body)


LIMITS = {
    "openai": lambda body: body["max_completion_tokens"],
    "anthropic": lambda body: body["max_tokens"],
    "gemini": lambda body: body["generationConfig"]["maxOutputTokens"],
}


@every("provider", LIMITS)
@every(
    ("row", "known", "limit"),
    [
        ({"thinking_tokens": 2000}, {}, 2064),
        ({"thinking_tokens": 0}, {"reasons": True}, 64),
        ({}, {"reasons": False}, 64),
        ({}, {"refused": frozenset({"thinking_room"})}, 64),
        ({}, {"reasons": True, "reasoning_tokens": 6000}, 24_064),
        ({}, {}, 64 + AMPLE_THINKING_TOKENS),
    ],
)
def test_a_call_asks_for_the_answer_and_room_to_think_and_is_bounded_by_both(provider, row, known, limit):
    assert LIMITS[provider](sent(provider, known=known, **row)) == limit
    spec = ModelSpec.model_validate({"name": "m", "provider": provider, "model": "x", **row})
    assert output_token_bound(spec, REQUEST, Capabilities(**known)) == limit


def test_the_limit_goes_by_the_name_the_model_was_found_to_take():
    local = {"base_url": "http://h/v1", "thinking_tokens": 0}
    assert sent("openai", **local)["max_tokens"] == 64
    body = sent("openai", known={"limit_field": "max_completion_tokens"}, **local)
    assert (body["max_completion_tokens"], "max_tokens" in body) == (64, False)
    body = sent("openai", known={"limit_field": "max_tokens"}, thinking_tokens=0)
    assert (body["max_tokens"], "max_completion_tokens" in body) == (64, False)


def test_options_a_model_refuses_are_not_sent():
    request = ChatRequest(REQUEST.messages, Sampling(0.5, 64, 7, 3))
    refused = {"refused": frozenset({"temperature", "seed", "top_logprobs", "stream_options"})}
    assert set(sent("openai", request, refused)) == {"model", "messages", "max_completion_tokens", "stream"}
    assert set(sent("gemini", request, refused)["generationConfig"]) == {"maxOutputTokens"}
    assert set(sent("anthropic", request, refused)) == {"model", "messages", "max_tokens", "stream", "system"}


def test_effort_and_verbosity_go_under_each_interfaces_names():
    chat = sent("openai", effort="high", verbosity="low")
    assert (chat["reasoning_effort"], chat["verbosity"]) == ("high", "low")
    thinking = sent("gemini", effort="low")["generationConfig"]["thinkingConfig"]
    assert thinking == {"thinkingLevel": "LOW", "includeThoughts": True}
    claude = sent("anthropic", effort="max")
    assert claude["output_config"] == {"effort": "max"}
    assert claude["thinking"] == {"type": "adaptive", "display": "summarized"}
    shaped = ChatRequest(REQUEST.messages, Sampling(), JsonObject("a", '{"type":"object"}'))
    assert set(sent("anthropic", shaped, effort="max")["output_config"]) == {"effort", "format"}


def test_a_budget_of_thinking_is_sent_where_there_is_one():
    enabled = {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}
    assert sent("anthropic", thinking_tokens=2048)["thinking"] == enabled
    assert sent("anthropic", thinking_tokens=0)["thinking"] == {"type": "disabled"}
    config = sent("gemini", thinking_tokens=2048)["generationConfig"]["thinkingConfig"]
    assert config == {"thinkingBudget": 2048, "includeThoughts": True}
    assert sent("gemini", thinking_tokens=0)["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0}


def test_a_model_that_refuses_a_budget_thinks_as_it_sees_fit_within_the_same_limit():
    body = sent("anthropic", known={"refused": frozenset({"thinking_budget"})}, thinking_tokens=2048)
    assert (body["thinking"]["type"], body["max_tokens"]) == ("adaptive", 2112)
    both = frozenset({"thinking_budget", "adaptive_thinking", "reasoning_summary"})
    assert "thinking" not in sent("anthropic", known={"refused": both}, thinking_tokens=2048)
    assert "thinking" not in sent("anthropic", known={"refused": both}, effort="low")


def test_anthropic_gets_no_temperature_with_thinking():
    assert sent("anthropic", thinking_tokens=0)["temperature"] == 0
    call = build("anthropic", thinking_tokens=2048)
    assert "temperature" not in json.loads(call.body)
    assert call.headers["anthropic-version"] == "2026-10-21"


def test_a_model_seen_to_think_unasked_is_asked_to_show_it_and_nothing_else_changes():
    bare = ChatRequest(REQUEST.messages, Sampling(temperature=None))
    shown = sent("anthropic", bare, {"reasons": True})
    assert shown["thinking"] == {"type": "adaptive", "display": "summarized"}
    refused = {"reasons": True, "refused": frozenset({"adaptive_thinking"})}
    # Beside a temperature it would take the temperature away.
    for request, known in ((REQUEST, {"reasons": True}), (bare, {"reasons": False}), (bare, refused)):
        assert "thinking" not in sent("anthropic", request, known)


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_thoughts_are_asked_for_only_where_the_model_is_known_to_have_some(provider):
    assert "thinking" not in json.dumps(sent(provider)).lower()
    if provider == "gemini":
        thinks = sent(provider, known={"reasons": True})["generationConfig"]["thinkingConfig"]
        assert thinks == {"includeThoughts": True}


def test_an_address_that_is_none_builds_a_call_that_the_transport_refuses():
    assert build("openai", base_url="http://[").url.startswith("http://[")


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_the_next_step_begins_with_the_bytes_of_the_step_before(provider):
    name = "messages" if provider == "openai" else "contents"
    turns = (Message("user", "q"), Message("assistant", "a"), Message("user", "r"))
    first, second = (sent(provider, ChatRequest(turns[:count], Sampling())) for count in (1, 3))
    assert second[name][: len(first[name])] == first[name]


@pytest.mark.parametrize("provider", LIMITS)
def test_a_stream_is_asked_for_with_its_usage_unless_it_was_refused(provider):
    request = ChatRequest((Message("user", "q"),), Sampling())
    call = build(provider, request, stream=True)
    body = json.loads(call.body)
    assert call.streamed
    if provider == "gemini":
        assert call.url.endswith("/models/x:streamGenerateContent?alt=sse")
    else:
        assert body["stream"] is True
    assert body.get("stream_options") == ({"include_usage": True} if provider == "openai" else None)
    for plain in (
        build(provider, request, {"refused": frozenset({"stream"})}, stream=True),
        build(provider, request, stream=False),
        build(provider, request, stream=True, lane="batch"),
    ):
        assert not plain.streamed
        assert "stream" not in json.loads(plain.body)
        assert "stream" not in plain.url
