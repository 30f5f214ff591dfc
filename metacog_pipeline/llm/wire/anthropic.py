"""Anthropic Messages.

The API has two versions that differ in what they accept. 2026-10-21, which the official client sends, refuses every
sampling parameter; 2023-06-01 still takes a temperature, on the models that have one. So the request decides: with a
temperature it is sent as 2023-06-01, without as 2026-10-21. Each version gets the key in the header its clients use.

There is no seed, no guided choice, no bias and there are no log-probabilities: the first and last are left out
silently, the others raise ``UnsupportedConstraint``. With thinking no temperature is sent, for it would be refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, JsonObject, OneOf, Status, TokenBias, Usage
from metacog_pipeline.llm.wire import errors, events, values
from metacog_pipeline.llm.wire.address import base_url
from metacog_pipeline.llm.wire.types import HttpCall, UnsupportedConstraint, Wire

VERSION = "2026-10-21"
VERSION_WITH_TEMPERATURE = "2023-06-01"
PROTECTED = frozenset({"model", "messages", "system", "stream"})
TRUNCATED = frozenset({"max_tokens", "model_context_window_exceeded"})
#: Kind of delta → (the delta's field, which is that of the block too; whether it is thought).
DELTAS = {"text_delta": ("text", False), "thinking_delta": ("thinking", True)}


def build(
    spec: ModelSpec, request: ChatRequest, key: str | None, known: Capabilities = NOTHING_KNOWN
) -> HttpCall:
    """Encode ``request``. Raises ``UnsupportedConstraint`` for ``OneOf`` and ``TokenBias``.

    A limit on tokens is required here, so the model's own is sent where the request has none.
    """
    sampling = known.accepted(request.sampling)
    limit = known.token_limit(spec, request)
    body: values.JsonDict = {
        "model": spec.model,
        "max_tokens": spec.max_tokens + known.thinking_room(spec) if limit is None else limit,
        "messages": [{"role": each.role, "content": each.content} for each in request.turns],
        **_thinking(spec, known, sampled=sampling.temperature is not None),
    }
    if system := request.system:
        body["system"] = system
    thinks = values.str_at(body.get("thinking"), "type") not in (None, "disabled")
    if sampling.temperature is not None and not thinks:
        body["temperature"] = sampling.temperature
    output = _constraint(request) | ({} if spec.effort is None else {"effort": spec.effort})
    if output:
        body["output_config"] = output
    streamed = known.streams(spec)
    if streamed:
        body["stream"] = True
    body = values.merged(body, spec.extra_body, PROTECTED)
    return HttpCall(_url(spec), _headers(body, key), values.encode(body), streamed=streamed)


def _thinking(spec: ModelSpec, known: Capabilities, *, sampled: bool) -> values.JsonDict:
    """Return how much to think: a budget where the study sets one, else as the model sees fit for the effort asked.

    Newer models refuse a budget: they think as they see fit, and the limit on tokens holds the budget too. One that was
    seen to think unasked, and takes no temperature (``sampled``), is told to do what it does, so that it can be shown.
    """
    refused = known.refused
    if spec.thinking_tokens == 0:
        return {"thinking": {"type": "disabled"}}
    fields: values.JsonDict
    if spec.thinking_tokens is not None and "thinking_budget" not in refused:
        fields = {"type": "enabled", "budget_tokens": spec.thinking_tokens}
    elif "adaptive_thinking" not in refused and (
        spec.effort or spec.thinking_tokens or (known.reasons and not sampled)
    ):
        fields = {"type": "adaptive"}
    else:
        return {}
    if known.shows_reasoning(spec):
        fields["display"] = "summarized"
    return {"thinking": fields}


def _url(spec: ModelSpec) -> str:
    root = base_url(spec)
    return f"{root}/messages" if root.endswith("/v1") else f"{root}/v1/messages"


def _headers(body: values.JsonDict, key: str | None) -> dict[str, str]:
    sampled = any(name in body for name in ("temperature", "top_p", "top_k"))
    headers = {
        "accept": "application/json",
        "content-type": "application/json",
        "anthropic-version": VERSION_WITH_TEMPERATURE if sampled else VERSION,
    }
    if key:
        headers.update({"x-api-key": key} if sampled else {"authorization": f"Bearer {key}"})
    return headers


def _constraint(request: ChatRequest) -> values.JsonDict:
    match request.constraint:
        case None:
            return {}
        case JsonObject(_, schema_json):
            return {"format": {"type": "json_schema", "schema": json.loads(schema_json)}}
        case OneOf():
            raise UnsupportedConstraint("Anthropic Messages has no guided choice")
        case TokenBias():
            raise UnsupportedConstraint("Anthropic Messages has no logit bias")


def _detail(decoded: object) -> str | None:
    """Return what a refusal was about, or the sequence that stopped the answer."""
    about = values.dict_at(decoded, "stop_details")
    said = [text for text in (values.str_at(about, "category"), values.str_at(about, "explanation")) if text]
    return ": ".join(said) or values.str_at(decoded, "stop_sequence")


def _status(finish: str | None) -> Status:
    if finish == "refusal":
        return Status.REFUSED
    return Status.TRUNCATED if finish is None or finish in TRUNCATED else Status.OK


def _usage(usage: values.JsonDict | None) -> Usage:
    """Return the tokens; those read from or written to the prompt cache are counted apart there, and added here."""
    sent = values.count_at(usage, "input_tokens")
    written = values.count_at(usage, "cache_creation_input_tokens")
    cached = values.count_at(usage, "cache_read_input_tokens")
    if sent is not None:
        sent += (written or 0) + (cached or 0)
    thought = values.count_at(values.dict_at(usage, "output_tokens_details"), "thinking_tokens")
    return Usage(sent, values.count_at(usage, "output_tokens"), thought, cached, written)


class MessageFold(events.Fold):
    """Joins the deltas of each content block; a later usage count replaces an earlier one."""

    outputs = ("output_tokens",)

    def __init__(self, *, streamed: bool) -> None:
        super().__init__(streamed=streamed)
        self._message: values.JsonDict = {}
        self._blocks: dict[
            int, tuple[list[str], bool]
        ] = {}  # pieces of each block, and whether it is thought

    def take(self, event: values.JsonDict) -> values.JsonDict | None:
        """Add ``event``; return an error body where it ends the reply with one."""
        match event.get("type"):
            case "content_block_delta":
                delta = event.get("delta")
                field, thought = DELTAS.get(values.str_at(delta, "type") or "", ("", False))
                self._add(values.count_at(event, "index"), values.str_at(delta, field), thought)
            case "content_block_start":
                self._begin(values.count_at(event, "index"), event.get("content_block"))
            case "message_start":
                # The output of a start is provisional: where no later event counts it, it is not known.
                self._note(values.dict_at(event, "message") or {}, without="output_tokens")
            case "message_delta":
                self._note({**(values.dict_at(event, "delta") or {}), "usage": event.get("usage")})
            case "message_stop":
                self.finished = self.closed = True
            case "error":
                return event
            case _ if not self.streamed:
                self._note(event)
                for place, block in enumerate(values.list_at(event, "content") or []):
                    self._begin(place, block)
            case _ if event.get("error"):  # a proxy's own error
                said = values.str_at(event.get("error"), "message") or "the stream held an error"
                return events.error_body("api_error", said)
        return None  # pings, ends of blocks, and what later versions add

    def _note(self, message: values.JsonDict, without: str = "") -> None:
        self._message.update(events.kept(message, ("usage",)))
        counted = events.kept(values.dict_at(message, "usage") or {}, (without,))
        self.counts.note(counted, self.length if self.streamed else 0)

    def _begin(self, place: int | None, block: object) -> None:
        thought = values.str_at(block, "thinking")
        text = values.str_at(block, "text") if values.str_at(block, "type") == "text" else None
        self._add(place, text if thought is None else thought, thought is not None)

    def _add(self, place: int | None, piece: str | None, thought: bool) -> None:
        if place is not None and piece is not None:
            self.length += len(piece)
            self._blocks.setdefault(place, ([], thought))[0].append(piece)

    def said(self, *, thought: bool) -> str:
        """Return what has come of the thinking, or of the answer's text."""
        blocks = ("".join(pieces) for _, (pieces, kind) in sorted(self._blocks.items()) if kind is thought)
        return ("\n\n" if thought else "").join(filter(None, blocks))

    def says_nothing(self) -> bool:
        """Whether neither a text came nor the word for why there is none."""
        return not (self._message.get("stop_reason") or self.said(thought=False))

    def answer(self, status: int) -> Completion:
        """Return the completion of everything taken."""
        blocks, finish = values.list_at(self._message, "content"), values.str_at(self._message, "stop_reason")
        if not self.streamed and (blocks is None or (not blocks and finish is None)):
            return errors.unreadable(status, "the answer has no list of content blocks")
        usage = self.counts.total()
        return Completion(
            _status(finish),
            text=self.said(thought=False),
            finish_reason=finish,
            finish_detail=_detail(self._message),
            model_reported=values.str_at(self._message, "model"),
            usage=_usage(usage),
            reasoning_text=self.said(thought=True) or None,
            response_id=values.str_at(self._message, "id"),
            service_tier=values.str_at(usage, "service_tier"),
            http_status=status,
        )

    def failure(self, status: int, headers: Mapping[str, str], body: bytes, decoded: object) -> Completion:
        """Return the completion of an error."""
        error = values.dict_at(decoded, "error")
        if error is None:
            return errors.failure(status, errors.raw_problem(status, headers, body))
        kind = values.str_at(error, "type")
        named = (values.str_at(values.dict_at(error, "details"), "error_code"), kind)
        codes = tuple(code for code in named if code)
        # The model is the only thing a call to this path refers to by name.
        if status == 404 and kind == "not_found_error":
            codes = (*codes, "model_not_found")
        return errors.failure(status, errors.ProviderProblem(codes, values.str_at(error, "message") or ""))


WIRE = Wire(build, MessageFold)
