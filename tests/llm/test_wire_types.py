"""Every call is one that the types of the provider's own client allow, whatever the study asks for."""

import functools
import json
from typing import Any

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, OneOf, Sampling, TokenBias
from metacog_pipeline.llm.wire import wire_for
from metacog_pipeline.llm.wire.events import UnsupportedConstraint

SCHEMA = json.dumps({
    "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False,
})  # fmt: skip
LONG = "word " * 1200
OPTIONS = ("stream", "stream_options", "thinking_room", "reasoning_summary", "adaptive_thinking", "thinking_budget",
           "temperature", "seed", "top_logprobs")  # fmt: skip

texts = st.sampled_from(["Which?", "Höhe \ud83d?", LONG])
turns = st.lists(texts, min_size=1, max_size=3).map(
    lambda said: [m for text in said for m in (Message("user", text), Message("assistant", text or "B"))][:-1]
)
requests = st.builds(
    lambda system, turns, sampling, constraint: ChatRequest(
        (*([Message("system", system)] if system else []), *turns), sampling, constraint
    ),
    st.none() | texts,
    turns,
    st.builds(
        Sampling,
        st.none() | st.floats(0, 1),
        st.none() | st.integers(1, 5000),
        st.none() | st.integers(0, 99),
        st.none() | st.integers(0, 5),
    ),
    st.none()
    | st.just(JsonObject("answer", SCHEMA))
    | st.just(OneOf(("A", "B")))
    | st.just(TokenBias(((1, 5),))),
)
knowns = st.builds(
    Capabilities,
    refused=st.frozensets(st.sampled_from(OPTIONS)),
    reasons=st.none() | st.booleans(),
)

EFFORTS = {
    "openai": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "anthropic": ("low", "medium", "high", "xhigh", "max"),
    "gemini": ("minimal", "low", "medium", "high", "xhigh"),
}


@st.composite
def specs(draw: st.DrawFn, provider: str) -> ModelSpec:
    row: dict[str, Any] = {"name": "m", "provider": provider, "model": "some-model"}
    row["effort"] = draw(st.none() | st.sampled_from(EFFORTS[provider]))
    if provider != "gemini" or row["effort"] is None:
        row["thinking_tokens"] = draw(st.none() | st.sampled_from([0, 1024, 4096]))
    if provider == "openai":
        row["verbosity"] = draw(st.none() | st.sampled_from(("low", "medium", "high")))
    row["stream"] = draw(st.none() | st.booleans())
    return ModelSpec.model_validate({name: value for name, value in row.items() if value is not None})


def built(provider: str, spec: ModelSpec, request: ChatRequest, known: Capabilities) -> tuple[str, Any, bool]:
    try:
        call = wire_for(provider).build(spec, request, "key", known)  # type: ignore[arg-type]
    except UnsupportedConstraint:
        assert isinstance(request.constraint, OneOf | TokenBias)
        return "", None, False
    # pydantic takes no surrogates
    return call.url, json.loads(call.body.replace(b"\\ud83d", b"?")), call.streamed


@functools.cache
def strict(kind: Any) -> pydantic.TypeAdapter[Any]:
    """Return what checks a list of ``kind``, which refuses fields the type does not name, at any depth."""
    return pydantic.TypeAdapter(list[kind], config=pydantic.ConfigDict(extra="forbid"))


def fits(kind: Any, body: Any) -> None:
    consumed(strict(kind).validate_python([body]))
    with pytest.raises(pydantic.ValidationError):
        strict(kind).validate_python([{**body, "unheard_of": 1}])


def consumed(value: Any) -> None:
    """Go through what pydantic validates lazily: the members of an ``Iterable``."""
    if isinstance(value, dict):
        for inner in value.values():
            consumed(inner)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for inner in value:
            consumed(inner)


def of_openai(body: Any, streamed: bool, url: str) -> None:
    from openai.types.chat import completion_create_params as chat

    fits(getattr(chat, f"CompletionCreateParams{'Streaming' if streamed else 'NonStreaming'}"), body)


def of_anthropic(body: Any, streamed: bool, url: str) -> None:
    from anthropic.types import message_create_params as messages

    temperature = body.pop("temperature", None)  # of the version before; the client's types no longer have it
    thinking = body.get("thinking", {})
    assert temperature is None or thinking in ({}, {"type": "disabled"})
    fits(getattr(messages, f"MessageCreateParams{'Streaming' if streamed else 'NonStreaming'}"), body)
    if thinking.get("type") == "enabled":
        assert 1024 <= thinking["budget_tokens"] < body["max_tokens"]


def of_gemini(body: Any, streamed: bool, url: str) -> None:
    from google.genai import types

    assert url.endswith(":streamGenerateContent?alt=sse" if streamed else ":generateContent")
    thinking = types.GenerationConfig.model_validate(body.pop("generationConfig", {})).thinking_config
    for content in body.pop("contents"):
        types.Content.model_validate(content)
    assert set(body) <= {"systemInstruction"}
    assert thinking is None or None in (thinking.thinking_budget, thinking.thinking_level)


TYPES = {
    "openai": ("openai", of_openai), "anthropic": ("anthropic", of_anthropic), "gemini": ("google.genai", of_gemini),
}  # fmt: skip


@pytest.mark.parametrize("provider", TYPES)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_calls_are_of_the_official_types(provider, data):
    client, hold = TYPES[provider]
    pytest.importorskip(client)
    spec, request, known = data.draw(specs(provider)), data.draw(requests), data.draw(knowns)
    url, body, streamed = built(provider, spec, request, known)
    if body is not None:
        hold(body, streamed, url)
