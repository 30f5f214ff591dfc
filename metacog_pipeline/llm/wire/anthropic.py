"""Anthropic Messages.

The API has two versions that differ in what they accept. 2026-10-21, which the official client sends, refuses every
sampling parameter; 2023-06-01 still takes a temperature, on the models that have one. So the request decides: with a
temperature it is sent as 2023-06-01, without as 2026-10-21. Each version gets the key in the header its clients use.

There is no seed, no guided choice, no bias and there are no log-probabilities: the first and last are left out
silently, the others raise ``UnsupportedConstraint``. With thinking no temperature is sent, for it would be refused.

A long prefix that later calls will share is marked for the prompt cache (see `caching`): writing it costs a quarter more
than reading it anew, every call that finds it a tenth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, JsonObject, OneOf, Status, TokenBias, Usage
from metacog_pipeline.llm.wire import caching, streams, values
from metacog_pipeline.llm.wire.address import base_url
from metacog_pipeline.llm.wire.errors import ProviderProblem, failure, raw_problem, unreadable
from metacog_pipeline.llm.wire.types import HttpCall, UnsupportedConstraint, Wire

VERSION = "2026-10-21"
VERSION_WITH_TEMPERATURE = "2023-06-01"
PROTECTED = frozenset({"model", "messages", "system", "stream"})
TRUNCATED = frozenset({"max_tokens", "model_context_window_exceeded"})
#: kind of delta → (the delta's field, the field of the block it continues, the kind of that block)
DELTAS = {
    "text_delta": ("text", "text", "text"),
    "thinking_delta": ("thinking", "thinking", "thinking"),
    "signature_delta": ("signature", "signature", "thinking"),
    "input_json_delta": ("partial_json", "partial_json", "tool_use"),
}


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
        **_prompt(request, known),
        **_thinking(spec, known, sampled=sampling.temperature is not None),
    }
    thinks = values.str_at(body.get("thinking"), "type") not in (None, "disabled")
    if sampling.temperature is not None and not thinks:
        body["temperature"] = sampling.temperature
    if sampling.stop:
        body["stop_sequences"] = list(sampling.stop)
    output = _constraint(request) | ({} if spec.effort is None else {"effort": spec.effort})
    if output:
        body["output_config"] = output
    streamed = known.streams(spec)
    if streamed:
        body["stream"] = True
    body = values.merged(body, spec.extra_body, PROTECTED)
    return HttpCall(_url(spec), _headers(body, key), values.encode(body), streamed=streamed)


def _prompt(request: ChatRequest, known: Capabilities) -> values.JsonDict:
    """Return the system prompt and the turns; what is worth a cache entry ends in a marked block."""
    shared = caching.SharedPrefix() if "cache_control" in known.refused else caching.shared_prefix(request)
    prompt: values.JsonDict = {
        "messages": [
            {"role": m.role, "content": _marked(m.content) if place == shared.turn else m.content}
            for place, m in enumerate(request.turns)
        ]
    }
    if system := request.system:
        prompt["system"] = _marked(system) if shared.system else system
    return prompt


def _marked(text: str) -> list[values.JsonDict]:
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


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


def _decode(status_code: int, headers: Mapping[str, str], body: bytes) -> Completion:
    decoded = values.load(body)
    if not 200 <= status_code < 300 or values.str_at(decoded, "type") == "error":
        return failure(status_code, _problem(status_code, headers, body, decoded))
    blocks = values.list_at(decoded, "content")
    finish = values.str_at(decoded, "stop_reason")
    if blocks is None or (not blocks and finish is None):
        return unreadable(status_code, "the answer has no list of content blocks")
    texts = [values.str_at(block, "text") for block in blocks if values.str_at(block, "type") == "text"]
    thoughts = [values.str_at(block, "thinking") for block in blocks]
    return Completion(
        _status(finish),
        text="".join(text or "" for text in texts),
        finish_reason=finish,
        finish_detail=_detail(decoded),
        model_reported=values.str_at(decoded, "model"),
        usage=_usage(values.dict_at(decoded, "usage")),
        reasoning_text="\n\n".join(thought for thought in thoughts if thought) or None,
        response_id=values.str_at(decoded, "id"),
        service_tier=values.str_at(values.dict_at(decoded, "usage"), "service_tier"),
        http_status=status_code,
    )


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


def _problem(status_code: int, headers: Mapping[str, str], body: bytes, decoded: object) -> ProviderProblem:
    error = values.dict_at(decoded, "error")
    if error is None:
        return raw_problem(status_code, headers, body)
    kind = values.str_at(error, "type")
    named = (values.str_at(values.dict_at(error, "details"), "error_code"), kind)
    codes = tuple(code for code in named if code)
    # The model is the only thing a call to this path refers to by name.
    if status_code == 404 and kind == "not_found_error":
        codes = (*codes, "model_not_found")
    return ProviderProblem(codes, values.str_at(error, "message") or "")


class MessageAssembler(streams.EventAssembler):
    """Joins the deltas of each content block; a later usage count replaces an earlier one."""

    outputs = ("output_tokens",)

    def __init__(self) -> None:
        super().__init__()
        self._message: values.JsonDict = {"type": "message", "role": "assistant"}
        self._blocks: dict[int, values.JsonDict] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def _said(self, *, thought: bool) -> str:
        wanted = "thinking" if thought else "text"
        return "".join("".join(parts) for (_, name), parts in self._pieces.items() if name == wanted)

    def _says_nothing(self) -> bool:
        return not (self._message.get("stop_reason") or self.text)

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        match event.get("type"):
            case "content_block_delta":
                self._continue(event)
            case "content_block_start":
                self._start(event)
            case "message_start":
                message = values.dict_at(event, "message") or {}
                self._message.update(streams.kept(message, ("content", "usage")))
                # The output of a start is provisional: where no later event counts it, it is not known.
                self._count(message, without="output_tokens")
            case "message_delta":
                self._message.update(streams.kept(values.dict_at(event, "delta") or {}, ("content", "usage")))
                self._count(event)
            case "message_stop":
                self.finished = True
            case "error":
                return event
            case _:  # pings, ends of blocks, and what later versions add
                if event.get("error"):  # a proxy's own error
                    said = values.str_at(event.get("error"), "message") or "the stream held an error"
                    return streams.failed("api_error", said)
        return None

    def _count(self, holder: values.JsonDict, without: str = "") -> None:
        reported = streams.kept(values.dict_at(holder, "usage") or {}, (without,))
        self._counts.note(reported, self._length)

    def _start(self, event: values.JsonDict) -> None:
        place = values.count_at(event, "index")
        block = values.dict_at(event, "content_block")
        if place is None or block is None:
            return
        self._blocks[place] = block
        for name in ("text", "thinking", "signature"):
            if said := values.str_at(block, name):
                self._pieces.setdefault((place, name), []).append(said)

    def _continue(self, event: values.JsonDict) -> None:
        place = values.count_at(event, "index")
        delta = event.get("delta")
        named = DELTAS.get(values.str_at(delta, "type") or "")
        if place is None or named is None:
            return
        field, name, kind = named
        said = values.str_at(delta, field)
        if said is None:
            return
        self._blocks.setdefault(place, {"type": kind})
        self._length += len(said)
        self._pieces.setdefault((place, name), []).append(said)

    def _whole(self) -> values.JsonDict:
        blocks = {place: dict(block) for place, block in sorted(self._blocks.items())}
        for (place, name), parts in self._pieces.items():
            blocks[place][name] = "".join(parts)
        return self._message | {"content": list(blocks.values()), "usage": self._counts.total()}


WIRE = Wire(build, _decode, MessageAssembler)
