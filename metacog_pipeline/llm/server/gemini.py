"""Gemini ``generateContent`` as the local server speaks it."""

from __future__ import annotations

import json

from metacog_pipeline.llm import types
from metacog_pipeline.llm.server import dialects

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


def read(path_model: str, body: object) -> tuple[str, types.ChatRequest]:
    """Read a ``generateContent`` body. Raises ``BadRequest``."""
    fields = dialects.as_dict(body, "body")
    turns = tuple(_message(entry) for entry in dialects.as_list(fields.get("contents"), "contents"))
    if not turns:
        raise dialects.BadRequest("contents must not be empty", "contents")
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
    return path_model, types.ChatRequest((*first, *turns), sampling, _constraint(config))


def _logprobs(tokens: tuple[types.TokenLogprob, ...]) -> dialects.JsonDict:
    def candidate(text: str, value: float) -> dialects.JsonDict:
        return {"token": text, "logProbability": value}

    return {
        "chosenCandidates": [candidate(token.token, token.logprob) for token in tokens],
        "topCandidates": [{"candidates": [candidate(*pair) for pair in token.top]} for token in tokens],
    }


def answer(
    model: str, request: types.ChatRequest, completion: types.Completion, number: int
) -> dialects.JsonDict:
    """Word ``completion`` as a ``GenerateContentResponse``."""
    reasons = {types.Status.TRUNCATED: "MAX_TOKENS", types.Status.REFUSED: "SAFETY"}
    parts = [{"text": completion.text}] if completion.text else []
    candidate: dialects.JsonDict = {
        "content": {"role": "model", "parts": parts},
        "finishReason": reasons.get(completion.status, "STOP"),
        "index": 0,
    }
    if request.sampling.top_logprobs is not None:
        certain = types.TokenLogprob(completion.text, 0.0, ((completion.text, 0.0),))
        candidate["logprobsResult"] = _logprobs(completion.logprobs or (certain,))
    sent, got = dialects.prompt_tokens(request), dialects.token_count(completion.text)
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


def error(problem: dialects.Problem) -> dialects.JsonDict:
    """Word ``problem`` as an error body."""
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


DIALECT = dialects.Dialect(read, answer, error)
