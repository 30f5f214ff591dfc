"""A reply of each format, whole, as the types of the provider's own client have it; and the same with a place spoiled."""

import copy
import json
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from metacog_pipeline.llm import costs
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Status, Usage
from metacog_pipeline.llm.wire import wire_for

CHAT: dict[str, Any] = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "served",
    "choices": [{
        "index": 0, "finish_reason": "stop", "logprobs": None,
        "message": {"role": "assistant", "content": "B", "refusal": None},
    }],
    "usage": {
        "prompt_tokens": 2000, "completion_tokens": 50, "total_tokens": 2050,
        "prompt_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 512},
        "completion_tokens_details": {"reasoning_tokens": 40},
    },
    "service_tier": "default", "system_fingerprint": "fp_1",
}  # fmt: skip
LOGPROB = {"token": "B", "bytes": [66], "logprob": -0.5,
           "top_logprobs": [{"token": "A", "bytes": [65], "logprob": -1.5}]}  # fmt: skip
MESSAGE: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "served",
    "content": [
        {"type": "thinking", "thinking": "First.", "signature": "s=="},
        {"type": "redacted_thinking", "data": "x=="},
        {"type": "thinking", "thinking": "Then.", "signature": "s=="},
        {"type": "text", "text": "B"},
    ],
    "stop_reason": "end_turn", "stop_sequence": None,
    "usage": {
        "input_tokens": 464, "cache_read_input_tokens": 1024, "cache_creation_input_tokens": 512,
        "output_tokens": 50, "output_tokens_details": {"thinking_tokens": 40}, "service_tier": "standard",
    },
}  # fmt: skip
GENERATED: dict[str, Any] = {
    "candidates": [{
        "index": 0, "finishReason": "STOP",
        "content": {"role": "model", "parts": [
            {"text": "First.\n\nThen.", "thought": True}, {"text": "B", "thoughtSignature": "czI="}]},
    }],
    "usageMetadata": {
        "promptTokenCount": 2000, "candidatesTokenCount": 10, "thoughtsTokenCount": 40, "totalTokenCount": 2050,
        "cachedContentTokenCount": 1024, "trafficType": "ON_DEMAND",
    },
    "modelVersion": "served", "responseId": "r_1",
}  # fmt: skip

text = st.text(st.characters(), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(10**400, 10**401) | st.floats() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


def changed(body: dict[str, Any], *path: str | int, to: Any) -> dict[str, Any]:
    whole: Any = copy.deepcopy(body)
    place = whole
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return dict(whole)


def chunk(
    provider: str, text: str | None, end: Any = None, output: int | None = None, **part: Any
) -> dict[str, Any]:
    """Return one event of a stream, with the tokens it counts so far."""
    if provider == "openai":
        delta = {} if text is None else {"content": text}
        usage = None if output is None else {"prompt_tokens": 9, "completion_tokens": output}
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": end}], "usage": usage}
    parts = [] if text is None else [{"text": text, **part}]
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": end}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": output}
    return {"candidates": [candidate], "usageMetadata": usage}


def stream(events: Iterable[Any]) -> bytes:
    """Return events as the bytes of a stream; bytes and strings are data as they are."""
    data = (each if isinstance(each, bytes) else str(each).encode() if isinstance(each, str)
            else json.dumps(each).encode() for each in events)  # fmt: skip
    return b"".join(b"data: " + each + b"\n\n" for each in data)


def read(provider: str, body: Any, status: int = 200, *, closed: bool = True, **row: Any) -> Completion:
    """Read a body: bytes, a JSON value, or a list of events that came as a stream."""
    headers = {"content-type": "text/event-stream"} if isinstance(body, list) else {}
    sent = stream(body) if isinstance(body, list) else body
    given = {"name": "m", "provider": provider, "model": "x", "base_url": "http://127.0.0.1:9", **row}
    spec = ModelSpec.model_validate(given)
    raw = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    return wire_for(spec.provider).read(spec, status, headers, raw, None, closed=closed)


def charged(
    spec: ModelSpec,
    request: ChatRequest,
    usage: Usage,
    known: Capabilities = NOTHING_KNOWN,
    *,
    text: str = "",
    thought: str | None = None,
    batch: bool = False,
) -> float | None:
    """Return what a usage is charged, as if it had come with an answer."""
    completion = Completion(Status.OK, text, usage=usage, reasoning_text=thought)
    return costs.reconciled(spec, completion, request, known, batch=batch).cost


def whole(provider: str, events: list[Any]) -> bool:
    """Whether a stream is a whole reply although its connection broke behind these events."""
    return read(provider, events, closed=False).error_kind is None


@st.composite
def spoiled(draw: st.DrawFn, whole: Any) -> Any:
    """Return ``whole`` with one place, chosen at any depth, replaced by an arbitrary JSON value."""
    if isinstance(whole, dict) and whole and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(whole)))
        return {**whole, key: draw(spoiled(whole[key]))}
    if isinstance(whole, list) and whole and draw(st.integers(0, 5)):
        return [draw(spoiled(whole[0])), *whole[1:]]
    return draw(values)
