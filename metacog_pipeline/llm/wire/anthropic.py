"""Anthropic Messages: no seed, no guided choice, no bias and no log-probabilities."""

from __future__ import annotations

import json

from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec, base_url
from metacog_pipeline.llm.types import ChatRequest, JsonObject, OneOf, TokenBias, Usage
from metacog_pipeline.llm.wire import events, values
from metacog_pipeline.llm.wire.events import HttpCall, UnsupportedConstraint

# The newer version refuses every sampling parameter, the older one takes a temperature on the
# models that have one. So the request decides.
VERSION = "2026-10-21"
VERSION_WITH_TEMPERATURE = "2023-06-01"
PROTECTED = frozenset({"model", "messages", "system", "stream"})
ENDS = ("stop_reason", "stop_details", "stop_sequence")


def _thinking(spec: ModelSpec, known: Capabilities, *, sampled: bool) -> values.JsonDict | None:
    """Return how much to think: a budget where the study sets one, else as the model sees fit for the effort asked."""
    display = "summarized" if known.shows_reasoning(spec) else None
    if spec.thinking_tokens == 0:
        return {"type": "disabled"}
    # Newer models refuse a budget: they think as they see fit, and the limit on tokens holds the budget too.
    if spec.thinking_tokens is not None and "thinking_budget" not in known.refused:
        return values.present(type="enabled", budget_tokens=spec.thinking_tokens, display=display)
    # One that was seen to think unasked is asked for its thinking, so that it can be shown.
    wanted = spec.effort or spec.thinking_tokens or (known.reasons and not sampled)
    if wanted and "adaptive_thinking" not in known.refused:
        return values.present(type="adaptive", display=display)
    return None


# Each version gets the key in the header its clients use.
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


class MessageReply(events.Reply):
    """A message, or its events; a later usage count replaces an earlier one."""

    outputs = ("output_tokens",)
    ends = ("stop_reason",)
    always_ends = True

    @staticmethod
    def build(
        spec: ModelSpec, request: ChatRequest, key: str | None, known: Capabilities = NOTHING_KNOWN
    ) -> HttpCall:
        """Encode ``request``. Raises ``UnsupportedConstraint`` for ``OneOf`` and ``TokenBias``."""
        temperature, streamed = known.accepted(request.sampling).temperature, known.streams(spec)
        thinking = _thinking(spec, known, sampled=temperature is not None)
        thinks = values.at(thinking, "type") not in (None, "disabled")
        # A limit is required here, so the model's own is sent where the request has none.
        limit = known.token_limit(spec, request) or spec.max_tokens + known.thinking_room(spec)
        body = values.present(
            model=spec.model,
            max_tokens=limit,
            messages=[{"role": each.role, "content": each.content} for each in request.turns],
            thinking=thinking,
            system=request.system or None,
            temperature=None if thinks else temperature,
            output_config=values.present(**_constraint(request), effort=spec.effort) or None,
            stream=True if streamed else None,
        )
        body = values.merged(body, spec.extra_body, PROTECTED)
        root = base_url(spec)
        url = f"{root}/messages" if root.endswith("/v1") else f"{root}/v1/messages"
        return HttpCall(url, _headers(body, key), values.encode(body), streamed=streamed)

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        match event.get("type"):
            case "content_block_delta":
                self._add(event.get("index"), event.get("delta"))
            case "content_block_start":
                self._add(event.get("index"), event.get("content_block"))
            case "message_start":
                # The output of a start is provisional: where no later event counts it, it is not known.
                message = values.dict_at(event, "message") or {}
                begun = values.dict_at(message, "usage") or {}
                self.name(message)
                self.count({name: count for name, count in begun.items() if name != "output_tokens"})
            case "message_delta":
                self._end_with(values.dict_at(event, "delta") or {}, event.get("usage"))
            case "message_stop":
                self.closed = True
            case "error":
                return event
            case _ if not self.streamed:
                for place, block in enumerate(values.list_at(event, "content") or ()):
                    self._add(place, block)
                self._end_with(event, event.get("usage"))
            # a proxy's own error
            case _ if event.get("error"):
                return event
        # pings, ends of blocks, and what later versions add
        return None

    def _add(self, place: object, piece: object) -> None:
        """Add a piece of a content block; blocks of thinking are separated by a blank line."""
        choice = self.at(0)
        match values.str_at(piece, "type"):
            case "text" | "text_delta":
                choice.add(values.str_at(piece, "text") or "", choice.text)
            case "thinking" | "thinking_delta":
                thought = values.str_at(piece, "thinking")
                if thought and choice.thought and choice.thought_in != place:
                    choice.add("\n\n", choice.thought)
                if thought:
                    choice.thought_in = place
                    choice.add(thought, choice.thought)

    def _end_with(self, words: values.JsonDict, usage: object) -> None:
        self.at(0).words.update({name: words[name] for name in ENDS if words.get(name) is not None})
        self.count(usage)

    def _usage(self, counted: values.JsonDict) -> Usage:
        """Return the tokens; those read from or written to the prompt cache are counted separately, and added here."""
        sent = values.count_at(counted, "input_tokens")
        written = values.count_at(counted, "cache_creation_input_tokens")
        cached = values.count_at(counted, "cache_read_input_tokens")
        if sent is not None:
            sent += (written or 0) + (cached or 0)
        thought = values.count_at(counted.get("output_tokens_details"), "thinking_tokens")
        return Usage(sent, values.count_at(counted, "output_tokens"), thought, cached, written)
