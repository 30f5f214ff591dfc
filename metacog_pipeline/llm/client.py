"""A model behind HTTP: one call with everything around it that keeps it cheap, polite and accounted for.

The life of a call::

    build the bytes once
    └─ attempt ──> share of the minute ──> slot of the account ──> worst case set aside ──> send, read
         │                                                            (all given back as soon as the answer is read)
         ├─ ok, refused, truncated ─────────────────────────────────────────────> Completion
         ├─ unsupported, fatal, too many or too long ───────────────────────────> Completion (failed)
         └─ rate limit, transient: wait holding nothing, then the next attempt

What an attempt costs: its reported usage; where usage is missing, and where an attempt failed after it may have been
answered and billed, its worst case. So the sum of ``cost_usd`` is never below the bill. A completion with a cost but
without ``usage`` says that the cost is such a bound; the first one of a model is also logged.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm.budget import Budget, BudgetSpent, Reservation
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.costs import billed_cost, estimate_input_tokens, output_token_bound, worst_case_cost
from metacog_pipeline.llm.halt import Halt, NotSent
from metacog_pipeline.llm.limiter import CallResult, Limiter
from metacog_pipeline.llm.rates import Rates
from metacog_pipeline.llm.retry import Retries, RetryPolicy, retry_after_s
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.transport import MAX_BODY_BYTES, NO_CONNECTION, Reply, SendFailure, send, timeouts
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Status
from metacog_pipeline.llm.wire import HttpCall, UnsupportedConstraint, redacted, wire_for
from metacog_pipeline.llm.wire.errors import SECRET_LENGTH, STRUCK_OUT

# Statuses of gateways that gave up on a model which may have answered, and billed, behind them.
MAYBE_BILLED_STATUSES = frozenset({408, 499, 502, 504, 520, 524})

_logger = logging.getLogger(__name__)


def utc_now() -> datetime:
    """Return the wall clock, aware."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """How one attempt ended: what was read, what it cost (dollars), the wait the provider asked for (seconds)."""

    completion: Completion
    cost: float | None
    retry_after: float | None


class _Tally:
    """What the attempts of one call add up to."""

    __slots__ = ("attempts", "cost", "started", "started_at")

    def __init__(self) -> None:
        self.attempts = 0
        self.cost: float | None = 0.0
        self.started: float | None = None
        self.started_at: datetime | None = None

    def send(self, now: float, wall: datetime) -> None:
        self.attempts += 1
        if self.started is None:
            self.started, self.started_at = now, wall

    def charge(self, cost: float | None) -> None:
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def close(self, completion: Completion, now: float) -> Completion:
        return dataclasses.replace(
            completion,
            cost_usd=self.cost,
            attempts=self.attempts,
            started_at=self.started_at,
            latency_s=0.0 if self.started is None else now - self.started,
        )


class HttpChatModel:
    """A `ChatModel` that asks a provider over HTTP. One event loop only."""

    def __init__(
        self,
        spec: ModelSpec,
        key: str | None,
        *,
        http: httpx.AsyncClient,
        limiter: Limiter,
        budget: Budget | None = None,
        rates: Rates | None = None,
        retries: RetryPolicy | None = None,
        halt: Halt | None = None,
        rng: random.Random | None = None,
        now: Callable[[], datetime] = utc_now,
        known: Capabilities | None = None,
    ) -> None:
        self.spec = spec
        self.known = known or NOTHING_KNOWN
        self._key = key
        self._http = http
        self._limiter = limiter
        self._budget = None if spec.free else budget
        self._rates = rates or Rates(spec.requests_per_minute, spec.tokens_per_minute)
        self._policy = retries or RetryPolicy()
        self._halt = halt or Halt()
        self._rng = rng or random.Random()
        self._now = now
        self._wire = wire_for(spec.provider)
        self._timeouts = timeouts(spec.timeout_s)
        self._own_limit = asyncio.Semaphore(spec.max_concurrency)
        self._warned_no_usage = False

    def __repr__(self) -> str:
        return f"HttpChatModel({self.spec.name!r}, provider={self.spec.provider!r})"

    async def close(self) -> None:
        """Do nothing: connections belong to the account, which other models may be using."""

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``; a call that went wrong is a ``failed`` completion."""
        try:
            call = self._wire.build(self.spec, request, self._key, self.known)
        except UnsupportedConstraint as error:
            return Completion(
                Status.FAILED,
                cost_usd=0.0,
                attempts=0,
                started_at=self._now(),
                error_kind=ErrorKind.UNSUPPORTED,
                error_code="unsupported_constraint",
                error_message=one_line(str(error)),
            )
        loop = asyncio.get_running_loop()
        retries = Retries(self._policy, self._rng)
        tally = _Tally()
        last: Completion | None = None
        while True:
            try:
                attempt = await self._attempt(call, request, tally)
            except (BudgetSpent, NotSent):
                if last is None:
                    raise
                return tally.close(last, loop.time())
            tally.charge(attempt.cost)
            last = attempt.completion
            if last.status is not Status.FAILED:
                return tally.close(last, loop.time())
            pause = retries.pause(last.error_kind, attempt.retry_after, loop.time())
            if pause is None:
                return tally.close(last, loop.time())
            try:
                with self._halt.unsent():
                    await asyncio.sleep(pause)
            except NotSent:
                return tally.close(last, loop.time())

    async def _attempt(self, call: HttpCall, request: ChatRequest, tally: _Tally) -> _Attempt:
        """Wait for leave to send, send, read, and give everything back."""
        tokens = self._expected_tokens(request)
        with self._halt.unsent():
            await self._own_limit.acquire()
        try:
            with self._halt.unsent():
                slot = await self._rates.admit(tokens, self._limiter.acquire)
            outcome, asked = CallResult.SILENT, None
            try:
                worst = worst_case_cost(self.spec, request)
                reservation = await self._reserved(worst or 0.0)
                tally.send(asyncio.get_running_loop().time(), self._now())
                attempt = await self._charged(call, request, reservation, worst)
                outcome, asked = _outcome(attempt.completion), attempt.retry_after
            finally:
                self._limiter.release(slot, outcome, asked)
        finally:
            self._own_limit.release()
        self._settle_rate(tokens, attempt.completion)
        return attempt

    async def _reserved(self, worst: float) -> Reservation | None:
        if self._budget is None:
            return None
        with self._halt.unsent():
            return await self._budget.reserve(worst)

    async def _charged(
        self, call: HttpCall, request: ChatRequest, reservation: Reservation | None, worst: float | None
    ) -> _Attempt:
        """Send once; whatever happens, cancellation included, its cost is charged."""
        cost = worst
        try:
            attempt = await self._sent(call, request, worst)
            cost = attempt.cost
            return attempt
        finally:
            if self._budget is not None and reservation is not None:
                self._budget.charge(reservation, cost or 0.0)

    async def _sent(self, call: HttpCall, request: ChatRequest, worst: float | None) -> _Attempt:
        try:
            reply = await send(self._http, call, self._timeouts, max_body=MAX_BODY_BYTES)
        except SendFailure as failure:
            completion = Completion(
                Status.FAILED,
                error_kind=failure.kind,
                error_code=None if failure.maybe_billed else NO_CONNECTION,
                error_message=redacted(str(failure), self._key),
            )
            unbilled = None if worst is None else 0.0
            return _Attempt(completion, worst if failure.maybe_billed else unbilled, None)
        completion = self._read(reply)
        retry_after = None
        if completion.status is Status.FAILED:
            retry_after = retry_after_s(reply.headers, self._now())
            if retry_after is not None:
                retry_after = min(retry_after, self._policy.retry_after_cap_s)
        return _Attempt(completion, self._cost(request, reply.status, completion), retry_after)

    def _read(self, reply: Reply) -> Completion:
        body = reply.body
        if self._key is not None and len(self._key) >= SECRET_LENGTH:
            # Before parsing, so that no field, no text and no shortened message can hold a part of the key.
            secret = self._key.encode()
            if secret in body:
                body = body.replace(secret, STRUCK_OUT.encode())
        try:
            return self._wire.read(self.spec, reply.status, reply.headers, body, self._key)
        except Exception as error:  # an answer nobody foresaw must not end the run
            _logger.warning(
                "model %s: an answer could not be read (%s)", self.spec.name, type(error).__name__
            )
            return Completion(
                Status.FAILED,
                http_status=reply.status,
                error_kind=ErrorKind.TRANSIENT,
                error_code="unreadable",
                error_message=f"the answer could not be read ({type(error).__name__})",
            )

    def _cost(self, request: ChatRequest, status: int, completion: Completion) -> float | None:
        if not (200 <= status < 300 or status in MAYBE_BILLED_STATUSES):
            return None if worst_case_cost(self.spec, request) is None else 0.0
        usage = completion.usage
        if completion.status is not Status.FAILED and None in (usage.input_tokens, usage.output_tokens):
            self._warn_no_usage()
        return billed_cost(self.spec, request, usage)

    def _warn_no_usage(self) -> None:
        if not (self._warned_no_usage or self.spec.free):
            self._warned_no_usage = True
            _logger.warning(
                "model %s reports no usage: its calls are charged at their worst case", self.spec.name
            )

    def _expected_tokens(self, request: ChatRequest) -> int:
        if self.spec.tokens_per_minute is None:
            return 0
        return estimate_input_tokens(request) + output_token_bound(self.spec, request)

    def _settle_rate(self, reserved: int, completion: Completion) -> None:
        usage = completion.usage
        if reserved and usage.input_tokens is not None and usage.output_tokens is not None:
            self._rates.charge(reserved, usage.input_tokens + usage.output_tokens)


def _outcome(completion: Completion) -> CallResult:
    if completion.error_kind is ErrorKind.RATE_LIMIT:
        return CallResult.LIMITED
    return CallResult.SILENT if completion.status is Status.FAILED else CallResult.CLEAN
