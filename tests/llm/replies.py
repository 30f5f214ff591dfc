"""A reply of each format, whole, as the types of the provider's own client have it; and the same with a place spoiled."""

import copy
from typing import Any

from hypothesis import strategies as st

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
RESPONSE: dict[str, Any] = {
    "id": "resp_1", "object": "response", "created_at": 1.0, "model": "served", "status": "completed",
    "error": None, "incomplete_details": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [
            {"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "B", "annotations": [], "logprobs": [LOGPROB]}]},
    ],
    "usage": {
        "input_tokens": 2000, "output_tokens": 50, "total_tokens": 2050,
        "input_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 512},
        "output_tokens_details": {"reasoning_tokens": 40},
    },
    "service_tier": "default",
}  # fmt: skip
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


@st.composite
def spoiled(draw: st.DrawFn, whole: Any) -> Any:
    """Return ``whole`` with one place, chosen at any depth, replaced by an arbitrary JSON value."""
    if isinstance(whole, dict) and whole and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(whole)))
        return {**whole, key: draw(spoiled(whole[key]))}
    if isinstance(whole, list) and whole and draw(st.integers(0, 5)):
        return [draw(spoiled(whole[0])), *whole[1:]]
    return draw(values)
