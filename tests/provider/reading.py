"""The bodies of calls, read: each format says where its messages, limits, constraints and thinking stand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from metacog_pipeline.llm.types import (
    ChatRequest,
    Constraint,
    JsonObject,
    Message,
    OneOf,
    Sampling,
    TokenBias,
)
from tests.provider.dialects import Asked, BadRequest

Body = dict[str, Any]
ROLES: Body = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
}


def reader(read: Callable[[str, Body], Asked]) -> Callable[[str, object], Asked]:
    """Return ``read`` as a dialect has it: a body that is none, or names no model or message, is a bad request."""

    def checked(path_model: str, body: object) -> Asked:
        try:
            asked = read(path_model, body)  # type: ignore[arg-type]
            if not (asked.model and isinstance(asked.model, str) and asked.request.turns):
                raise ValueError("no model, or no message")
        except (KeyError, TypeError, ValueError, AttributeError) as wrong:
            raise BadRequest(f"{type(wrong).__name__}: {wrong}") from None
        return asked

    return checked


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _turns(entries: list[Body], content: str = "content") -> tuple[Message, ...]:
    return tuple(Message(ROLES[each.get("role", "user")], _text(each[content])) for each in entries)


def _system(said: Any) -> tuple[Message, ...]:
    return (Message("system", _text(said)),) if said else ()


def _sampling(body: Body, limit: str, logprobs: int | None = None) -> Sampling:
    temperature = body.get("temperature")
    return Sampling(
        temperature=None if temperature is None else float(temperature),
        max_tokens=None if body.get(limit) is None else int(body[limit]),
        seed=body.get("seed"),
        top_logprobs=logprobs,
    )


def _schema(wanted: Body | None) -> JsonObject | None:
    match (wanted or {}).get("type"):
        case "json_object":
            return JsonObject("object", "{}")
        case "json_schema":
            inner = (wanted or {}).get("json_schema") or wanted or {}
            return JsonObject(str(inner.get("name", "")), json.dumps(inner["schema"]))
        case None | "text":
            return None
    raise ValueError("unknown format")


def _chat_constraint(body: Body) -> Constraint | None:
    choice = (body.get("structured_outputs") or {}).get("choice") or body.get("guided_choice")
    if choice is not None:
        return OneOf(tuple(choice))
    if body.get("logit_bias") is not None:
        return TokenBias(tuple((int(token), int(value)) for token, value in body["logit_bias"].items()))
    return _schema(body.get("response_format"))


def chat(path_model: str, body: Body) -> Asked:
    reasoning = body.get("reasoning") or {}  # as OpenRouter has it
    limit = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
    logprobs = int(body.get("top_logprobs") or 0) if body.get("logprobs") else None
    sampling = _sampling(body, limit, logprobs=logprobs)
    return Asked(
        path_model or body["model"],
        ChatRequest(_turns(body["messages"]), sampling, _chat_constraint(body)),
        stream=bool(body.get("stream")),
        usage=bool((body.get("stream_options") or {}).get("include_usage")),
        effort=body.get("reasoning_effort") or reasoning.get("effort"),
        budget=0 if reasoning.get("enabled") is False else reasoning.get("max_tokens"),
    )


def message(path_model: str, body: Body) -> Asked:
    thinking, config = body.get("thinking") or {}, body.get("output_config") or {}
    if body.get("max_tokens") is None:
        raise ValueError("max_tokens is required")
    schema = (config.get("format") or {}).get("schema")
    constraint = None if schema is None else JsonObject("", json.dumps(schema))
    messages = (*_system(body.get("system")), *_turns(body["messages"]))
    return Asked(
        body["model"],
        ChatRequest(messages, _sampling(body, "max_tokens"), constraint),
        stream=bool(body.get("stream")),
        effort=config.get("effort"),
        budget=0 if thinking.get("type") == "disabled" else thinking.get("budget_tokens"),
        on=thinking.get("type") in ("enabled", "adaptive"),
        shown={"omitted": False, "summarized": True}.get(str(thinking.get("display"))),
    )


def generated(path_model: str, body: Body, *, stream: bool = False) -> Asked:
    fields: Body = camel(body)
    config = fields.get("generationConfig") or {}
    schema, constraint = config.get("responseJsonSchema") or config.get("responseSchema") or {}, None
    if config.get("responseMimeType") == "text/x.enum":
        constraint = OneOf(tuple(schema["enum"]))
    elif config.get("responseMimeType") == "application/json":
        constraint = JsonObject("", json.dumps(schema))
    thinking = config.get("thinkingConfig") or {}
    budget, level = thinking.get("thinkingBudget"), thinking.get("thinkingLevel")
    system = _system((fields.get("systemInstruction") or {}).get("parts"))
    logprobs = int(config.get("logprobs") or 0) if config.get("responseLogprobs") else None
    sampling = _sampling(config, "maxOutputTokens", logprobs)
    return Asked(
        path_model,
        ChatRequest((*system, *_turns(fields["contents"], "parts")), sampling, constraint),
        stream=stream,
        effort=level.lower() if level else None,
        budget=None if budget is not None and budget < 0 else budget,  # -1: as much as the model sees fit
        shown=bool(thinking.get("includeThoughts")),
    )


def camel(body: Any) -> Any:
    """Return ``body`` with its own names, and those of its settings, as Google's JSON has them."""
    if not isinstance(body, dict):
        return body
    named = {
        re.sub(r"_([a-z])", lambda found: found[1].upper(), str(name)): value for name, value in body.items()
    }
    for name in {"generationConfig", "thinkingConfig"} & named.keys():
        named[name] = camel(named[name])
    return named
