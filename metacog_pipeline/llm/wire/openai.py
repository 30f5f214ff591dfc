"""OpenAI chat completions, which many servers speak (vLLM, Ollama, llama.cpp, OpenRouter, …).

The limit on tokens is sent as ``max_completion_tokens`` to OpenAI, whose newer models refuse the older name, and as
``max_tokens`` to every other address, which may not know the newer name, until a model was found to take one of them. A
study that needs it otherwise sets either field in ``extra_body``: it then stands alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import errors, events, thoughts, values
from metacog_pipeline.llm.wire.address import base_url
from metacog_pipeline.llm.wire.types import HttpCall, UnsupportedConstraint, Wire

PROTECTED = frozenset({"model", "messages", "stream"})
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
UNFINISHED = "no_stop_reason"  # of a reply whose stream was ended without the word for why
TRUNCATED = frozenset({UNFINISHED, "length", "max_tokens", "model_length", "model_context_window_exceeded"})
REFUSED = frozenset({"content_filter", "safety", "refusal", "sensitive"})
PLACED = frozenset({"choices", "usage"})
SPREAD = frozenset({"delta", "message", "logprobs"})  # over many chunks
BROKEN = re.compile(
    "error|abort|cancel|fail|time_?out|insufficient_system_resource"
)  # OpenRouter, vLLM, SGLang, DeepSeek, …: the server gave up half-way


def build(
    spec: ModelSpec, request: types.ChatRequest, key: str | None, known: Capabilities = NOTHING_KNOWN
) -> HttpCall:
    """Encode ``request``. Raises ``UnsupportedConstraint`` for a guided choice at OpenAI's own address."""
    body: values.JsonDict = {
        "model": spec.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        **_sampling(spec, request, known),
        **_constraint(spec, request),
    }
    if spec.effort is not None:
        body["reasoning_effort"] = spec.effort
    if spec.verbosity is not None:
        body["verbosity"] = spec.verbosity
    if any(name in spec.extra_body for name in LIMIT_FIELDS):
        body = {name: value for name, value in body.items() if name not in LIMIT_FIELDS}
    streamed = known.streams(spec)
    if streamed:
        body["stream"] = True
        if "stream_options" not in known.refused:
            body["stream_options"] = {"include_usage": True}
    headers = {"accept": "application/json", "content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    encoded = values.encode(values.merged(body, spec.extra_body, PROTECTED))
    return HttpCall(f"{base_url(spec)}/chat/completions", headers, encoded, streamed=streamed)


def _sampling(spec: ModelSpec, request: types.ChatRequest, known: Capabilities) -> values.JsonDict:
    sampling = known.accepted(request.sampling)
    fields: values.JsonDict = {}
    if sampling.temperature is not None:
        fields["temperature"] = sampling.temperature
    limit = known.token_limit(spec, request)
    if limit is not None:
        usual = "max_completion_tokens" if spec.at_official_address else "max_tokens"
        fields[known.limit_field or usual] = limit
    if sampling.seed is not None:
        fields["seed"] = sampling.seed
    if sampling.top_logprobs is not None:
        fields["logprobs"] = True
        fields["top_logprobs"] = sampling.top_logprobs
    return fields


def _constraint(spec: ModelSpec, request: types.ChatRequest) -> values.JsonDict:
    match request.constraint:
        case None:
            return {}
        case types.JsonObject(name, schema_json):
            described = {"name": name, "strict": True, "schema": json.loads(schema_json)}
            return {"response_format": {"type": "json_schema", "json_schema": described}}
        case types.OneOf(options):
            if spec.at_official_address:
                raise UnsupportedConstraint("OpenAI has no guided choice")
            choice: object = list(options)
            return {spec.choice_field: choice if spec.choice_field == "guided_choice" else {"choice": choice}}
        case types.TokenBias(bias):
            return {"logit_bias": {str(token): value for token, value in bias}}


class ChatFold(events.Fold):
    """Joins what comes of the first choice: text, refusal, reasoning fields, log-probabilities; keeps the usage."""

    outputs = ("completion_tokens",)
    late = ("usage",)

    def __init__(self, *, streamed: bool) -> None:
        super().__init__(streamed=streamed)
        self._top: values.JsonDict = {}
        self.forget()

    def forget(self) -> None:
        """Drop what has come of a choice, for one with a lower index."""
        self._choice: values.JsonDict = {}
        self._message: values.JsonDict = {}
        self._came = self.streamed
        self._pieces: dict[str, list[object]] = {}
        self._logprobs: list[object] = []

    def take(self, event: values.JsonDict) -> values.JsonDict | None:
        """Add ``event``; return an error body where it ends the reply with one."""
        if event.get("error"):  # OpenRouter reports a failure behind it with status 200 and an error inside
            return event
        if event.get("object") == "error":  # vLLM before 0.9: the error is not wrapped
            return {"error": event}
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and self.leads(choice):
                self._add(choice)
        if isinstance(counted := event.get("usage"), dict):
            self.counts.note(counted, self.length if self.streamed else 0)
        if not self._top or self.finished or not choices:  # the chunks between repeat the first one
            self._top.update(events.kept(event, PLACED))
        return None

    def _add(self, choice: values.JsonDict) -> None:
        delta = choice.get("delta")
        if not (delta and isinstance(delta, dict)):
            delta = values.dict_at(choice, "message") or {}
            self._came |= isinstance(choice.get("message"), dict)
        for name, value in delta.items():
            if isinstance(value, str) and name != "role":
                self._pieces.setdefault(name, []).append(value)
                self.length += len(value)
            elif isinstance(value, list):
                parts = (each for each in value if not isinstance(each, str))
                self._pieces.setdefault(name, []).extend(parts)
            elif value is not None or not self.streamed:
                self._message[name] = value
        if isinstance(listed := choice.get("logprobs"), dict) and (
            tokens := values.list_at(listed, "content")
        ):
            self._logprobs.extend(tokens)
        for name, value in choice.items():
            if value and name not in SPREAD and values.given(value):  # most say nothing
                self._choice[name] = value
        text, end = bool(delta.get("content") or delta.get("refusal")), choice.get("finish_reason")
        self.heard(text=text, end=bool(end) and values.given(end))

    def said(self, *, thought: bool) -> str:
        """Return what has come of the thinking, or of the answer's text."""
        for name in thoughts.FIELDS if thought else ("content",):
            if pieces := self._pieces.get(name):
                texts = (each if thought or isinstance(each, str) else _text_of(each) for each in pieces)
                return "".join(each for each in texts if isinstance(each, str))
        return ""

    def says_nothing(self) -> bool:
        """Whether neither a text came nor the word for why there is none."""
        found = self._choice.get("finish_reason") or self._pieces.get("content")
        return not (found or self._pieces.get("refusal"))

    def answer(self, status: int) -> types.Completion:
        """Return the completion of everything taken."""
        message = self._message | {name: _joined(pieces) for name, pieces in self._pieces.items()}
        finish = values.word_at(self._choice, "finish_reason") or (UNFINISHED if self.streamed else None)
        if not self._came or ("content" not in message and finish is None):
            return errors.unreadable(status, "the answer has no choices[0].message")
        if BROKEN.search((finish or "").lower()) or values.dict_at(self._choice, "error") is not None:
            return errors.unreadable(status, f"the provider stopped with finish_reason {finish!r}")
        text = _text(message.get("content"))
        if text is None:
            return errors.unreadable(status, "the answer's content is not text")
        refusal = values.str_at(message, "refusal") or ""
        thought = thoughts.reasoning_text(message)
        tokens = values.token_logprobs(self._logprobs)
        if thought is not None and thoughts.leading_thought(text) is None:
            tokens = thoughts.tokens_of_answer(tokens, text)
        return types.Completion(
            _status(finish, refusal),
            text=text or refusal,
            finish_reason=finish,
            finish_detail=_detail(self._choice),
            model_reported=values.str_at(self._top, "model"),
            usage=usage_of(self.counts.total()),
            logprobs=tokens,
            reasoning_text=thought,
            response_id=values.str_at(self._top, "id"),
            system_fingerprint=values.str_at(self._top, "system_fingerprint"),
            service_tier=values.str_at(self._top, "service_tier"),
            http_status=status,
        )

    def failure(
        self, status: int, headers: Mapping[str, str], body: bytes, decoded: object
    ) -> types.Completion:
        """Return the completion of an error."""
        status = errors.status_within(status, values.at(decoded, "error"))
        return errors.failure(status, errors.openai_problem(status, headers, body, decoded))


def _status(finish: str | None, refusal: str) -> types.Status:
    word = (finish or "").lower().partition(":")[0]  # "content_filter: SAFETY"; proxies hand on "MAX_TOKENS"
    if refusal or word in REFUSED:
        return types.Status.REFUSED
    return types.Status.TRUNCATED if word in TRUNCATED else types.Status.OK


def _detail(choice: object) -> str | None:
    """Return the model's own finish reason behind a proxy (OpenRouter), or what a filter objected to (Azure)."""
    native = values.str_at(choice, "native_finish_reason")
    if native is not None and native != values.str_at(choice, "finish_reason"):
        return native
    results = values.dict_at(choice, "content_filter_results") or {}
    filtered = [name for name, result in results.items() if values.at(result, "filtered") is True]
    return f"filtered: {', '.join(sorted(filtered))}" if filtered else None


def _text(content: object) -> str | None:
    """Return content given as a string, as ``null`` (no text) or as a list of parts, of which text parts count."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(map(_text_of, content)) if isinstance(content, list) else None


def _text_of(part: object) -> str:
    return values.str_at(part, "text") or ""


def _joined(pieces: list[object]) -> object:
    """Return text as one string; where parts came too (Mistral, OpenRouter), a list of parts."""
    if pieces and all(isinstance(piece, str) for piece in pieces):
        return "".join(map(str, pieces))
    return [{"type": "text", "text": piece} if isinstance(piece, str) else piece for piece in pieces]


def usage_of(counted: values.JsonDict | None) -> types.Usage:
    """Return the tokens of a reply.

    Some count reasoning beside the completion instead of within it (xAI, Gemini in OpenAI's format), and reasoning that is
    more than the completion cannot be within it. All of it is billed, so all of it is output here. What a total holds
    beside input and output is thought, unless it is what a cache held.
    """
    details = values.dict_at(counted, "prompt_tokens_details")
    cached = values.count_at(details, "cached_tokens")
    usage = types.Usage(
        values.count_at(counted, "prompt_tokens"),
        values.count_at(counted, "completion_tokens"),
        values.count_at(values.dict_at(counted, "completion_tokens_details"), "reasoning_tokens"),
        values.count_at(counted, "prompt_cache_hit_tokens") if cached is None else cached,  # DeepSeek
        values.count_at(details, "cache_write_tokens"),
    )
    sent, got, thought = usage.input_tokens, usage.output_tokens, usage.reasoning_tokens or 0
    if got is None:
        return usage
    beside = values.left_of(values.count_at(counted, "total_tokens"), sent, got)
    if beside and sent is not None and beside == (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0):
        usage, beside = replace(usage, input_tokens=sent + beside), 0
    if thought > got:
        beside = max(beside, thought)
    if not beside:
        return usage
    return replace(usage, output_tokens=got + beside, reasoning_tokens=max(thought, beside))


WIRE = Wire(build, ChatFold)
