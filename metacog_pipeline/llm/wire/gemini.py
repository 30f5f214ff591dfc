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
from metacog_pipeline.llm.wire import errors, events, values
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


class ContentFold(events.Fold):
    """Joins the parts of the first candidate; of everything else the last that was said counts."""

    outputs = ("candidatesTokenCount", "thoughtsTokenCount")

    def __init__(self, *, streamed: bool) -> None:
        super().__init__(streamed=streamed)
        self._top: values.JsonDict = {}
        self.forget()

    def forget(self) -> None:
        """Drop what has come of a choice, for one with a lower index."""
        self._candidate: values.JsonDict = {}
        self._parts: list[tuple[str, bool]] = []  # texts, and whether each is thought
        self._tokens: list[object] = []
        self._tops: list[object] = []

    def take(self, event: values.JsonDict) -> values.JsonDict | None:
        """Add ``event``; return an error body where it ends the reply with one."""
        if event.get("error"):
            return event
        self._top.update(events.kept(event, ("candidates", "usageMetadata")))
        for candidate in values.list_at(event, "candidates") or []:
            if isinstance(candidate, dict) and self.leads(candidate):
                self._add(candidate)
        if counted := values.dict_at(event, "usageMetadata"):
            self.counts.note(counted, self.length if self.streamed else 0)
        if values.word_at(values.dict_at(event, "promptFeedback"), "blockReason"):
            self.finished = True
        return None

    def _add(self, candidate: values.JsonDict) -> None:
        parts = values.list_at(values.dict_at(candidate, "content"), "parts") or []
        found = [(values.str_at(part, "text") or "", values.at(part, "thought") is True) for part in parts]
        self._parts.extend(found)
        self.length += sum(len(text) for text, _ in found)
        result = values.dict_at(candidate, "logprobsResult")
        self._tokens.extend(values.list_at(result, "chosenCandidates") or [])
        self._tops.extend(values.list_at(result, "topCandidates") or [])
        self._candidate.update(
            {name: value for name, value in candidate.items() if name not in SPREAD and values.given(value)}
        )
        answer = any(text and not thought for text, thought in found)
        self.heard(text=answer, end=values.given(candidate.get("finishReason")))

    def said(self, *, thought: bool) -> str:
        """Return what has come of the thinking, or of the answer's text."""
        return "".join(text for text, kind in self._parts if kind is thought)

    def answer(self, status: int) -> types.Completion:
        """Return the completion of everything taken."""
        feedback = values.dict_at(self._top, "promptFeedback")
        blocked = values.word_at(feedback, "blockReason")
        finish = blocked or values.word_at(self._candidate, "finishReason")
        text, counted = self.said(thought=False), self.counts.total()
        if not text and not blocked and finish not in REFUSED | EMPTY_IS_AN_ANSWER:
            return errors.unreadable(status, f"the answer has no text and finishReason {finish!r}")
        detail = values.str_at(feedback, "blockReasonMessage")
        tops = [values.list_at(top, "candidates") for top in self._tops]
        return types.Completion(
            types.Status.REFUSED if blocked else _status(finish),
            text=text,
            finish_reason=finish,
            model_reported=values.str_at(self._top, "modelVersion"),
            usage=_usage(counted),
            finish_detail=detail or values.str_at(self._candidate, "finishMessage"),
            reasoning_text=self.said(thought=True) or None,
            response_id=values.str_at(self._top, "responseId"),
            service_tier=values.str_at(counted, "trafficType"),
            logprobs=values.listed_logprobs(self._tokens, list(tops), "logProbability"),
            http_status=status,
        )

    def failure(
        self, status: int, headers: Mapping[str, str], body: bytes, decoded: object
    ) -> types.Completion:
        """Return the completion of an error."""
        error = values.dict_at(decoded, "error")
        if error is None:
            return errors.failure(status, errors.raw_problem(status, headers, body))
        status = errors.status_within(status, error)
        return errors.failure(status, errors.google_problem(status, error))


WIRE = Wire(build, ContentFold)
