"""Gemini ``generateContent`` as the local server speaks it."""

from __future__ import annotations

import json

from metacog_pipeline.llm.server.dialects import (
    BadRequest,
    Dialect,
    JsonDict,
    Problem,
    as_dict,
    as_int,
    as_list,
    as_number,
    as_strings,
    joined_text,
    prompt_tokens,
    token_count,
)
from metacog_pipeline.llm.types import (
    ChatRequest,
    Completion,
    Constraint,
    JsonObject,
    Message,
    OneOf,
    Sampling,
    Status,
    TokenLogprob,
)

_STATUSES = {
    "rate_limit": "RESOURCE_EXHAUSTED",
    "rate_limit_date": "RESOURCE_EXHAUSTED",
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


def _message(entry: object) -> Message:
    fields = as_dict(entry, "contents")
    text = joined_text(fields.get("parts"), "contents")
    return Message("assistant" if fields.get("role") == "model" else "user", text)


def _constraint(config: JsonDict) -> Constraint | None:
    match config.get("responseMimeType"):
        case "text/x.enum":
            schema = as_dict(
                config.get("responseSchema") or config.get("responseJsonSchema"), "responseSchema"
            )
            return OneOf(as_strings(schema.get("enum"), "responseSchema"))
        case "application/json":
            wanted = config.get("responseJsonSchema") or config.get("responseSchema") or {}
            return JsonObject("", json.dumps(as_dict(wanted, "responseJsonSchema")))
        case _:
            return None


def read(path_model: str, body: object) -> tuple[str, ChatRequest]:
    """Read a ``generateContent`` body. Raises ``BadRequest``."""
    fields = as_dict(body, "body")
    turns = tuple(_message(entry) for entry in as_list(fields.get("contents"), "contents"))
    if not turns:
        raise BadRequest("contents must not be empty", "contents")
    config = as_dict(fields.get("generationConfig") or {}, "generationConfig")
    system = fields.get("systemInstruction")
    first: tuple[Message, ...] = ()
    if system is not None:
        first = (Message("system", joined_text(as_dict(system, "systemInstruction").get("parts"), "parts")),)
    sampling = Sampling(
        temperature=as_number(config.get("temperature"), "temperature"),
        max_tokens=as_int(config.get("maxOutputTokens"), "maxOutputTokens"),
        seed=as_int(config.get("seed"), "seed"),
        top_logprobs=(as_int(config.get("logprobs"), "logprobs") or 0)
        if config.get("responseLogprobs")
        else None,
        stop=as_strings(config.get("stopSequences"), "stopSequences"),
    )
    return path_model, ChatRequest((*first, *turns), sampling, _constraint(config))


def _logprobs(tokens: tuple[TokenLogprob, ...]) -> JsonDict:
    def candidate(text: str, value: float) -> JsonDict:
        return {"token": text, "logProbability": value}

    return {
        "chosenCandidates": [candidate(token.token, token.logprob) for token in tokens],
        "topCandidates": [{"candidates": [candidate(*pair) for pair in token.top]} for token in tokens],
    }


def answer(model: str, request: ChatRequest, completion: Completion, number: int) -> JsonDict:
    """Word ``completion`` as a ``GenerateContentResponse``."""
    reasons = {Status.TRUNCATED: "MAX_TOKENS", Status.REFUSED: "SAFETY"}
    parts = [{"text": completion.text}] if completion.text else []
    candidate: JsonDict = {
        "content": {"role": "model", "parts": parts},
        "finishReason": reasons.get(completion.status, "STOP"),
        "index": 0,
    }
    if request.sampling.top_logprobs is not None:
        certain = TokenLogprob(completion.text, 0.0, ((completion.text, 0.0),))
        candidate["logprobsResult"] = _logprobs(completion.logprobs or (certain,))
    sent, got = prompt_tokens(request), token_count(completion.text)
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": sent,
            "candidatesTokenCount": got,
            "totalTokenCount": sent + got,
        },
        "modelVersion": model,
        "responseId": f"sim-{number}",
    }


def error(problem: Problem) -> JsonDict:
    """Word ``problem`` as an error body."""
    details: list[JsonDict] = []
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


DIALECT = Dialect(read, answer, error)
