"""Chat completions as the local server speaks them."""

from __future__ import annotations

import json

from metacog_pipeline.llm import types
from metacog_pipeline.llm.server import dialects


def _message(entry: object) -> types.Message:
    fields = dialects.as_dict(entry, "messages")
    content = dialects.joined_text(fields.get("content"), "messages")
    match fields.get("role"):
        case "system" | "developer":
            return types.Message("system", content)
        case "user":
            return types.Message("user", content)
        case "assistant":
            return types.Message("assistant", content)
        case _:
            raise dialects.BadRequest("messages: role must be system, user or assistant", "messages")


def _constraint(body: dialects.JsonDict) -> types.Constraint | None:
    structured = body.get("structured_outputs")
    if structured is not None:
        return types.OneOf(
            dialects.as_strings(
                dialects.as_dict(structured, "structured_outputs").get("choice"), "structured_outputs"
            )
        )
    if body.get("guided_choice") is not None:
        return types.OneOf(dialects.as_strings(body["guided_choice"], "guided_choice"))
    if body.get("response_format") is not None:
        return _schema(dialects.as_dict(body["response_format"], "response_format"))
    if body.get("logit_bias") is not None:
        bias = dialects.as_dict(body["logit_bias"], "logit_bias")
        return types.TokenBias(
            tuple(
                (_token_id(key), int(dialects.as_number(value, "logit_bias") or 0))
                for key, value in bias.items()
            )
        )
    return None


def _token_id(key: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) < 10):
        raise dialects.BadRequest(f"logit_bias: {key!r} is not a token id", "logit_bias")
    return int(key)


def _schema(wanted: dialects.JsonDict) -> types.JsonObject | None:
    match wanted.get("type"):
        case "text":
            return None
        case "json_object":
            return types.JsonObject("object", "{}")
        case "json_schema":
            inner = dialects.as_dict(wanted.get("json_schema"), "response_format")
            return types.JsonObject(str(inner.get("name", "")), json.dumps(inner.get("schema", {})))
        case _:
            raise dialects.BadRequest("response_format: unknown type", "response_format")


def read(path_model: str, body: object) -> tuple[str, types.ChatRequest]:
    """Read a chat-completions body. Raises ``BadRequest``."""
    fields = dialects.as_dict(body, "body")
    model = fields.get("model")
    if not isinstance(model, str) or not model:
        raise dialects.BadRequest("model must be a non-empty string", "model")
    if fields.get("stream"):
        raise dialects.BadRequest("stream is not offered here", "stream")
    messages = tuple(_message(entry) for entry in dialects.as_list(fields.get("messages"), "messages"))
    if not messages:
        raise dialects.BadRequest("messages must not be empty", "messages")
    limit = dialects.as_int(fields.get("max_completion_tokens", fields.get("max_tokens")), "max_tokens")
    wants_logprobs = bool(fields.get("logprobs"))
    sampling = types.Sampling(
        temperature=dialects.as_number(fields.get("temperature"), "temperature"),
        max_tokens=limit,
        seed=dialects.as_int(fields.get("seed"), "seed"),
        top_logprobs=(dialects.as_int(fields.get("top_logprobs"), "top_logprobs") or 0)
        if wants_logprobs
        else None,
        stop=dialects.as_strings(fields.get("stop"), "stop"),
    )
    return model, types.ChatRequest(messages, sampling, _constraint(fields))


def _logprob(token: types.TokenLogprob) -> dialects.JsonDict:
    def entry(text: str, value: float) -> dialects.JsonDict:
        return {"token": text, "logprob": value, "bytes": list(text.encode("utf-8", "replace"))}

    return {**entry(token.token, token.logprob), "top_logprobs": [entry(t, p) for t, p in token.top]}


def answer(
    model: str, request: types.ChatRequest, completion: types.Completion, number: int
) -> dialects.JsonDict:
    """Word ``completion`` as a ``chat.completion`` object."""
    message: dialects.JsonDict = {"role": "assistant", "content": completion.text, "refusal": None}
    finish = "stop"
    if completion.status is types.Status.TRUNCATED:
        finish = "length"
    elif completion.status is types.Status.REFUSED:
        finish = "content_filter" if completion.finish_reason == "content_filter" else "stop"
        message = {"role": "assistant", "content": None, "refusal": completion.text or "No."}
        if finish == "content_filter":
            message = {"role": "assistant", "content": "", "refusal": None}
    logprobs: dialects.JsonDict | None = None
    if request.sampling.top_logprobs is not None:
        tokens = completion.logprobs or (types.TokenLogprob(completion.text, 0.0, ((completion.text, 0.0),)),)
        logprobs = {"content": [_logprob(token) for token in tokens], "refusal": None}
    sent, got = dialects.prompt_tokens(request), dialects.token_count(completion.text)
    return {
        "id": f"chatcmpl-sim-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish}],
        "usage": {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got},
    }


_TYPES = {
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "rate_limit_date": ("rate_limit_error", "rate_limit_exceeded"),
    "unauthorized": ("invalid_request_error", "invalid_api_key"),
    "quota": ("insufficient_quota", "insufficient_quota"),
    "model_not_found": ("invalid_request_error", "model_not_found"),
    "unsupported_parameter": ("invalid_request_error", "unsupported_parameter"),
    "bad_request": ("invalid_request_error", None),
}


def error(problem: dialects.Problem) -> dialects.JsonDict:
    """Word ``problem`` as an error body."""
    kind, code = _TYPES.get(problem.kind, ("server_error", None))
    return {"error": {"message": problem.message, "type": kind, "param": problem.param, "code": code}}


DIALECT = dialects.Dialect(read, answer, error)
