"""OpenAI Responses: asked and read. Nothing is stored at the provider, and no earlier response is referred to.

There is no seed and no stop sequence, which are left out silently; a guided choice and a bias raise
``UnsupportedConstraint``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import bounded, errors, openai_usage, streams, values
from metacog_pipeline.llm.wire.types import UnsupportedConstraint

PROTECTED = frozenset({"model", "input", "instructions", "stream"})
LOGPROBS = "message.output_text.logprobs"
LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})
THOUGHTS = frozenset({"response.reasoning_text.delta", "response.reasoning_summary_text.delta"})
DELTAS = frozenset({"response.output_text.delta", "response.refusal.delta"})


def body_of(spec: ModelSpec, request: types.ChatRequest, known: Capabilities) -> values.JsonDict:
    """Return the body of a call. Raises ``UnsupportedConstraint`` for a bias, and for a choice where it is not vLLM."""
    sampling = known.accepted(request.sampling)
    body: values.JsonDict = {
        "model": spec.model,
        "input": [{"role": m.role, "content": m.content} for m in request.turns],
        "store": False,
    }
    if system := request.system:
        body["instructions"] = system
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    limit = known.token_limit(spec, request)
    if limit is not None:
        body["max_output_tokens"] = limit
    if sampling.top_logprobs is not None:
        body |= {"include": [LOGPROBS], "top_logprobs": sampling.top_logprobs}
    reasoning: values.JsonDict = {} if spec.effort is None else {"effort": spec.effort}
    if known.shows_reasoning(spec):
        reasoning["summary"] = "auto"
    held = bounded.in_responses(request) if bounded.bounds_white_space(known) else {}
    body |= held
    text = {} if held else _format(request.constraint)
    if spec.verbosity is not None:
        text["verbosity"] = spec.verbosity
    return body | ({"reasoning": reasoning} if reasoning else {}) | ({"text": text} if text else {})


def _format(constraint: types.Constraint | None) -> values.JsonDict:
    match constraint:
        case None:
            return {}
        case types.JsonObject(name, schema_json):
            schema = json.loads(schema_json)
            return {"format": {"type": "json_schema", "name": name, "strict": True, "schema": schema}}
        case types.OneOf():
            raise UnsupportedConstraint("OpenAI Responses has no guided choice")
        case types.TokenBias():
            raise UnsupportedConstraint("OpenAI Responses has no logit bias")


def is_response(decoded: object) -> bool:
    """Return whether a decoded body is one of Responses, not of chat completions."""
    return isinstance(decoded, dict) and (
        decoded.get("object") == "response" or ("output" in decoded and "choices" not in decoded)
    )


def read(status_code: int, headers: Mapping[str, str], body: bytes, decoded: object) -> types.Completion:
    """Decode a 2xx body that `is_response`."""
    status = values.str_at(decoded, "status")
    if values.at(decoded, "error") or status in ("failed", "cancelled"):
        found = errors.openai_problem(status_code, headers, body, decoded)
        return errors.failure(status_code, found)
    items = values.list_at(decoded, "output")
    if items is None:
        return errors.unreadable(status_code, "the answer has no list of output items")
    parts = [
        part
        for item in items
        if values.str_at(item, "type") == "message"
        for part in values.list_at(item, "content") or []
    ]
    text = "".join(values.str_at(part, "text") or "" for part in parts)
    refusal = "".join(values.str_at(part, "refusal") or "" for part in parts)
    reason = values.str_at(values.dict_at(decoded, "incomplete_details"), "reason")
    return types.Completion(
        _status(status, reason, refusal),
        text=text or refusal,
        finish_reason=status,
        finish_detail=reason,
        model_reported=values.str_at(decoded, "model"),
        usage=openai_usage.of_responses(values.dict_at(decoded, "usage")),
        logprobs=() if refusal else _logprobs(parts),
        reasoning_text=_reasoning(items),
        response_id=values.str_at(decoded, "id"),
        service_tier=values.str_at(decoded, "service_tier"),
        http_status=status_code,
    )


def _status(status: str | None, reason: str | None, refusal: str) -> types.Status:
    if refusal or reason == "content_filter":
        return types.Status.REFUSED
    return types.Status.TRUNCATED if status == "incomplete" else types.Status.OK


def _logprobs(parts: list[object]) -> tuple[types.TokenLogprob, ...]:
    """Return the log-probabilities of all parts, none where one of them has none."""
    tokens: list[types.TokenLogprob] = []
    for part in parts:
        listed = values.list_at(part, "logprobs") or []
        found = values.token_logprobs(listed)
        if len(found) != len(listed) or (values.str_at(part, "text") and not found):
            return ()
        tokens += found
    return tuple(tokens)


def _reasoning(items: list[object]) -> str | None:
    """Return what is shown of the thinking: its text, which open models give, else its summary, part below part."""
    shown: list[str] = []
    for item in items:
        if values.str_at(item, "type") != "reasoning":
            continue
        parts = values.list_at(item, "content") or values.list_at(item, "summary") or []
        shown += [text for text in (values.str_at(part, "text") for part in parts) if text]
    return "\n\n".join(shown) or None


class ResponseAssembler(streams.EventAssembler):
    """A stream, whose last event holds the whole response; finished items stand in where a server leaves its output out."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._items: list[object] = []
        self._response: values.JsonDict = {}

    def _said(self, *, thought: bool) -> str:
        return "".join(self._thoughts if thought else self._texts)

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        kind = event.get("type")
        if not isinstance(kind, str):
            return event if event.get("error") else None
        if kind in DELTAS:
            self._texts.append(values.str_at(event, "delta") or "")
        elif kind in THOUGHTS:
            self._thoughts.append(values.str_at(event, "delta") or "")
        elif kind == "response.output_item.done":
            self._items.append(event.get("item"))
        elif kind in LAST:
            self._response = values.dict_at(event, "response") or {}
            self.finished = True
        elif kind == "error":
            return {"error": values.dict_at(event, "error") or streams.kept(event, ("type",))}
        return None

    def _whole(self) -> values.JsonDict:
        if self._items and not self._response.get("output"):
            return self._response | {"output": self._items}
        return self._response
