"""Chat completions as the local server speaks them."""

from __future__ import annotations

from collections.abc import Iterator

from metacog_pipeline.llm import types
from tests.provider import dialects, reading


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


DIALECT = dialects.Dialect(reading.reader(reading.chat), answer, frames, error)
