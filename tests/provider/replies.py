"""What each fault looks like on the wire, and the limits that give real 429s."""

from __future__ import annotations

import socket
import struct
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from aiohttp import web

from metacog_pipeline.llm.types import ChatRequest, Completion, JsonObject, OneOf, Status, TokenBias
from tests.provider.dialects import Problem
from tests.provider.faults import Fault

OTHER_MODEL = "another-model-2"
WIDE = "\N{MATHEMATICAL BOLD CAPITAL A}"  # four bytes of UTF-8: room for a cut inside


@dataclass(slots=True)
class Limits:
    """A cap on calls at once and on calls in any 60 seconds; ``None`` is no cap."""

    max_in_flight: int | None = None
    per_minute: float | None = None
    _arrivals: deque[float] = field(default_factory=deque)

    def exceeded(self, in_flight: int) -> bool:
        if self.max_in_flight is not None and in_flight > self.max_in_flight:
            return True
        if self.per_minute is None:
            return False
        now = time.monotonic()
        while self._arrivals and self._arrivals[0] <= now - 60:
            self._arrivals.popleft()
        if len(self._arrivals) + 1 > self.per_minute:
            return True
        self._arrivals.append(now)
        return False


def rejected_parameter(request: ChatRequest) -> Mapping[str, str]:
    asked = {
        (Fault.REJECT_TEMPERATURE, "temperature"): request.sampling.temperature is not None,
        (Fault.REJECT_LOGIT_BIAS, "logit_bias"): isinstance(request.constraint, TokenBias),
        (Fault.REJECT_RESPONSE_FORMAT, "response_format"): isinstance(request.constraint, JsonObject),
        (Fault.REJECT_CHOICE, "structured_outputs"): isinstance(request.constraint, OneOf),
    }
    return dict(each for each, there in asked.items() if there)


PROBLEMS: Mapping[str, Problem] = {
    "limit": Problem(429, "rate_limit", "too many requests"),
    Fault.RATE_LIMIT: Problem(429, "rate_limit", "too many requests"),
    Fault.QUOTA: Problem(429, "quota", "the account has no credit left"),
    Fault.UNAUTHORIZED: Problem(401, "unauthorized", "the key is not accepted"),
    Fault.SERVER_ERROR: Problem(500, "server_error", "something broke"),
    Fault.UNAVAILABLE: Problem(503, "unavailable", "the service is unavailable"),
    Fault.OVERLOADED: Problem(529, "overloaded", "the service is overloaded"),
    Fault.MODEL_NOT_FOUND: Problem(404, "model_not_found", "no model named {!r}", "model"),
    Fault.PROVIDER_ERROR: Problem(200, "provider_error", "the provider behind this address failed"),
}


def problem_of(outcome: str, model: str, rejected: Mapping[str, str]) -> Problem | None:
    if outcome in rejected:
        param = rejected[outcome]
        return Problem(400, "unsupported_parameter", f"{param} is not supported with this model", param)
    problem = PROBLEMS.get(outcome)
    return None if problem is None else replace(problem, message=problem.message.format(model))


def retry_after(kind: str, seconds: float) -> Mapping[str, str]:
    if kind == "rate_limit":
        return {"Retry-After": f"{seconds:g}"}
    return {}


def faulty_completion(outcome: str, model: str, completion: Completion) -> tuple[str, Completion]:
    match outcome:
        case Fault.EMPTY:
            return model, replace(completion, status=Status.OK, text="", logprobs=())
        case Fault.CONTENT_FILTER:
            return model, Completion(Status.REFUSED, finish_reason="content_filter")
        case Fault.WRONG_MODEL:
            return OTHER_MODEL, completion
        case Fault.CUT_CHARACTER:
            return model, replace(completion, text=f"{completion.text}{WIDE}")
        case Fault.ENDLESS:
            return model, replace(completion, text=completion.text or "and so on ")
        case _:
            return model, completion


def faulty_usage(outcome: str, completion: Completion, limit: int | None) -> Completion:
    if outcome != Fault.USAGE_ABOVE_LIMIT:
        return completion
    billed = replace(completion.usage, output_tokens=20 * (limit or 1000))
    return replace(completion, usage=billed)


def faulty_body(outcome: str, body: dict[str, object]) -> dict[str, object]:
    for name in ("usage", "usageMetadata"):
        if name in body and outcome == Fault.NO_USAGE:
            body = {key: value for key, value in body.items() if key != name}
        elif name in body and outcome == Fault.NEGATIVE_USAGE:
            body = {**body, name: _negated(body[name])}
    return body


def _negated(value: object) -> object:
    if isinstance(value, dict):
        return {key: _negated(each) for key, each in value.items()}
    return -value - 1 if isinstance(value, int) else value


def request_ids(number: int) -> Mapping[str, str]:
    return {"x-request-id": f"req-sim-{number}", "request-id": f"req-sim-{number}"}


def json_reply(
    status: int, body: bytes, number: int, headers: Mapping[str, str] | None = None
) -> web.Response:
    return web.Response(
        status=status,
        body=body,
        content_type="application/json",
        headers={**request_ids(number), **(headers or {})},
    )


def character_cut(body: bytes) -> bytes:
    return body[: body.rindex(WIDE.encode()) + 2]


async def cut_reply(http: web.Request, body: bytes, number: int, sent: bytes) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Length": str(len(body)), "x-request-id": f"req-sim-{number}"}
    )
    response.content_type = "application/json"
    await response.prepare(http)
    await response.write(sent)
    if http.transport is not None:
        http.transport.close()
    return response


def reset_connection(http: web.Request) -> web.Response:
    if http.transport is not None:
        connection = http.transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        http.transport.abort()
    return web.Response()
