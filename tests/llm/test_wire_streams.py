"""A streamed reply is read as the reply in one piece; whatever a stream holds, a body comes of it."""

import json
from typing import Any

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Message, Sampling, Status
from metacog_pipeline.llm.wire import wire_for
from metacog_pipeline.llm.wire.responses import ResponseAssembler
from metacog_pipeline.llm.wire.types import Assembler
from tests.llm.replies import spoiled
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


def data_of(events: list[Any], provider: str) -> list[bytes]:
    return [json.dumps(event).encode() for event in events] + ([b"[DONE]"] if provider == "openai" else [])


def assembled(provider: str, data: list[bytes]) -> Assembler:
    made = wire_for(provider).assembler
    assert made is not None
    assembler = made()
    for one in data:
        assembler.feed(one)
    return assembler


def read(provider: str, body: bytes, **fields: Any) -> Completion:
    spec = ModelSpec(name="m", provider=provider, model="x", base_url="http://127.0.0.1:9", **fields)
    return wire_for(provider).read(spec, 200, {}, body, None)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stream_is_read_as_the_whole_reply(provider):
    assembler = assembled(provider, data_of(EVENTS[provider], provider))
    assert assembler.finished
    assert assembler.text == "The B"
    completion = read(provider, assembler.body())
    assert (completion.status, completion.text, completion.model_reported) == (Status.OK, "The B", "x")
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (7, 5)
    assert [token.logprob for token in completion.logprobs] == ([] if provider == "anthropic" else [-0.5])


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_stream_cut_anywhere_is_a_failure_that_keeps_its_text(provider, data):
    whole = [json.dumps(event).encode() for event in EVENTS[provider]]
    last = {"openai": -2, "anthropic": -1, "gemini": -1}[provider]  # the event that says the reply is whole
    stop = data.draw(st.integers(0, len(whole) + last))
    assembler = assembled(provider, whole[:stop])
    assert not assembler.finished
    assert "The B".startswith(assembler.text)
    completion = read(provider, assembler.body())
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)


@every("provider", PROVIDERS)
@every("bad", [b"\xff\xfe", b'{"a":"\xc3', b"[1]", b"null", b'{"a":' * 100_000, b"keep-alive"])
def test_an_event_that_cannot_be_read_fails_the_reply(provider, bad):
    whole = data_of(EVENTS[provider], provider)
    assembler = assembled(provider, [*whole[:2], bad, *whole[2:]])
    completion = read(provider, assembler.body())
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)


ERRORS = {
    "openai": ({"error": {"message": "busy", "code": 503}}, ErrorKind.TRANSIENT),
    "anthropic": ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, ErrorKind.RATE_LIMIT),
    "gemini": ({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "busy"}}, ErrorKind.RATE_LIMIT),
}  # fmt: skip


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_error_inside_a_stream_is_read_as_an_error(provider):
    event, kind = ERRORS[provider]
    assembler = assembled(provider, data_of([*EVENTS[provider][:2], event], provider))
    completion = read(provider, assembler.body())
    assert (completion.status, completion.error_kind) == (Status.FAILED, kind)
    assert completion.error_message == "busy"


def test_an_unwrapped_error_of_a_local_server_is_read_as_an_error():
    said = {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400}
    completion = read("openai", assembled("openai", data_of([said], "openai")).body())
    assert (completion.error_kind, completion.error_message) == (ErrorKind.UNSUPPORTED, "too long")


@pytest.mark.parametrize("provider", [*PROVIDERS, "responses"])
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_hostile_events_never_raise(provider, data):
    events = list(EVENTS.get(provider, RESPONSES))
    place = data.draw(st.integers(0, len(events) - 1))
    events[place] = data.draw(spoiled(events[place]))
    assembler = ResponseAssembler() if provider == "responses" else wire_for(provider).assembler()  # type: ignore[arg-type, misc]
    for one in data_of(events, "openai"):
        assembler.feed(one)
    assert isinstance(assembler.text, str)
    assert isinstance(assembler.body(), bytes)
    read("openai" if provider == "responses" else provider, assembler.body())


RESPONSES: list[Any] = [
    {"type": "response.created", "response": {"id": "r1", "status": "in_progress", "output": []}},
    {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "delta": "The "},
    {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "delta": "B"},
    {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "content": []}},
    {
        "type": "response.completed",
        "response": {"id": "r1", "object": "response", "status": "completed", "output": []},
    },
]


def test_the_last_event_of_a_responses_stream_is_its_body():
    assembler = ResponseAssembler()
    for one in data_of(RESPONSES, ""):
        assembler.feed(one)
    assert (assembler.finished, assembler.text) == (True, "The B")
    assert json.loads(assembler.body())["output"] == [{"type": "message", "content": []}]


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
    assert assembled(provider, data_of(EVENTS[provider], "")[:-1]).reasoning == "so B"  # type: ignore[attr-defined]


def test_a_stream_of_responses_is_told_from_one_of_chat_and_read_whole():
    assembler = assembled("openai", data_of(RESPONSES, ""))
    assert (assembler.finished, assembler.text) == (True, "The B")
    assert read("openai", assembler.body()).response_id == "r1"
    early = assembled("openai", data_of([{"type": "error", "code": "server_error", "message": "busy"}], ""))
    assert read("openai", early.body()).error_message == "busy"
    assert read("openai", assembled("openai", []).body()).error_code == "stream_cut"
