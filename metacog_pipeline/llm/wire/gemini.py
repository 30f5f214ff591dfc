"""Gemini ``generateContent``.

A choice is asked for as an enum answered in plain text, a JSON object as a JSON schema. There is no logit bias. Parts
marked as thoughts are no answer and are left out; their tokens are billed as output and counted as such.

Calls go to version ``v1``, as the official client's do; a ``base_url`` that ends in another version keeps it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import quote

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import (
    ChatRequest,
    Completion,
    JsonObject,
    OneOf,
    Status,
    TokenBias,
    TokenLogprob,
    Usage,
)
from metacog_pipeline.llm.wire.address import base_url
from metacog_pipeline.llm.wire.errors import (
    ProviderProblem,
    failure,
    raw_problem,
    status_within,
    struck_out,
    unreadable,
)
from metacog_pipeline.llm.wire.types import HttpCall, UnsupportedConstraint, Wire
from metacog_pipeline.llm.wire.values import (
    JsonDict,
    at,
    count_at,
    dict_at,
    encode,
    first,
    list_at,
    load,
    merged,
    number_at,
    str_at,
)

PROTECTED = frozenset({"contents", "systemInstruction", "model"})
REFUSED = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "MODEL_ARMOR",
    }
)
EMPTY_IS_AN_ANSWER = frozenset({"STOP", "MAX_TOKENS"})
PARAMETERS = {  # our name for what Gemini blames by its own
    "response_mime_type": "response_format",
    "response_schema": "response_format",
    "response_json_schema": "response_format",
    "max_output_tokens": "max_tokens",
    "response_logprobs": "logprobs",
    "stop_sequences": "stop",
}


def build(spec: ModelSpec, request: ChatRequest, key: str | None) -> HttpCall:
    """Encode ``request``. Raises ``UnsupportedConstraint`` for ``TokenBias``."""
    body: JsonDict = {
        "contents": [
            {"role": "model" if m.role == "assistant" else "user", "parts": [{"text": m.content}]}
            for m in request.messages
            if m.role != "system"
        ]
    }
    system = "\n\n".join(m.content for m in request.messages if m.role == "system")
    if system:
        body["systemInstruction"] = {"role": "user", "parts": [{"text": system}]}
    config = {**_sampling(request), **_constraint(request)}
    if config:
        body["generationConfig"] = config
    headers = {"content-type": "application/json"}
    if key:
        headers["x-goog-api-key"] = key
    return HttpCall(_url(spec), headers, encode(merged(body, spec.extra_body, PROTECTED)))


def _url(spec: ModelSpec) -> str:
    root = base_url(spec)
    versioned = root if re.search(r"/v\d[a-z0-9]*$", root) else f"{root}/v1"
    path = spec.model if "/" in spec.model else f"models/{spec.model}"
    return f"{versioned}/{quote(path, safe='/')}:generateContent"


def _sampling(request: ChatRequest) -> JsonDict:
    sampling = request.sampling
    fields: JsonDict = {}
    if sampling.temperature is not None:
        fields["temperature"] = sampling.temperature
    if sampling.max_tokens is not None:
        fields["maxOutputTokens"] = sampling.max_tokens
    if sampling.stop:
        fields["stopSequences"] = list(sampling.stop)
    if sampling.top_logprobs is not None:
        fields["responseLogprobs"] = True
        fields["logprobs"] = sampling.top_logprobs
    if sampling.seed is not None:
        fields["seed"] = sampling.seed
    return fields


def _constraint(request: ChatRequest) -> JsonDict:
    match request.constraint:
        case None:
            return {}
        case JsonObject(_, schema_json):
            return {"responseMimeType": "application/json", "responseJsonSchema": json.loads(schema_json)}
        case OneOf(options):
            return {
                "responseMimeType": "text/x.enum",
                "responseSchema": {"type": "STRING", "enum": list(options)},
            }
        case TokenBias():
            raise UnsupportedConstraint("Gemini has no logit bias")


def read(
    spec: ModelSpec, status_code: int, headers: Mapping[str, str], body: bytes, key: str | None = None
) -> Completion:
    """Decode the final answer to a call. Never raises; the completion's status says how it ended."""
    return struck_out(_read(status_code, headers, body), key)


def _read(status_code: int, headers: Mapping[str, str], body: bytes) -> Completion:
    decoded = load(body)
    error = dict_at(decoded, "error")
    if error is not None or not 200 <= status_code < 300:
        return failure(status_within(status_code, error), _problem(status_code, headers, body, decoded))
    candidate = first(list_at(decoded, "candidates"))
    blocked = str_at(dict_at(decoded, "promptFeedback"), "blockReason")
    finish = blocked or str_at(candidate, "finishReason")
    parts = list_at(at(candidate, "content"), "parts") or []
    text = "".join(str_at(part, "text") or "" for part in parts if at(part, "thought") is not True)
    if not text and not blocked and finish not in REFUSED | EMPTY_IS_AN_ANSWER:
        return unreadable(status_code, f"the answer has no text and finishReason {finish!r}")
    return Completion(
        Status.REFUSED if blocked else _status(finish),
        text=text,
        finish_reason=finish,
        model_reported=str_at(decoded, "modelVersion"),
        usage=_usage(dict_at(decoded, "usageMetadata")),
        logprobs=_logprobs(dict_at(candidate, "logprobsResult")),
        http_status=status_code,
    )


def _status(finish: str | None) -> Status:
    if finish in REFUSED:
        return Status.REFUSED
    return Status.TRUNCATED if finish == "MAX_TOKENS" else Status.OK


def _usage(usage: JsonDict | None) -> Usage:
    got = count_at(usage, "candidatesTokenCount")
    thought = count_at(usage, "thoughtsTokenCount")
    output = None if got is None and thought is None else (got or 0) + (thought or 0)
    return Usage(count_at(usage, "promptTokenCount"), output)


def _logprobs(result: JsonDict | None) -> tuple[TokenLogprob, ...]:
    """Return the log-probabilities, all or none: a list with holes would assign numbers to the wrong tokens."""
    chosen = list_at(result, "chosenCandidates") or []
    listed = list_at(result, "topCandidates") or []
    tokens: list[TokenLogprob] = []
    for place, entry in enumerate(chosen):
        token, value = _candidate(entry)
        if token is None or value is None:
            return ()
        tops = list_at(listed[place], "candidates") if place < len(listed) else None
        pairs = (_candidate(top) for top in tops or [])
        alternatives = tuple(
            (name, number) for name, number in pairs if name is not None and number is not None
        )
        tokens.append(TokenLogprob(token, value, alternatives))
    return tuple(tokens)


def _candidate(entry: object) -> tuple[str | None, float | None]:
    return str_at(entry, "token"), number_at(entry, "logProbability")


def _problem(status_code: int, headers: Mapping[str, str], body: bytes, decoded: object) -> ProviderProblem:
    error = dict_at(decoded, "error")
    if error is None:
        return raw_problem(status_code, headers, body)
    details = list_at(error, "details") or []
    reasons = [reason for reason in (str_at(detail, "reason") for detail in details) if reason]
    codes = (*reasons, *([status] if (status := str_at(error, "status")) else []))
    if status_code == 404 and status == "NOT_FOUND":
        codes = (*codes, "model_not_found")  # the path names the model and nothing else
    if any(_per_day(detail) for detail in details):
        codes = (*codes, "insufficient_quota")  # a spent daily quota does not come back while a run waits
    return ProviderProblem(codes, str_at(error, "message") or "", _param(details))


def _per_day(detail: object) -> bool:
    violations = list_at(detail, "violations") or []
    return any("PerDay" in (str_at(violation, "quotaId") or "") for violation in violations)


def _param(details: list[object]) -> str | None:
    """Return the parameter a ``BadRequest`` detail blames, under the name the other wire formats give it."""
    for detail in details:
        field = str_at(first(list_at(detail, "fieldViolations")), "field")
        if field:
            names = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in re.split(r"[.\[]", field)]
            name = names[1] if names[0] == "generation_config" and len(names) > 1 else names[0]
            return PARAMETERS.get(name, name)
    return None


WIRE = Wire(build, read)
