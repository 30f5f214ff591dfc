"""A model over HTTP: one call with everything around it that keeps it cheap, polite and accounted for."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm import costs
from metacog_pipeline.llm.budget import Budget, BudgetSpent
from metacog_pipeline.llm.capabilities import BILLS, NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.limiter import CallResult, Halt, Limiter, NotSent, Rate
from metacog_pipeline.llm.retry import Retries, RetryPolicy, retry_after_s
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.transport import MAX_BODY_BYTES, Http, Reply, SendFailure, send, timeouts_of
from metacog_pipeline.llm.types import (
    NO_CONNECTION,
    ChatRequest,
    Completion,
    ErrorKind,
    Status,
    Usage,
    failed,
)
from metacog_pipeline.llm.wire import wire_for
from metacog_pipeline.llm.wire.errors import redacted
from metacog_pipeline.llm.wire.events import HttpCall, UnsupportedConstraint
from metacog_pipeline.llm.wire.events import Reply as WireReply

# on top of a prompt; the longest system messages of proxies have a third
MOST_HIDDEN_TOKENS = 100_000
LONG_PAUSE_S = 20.0  # waits that are reported
SAID_AGAIN_S = 600.0
# Statuses of gateways that gave up on a model which may have answered, and billed, behind them.
MAYBE_BILLED_STATUSES = frozenset({408, 499, 502, 504, 520, 524})

_logger = logging.getLogger(__name__)


def read_reply(spec: ModelSpec, wire: type[WireReply], key: str | None, reply: Reply) -> Completion:
    """Return the completion of any reply: an unforeseen one must not end the run."""
    try:
        return wire.read(spec, reply.status, reply.headers, reply.body, key, closed=reply.closed)
    except Exception as error:
        name = type(error).__name__
        _logger.warning("model %s: an answer could not be read (%s)", spec.name, name)
        message = f"the answer could not be read ({name})"
        return failed(ErrorKind.TRANSIENT, "unreadable", message, http_status=reply.status)


# An attempt takes a share of the minute, a slot of the account, sets its worst case aside, sends and reads;
# all is given back as soon as the answer is read. Waits for the next attempt hold nothing. What may have
# been billed and failed, and an empty answer, get one more attempt at most.
@dataclass(frozen=True, slots=True)
class _Attempt:
    completion: Completion
    cost: float | None  # in dollars
    billed: bool  # or may have been
    # the wait the provider asked for, in seconds
    retry_after: float | None
    first_s: float | None  # seconds until the first byte


@dataclass(slots=True)
class _Call:
    """One call: its bytes, what was known when they were written, and how its attempts went."""

    http: HttpCall
    request: ChatRequest
    known: Capabilities
    attempts: list[_Attempt] = field(default_factory=list)
    started: float = 0.0  # on the event loop's clock
    started_at: datetime | None = None

    def close(self, now: float) -> Completion:
        """Return the completion of the call: that of the last attempt which brought most."""
        last = self.attempts[0].completion
        for came in (each.completion for each in self.attempts[1:]):
            if came.status is Status.FAILED and last.status is not Status.FAILED:
                # an empty answer is still the provider's answer; the second try brought none
                continue
            kept = last.text and not came.text and came.status is Status.FAILED
            last = replace(came, text=last.text, reasoning_text=last.reasoning_text) if kept else came
        spent = [each.cost for each in self.attempts if each.cost is not None]
        return replace(
            last,
            cost_usd=sum(spent) if len(spent) == len(self.attempts) else None,
            attempts=len(self.attempts),
            attempts_billed=sum(each.billed for each in self.attempts),
            started_at=self.started_at,
            latency_s=now - self.started,
            latency_first_s=self.attempts[-1].first_s,
        )


class HttpChatModel:
    """A `ChatModel` that asks a provider over HTTP. One event loop only."""

    def __init__(
        self,
        spec: ModelSpec,
        key: str | None,
        *,
        http: Http,
        limiter: Limiter,
        budget: Budget | None = None,
        retries: RetryPolicy | None = None,
        halt: Halt | None = None,
        rng: random.Random | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        known: Capabilities | None = None,
    ) -> None:
        self.spec = spec
        # The budget holds because a request has a most it can be billed, and is charged no more. Where
        # something adds to prompts (a proxy's system message, a search), later calls set as much more aside as
        # the largest such bill took. Where a bill shows that there is no such most, nothing further is sent.
        self._known = known or NOTHING_KNOWN
        # what its bills have shown
        self._seen = NOTHING_KNOWN
        self._key = key
        self._http = http
        self._limiter = limiter
        # A failed attempt that may have been billed is charged its worst case, so the sum of costs is never
        # below the bill. Such a completion has a cost and no usage.
        self._budget = None if spec.free else budget
        self._rate = Rate(spec.requests_per_minute)
        self._policy = retries or RetryPolicy()
        self._halt = (halt or Halt()).part()
        self._rng = rng or random.Random()
        self._now = now
        self._wire = wire_for(spec.provider)
        self._own_limit = asyncio.Semaphore(spec.max_concurrency)
        self._doubted = spec.free
        self._quiet_until = 0.0  # on the event loop's clock

    @property
    def known(self) -> Capabilities:
        """What is known of the model, with what its bills have shown; it may be replaced."""
        return self._raised(self._known)

    @known.setter
    def known(self, known: Capabilities) -> None:
        self._known = known

    def refusal(self) -> Completion | None:
        """Return what every further call ends with, without being sent; ``None`` while the model may be asked."""
        if (why := costs.bill_problem(self.spec, self.known)) is None:
            return None
        return self._unsent(ErrorKind.FATAL, costs.OVERBILLED, f"model {self.spec.name} {why}")

    def _unsent(self, kind: ErrorKind, code: str, message: str) -> Completion:
        return failed(kind, code, one_line(message), cost_usd=0.0, attempts=0, started_at=self._now())

    def _raised(self, known: Capabilities) -> Capabilities:
        return known.raised(self._seen, *BILLS)

    async def close(self) -> None:
        """Do nothing: connections belong to the account."""

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``; a call that went wrong is a ``failed`` completion."""
        if (refusal := self.refusal()) is not None:
            return refusal
        known = self.known
        try:
            call = _Call(self._wire.build(self.spec, request, self._key, known), request, known)
        except UnsupportedConstraint as error:
            return self._unsent(ErrorKind.UNSUPPORTED, "unsupported_constraint", str(error))
        return await self._answered(call)

    def billed(
        self, completion: Completion, request: ChatRequest, known: Capabilities, *, batch: bool = False
    ) -> float | None:
        """Return the dollars an answer is charged; the first time that it is not what was reported, one line says why."""
        bill = costs.reconciled(self.spec, completion, request, self._raised(known), batch=batch)
        if bill.above and not self.spec.free:
            self._note(request, known, completion.usage)
            bill = costs.reconciled(self.spec, completion, request, self._raised(known), batch=batch)
        if bill.doubt is not None and completion.status is not Status.FAILED and not self._doubted:
            self._doubted = True
            whole = bill.doubt == costs.NO_USAGE
            charged = "its calls are charged at their worst case" if whole else "charged as that many"
            _logger.warning("model %s %s: %s", self.spec.name, bill.doubt, charged)
        return bill.cost

    def _note(self, request: ChatRequest, known: Capabilities, usage: Usage) -> None:
        sent, got = usage.input_tokens or 0, usage.output_tokens or 0
        most_in = costs.input_token_bound(self.spec, request)
        most_out = costs.output_token_bound(self.spec, request, known)
        before, hidden = self._raised(known), sent - costs.estimate_input_tokens(request)
        too_much = got if costs.beyond(got, most_out) else sent if hidden > MOST_HIDDEN_TOKENS else None
        if too_much is not None:
            self._seen = replace(before, overbilled=too_much)
            _logger.warning("model %s %s", self.spec.name, costs.bill_problem(self.spec, self._seen))
            self._halt.throw()
        elif sent > most_in and hidden > (before.hidden_tokens or 0):
            self._seen = replace(before, hidden_tokens=hidden)
            if costs.beyond(sent, most_in) and not before.hidden_tokens:
                _logger.warning(
                    "model %s billed %s input tokens for a prompt of at most %s: something on the way adds to prompts (a "
                    "proxy's system message, a search); as much is set aside for each further call; ask the provider "
                    "directly if this is not meant",
                    *(self.spec.name, f"{sent:,}", f"{most_in:,}"),
                )

    async def _answered(self, call: _Call) -> Completion:
        loop, retries = asyncio.get_running_loop(), Retries(self._policy, self._rng)
        while True:
            try:
                attempt = await self._attempt(call)
                call.attempts.append(attempt)
                kind = ErrorKind.TRANSIENT if attempt.completion.empty else attempt.completion.error_kind
                pause = retries.pause(kind, attempt.retry_after, loop.time(), billed=attempt.billed)
                if pause is None:
                    return call.close(loop.time())
                self._report_long(pause, attempt.completion)
                with self._halt.unsent():
                    await asyncio.sleep(pause)
            except (BudgetSpent, NotSent):
                if call.attempts:
                    return call.close(loop.time())
                if (refusal := self.refusal()) is not None:
                    return refusal
                raise

    async def _attempt(self, call: _Call) -> _Attempt:
        """Wait for leave to send, send, read, and give everything back; its cost is charged in any case."""
        with self._halt.unsent() as leaves:
            async with self._own_limit:
                slot = await self._rate.admit(self._limiter.acquire)
                outcome, retry_after = CallResult.SILENT, None
                try:
                    worst, reserved = await self._reserved(call)
                    cost = worst
                    leaves()
                    if call.started_at is None:
                        call.started, call.started_at = asyncio.get_running_loop().time(), self._now()
                    try:
                        attempt = await self._sent(call, worst)
                        cost = attempt.cost
                    finally:
                        if self._budget is not None:
                            self._budget.charge(reserved, cost or 0.0)
                    retry_after = attempt.retry_after
                    if attempt.completion.error_kind is ErrorKind.RATE_LIMIT:
                        outcome = CallResult.LIMITED
                    elif attempt.completion.status is not Status.FAILED:
                        outcome = CallResult.CLEAN
                    return attempt
                finally:
                    self._limiter.release(slot, outcome, retry_after)

    async def _reserved(self, call: _Call) -> tuple[float | None, int]:
        """Set aside the most an attempt costs, as far as bills have shown by the time that it is granted."""
        while True:
            call.known = known = self._raised(call.known)
            worst = costs.worst_case_cost(self.spec, call.request, known)
            if self._budget is None:
                return worst, 0
            reserved = await self._budget.reserve(worst or 0.0)
            if self._raised(known) is known:
                return worst, reserved
            self._budget.charge(reserved, 0.0)

    async def _sent(self, call: _Call, worst: float | None) -> _Attempt:
        silence, total = timeouts_of(self.spec, call.known, streamed=call.http.streamed)
        sent, broken = asyncio.get_running_loop().time(), None
        try:
            reply = await send(self._http, call.http, silence, total, max_body=MAX_BODY_BYTES)
            completion = read_reply(self.spec, self._wire, self._key, reply)
        except SendFailure as failure:
            broken, reply = failure, failure.partial or Reply(0, {}, b"", closed=False)
            completion = self._broken(failure, reply)
        lost = completion.status is Status.FAILED
        billed, retry_after = 200 <= reply.status < 300 or reply.status in MAYBE_BILLED_STATUSES, None
        if lost and broken is not None:
            billed, cost = broken.maybe_billed, worst
        else:
            # A refusal for rate inside an answer that claims success, before anything was written or counted, is none.
            nothing = completion.usage == Usage() and not completion.text and not completion.reasoning_text
            billed = billed and not (lost and completion.error_kind is ErrorKind.RATE_LIMIT and nothing)
            cost = self.billed(completion, call.request, call.known) if billed else None
            retry_after = retry_after_s(reply.headers, self._now()) if lost else None
        if not billed:
            cost = None if worst is None else 0.0
        if retry_after is not None:
            retry_after = min(retry_after, self._policy.retry_after_cap_s)
        first_s = None if reply.first_byte_at is None else reply.first_byte_at - sent
        return _Attempt(completion, cost, billed, retry_after, first_s)

    def _broken(self, failure: SendFailure, partial: Reply) -> Completion:
        """Return the completion of an attempt whose connection broke: a stream whose end had come is whole all the same."""
        came = read_reply(self.spec, self._wire, self._key, partial)
        if came.status is not Status.FAILED and failure.kind is ErrorKind.TRANSIENT:
            return came
        return failed(
            failure.kind,
            None if failure.maybe_billed else NO_CONNECTION,
            redacted(str(failure), self._key),
            http_status=partial.status or None,
            text=came.text,
            reasoning_text=came.reasoning_text,
        )

    def _report_long(self, pause: float, failure: Completion) -> None:
        """Report why nothing moves, where a call waits long; again only after so long that it may have been forgotten."""
        now = asyncio.get_running_loop().time()
        if pause >= LONG_PAUSE_S and now >= self._quiet_until:
            self._quiet_until = now + SAID_AGAIN_S
            status = "" if failure.http_status is None else f" (HTTP {failure.http_status})"
            said = one_line(failure.error_message or "no reason given", 120) + status
            _logger.warning("model %s: waiting %.0f s to ask again: %s", self.spec.name, pause, said)
