"""Anthropic Messages as the local server speaks them."""

from __future__ import annotations

import json

from metacog_pipeline.llm.server import dialects
from metacog_pipeline.llm.types import ChatRequest, Completion, JsonObject, Message, Sampling, Status

_TYPES = {
    "rate_limit": "rate_limit_error",
    "rate_limit_date": "rate_limit_error",
    "quota": "rate_limit_error",
    "unauthorized": "authentication_error",
    "model_not_found": "not_found_error",
    "unsupported_parameter": "invalid_request_error",
    "bad_request": "invalid_request_error",
    "overloaded": "overloaded_error",
}


def _message(entry: object) -> Message:
    fields = dialects.as_dict(entry, "messages")
    content = dialects.joined_text(fields.get("content"), "messages")
    match fields.get("role"):
        case "user":
            return Message("user", content)
        case "assistant":
            return Message("assistant", content)
        case _:
            raise dialects.BadRequest("messages: role must be user or assistant", "messages")


def _constraint(body: dialects.JsonDict) -> JsonObject | None:
    wanted = dialects.as_dict(body.get("output_config") or {}, "output_config").get("format")
    if wanted is None:
        return None
    schema = dialects.as_dict(wanted, "output_config").get("schema")
    return JsonObject("", json.dumps(dialects.as_dict(schema, "output_config")))


def read(path_model: str, body: object) -> tuple[str, ChatRequest]:
    """Read a Messages body. Raises ``BadRequest``."""
    fields = dialects.as_dict(body, "body")
    model = fields.get("model")
    if not isinstance(model, str) or not model:
        raise dialects.BadRequest("model must be a non-empty string", "model")
    if fields.get("stream"):
        raise dialects.BadRequest("stream is not offered here", "stream")
    limit = dialects.as_int(fields.get("max_tokens"), "max_tokens")
    if limit is None:
        raise dialects.BadRequest("max_tokens is required", "max_tokens")
    turns = tuple(_message(entry) for entry in dialects.as_list(fields.get("messages"), "messages"))
    if not turns:
        raise dialects.BadRequest("messages must not be empty", "messages")
    system = fields.get("system")
    first = () if system is None else (Message("system", dialects.joined_text(system, "system")),)
    sampling = Sampling(
        temperature=dialects.as_number(fields.get("temperature"), "temperature"),
        max_tokens=limit,
        stop=dialects.as_strings(fields.get("stop_sequences"), "stop_sequences"),
    )
    return model, ChatRequest((*first, *turns), sampling, _constraint(fields))


def answer(model: str, request: ChatRequest, completion: Completion, number: int) -> dialects.JsonDict:
    """Word ``completion`` as a ``message`` object."""
    reasons = {Status.TRUNCATED: "max_tokens", Status.REFUSED: "refusal"}
    content = [{"type": "text", "text": completion.text, "citations": None}] if completion.text else []
    return {
        "id": f"msg_sim_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": reasons.get(completion.status, "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": dialects.prompt_tokens(request),
            "output_tokens": dialects.token_count(completion.text),
        },
    }


def error(problem: dialects.Problem) -> dialects.JsonDict:
    """Word ``problem`` as an error body."""
    body: dialects.JsonDict = {"type": _TYPES.get(problem.kind, "api_error"), "message": problem.message}
    if problem.kind == "quota":
        body["details"] = {"error_code": "enforced_spend_limit_reached"}
    return {"type": "error", "error": body, "request_id": None}


DIALECT = dialects.Dialect(read, answer, error)
