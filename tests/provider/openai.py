"""Chat completions as the local server speaks them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from metacog_pipeline.llm import types
from tests.provider import dialects


def _message(entry: object) -> types.Message:
    fields = dialects.as_dict(entry, "messages")
    return dialects.turn(fields, "messages", "system, user or assistant")


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


def read(path_model: str, body: object) -> dialects.Asked:
    fields = dialects.as_dict(body, "body")
    model = dialects.model_of(fields, path_model)
    messages = dialects.turns_of(fields, "messages", _message)
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
    streaming = dialects.as_dict(fields.get("stream_options") or {}, "stream_options")
    effort, budget = _thinking(fields)
    return dialects.Asked(
        model,
        types.ChatRequest(messages, sampling, _constraint(fields)),
        stream=dialects.as_flag(fields.get("stream"), "stream"),
        usage=bool(streaming.get("include_usage")),
        effort=effort,
        budget=budget,
    )


def _thinking(fields: dialects.JsonDict) -> tuple[str | None, int | None]:
    reasoning = dialects.as_dict(fields.get("reasoning") or {}, "reasoning")
    effort = dialects.as_word(fields.get("reasoning_effort") or reasoning.get("effort"), "reasoning_effort")
    budget = dialects.as_int(reasoning.get("max_tokens"), "reasoning")
    return effort, 0 if reasoning.get("enabled") is False else budget


def _logprob(token: types.TokenLogprob) -> dialects.JsonDict:
    def entry(text: str, value: float) -> dialects.JsonDict:
        return {"token": text, "logprob": value, "bytes": list(text.encode("utf-8", "replace"))}

    return {**entry(token.token, token.logprob), "top_logprobs": [entry(t, p) for t, p in token.top]}


def logprobs(completion: types.Completion) -> list[dialects.JsonDict]:
    certain = types.TokenLogprob(completion.text, 0.0, ((completion.text, 0.0),))
    return [_logprob(token) for token in completion.logprobs or (certain,)]


def answer(given: dialects.Answer) -> dialects.JsonDict:
    completion = given.completion
    message: dialects.JsonDict = {"role": "assistant", "content": completion.text, "refusal": None}
    finish = "stop"
    if completion.status is types.Status.TRUNCATED:
        finish = "length"
    elif completion.status is types.Status.REFUSED:
        finish = "content_filter" if completion.finish_reason == "content_filter" else "stop"
        message = {"role": "assistant", "content": None, "refusal": completion.text or "No."}
        if finish == "content_filter":
            message = {"role": "assistant", "content": "", "refusal": None}
    if completion.reasoning_text is not None:
        message |= dict.fromkeys(given.style.reasoning, completion.reasoning_text)
    listed: dialects.JsonDict | None = None
    if given.asked.request.sampling.top_logprobs is not None:
        listed = {"content": logprobs(completion), "refusal": None}
    return {
        "id": f"chatcmpl-sim-{given.number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": given.model,
        "choices": [{"index": 0, "message": message, "logprobs": listed, "finish_reason": finish}],
        "usage": _usage(given),
        **given.style.extra,
    }


def _usage(given: dialects.Answer) -> dialects.JsonDict:
    usage: dialects.JsonDict = {
        "prompt_tokens": given.sent,
        "completion_tokens": given.got,
        "total_tokens": given.sent + given.got,
    }
    if given.style.details:
        usage["prompt_tokens_details"] = {"cached_tokens": given.cached}
        usage["completion_tokens_details"] = {"reasoning_tokens": given.thought}
    return usage


def frames(body: dialects.JsonDict, asked: dialects.Asked, pieces: int) -> Iterator[dialects.Frame]:
    choice = dialects.as_list_at(body, "choices")[0]
    message = dialects.as_dict_at(choice, "message")
    rest = {name: body[name] for name in body if name not in ("choices", "usage", "object")}

    def chunk(choices: list[dialects.JsonDict], usage: object = None) -> dialects.Frame:
        counted = {"usage": usage} if asked.usage else {}
        return None, {**rest, "object": "chat.completion.chunk", "choices": choices, **counted}

    def part(delta: dialects.JsonDict, finish: object = None, listed: object = None) -> dialects.Frame:
        return chunk([{"index": 0, "delta": delta, "logprobs": listed, "finish_reason": finish}])

    yield part({"role": "assistant", "content": "", "refusal": None})
    thinking = [name for name in message if name not in ("role", "content", "refusal")]
    for text in dialects.pieces(str(message[thinking[0]]), pieces) if thinking else ():
        yield part(dict.fromkeys(thinking, text))
    for field in ("content", "refusal"):
        texts = dialects.pieces(str(message[field] or ""), pieces)
        listed = dialects.as_list_at(choice["logprobs"], "content")
        for place, text in enumerate(texts):
            share = listed[len(listed) * place // len(texts) : len(listed) * (place + 1) // len(texts)]
            yield part({field: text}, listed={"content": share, "refusal": None} if listed else None)
    yield part({}, choice["finish_reason"])
    if asked.usage and "usage" in body:
        yield chunk([], body["usage"])
    yield None, "[DONE]"


_TYPES = {
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "unauthorized": ("invalid_request_error", "invalid_api_key"),
    "quota": ("insufficient_quota", "insufficient_quota"),
    "model_not_found": ("invalid_request_error", "model_not_found"),
    "unsupported_parameter": ("invalid_request_error", "unsupported_parameter"),
    "bad_request": ("invalid_request_error", None),
}


def error(problem: dialects.Problem) -> dialects.JsonDict:
    kind, code = _TYPES.get(problem.kind, ("server_error", None))
    return {"error": {"message": problem.message, "type": kind, "param": problem.param, "code": code}}


DIALECT = dialects.Dialect(read, answer, frames, error)
