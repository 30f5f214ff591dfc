"""Gemini ``generateContent`` as the local server speaks it."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator

from metacog_pipeline.llm import types
from tests.provider import dialects

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


def _message(entry: object) -> types.Message:
    fields = dialects.as_dict(entry, "contents")
    text = dialects.joined_text(fields.get("parts"), "contents")
    return types.Message("assistant" if fields.get("role") == "model" else "user", text)


def _constraint(config: dialects.JsonDict) -> types.Constraint | None:
    match config.get("responseMimeType"):
        case "text/x.enum":
            schema = dialects.as_dict(
                config.get("responseSchema") or config.get("responseJsonSchema"), "responseSchema"
            )
            return types.OneOf(dialects.as_strings(schema.get("enum"), "responseSchema"))
        case "application/json":
            wanted = config.get("responseJsonSchema") or config.get("responseSchema") or {}
            return types.JsonObject("", json.dumps(dialects.as_dict(wanted, "responseJsonSchema")))
        case _:
            return None


def camel(body: object) -> object:
    if not isinstance(body, dict):
        return body
    named: dict[str, object] = {}
    for name, value in body.items():
        named[re.sub(r"_([a-z])", lambda found: found[1].upper(), str(name))] = value
    for name in {"generationConfig", "thinkingConfig"} & named.keys():
        named[name] = camel(named[name])
    return named


def read(path_model: str, body: object) -> dialects.Asked:
    fields = dialects.as_dict(camel(body), "body")
    turns = dialects.turns_of(fields, "contents", _message)
    config = dialects.as_dict(fields.get("generationConfig") or {}, "generationConfig")
    system = fields.get("systemInstruction")
    first: tuple[types.Message, ...] = ()
    if system is not None:
        first = (
            types.Message(
                "system",
                dialects.joined_text(dialects.as_dict(system, "systemInstruction").get("parts"), "parts"),
            ),
        )
    sampling = types.Sampling(
        temperature=dialects.as_number(config.get("temperature"), "temperature"),
        max_tokens=dialects.as_int(config.get("maxOutputTokens"), "maxOutputTokens"),
        seed=dialects.as_int(config.get("seed"), "seed"),
        top_logprobs=(dialects.as_int(config.get("logprobs"), "logprobs") or 0)
        if config.get("responseLogprobs")
        else None,
        stop=dialects.as_strings(config.get("stopSequences"), "stopSequences"),
    )
    thinking = dialects.as_dict(config.get("thinkingConfig") or {}, "thinkingConfig")
    level = dialects.as_word(thinking.get("thinkingLevel"), "thinkingLevel")
    budget = dialects.as_int(thinking.get("thinkingBudget"), "thinkingBudget")
    return dialects.Asked(
        path_model,
        types.ChatRequest((*first, *turns), sampling, _constraint(config)),
        effort=level.lower() if level else None,
        budget=None if budget is not None and budget < 0 else budget,  # -1: as much as the model sees fit
        shown=dialects.as_flag(thinking.get("includeThoughts"), "includeThoughts"),
    )


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


def _read_streamed(path_model: str, body: object) -> dialects.Asked:
    return dataclasses.replace(read(path_model, body), stream=True)


DIALECT = dialects.Dialect(read, answer, frames, error)
STREAMED = dataclasses.replace(DIALECT, read=_read_streamed)
