"""Gemini ``generateContent``.

A choice is asked for as an enum answered in plain text, a JSON object as a JSON schema. There is no logit bias. Parts
marked as thoughts are no answer: they are kept apart, and their tokens, which are billed as output, are counted as such.

Calls go to version ``v1``, as the official client's do; a ``base_url`` that ends in another version keeps it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import quote

from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import errors, streams, values
from metacog_pipeline.llm.wire.address import base_url
from metacog_pipeline.llm.wire.types import HttpCall, UnsupportedConstraint, Wire

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
LOGPROB_LISTS = ("chosenCandidates", "topCandidates")
SPREAD = frozenset({"content", "logprobsResult"})  # over many chunks


def build(
    spec: ModelSpec, request: types.ChatRequest, key: str | None, known: Capabilities = NOTHING_KNOWN
) -> HttpCall:
    """Encode ``request``. Raises ``UnsupportedConstraint`` for ``TokenBias``."""
    body: values.JsonDict = {
        "contents": [
            {"role": "model" if m.role == "assistant" else "user", "parts": [{"text": m.content}]}
            for m in request.turns
        ]
    }
    if system := request.system:
        body["systemInstruction"] = {"role": "user", "parts": [{"text": system}]}
    config = {**_sampling(spec, request, known), **_constraint(request)}
    if thinking := _thinking(spec, known):
        config["thinkingConfig"] = thinking
    if config:
        body["generationConfig"] = config
    headers = {"content-type": "application/json"}
    if key:
        headers["x-goog-api-key"] = key
    streamed = known.streams(spec)
    encoded = values.encode(values.merged(body, spec.extra_body, PROTECTED))
    return HttpCall(_url(spec, streamed), headers, encoded, streamed=streamed)


def _url(spec: ModelSpec, streamed: bool) -> str:
    root = base_url(spec)
    versioned = root if re.search(r"/v\d[a-z0-9]*$", root) else f"{root}/v1"
    path = spec.model if "/" in spec.model else f"models/{spec.model}"
    method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
    return f"{versioned}/{quote(path, safe='/')}:{method}"


def _thinking(spec: ModelSpec, known: Capabilities) -> values.JsonDict:
    fields: values.JsonDict = {}
    if spec.thinking_tokens is not None:
        fields["thinkingBudget"] = spec.thinking_tokens
    if spec.effort is not None:
        fields["thinkingLevel"] = spec.effort.upper()
    if known.shows_reasoning(spec):
        fields["includeThoughts"] = True
    return fields


def _sampling(spec: ModelSpec, request: types.ChatRequest, known: Capabilities) -> values.JsonDict:
    sampling = known.accepted(request.sampling)
    fields: values.JsonDict = {}
    if sampling.temperature is not None:
        fields["temperature"] = sampling.temperature
    limit = known.token_limit(spec, request)
    if limit is not None:
        fields["maxOutputTokens"] = limit
    if sampling.stop:
        fields["stopSequences"] = list(sampling.stop)
    if sampling.top_logprobs is not None:
        fields["responseLogprobs"] = True
        fields["logprobs"] = sampling.top_logprobs
    if sampling.seed is not None:
        fields["seed"] = sampling.seed
    return fields


def _constraint(request: types.ChatRequest) -> values.JsonDict:
    match request.constraint:
        case None:
            return {}
        case types.JsonObject(_, schema_json):
            return {"responseMimeType": "application/json", "responseJsonSchema": json.loads(schema_json)}
        case types.OneOf(options):
            return {
                "responseMimeType": "text/x.enum",
                "responseSchema": {"type": "STRING", "enum": list(options)},
            }
        case types.TokenBias():
            raise UnsupportedConstraint("Gemini has no logit bias")


def _decode(status_code: int, headers: Mapping[str, str], body: bytes) -> types.Completion:
    decoded = values.unwrapped(values.load(body))
    error = values.dict_at(decoded, "error")
    if error is not None or not 200 <= status_code < 300:
        status = errors.status_within(status_code, error)
        return errors.failure(status, _problem(status, headers, body, decoded))
    candidate = values.leading(values.list_at(decoded, "candidates"))
    feedback = values.dict_at(decoded, "promptFeedback")
    blocked = values.word_at(feedback, "blockReason")
    finish = blocked or values.word_at(candidate, "finishReason")
    parts = values.list_at(values.at(candidate, "content"), "parts") or []
    said = [(values.str_at(part, "text") or "", values.at(part, "thought") is True) for part in parts]
    text = "".join(part for part, thought in said if not thought)
    listed = values.dict_at(candidate, "logprobsResult")
    if not text and not blocked and finish not in REFUSED | EMPTY_IS_AN_ANSWER:
        return errors.unreadable(status_code, f"the answer has no text and finishReason {finish!r}")
    return types.Completion(
        types.Status.REFUSED if blocked else _status(finish),
        text=text,
        finish_reason=finish,
        model_reported=values.str_at(decoded, "modelVersion"),
        usage=_usage(values.dict_at(decoded, "usageMetadata")),
        finish_detail=values.str_at(feedback, "blockReasonMessage")
        or values.str_at(candidate, "finishMessage"),
        reasoning_text="".join(part for part, thought in said if thought) or None,
        response_id=values.str_at(decoded, "responseId"),
        service_tier=values.str_at(values.dict_at(decoded, "usageMetadata"), "trafficType"),
        logprobs=values.listed_logprobs(
            values.list_at(listed, "chosenCandidates") or [],
            [values.list_at(top, "candidates") for top in values.list_at(listed, "topCandidates") or []],
            "logProbability",
        ),
        http_status=status_code,
    )


def _status(finish: str | None) -> types.Status:
    if finish in REFUSED:
        return types.Status.REFUSED
    return types.Status.TRUNCATED if finish == "MAX_TOKENS" else types.Status.OK


def _usage(usage: values.JsonDict | None) -> types.Usage:
    got = values.count_at(usage, "candidatesTokenCount")
    thought = values.count_at(usage, "thoughtsTokenCount")
    sent = values.count_at(usage, "promptTokenCount")
    cached = values.count_at(usage, "cachedContentTokenCount")
    output = None if got is None and thought is None else (got or 0) + (thought or 0)
    tools = values.count_at(usage, "toolUsePromptTokenCount") or 0  # input, and part of the total
    beside = values.left_of(values.count_at(usage, "totalTokenCount"), sent, output, tools)
    if output is not None and beside:  # only the total tells of it: thought
        output, thought = output + beside, (thought or 0) + beside
    return types.Usage(sent, output, thought, cached)


def _problem(
    status_code: int, headers: Mapping[str, str], body: bytes, decoded: object
) -> errors.ProviderProblem:
    error = values.dict_at(decoded, "error")
    if error is None:
        return errors.raw_problem(status_code, headers, body)
    return errors.google_problem(status_code, error)


class ChunkAssembler(streams.EventAssembler):
    """A stream of responses: parts of the first candidate are joined, of everything else the last that was said counts."""

    outputs = ("candidatesTokenCount", "thoughtsTokenCount")

    def __init__(self) -> None:
        super().__init__()
        self._top: values.JsonDict = {}
        self._forget()

    def _forget(self) -> None:
        self._candidate: values.JsonDict = {}
        self._parts: list[object] = []
        self._logprobs: dict[str, list[object]] = {}

    def _said(self, *, thought: bool) -> str:
        parts = [part for part in self._parts if (values.at(part, "thought") is True) == thought]
        return "".join(values.str_at(part, "text") or "" for part in parts)

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        if event.get("error"):
            return event
        self._top.update(streams.kept(event, ("candidates", "usageMetadata")))
        for candidate in values.list_at(event, "candidates") or []:
            if isinstance(candidate, dict) and self._leads(candidate):
                self._add(candidate)
        if counted := values.dict_at(event, "usageMetadata"):
            self._counts.note(counted, self._length)
        if values.word_at(values.dict_at(event, "promptFeedback"), "blockReason"):
            self.finished = True
        return None

    def _add(self, candidate: values.JsonDict) -> None:
        parts = values.list_at(values.dict_at(candidate, "content"), "parts") or []
        self._parts.extend(parts)
        self._length += sum(len(values.str_at(part, "text") or "") for part in parts)
        result = values.dict_at(candidate, "logprobsResult")
        for name in LOGPROB_LISTS:
            if tokens := values.list_at(result, name):
                self._logprobs.setdefault(name, []).extend(tokens)
        self._candidate.update(
            {name: value for name, value in candidate.items() if name not in SPREAD and values.given(value)}
        )
        answer = any(values.str_at(part, "text") and values.at(part, "thought") is not True for part in parts)
        self._heard(text=answer, end=values.given(candidate.get("finishReason")))

    def _whole(self) -> values.JsonDict:
        content = {"role": "model", "parts": self._parts}
        candidate = self._candidate | {"content": content}
        if self._logprobs:
            candidate["logprobsResult"] = self._logprobs
        whole = self._top | {"usageMetadata": self._counts.total()}
        return whole | ({"candidates": [candidate]} if self._candidate or self._parts else {})


WIRE = Wire(build, _decode, ChunkAssembler)
