"""A streamed reply is read as the reply in one piece; whatever a stream holds, a body comes of it."""

import json
from typing import Any

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, ErrorKind, Message, Sampling, Status
from metacog_pipeline.llm.wire import wire_for
from metacog_pipeline.llm.wire.events import events_of
from tests.llm.replies import read, spoiled, whole
from tests.tables import every

PROVIDERS = ("openai", "anthropic", "gemini")
TOKEN = {"token": "B", "logprob": -0.5, "top_logprobs": [{"token": "A", "logprob": -1.5}]}
CHAT = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "x", "system_fingerprint": "f"}


def chat(delta: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**CHAT, "choices": [{"index": 0, "delta": delta, "finish_reason": None, **fields}], "usage": None}


def block(index: int, **delta: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def part(text: str, **fields: Any) -> dict[str, Any]:
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text, **fields}]}}]}


EVENTS: dict[str, list[Any]] = {
    "openai": [
        chat({"role": "assistant", "content": "", "refusal": None}),
        chat({"reasoning_content": "so "}),
        chat({"reasoning_content": "B"}),
        chat({"content": "The "}),
        chat({"content": "B"}, logprobs={"content": [TOKEN], "refusal": None}),
        chat({}, finish_reason="stop"),
        {**CHAT, "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}},
    ],
    "anthropic": [
        {
            "type": "message_start",
            "message": {
                "id": "m1", "type": "message", "role": "assistant", "model": "x", "content": [],
                "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 1},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        block(0, type="thinking_delta", thinking="so "),
        block(0, type="thinking_delta", thinking="B"),
        block(0, type="signature_delta", signature="s=="),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        block(1, type="text_delta", text="The "),
        block(1, type="text_delta", text="B"),
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "usage": {"output_tokens": 5},
         "delta": {"stop_reason": "end_turn", "stop_sequence": None}},
        {"type": "message_stop"},
    ],
    "gemini": [
        {**part("so B", thought=True), "modelVersion": "x"},
        {**part("The "), "usageMetadata": {"promptTokenCount": 7}, "modelVersion": "x"},
        {
            "candidates": [{
                "content": {"parts": [{"text": "B"}], "role": "model"}, "finishReason": "STOP", "index": 0,
                "logprobsResult": {"chosenCandidates": [{"token": "B", "logProbability": -0.5}]},
            }],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3, "thoughtsTokenCount": 2},
            "modelVersion": "x",
            "responseId": "r",
        },
    ],
}  # fmt: skip


def ended(provider: str, events: list[Any]) -> list[Any]:
    return [*events, "[DONE]"] if provider == "openai" else events


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stream_is_read_as_the_whole_reply(provider):
    events = ended(provider, EVENTS[provider])
    assert whole(provider, events)
    completion = read(provider, events)
    assert (completion.status, completion.text, completion.model_reported) == (Status.OK, "The B", "x")
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (7, 5)
    assert [token.logprob for token in completion.logprobs] == ([] if provider == "anthropic" else [-0.5])


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_stream_cut_anywhere_is_a_failure_that_keeps_its_text(provider, data):
    last = {"openai": -2, "anthropic": -1, "gemini": -1}[provider]  # the event that says the reply is whole
    stop = data.draw(st.integers(0, len(EVENTS[provider]) + last))
    cut = EVENTS[provider][:stop]
    assert not whole(provider, cut)
    completion = read(provider, cut)
    assert "The B".startswith(completion.text)
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)


@every("provider", PROVIDERS)
@every("bad", [b"\xff\xfe", b'{"a":"\xc3', b"[1]", b"null", b'{"a":' * 100_000, b"keep-alive"])
def test_an_event_that_cannot_be_read_fails_the_reply(provider, bad):
    events = ended(provider, EVENTS[provider])
    completion = read(provider, [*events[:2], bad, *events[2:]])
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)


ERRORS = {
    "openai": ({"error": {"message": "busy", "code": 503}}, ErrorKind.TRANSIENT),
    "anthropic": ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, ErrorKind.RATE_LIMIT),
    "gemini": ({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "busy"}}, ErrorKind.RATE_LIMIT),
}  # fmt: skip


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_error_inside_a_stream_is_read_as_an_error(provider):
    event, kind = ERRORS[provider]
    completion = read(provider, ended(provider, [*EVENTS[provider][:2], event]))
    assert (completion.status, completion.error_kind) == (Status.FAILED, kind)
    assert completion.error_message == "busy"


def test_an_unwrapped_error_of_a_local_server_is_read_as_an_error():
    said = {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400}
    completion = read("openai", ended("openai", [said]))
    assert (completion.error_kind, completion.error_message) == (ErrorKind.UNSUPPORTED, "too long")


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_hostile_events_never_raise(provider, data):
    events = list(EVENTS[provider])
    place = data.draw(st.integers(0, len(events) - 1))
    events[place] = data.draw(spoiled(events[place]))
    assert isinstance(read(provider, ended(provider, events)).text, str)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stream_is_asked_for_with_its_usage_unless_it_was_refused(provider):
    request = ChatRequest((Message("user", "q"),), Sampling())
    spec = ModelSpec(name="m", provider=provider, model="x", stream=True)
    wire = wire_for(provider)
    call = wire.build(spec, request, None, Capabilities())
    body = json.loads(call.body)
    assert call.streamed
    if provider == "gemini":
        assert call.url.endswith("/models/x:streamGenerateContent?alt=sse")
    else:
        assert body["stream"] is True
    assert body.get("stream_options") == ({"include_usage": True} if provider == "openai" else None)
    for plain in (
        wire.build(spec, request, None, Capabilities(refused=frozenset({"stream"}))),
        wire.build(spec.model_copy(update={"stream": False}), request, None, Capabilities()),
        wire.build(spec.model_copy(update={"lane": "batch"}), request, None, Capabilities()),
    ):
        assert not plain.streamed
        assert "stream" not in json.loads(plain.body)
        assert "stream" not in plain.url


def test_the_sample_events_are_those_of_the_official_types():
    chat = pytest.importorskip("openai.types.chat")
    anthropic, genai = pytest.importorskip("anthropic.types"), pytest.importorskip("google.genai.types")
    for event in EVENTS["openai"]:
        chat.ChatCompletionChunk.model_validate(event, strict=True)
    kinds = pydantic.TypeAdapter(anthropic.RawMessageStreamEvent)
    for event in EVENTS["anthropic"]:
        if event["type"] != "ping":  # which the client drops by its name
            kinds.validate_python(event)
    for event in EVENTS["gemini"]:
        genai.GenerateContentResponse.model_validate_json(json.dumps(event))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_was_thought_before_a_break_is_kept(provider):
    assert read(provider, EVENTS[provider][:-2], closed=False).reasoning_text == "so B"


@every(
    ("body", "content_type", "events"),
    [
        (b"data: a\n\ndata: b\n\n", "text/event-stream", [b"a", b"b"]),
        (b"data:a\r\ndata: b\r\n\r\n", "", [b"a\nb"]),
        (b"\xef\xbb\xbf: hello\rid: 1\rdata: a\r\r", "application/json", [b"a"]),
        (b"event: x\n\n\ndata: a", "", [b"a"]),
        (b": only comments\n\n", "", []),
        (b'{"a": 1}', "text/event-stream", None),
        (b" <html>data: a", "text/event-stream", None),
        (b"", "", None),
    ],
)
def test_a_stream_is_told_from_a_plain_body_by_how_it_begins(body, content_type, events):
    assert events_of(body, content_type) == events
