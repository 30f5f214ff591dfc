"""OpenAI's formats: chat completions, which many servers speak (vLLM, Ollama, llama.cpp, OpenRouter, …), and Responses.

The limit on tokens is sent as ``max_completion_tokens`` to OpenAI and Azure, whose newer models refuse the older name,
and as ``max_tokens`` to every other address, which may not know the newer name, until a model was found to take one of
them. A study that needs it otherwise sets either field in ``extra_body``: it then stands alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import (
    bounded,
    caching,
    errors,
    openai_usage,
    responses,
    streams,
    thoughts,
    values,
)
from metacog_pipeline.llm.wire.address import is_azure, openai_headers, openai_url
from metacog_pipeline.llm.wire.types import HttpCall, UnsupportedConstraint, Wire

PROTECTED = frozenset({"model", "messages", "stream"})
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
TRUNCATED = frozenset(
    {streams.UNFINISHED, "length", "max_tokens", "model_length", "model_context_window_exceeded"}
)
REFUSED = frozenset({"content_filter", "safety", "refusal", "sensitive"})
PLACED = frozenset({"choices", "usage"})
SPREAD = frozenset({"delta", "message", "logprobs"})  # over many chunks
BROKEN = re.compile(
    "error|abort|cancel|fail|time_?out|insufficient_system_resource"
)  # OpenRouter, vLLM, SGLang, DeepSeek, …: the server gave up half-way


def build(
    spec: ModelSpec, request: types.ChatRequest, key: str | None, known: Capabilities = NOTHING_KNOWN
) -> HttpCall:
    """Encode ``request``. Raises ``UnsupportedConstraint`` for a guided choice at OpenAI's and Azure's addresses."""
    if known.uses_responses(spec):
        operation, protected = "responses", responses.PROTECTED
        body = responses.body_of(spec, request, known)
    else:
        operation, protected = "chat/completions", PROTECTED
        body = _chat(spec, request, known)
    conversation = caching.conversation_key(request) if at_openai(spec) else None
    if conversation is not None and "prompt_cache_key" not in known.refused:
        body["prompt_cache_key"] = conversation
    streamed = known.streams(spec)
    if streamed:
        body["stream"] = True
        if operation != "responses" and "stream_options" not in known.refused:
            body["stream_options"] = {"include_usage": True}
    encoded = values.encode(values.merged(body, spec.extra_body, protected))
    return HttpCall(openai_url(spec, operation), openai_headers(spec, key), encoded, streamed=streamed)


def at_openai(spec: ModelSpec) -> bool:
    """Return whether OpenAI's own servers answer ``spec``, directly or on Azure."""
    return spec.at_official_address or is_azure(spec)


def _chat(spec: ModelSpec, request: types.ChatRequest, known: Capabilities) -> values.JsonDict:
    body: values.JsonDict = {
        "model": spec.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        **_sampling(spec, request, known),
        **_constraint(spec, request, known),
    }
    if spec.effort is not None:
        body["reasoning_effort"] = spec.effort
    if spec.verbosity is not None:
        body["verbosity"] = spec.verbosity
    if any(name in spec.extra_body for name in LIMIT_FIELDS):
        body = {name: value for name, value in body.items() if name not in LIMIT_FIELDS}
    return body


def _sampling(spec: ModelSpec, request: types.ChatRequest, known: Capabilities) -> values.JsonDict:
    sampling = known.accepted(request.sampling)
    fields: values.JsonDict = {}
    if sampling.temperature is not None:
        fields["temperature"] = sampling.temperature
    limit = known.token_limit(spec, request)
    if limit is not None:
        usual = "max_completion_tokens" if at_openai(spec) else "max_tokens"
        fields[known.limit_field or usual] = limit
    if sampling.seed is not None:
        fields["seed"] = sampling.seed
    if sampling.stop:
        fields["stop"] = list(sampling.stop)
    if sampling.top_logprobs is not None:
        fields["logprobs"] = True
        fields["top_logprobs"] = sampling.top_logprobs
    return fields


def _constraint(spec: ModelSpec, request: types.ChatRequest, known: Capabilities) -> values.JsonDict:
    match request.constraint:
        case None:
            return {}
        case types.JsonObject(name, schema_json):
            schema = json.loads(schema_json)
            if bounded.bounds_white_space(known):
                return {"response_format": bounded.json_format(schema, request.sampling)}
            described = {"name": name, "strict": True, "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": described}}
        case types.OneOf(options_):
            if at_openai(spec):
                raise UnsupportedConstraint("OpenAI has no guided choice")
            choice: object = list(options_)
            return {spec.choice_field: choice if spec.choice_field == "guided_choice" else {"choice": choice}}
        case types.TokenBias(bias):
            return {"logit_bias": {str(token): value for token, value in bias}}


def _decode(status_code: int, headers: Mapping[str, str], body: bytes) -> types.Completion:
    decoded = values.unwrapped(values.load(body))
    error = values.at(
        decoded, "error"
    )  # OpenRouter reports a failure behind it with status 200 and an error inside
    if error or not 200 <= status_code < 300:
        status = errors.status_within(status_code, error)
        return errors.failure(status, errors.openai_problem(status, headers, body, decoded))
    if responses.is_response(decoded):
        return responses.read(status_code, headers, body, decoded)
    choice = values.leading(values.list_at(decoded, "choices"))
    message = values.dict_at(choice, "message")
    finish = values.word_at(choice, "finish_reason")
    if message is None or ("content" not in message and finish is None):
        return errors.unreadable(status_code, "the answer has no choices[0].message")
    if BROKEN.search((finish or "").lower()) or values.dict_at(choice, "error") is not None:
        return errors.unreadable(status_code, f"the provider stopped with finish_reason {finish!r}")
    text = _text(message.get("content"))
    if text is None:
        return errors.unreadable(status_code, "the answer's content is not text")
    refusal = values.str_at(message, "refusal") or ""
    thought = thoughts.reasoning_text(message)
    tokens = values.token_logprobs(values.list_at(values.at(choice, "logprobs"), "content") or [])
    if thought is not None and thoughts.leading_thought(text) is None:
        tokens = thoughts.tokens_of_answer(tokens, text)
    return types.Completion(
        _status(finish, refusal),
        text=text or refusal,
        finish_reason=finish,
        finish_detail=_detail(choice),
        model_reported=values.str_at(decoded, "model"),
        usage=openai_usage.of_chat(values.dict_at(decoded, "usage")),
        logprobs=tokens,
        reasoning_text=thought,
        response_id=values.str_at(decoded, "id"),
        system_fingerprint=values.str_at(decoded, "system_fingerprint"),
        service_tier=values.str_at(decoded, "service_tier"),
        http_status=status_code,
    )


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
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(values.str_at(part, "text") or "" for part in content)
    return None


class ChatAssembler(streams.EventAssembler):
    """Joins the deltas of the first choice: text, refusal, reasoning fields, log-probabilities; keeps the usage."""

    outputs = ("completion_tokens",)

    def __init__(self) -> None:
        super().__init__()
        self._top: values.JsonDict = {}
        self._forget()

    def _forget(self) -> None:
        self._choice: values.JsonDict = {}
        self._message: values.JsonDict = {"role": "assistant", "content": None}
        self._pieces: dict[str, list[object]] = {}
        self._logprobs: dict[str, list[object]] = {}

    def _said(self, *, thought: bool) -> str:
        for name in thoughts.FIELDS if thought else ("content",):
            if pieces := self._pieces.get(name):
                return "".join(
                    piece if isinstance(piece, str) else "" if thought else values.str_at(piece, "text") or ""
                    for piece in pieces
                )
        return ""

    def _says_nothing(self) -> bool:
        return not (
            self._choice.get("finish_reason") or self._pieces.get("content") or self._pieces.get("refusal")
        )

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        if event.get("error"):
            return event
        if event.get("object") == "error":  # vLLM before 0.9: the error is not wrapped
            return {"error": event}
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and self._leads(choice):
                self._add(choice)
        if isinstance(counted := event.get("usage"), dict):
            self._counts.note(counted, self._length)
        if not self._top or self.finished or not choices:  # the chunks between repeat the first one
            self._top.update(streams.kept(event, PLACED))
        return None

    def _add(self, choice: values.JsonDict) -> None:
        delta = choice.get("delta")
        if not (delta and isinstance(delta, dict)):
            delta = values.dict_at(choice, "message") or {}
        for name, value in delta.items():
            if isinstance(value, str) and name != "role":
                self._pieces.setdefault(name, []).append(value)
                self._length += len(value)
            elif isinstance(value, list):
                self._pieces.setdefault(name, []).extend(value)
            elif value is not None:
                self._message[name] = value
        if isinstance(listed := choice.get("logprobs"), dict):
            for name in ("content", "refusal"):
                if tokens := values.list_at(listed, name):
                    self._logprobs.setdefault(name, []).extend(tokens)
        for name, value in choice.items():
            if value and name not in SPREAD and values.given(value):  # most say nothing
                self._choice[name] = value
        text, end = bool(delta.get("content") or delta.get("refusal")), choice.get("finish_reason")
        self._heard(text=text, end=bool(end) and values.given(end))

    def _whole(self) -> values.JsonDict:
        message = self._message | {name: _joined(pieces) for name, pieces in self._pieces.items()}
        choice = {"finish_reason": streams.UNFINISHED} | self._choice | {"index": 0, "message": message}
        if self._logprobs:
            choice["logprobs"] = self._logprobs
        return self._top | {"object": "chat.completion", "choices": [choice], "usage": self._counts.total()}


def _joined(pieces: list[object]) -> object:
    """Return text as one string; where parts came too (Mistral, OpenRouter), a list of parts."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(map(str, pieces))
    return [{"type": "text", "text": piece} if isinstance(piece, str) else piece for piece in pieces]


class OpenAIAssembler:
    """A stream of chat completions or of Responses, told apart by the first event."""

    def __init__(self) -> None:
        self._inner: streams.EventAssembler = ChatAssembler()
        self._begun = False

    def feed(self, data: bytes) -> None:
        """Take the data of one server-sent event."""
        if not self._begun:
            self._begun = True
            kind = values.str_at(values.load(data), "type") or ""
            if kind == "error" or kind.startswith("response."):
                self._inner = responses.ResponseAssembler()
        self._inner.feed(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


WIRE = Wire(build, _decode, OpenAIAssembler)
