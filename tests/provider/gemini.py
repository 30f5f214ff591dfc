"""Gemini ``generateContent`` as the local server speaks it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

from metacog_pipeline.llm import types
from tests.provider import dialects, reading

_STATUSES = {
    "rate_limit": "RESOURCE_EXHAUSTED",
    "quota": "RESOURCE_EXHAUSTED",
    "unauthorized": "UNAUTHENTICATED",
    "model_not_found": "NOT_FOUND",
    "unsupported_parameter": "INVALID_ARGUMENT",
    "bad_request": "INVALID_ARGUMENT",
    "unavailable": "UNAVAILABLE",
    "overloaded": "UNAVAILABLE",
}
_FIELDS = {
    "temperature": "generation_config.temperature",
    "response_format": "generation_config.response_json_schema",
    "structured_outputs": "generation_config.response_schema",
}
_TYPE_PREFIX = "type.googleapis.com/google.rpc."


def _logprobs(tokens: tuple[types.TokenLogprob, ...]) -> dialects.JsonDict:
    def candidate(text: str, value: float) -> dialects.JsonDict:
        return {"token": text, "logProbability": value}

    return {
        "chosenCandidates": [candidate(token.token, token.logprob) for token in tokens],
        "topCandidates": [{"candidates": [candidate(*pair) for pair in token.top]} for token in tokens],
    }


def answer(given: dialects.Answer) -> dialects.JsonDict:
    reasons = {types.Status.TRUNCATED: "MAX_TOKENS", types.Status.REFUSED: "SAFETY"}
    completion = given.completion
    parts: list[dialects.JsonDict] = []
    if completion.reasoning_text is not None and given.asked.shown:
        parts.append({"text": completion.reasoning_text, "thought": True})
    if completion.text:
        parts.append({"text": completion.text})
    candidate: dialects.JsonDict = {
        "content": {"role": "model", "parts": parts},
        "finishReason": reasons.get(completion.status, "STOP"),
        "index": 0,
    }
    if given.asked.request.sampling.top_logprobs is not None:
        certain = types.TokenLogprob(completion.text, 0.0, ((completion.text, 0.0),))
        candidate["logprobsResult"] = _logprobs(completion.logprobs or (certain,))
    usage = {
        "promptTokenCount": given.sent,
        "candidatesTokenCount": given.got - given.thought,
        "totalTokenCount": given.sent + given.got,
    }
    if given.thought:
        usage["thoughtsTokenCount"] = given.thought
    if given.cached:
        usage["cachedContentTokenCount"] = given.cached
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": given.model,
        "responseId": f"sim-{given.number}",
        **given.style.extra,
    }


def frames(body: dialects.JsonDict, asked: dialects.Asked, pieces: int) -> Iterator[dialects.Frame]:
    candidate = dialects.as_list_at(body, "candidates")[0]
    so_far = {name: value for name, value in body.items() if name != "candidates"}
    parts = [
        {**part, "text": text}
        for part in dialects.as_list_at(candidate["content"], "parts")
        for text in dialects.pieces(str(part["text"]), pieces)
    ]
    for part in parts[:-1]:
        yield None, {**so_far, "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}
    yield None, {**body, "candidates": [{**candidate, "content": {"role": "model", "parts": parts[-1:]}}]}


def error(problem: dialects.Problem) -> dialects.JsonDict:
    details: list[dialects.JsonDict] = []
    if problem.param in _FIELDS:
        violation = {"field": _FIELDS[problem.param], "description": problem.message}
        details.append({"@type": f"{_TYPE_PREFIX}BadRequest", "fieldViolations": [violation]})
    if problem.kind == "quota":
        spent = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}
        details.append({"@type": f"{_TYPE_PREFIX}QuotaFailure", "violations": [spent]})
    status = _STATUSES.get(problem.kind, "INTERNAL")
    return {
        "error": {"code": problem.status, "message": problem.message, "status": status, "details": details}
    }


DIALECT = dialects.Dialect(reading.reader(reading.generated), answer, frames, error)
STREAMED = dataclasses.replace(
    DIALECT, read=reading.reader(functools.partial(reading.generated, stream=True))
)
