"""Anthropic Messages as the local server speaks them."""

from __future__ import annotations

from collections.abc import Iterator

from metacog_pipeline.llm.types import Status
from tests.provider import dialects, reading

_TYPES = {
    "rate_limit": "rate_limit_error",
    "quota": "rate_limit_error",
    "unauthorized": "authentication_error",
    "model_not_found": "not_found_error",
    "unsupported_parameter": "invalid_request_error",
    "bad_request": "invalid_request_error",
    "overloaded": "overloaded_error",
}


def answer(given: dialects.Answer) -> dialects.JsonDict:
    reasons = {Status.TRUNCATED: "max_tokens", Status.REFUSED: "refusal"}
    completion = given.completion
    content: list[dialects.JsonDict] = []
    if completion.reasoning_text is not None:
        thinking = completion.reasoning_text if given.shown else ""
        content.append({"type": "thinking", "thinking": thinking, "signature": f"c2lt{given.number}"})
    if completion.text:
        content.append({"type": "text", "text": completion.text, "citations": None})
    cached = given.cached
    written = given.written
    usage: dialects.JsonDict = {
        "input_tokens": given.sent - cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": given.got,
        "service_tier": "standard",
    }
    if given.style.details:
        usage["output_tokens_details"] = {"thinking_tokens": given.thought}
    return {
        "id": f"msg_sim_{given.number}",
        "type": "message",
        "role": "assistant",
        "model": given.model,
        "content": content,
        "stop_reason": reasons.get(completion.status, "end_turn"),
        "stop_sequence": None,
        "usage": usage,
        **given.style.extra,
    }


def frames(body: dialects.JsonDict, asked: dialects.Asked, pieces: int) -> Iterator[dialects.Frame]:

    def event(kind: str, **fields: object) -> dialects.Frame:
        return kind, {"type": kind, **fields}

    usage = dialects.as_dict_at(body, "usage")
    begun = {**body, "content": [], "stop_reason": None}
    if usage:
        begun["usage"] = {**usage, "output_tokens": 1}
    yield event("message_start", message=begun)
    yield event("ping")
    for index, block in enumerate(dialects.as_list_at(body, "content")):
        kind = str(block["type"])
        empty = {name: "" if name in (kind, "signature") else value for name, value in block.items()}
        yield event("content_block_start", index=index, content_block={**empty, "type": kind})
        for text in dialects.pieces(str(block[kind]), pieces):
            yield event("content_block_delta", index=index, delta={"type": f"{kind}_delta", kind: text})
        if kind == "thinking":
            signed = {"type": "signature_delta", "signature": block["signature"]}
            yield event("content_block_delta", index=index, delta=signed)
        yield event("content_block_stop", index=index)
    ended = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ended, **({"usage": usage} if usage else {}))
    yield event("message_stop")


def error(problem: dialects.Problem) -> dialects.JsonDict:
    body: dialects.JsonDict = {"type": _TYPES.get(problem.kind, "api_error"), "message": problem.message}
    if problem.kind == "quota":
        body["details"] = {"error_code": "enforced_spend_limit_reached"}
    return {"type": "error", "error": body, "request_id": None}


DIALECT = dialects.Dialect(reading.reader(reading.message), answer, frames, error, "error")
