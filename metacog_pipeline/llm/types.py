"""What is sent to a model and what comes back: the one seam every provider and respondent shares."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from metacog_pipeline.files import canonical_json

# the code of a failure before anything could be sent
NO_CONNECTION = "no_connection"
_THINKING = re.compile(r"<(think|thinking|thought)>")


class Status(enum.StrEnum):
    """How a call ended. ``unparsable`` is not among them: parsing finds that later."""

    OK = "ok"  # a whole answer, possibly empty
    # a refusal or content filter reported by the provider's own fields
    REFUSED = "refused"
    TRUNCATED = "truncated"  # stopped by a length limit
    # no answer; never scored, never cached
    FAILED = "failed"


def usable(status: str, text: str) -> bool:
    """Whether a call gave something to read (a refusal in words is): it is whole, or its answer is."""
    text = text.strip()
    if status == Status.FAILED or not text:
        return False
    if status != Status.TRUNCATED:
        return True
    if opened := _THINKING.match(text):
        _, closed, answer = text.rpartition(f"</{opened[1]}>")
        return bool(closed and answer.strip())
    return not text.startswith("{") or isinstance(_json(text), dict)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class ErrorKind(enum.StrEnum):
    """Why a call failed, decided by HTTP status and provider error code, never by message text."""

    RATE_LIMIT = "rate_limit"  # 429 (not quota), 529
    # 408, 5xx, connection, timeout, cut or invalid body
    TRANSIENT = "transient"
    # 400, 404 without a model code, 415, 422, 501: not accepted in this shape
    UNSUPPORTED = "unsupported"
    # 401, 402, 403, model_not_found, insufficient_quota: every further call would fail too
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """The answer must be exactly one of ``options`` (server-side guided choice)."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JsonObject:
    """The answer must be a JSON object under a strict schema. ``schema_json`` keeps property order."""

    name: str
    schema_json: str

    @property
    def properties(self) -> Mapping[str, object]:
        """The rules of the object's properties in their order; empty where the schema names none."""
        schema = _json(self.schema_json)
        found = schema.get("properties") if isinstance(schema, dict) else None
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class TokenBias:
    """``logit_bias`` by token id, -100 to 100."""

    bias: tuple[tuple[int, int], ...]


Constraint = OneOf | JsonObject | TokenBias


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters; ``None`` means the parameter is not sent."""

    temperature: float | None = 0.0
    max_tokens: int | None = 64
    seed: int | None = None
    top_logprobs: int | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call. ``step`` and ``run`` belong to the answer's identity; the wire never sees them."""

    messages: tuple[Message, ...]
    sampling: Sampling
    constraint: Constraint | None = None
    step: str = "answer"
    run: int = 1

    @property
    def system(self) -> str:
        """The system prompt, ``""`` where there is none."""
        return "\n\n".join(message.content for message in self.messages if message.role == "system")

    @property
    def turns(self) -> list[Message]:
        """The messages that are no part of the system prompt."""
        return [message for message in self.messages if message.role != "system"]


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One sampled token with its log-probability and the alternatives the provider listed."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens billed; ``None`` where the provider did not say."""

    input_tokens: int | None = None  # the whole prompt
    # all that was generated
    output_tokens: int | None = None
    # the part of it thought before the answer
    reasoning_tokens: int | None = None
    # the part of the prompt read from the provider's cache
    cached_tokens: int | None = None
    # the part written to it
    cache_write_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """How a call ended; the ``error_*`` fields are set for ``failed`` only."""

    status: Status
    # exactly what came back; of a failed call what had streamed, kept and never scored
    text: str = ""
    finish_reason: str | None = None
    model_reported: str | None = None
    usage: Usage = field(default_factory=Usage)
    # of every attempt that was billed; None when the model has no price
    cost_usd: float | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    attempts: int = 1
    started_at: datetime | None = None
    # from first send to last byte, retries included
    latency_s: float = 0.0
    # from the last send to the first byte
    latency_first_s: float | None = None
    # sends that were, or may have been, billed
    attempts_billed: int = 0
    # what the provider shows of the thinking; never scored
    reasoning_text: str | None = None
    finish_detail: str | None = None
    response_id: str | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    lane: Literal["online", "batch"] = "online"
    http_status: int | None = None
    error_kind: ErrorKind | None = None
    error_code: str | None = None
    error_param: str | None = None
    # one redacted line for users
    error_message: str | None = None

    @property
    def empty(self) -> bool:
        """Whether it is a whole answer that says nothing: billed, of no use, and worth asking for once more."""
        return self.status is Status.OK and not self.text.strip()


def failed(kind: ErrorKind, code: str | None, message: str, **more: Any) -> Completion:
    """Return the completion of a call that failed; ``more`` are further fields of it."""
    return Completion(Status.FAILED, error_kind=kind, error_code=code, error_message=message, **more)


class ChatModel(Protocol):
    """Anything that answers: a provider over HTTP, a replayed file, a simulated observer."""

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``. Never raises for a call that went wrong: the status says so."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


def constraint_fields(constraint: Constraint | None) -> Mapping[str, object] | None:
    """Return ``constraint`` as plain JSON values."""
    match constraint:
        case None:
            return None
        case OneOf(options):
            return {"kind": "one_of", "options": list(options)}
        case JsonObject(name, schema_json):
            return {"kind": "json_object", "name": name, "schema_json": schema_json}
        case TokenBias(bias):
            return {"kind": "token_bias", "bias": [list(pair) for pair in bias]}


def request_json(request: ChatRequest) -> str:
    """Return the canonical JSON of everything in ``request``: messages, sampling, constraint, step, run."""
    s = request.sampling
    return canonical_json(
        {
            "messages": [[m.role, m.content] for m in request.messages],
            "sampling": {
                "temperature": s.temperature,
                "max_tokens": s.max_tokens,
                "seed": s.seed,
                "top_logprobs": s.top_logprobs,
                # part of every kept identity; never sent
                "stop": [],
            },
            "constraint": constraint_fields(request.constraint),
            "step": request.step,
            "run": request.run,
        }
    )
