"""The three formats as tables: where a call says what, how an answer is laid out whole and in parts, errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from metacog_pipeline.llm.types import (
    ChatRequest,
    Completion,
    Constraint,
    JsonObject,
    Message,
    OneOf,
    Sampling,
    Status,
    TokenBias,
    TokenLogprob,
)

Body = dict[str, Any]
Frame = tuple[str | None, Body | str]  # one server-sent event: its name, where it has one, and its data
LONGEST_PIECE = 65_536  # characters of one part of a stream: a longer text comes in more parts
GEMINI = "/{version:v1|v1beta}/models/{model}"
ROLES = {
    "developer": "system",
    "model": "assistant",
    **{name: name for name in ("system", "user", "assistant")},
}
#: Of each kind of error: HTTP status; OpenAI's type and code, Anthropic's type, Gemini's status; what it says.
_ERRORS = """
rate_limit       429 rate_limit_error      rate_limit_exceeded rate_limit_error      RESOURCE_EXHAUSTED too many requests
quota            429 insufficient_quota    insufficient_quota  rate_limit_error      RESOURCE_EXHAUSTED no credit is left
unauthorized     401 invalid_request_error invalid_api_key     authentication_error  UNAUTHENTICATED    the key is not taken
model_not_found  404 invalid_request_error model_not_found     not_found_error       NOT_FOUND          no such model
rejected         400 invalid_request_error unsupported_parameter invalid_request_error INVALID_ARGUMENT not supported
bad_request      400 invalid_request_error -                   invalid_request_error INVALID_ARGUMENT   cannot be read
not_found        404 invalid_request_error -                   not_found_error       NOT_FOUND          not there
server_error     500 server_error          -                   api_error             INTERNAL           something broke
unavailable      503 server_error          -                   api_error             UNAVAILABLE        not available
provider_error   200 server_error          -                   api_error             INTERNAL           the provider failed
"""
ERRORS = {line.split()[0]: line.split(maxsplit=6)[1:] for line in _ERRORS.strip().splitlines()}
#: Where a call says what in each format: a dotted path, alternatives behind a bar; ``%`` is generationConfig.
_PLACES = """
what         openai                               anthropic                    gemini
model        model                                model                        -
turns        messages                             messages                     contents
text         content                              content                      parts
system       -                                    system                       systemInstruction.parts
temperature  temperature                          temperature                  %.temperature
limit        max_completion_tokens|max_tokens     max_tokens                   %.maxOutputTokens
seed         seed                                 -                            %.seed
logprobs     logprobs                             -                            %.responseLogprobs
top          top_logprobs                         -                            %.logprobs
choice       structured_outputs.choice|guided_choice -                         %.responseSchema.enum
bias         logit_bias                           -                            -
schema       response_format.json_schema.schema   output_config.format.schema  %.responseJsonSchema
stream       stream                               stream                       -
usage        stream_options.include_usage         -                            -
thinking     reasoning.enabled                    thinking.type                -
effort       reasoning_effort|reasoning.effort    output_config.effort         %.thinkingConfig.thinkingLevel
budget       reasoning.max_tokens                 thinking.budget_tokens       %.thinkingConfig.thinkingBudget
shown        -                                    thinking.display             %.thinkingConfig.includeThoughts
"""
_ROWS = [line.replace("%", "generationConfig").split() for line in _PLACES.strip().splitlines()]
PLACES = {
    name: {row[0]: row[column].split("|") for row in _ROWS[1:] if row[column] != "-"}
    for column, name in enumerate(_ROWS[0][1:], start=1)
}


class BadRequest(ValueError):
    """A call that cannot be read, or a model that is not there."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An error answer: a key of `ERRORS`, and what it says beside the usual."""

    kind: str
    message: str = ""
    param: str | None = None

    @property
    def status(self) -> int:
        return int(ERRORS[self.kind][0])


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: the request, and what only concerns thinking (``budget`` 0: none; ``shown`` None: not said)."""

    model: str
    request: ChatRequest
    stream: bool = False
    usage: bool = True
    on: bool = False
    effort: str | None = None
    budget: int | None = None
    shown: bool | None = None


@dataclass(frozen=True, slots=True)
class Style:
    """What one provider's answers look like where those of a format differ (see `profile`)."""

    reasoning: tuple[str, ...] = ("reasoning_content",)  # fields of a chat message that hold the thinking
    shown: bool = True
    details: bool = True  # usage is split up
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is worded: ``model`` is the id to report, ``number`` unique to the call; counts that are missing are made."""

    model: str
    asked: Asked
    completion: Completion
    number: int
    style: Style

    @property
    def counts(self) -> tuple[int, int, int]:
        """Tokens sent, generated, and of these thought."""
        said, text = self.completion.usage, self.completion.text
        sent, thought = said.input_tokens, said.reasoning_tokens or 0
        if sent is None:
            sent = sum(token_count(message.content) for message in self.asked.request.messages)
        got = thought + token_count(text) if said.output_tokens is None else said.output_tokens
        return sent, got, thought

    @property
    def thinking(self) -> str | None:
        """What is shown of the thinking."""
        shown = self.style.shown if self.asked.shown is None else self.asked.shown
        thought = self.completion.reasoning_text
        return None if thought is None else thought if shown else ""

    @property
    def logprobs(self) -> tuple[TokenLogprob, ...]:
        if self.asked.request.sampling.top_logprobs is None:
            return ()
        text = self.completion.text
        return self.completion.logprobs or (TokenLogprob(text, 0.0, ((text, 0.0),)),)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One format: its name in `PLACES`, its path, its words for how an answer ended, and the layout of what it answers."""

    name: str
    path: str
    finish: Mapping[Status | None, str]
    answer: Callable[[Answer, str], Body]
    frames: Callable[[Body, Asked, int], Iterator[Frame]]
    error: Callable[[Problem], Body]

    def read(self, path_model: str, body: object, *, stream: bool = False) -> Asked:
        """Return what a call asks for. Raises `BadRequest`."""
        places = PLACES[self.name]

        def take(name: str) -> Any:
            found = (at(body, path) for path in places.get(name, ()))
            return next((value for value in found if value is not None), None)

        try:
            system = _text(take("system") or "")
            turns = [
                Message(ROLES[each.get("role", "user")], _text(each[places["text"][0]]))
                for each in take("turns")
            ]
            temperature, limit, budget = take("temperature"), take("limit"), take("budget")
            request = ChatRequest(
                (*([Message("system", system)] if system else []), *turns),
                Sampling(
                    temperature=None if temperature is None else float(temperature),
                    max_tokens=None if limit is None else int(limit),
                    seed=take("seed"),
                    top_logprobs=int(take("top") or 0) if take("logprobs") else None,
                ),
                _constraint(take("choice"), take("bias"), take("schema")),
            )
            if not (request.turns and isinstance(path_model or take("model"), str)):
                raise ValueError("no model, or no message")
        except (KeyError, TypeError, ValueError, AttributeError) as wrong:
            raise BadRequest(f"{type(wrong).__name__}: {wrong}") from None
        thinking, shown = take("thinking"), take("shown")
        return Asked(
            path_model or take("model"),
            request,
            stream=stream or bool(take("stream")),
            usage=bool(take("usage")) or "usage" not in places,
            on=thinking in ("enabled", "adaptive"),
            effort=str(take("effort")).lower() if take("effort") else None,
            budget=0 if thinking in (False, "disabled") else None if budget == -1 else budget,
            shown={"omitted": False, "summarized": True, None: False if self.name == "gemini" else None}.get(
                shown, shown
            ),
        )

    def worded(self, answer: Answer) -> Body:
        """Return a whole answer."""
        finish = self.finish.get(answer.completion.status, self.finish[None])
        return {**self.answer(answer, finish), **answer.style.extra}


def at(body: object, path: str) -> Any:
    for name in path.split("."):
        body = body.get(name) if isinstance(body, dict) else None
    return body


def token_count(text: str) -> int:
    return -(-len(text) // 4)


def pieces(text: str, count: int) -> list[str]:
    size = max(1, min(LONGEST_PIECE, -(-len(text) // max(1, count))))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _constraint(choice: Any, bias: Any, schema: Any) -> Constraint | None:
    if choice is not None:
        return OneOf(tuple(choice))
    if bias is not None:
        return TokenBias(tuple((int(token), int(value)) for token, value in bias.items()))
    return None if schema is None else JsonObject("", json.dumps(schema))


# --- OpenAI -------------------------------------------------------------------------------------------------------------
def _chat(given: Answer, finish: str) -> Body:
    completion, (sent, got, thought) = given.completion, given.counts
    message: Body = {"role": "assistant", "content": completion.text, "refusal": None}
    if completion.reasoning_text is not None:
        message |= dict.fromkeys(given.style.reasoning, completion.reasoning_text)
    usage: Body = {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got}
    if given.style.details:
        usage["completion_tokens_details"] = {"reasoning_tokens": thought}

    def entry(token: str, value: float) -> Body:
        return {"token": token, "logprob": value, "bytes": list(token.encode("utf-8", "replace"))}

    listed = [
        {**entry(each.token, each.logprob), "top_logprobs": [entry(*pair) for pair in each.top]}
        for each in given.logprobs
    ]
    logprobs = {"content": listed, "refusal": None} if listed else None
    return {
        "id": f"chatcmpl-sim-{given.number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": given.model,
        "choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish}],
        "usage": usage,
    }


def _chat_frames(body: Body, asked: Asked, count: int) -> Iterator[Frame]:
    choice, message = body["choices"][0], body["choices"][0]["message"]
    rest = {**body, "object": "chat.completion.chunk"}
    usage = rest.pop("usage", None)

    def part(delta: Body, finish: object = None, listed: object = None) -> Frame:
        choices = [{"index": 0, "delta": delta, "logprobs": listed, "finish_reason": finish}]
        return None, {**rest, "choices": choices, **({"usage": None} if asked.usage else {})}

    yield part({"role": "assistant", "content": "", "refusal": None})
    thinking = [name for name in message if name not in ("role", "content", "refusal")]
    for text in pieces(message[thinking[0]], count) if thinking else ():
        yield part(dict.fromkeys(thinking, text))
    texts, listed = pieces(message["content"], count), at(choice, "logprobs.content") or []
    for place, text in enumerate(texts):
        share = listed[len(listed) * place // len(texts) : len(listed) * (place + 1) // len(texts)]
        yield part({"content": text}, listed={"content": share, "refusal": None} if listed else None)
    yield part({}, choice["finish_reason"])
    if asked.usage and usage is not None:
        yield None, {**rest, "choices": [], "usage": usage}
    yield None, "[DONE]"


def _chat_error(problem: Problem) -> Body:
    _, kind, code, *_, message = ERRORS[problem.kind]
    named = {"type": kind, "param": problem.param, "code": None if code == "-" else code}
    return {"error": {"message": problem.message or message, **named}}


# --- Anthropic ----------------------------------------------------------------------------------------------------------
def _message(given: Answer, finish: str) -> Body:
    sent, got, thought = given.counts
    content: list[Body] = []
    if given.thinking is not None:
        content.append({"type": "thinking", "thinking": given.thinking, "signature": f"c2lt{given.number}"})
    if given.completion.text:
        content.append({"type": "text", "text": given.completion.text, "citations": None})
    usage: Body = {"input_tokens": sent, "output_tokens": got, "service_tier": "standard"}
    if given.style.details:
        usage["output_tokens_details"] = {"thinking_tokens": thought}
    head = {"id": f"msg_sim_{given.number}", "type": "message", "role": "assistant", "model": given.model}
    return {**head, "content": content, "stop_reason": finish, "stop_sequence": None, "usage": usage}


def _message_frames(body: Body, asked: Asked, count: int) -> Iterator[Frame]:
    def event(kind: str, **fields: object) -> Frame:
        return kind, {"type": kind, **fields}

    usage = body.get("usage")
    begun = {**body, "content": [], "stop_reason": None}
    yield event("message_start", message=begun | ({"usage": {**usage, "output_tokens": 1}} if usage else {}))
    yield event("ping")
    for index, block in enumerate(body["content"]):
        kind = block["type"]
        empty = {name: "" if name in (kind, "signature") else value for name, value in block.items()}
        yield event("content_block_start", index=index, content_block=empty)
        for text in pieces(block[kind], count):
            yield event("content_block_delta", index=index, delta={"type": f"{kind}_delta", kind: text})
        if kind == "thinking":
            signed = {"type": "signature_delta", "signature": block["signature"]}
            yield event("content_block_delta", index=index, delta=signed)
        yield event("content_block_stop", index=index)
    ended = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ended, **({"usage": usage} if usage else {}))
    yield event("message_stop")


def _message_error(problem: Problem) -> Body:
    _, _, _, kind, _, message = ERRORS[problem.kind]
    body: Body = {"type": kind, "message": problem.message or message}
    if problem.kind == "quota":
        body["details"] = {"error_code": "enforced_spend_limit_reached"}
    return {"type": "error", "error": body, "request_id": None}


# --- Gemini -------------------------------------------------------------------------------------------------------------
def _content(given: Answer, finish: str) -> Body:
    sent, got, thought = given.counts
    parts: list[Body] = [{"text": given.thinking, "thought": True}] if given.thinking else []
    if given.completion.text:
        parts.append({"text": given.completion.text})
    candidate: Body = {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
    if given.logprobs:

        def entry(token: str, value: float) -> Body:
            return {"token": token, "logProbability": value}

        candidate["logprobsResult"] = {
            "chosenCandidates": [entry(each.token, each.logprob) for each in given.logprobs],
            "topCandidates": [{"candidates": [entry(*pair) for pair in each.top]} for each in given.logprobs],
        }
    usage = {"promptTokenCount": sent, "candidatesTokenCount": got - thought, "totalTokenCount": sent + got}
    usage |= {"thoughtsTokenCount": thought} if thought else {}
    names = {"modelVersion": given.model, "responseId": f"sim-{given.number}"}
    return {"candidates": [candidate], "usageMetadata": usage, **names}


def _content_frames(body: Body, asked: Asked, count: int) -> Iterator[Frame]:
    candidate = body["candidates"][0]
    parts = [
        {**part, "text": text}
        for part in candidate["content"]["parts"]
        for text in pieces(part["text"], count)
    ]
    for part in parts[:-1]:
        yield None, {**body, "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}
    yield None, {**body, "candidates": [{**candidate, "content": {"role": "model", "parts": parts[-1:]}}]}


def _content_error(problem: Problem) -> Body:
    *_, word, message = ERRORS[problem.kind]
    details: list[Body] = []
    named = {"temperature": "temperature", "response_format": "response_json_schema"}.get(problem.param or "")
    if named:
        violation = {"field": f"generation_config.{named}", "description": problem.message}
        details.append({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]})
    if problem.kind == "quota":
        spent = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}
        details.append({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [spent]})
    said = {"code": problem.status, "message": problem.message or message, "status": word, "details": details}
    return {"error": said}


DIALECTS = {
    name: Dialect(name, path, {Status.TRUNCATED: cut, None: whole}, *layout)
    for name, path, cut, whole, layout in (
        ("openai", "/v1/chat/completions", "length", "stop", (_chat, _chat_frames, _chat_error)),
        ("anthropic", "/v1/messages", "max_tokens", "end_turn", (_message, _message_frames, _message_error)),
        (
            "gemini",
            f"{GEMINI}:generateContent",
            "MAX_TOKENS",
            "STOP",
            (_content, _content_frames, _content_error),
        ),
    )
}
