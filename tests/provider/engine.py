"""The engine: an HTTP server that takes a call of any dialect, decides what happens to it, and answers."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import os
import signal
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aiohttp import web

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm.types import ChatRequest, Completion, JsonObject, Status, request_json
from tests.provider import profile as profiles
from tests.provider.batches import Batches, reset
from tests.provider.dialects import (
    DIALECTS,
    GEMINI,
    Answer,
    Asked,
    BadRequest,
    Body,
    Dialect,
    Problem,
    Style,
    token_count,
)
from tests.provider.faults import Fault, FaultPlan

Respond = Callable[[str, ChatRequest], str | Completion]
LOOPBACK = "127.0.0.1"
STARTED = "listening on "  # what the blocking server prints before its address
MAX_BODY_BYTES = 128 * 2**20
OTHER_MODEL = "another-model-2"
FILLER = "The first option fits – naïvely. Compare it with the next one: what speaks against it? "
NOT_WHOLE = frozenset({Fault.CUT, Fault.INVALID_JSON})
_logger = logging.getLogger(__name__)


class UnknownQuestion(Exception):
    """A question that no respondent has an answer to."""


# The outcome is decided and logged on arrival, so a call whose client dies waiting is in the log.
class SimulatedProvider:
    """An HTTP provider whose answers come from ``respond(model, request)``, which runs in the event loop.

    It returns the text, or a ``Completion`` where it wants to refuse, stop early or give log-probabilities. With
    ``models``, any other model id is not found. ``log`` is a file that gets one JSON line per call received, in one
    unbuffered write: ``{"digest", "outcome"}`` with the SHA-256 of the body and ``ok``, a fault's name, or ``refused``.
    ``profile`` names the provider it behaves as (see `profile`); ``key`` is the only key that one takes, None: any.
    """

    def __init__(
        self,
        respond: Respond,
        plan: FaultPlan | None = None,
        *,
        models: tuple[str, ...] = (),
        log: Path | None = None,
        profile: str | None = None,
        key: str | None = None,
    ) -> None:
        self._respond, self._models, self._key = respond, models, key
        self._profile = None if profile is None else profiles.load(profile)
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if log else None
        self._received = self._answered = self._in_flight = 0
        self._seen: Counter[str] = Counter()
        self.batches = Batches(self._line)
        self.use(plan or FaultPlan(rates={} if self._profile is None else self._profile.faults))

    def use(self, plan: FaultPlan) -> None:
        self.plan, self._script = plan, deque(plan.script)

    def stats(self) -> dict[str, int]:
        """Return how many calls were received, answered whole and are under way, and how many bodies were distinct."""
        counts = {"received": self._received, "answered": self._answered}
        return counts | {"distinct": len(self._seen), "in_flight": self._in_flight}

    def app(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        paths = [(each.path, each, False) for each in DIALECTS.values()]
        gemini = DIALECTS["gemini"]
        for path, dialect, stream in [*paths, (f"{GEMINI}:streamGenerateContent", gemini, True)]:
            app.router.add_post(path, functools.partial(self._serve, dialect, stream))
        self.batches.add_routes(app)
        return app

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Serve inside the current event loop on a free port and yield the root address."""
        runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=0.2, handle_signals=False)
        await runner.setup()
        try:
            # The backlog covers a load test that opens hundreds of connections in one burst.
            await web.TCPSite(runner, LOOPBACK, 0, backlog=2048).start()
            yield f"http://{LOOPBACK}:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()
            if self._log is not None:
                os.close(self._log)

    def serve(self) -> None:
        """Serve until interrupted (Ctrl-C or SIGTERM); ``listening on <address>`` is printed once it is up."""

        async def until_stopped() -> None:
            stop = asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
            async with self.running() as url:
                print(f"{STARTED}{url}", flush=True)
                await stop.wait()

        asyncio.run(until_stopped())

    # --- one call ---------------------------------------------------------------------------------------------------
    async def _serve(self, dialect: Dialect, stream: bool, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        self._received += 1
        self._in_flight += 1
        try:
            digest, number = sha256_hex(raw), self._received
            call = self._read(dialect, http.match_info.get("model", ""), raw, http, stream)
            outcome = self._outcome(call, digest) if isinstance(call, Asked) else "refused"
            self._seen[digest] += 1
            if self._log is not None:
                os.write(self._log, f'{{"digest":"{digest}","outcome":"{outcome}"}}\n'.encode())
            if isinstance(call, Asked):
                return await self._reply(dialect, http, call, outcome, number)
            return self._refused(call) if isinstance(call, tuple) else self._problem(dialect, call)
        finally:
            self._in_flight -= 1

    def _read(
        self, dialect: Dialect, model: str, raw: bytes, http: web.Request | None, stream: bool = False
    ) -> Asked | Problem | profiles.Refusal:
        """Return what a call asks for, or how it is refused; without ``http`` it is a line of a batch."""
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            return Problem("bad_request")
        if self._profile is not None:
            refused = self._profile.refusal(dialect.name, model, body, http, self._models, self._key)
            if refused is not None:
                return refused
            body = {name: body[name] for name in body if name not in self._profile.ignored}
        try:
            asked = dialect.read(model, body, stream=stream)
        except BadRequest as wrong:
            return Problem("bad_request", str(wrong))
        known = not self._models or asked.model in self._models
        return asked if known else Problem("model_not_found", f"no model named {asked.model!r}", "model")

    def _outcome(self, call: Asked, digest: str) -> str:
        for name in self.plan.always:
            if not _spared(name, call):
                return name
        drawn = self._script.popleft() if self._script else self.plan.draw(digest, self._seen[digest])
        return "ok" if drawn is None or _spared(drawn, call) else str(drawn)

    async def _reply(
        self, dialect: Dialect, http: web.Request, call: Asked, outcome: str, number: int
    ) -> web.StreamResponse:
        if outcome == Fault.RESET:
            return reset(http)
        if (problem := _problem_of(outcome, call)) is not None:
            return self._problem(dialect, problem)
        await asyncio.sleep(self.plan.latency_s + (self.plan.slow_s if outcome == Fault.SLOW else 0.0))
        answer = self._answer(call, outcome, number)
        if isinstance(answer, Problem):
            return self._problem(dialect, answer)
        body = dialect.worded(answer)
        if call.stream:
            events = _events(dialect, body, call, outcome, self.plan.chunks)
            return await self._streamed(http, events, outcome)
        return await self._whole(http, _dumped(body).encode(), outcome)

    def _answer(self, call: Asked, outcome: str, number: int) -> Answer | Problem:
        try:
            said = self._respond(call.model, call.request)
        except UnknownQuestion as unknown:
            return Problem("not_found", str(unknown))
        except Exception:
            _logger.exception("the respondent failed on call %d", number)
            return Problem("server_error", "the respondent failed")
        completion = said if isinstance(said, Completion) else Completion(Status.OK, said)
        limit, profile = call.request.sampling.max_tokens, self._profile
        thinking = profiles.Thinking(tokens=self.plan.thinking_tokens)
        if profile is not None and not thinking.tokens:
            thinking = profile.thinking
        completion = _thought(completion, _wanted(thinking, call), limit, bounded=profile is not None)
        model, completion = _changed(outcome, call.model, completion, limit)
        return Answer(model, call, completion, number, Style() if profile is None else profile.style)

    def _line(self, dialect: Dialect, model: str, body: object) -> tuple[int, Body]:
        """Answer a line of a batch: HTTP status and decoded reply."""
        call = self._read(dialect, model, json.dumps(body).encode(), None)
        if isinstance(call, Asked) and call.stream:
            call = Problem("rejected", "a batch has no streams", "stream")
        if isinstance(call, Asked):
            call = self._answer(call, "ok", self._answered + 1)
        if isinstance(call, Answer):
            self._answered += 1
            return 200, dialect.worded(call)
        return call if isinstance(call, tuple) else (call.status, dialect.error(call))

    # --- bytes ------------------------------------------------------------------------------------------------------
    async def _streamed(self, http: web.Request, events: list[bytes], outcome: str) -> web.StreamResponse:
        self._answered += outcome not in NOT_WHOLE
        response = web.StreamResponse()
        response.content_type, response.charset = "text/event-stream", "utf-8"
        with contextlib.suppress(ConnectionError):  # the client left: it is billed all the same
            await response.prepare(http)
            await self._send(http, response, events, outcome)
        return response

    async def _send(
        self, http: web.Request, response: web.StreamResponse, events: Sequence[bytes], outcome: str
    ) -> None:
        if outcome == Fault.CUT:
            events = events[: len(events) // 2]
        for place, event in enumerate(events):
            if place and self.plan.gap_s:
                await asyncio.sleep(self.plan.gap_s)
            await response.write(event)
        if outcome == Fault.CUT:
            return hang_up(http)
        await response.write_eof()

    async def _whole(self, http: web.Request, body: bytes, outcome: str) -> web.StreamResponse:
        self._answered += outcome not in NOT_WHOLE
        if outcome != Fault.CUT:
            body = body[:-2] if outcome == Fault.INVALID_JSON else body
            return web.Response(body=body, content_type="application/json")
        response = web.StreamResponse(headers={"Content-Length": str(len(body))})
        response.content_type = "application/json"
        await response.prepare(http)
        await response.write(body[: len(body) // 2])
        hang_up(http)
        return response

    def _problem(self, dialect: Dialect, problem: Problem) -> web.Response:
        waits = {"Retry-After": f"{self.plan.retry_after_s:g}"} if problem.kind == "rate_limit" else {}
        return self._refused((problem.status, dialect.error(problem)), waits)

    def _refused(self, refusal: profiles.Refusal, more: Mapping[str, str] | None = None) -> web.Response:
        return web.json_response(refusal[1], status=refusal[0], headers=more, dumps=_dumped)


def hang_up(http: web.Request) -> None:
    if http.transport is not None:
        http.transport.close()


def _spared(name: str, call: Asked) -> bool:
    return name.startswith("reject_") and _problem_of(name, call) is None


def _problem_of(outcome: str, call: Asked) -> Problem | None:
    if outcome == Fault.REJECT_TEMPERATURE and call.request.sampling.temperature is not None:
        return Problem("rejected", "temperature is not supported with this model", "temperature")
    if outcome == Fault.REJECT_RESPONSE_FORMAT and isinstance(call.request.constraint, JsonObject):
        return Problem("rejected", "response_format is not supported with this model", "response_format")
    if outcome in (*("rate_limit", "quota", "unauthorized", "server_error"), "unavailable", "provider_error"):
        return Problem(outcome)
    return Problem(outcome, param="model") if outcome == Fault.MODEL_NOT_FOUND else None


def _wanted(thinking: profiles.Thinking, call: Asked) -> int:
    """Return how many tokens are thought: from half to one and a half of the usual, the same for the same request."""
    if not thinking.tokens or call.budget == 0 or not (thinking.by_default or call.on or call.budget):
        return 0
    drawn = int(sha256_hex(request_json(call.request).encode("utf-8", "surrogatepass"))[:8], 16) / 2**32
    thought = round(thinking.tokens * (0.5 + drawn) * thinking.efforts.get(call.effort or "", 1.0))
    return thought if call.budget is None else min(thought, call.budget)


def _thought(completion: Completion, wanted: int, limit: int | None, *, bounded: bool) -> Completion:
    """Return ``completion`` after ``wanted`` tokens of thinking, cut where they leave too little room below ``limit``."""
    spent = wanted if limit is None else min(wanted, limit)
    if spent and completion.reasoning_text is None:
        completion = replace(completion, reasoning_text=_filler(spent))
    if spent and completion.usage.reasoning_tokens is None:
        completion = replace(completion, usage=replace(completion.usage, reasoning_tokens=spent))
    if limit is None or not (bounded or wanted):
        return completion
    if wanted > spent or token_count(completion.text) > limit - spent:
        cut = completion.text[: (limit - spent) * 4]
        return replace(completion, status=Status.TRUNCATED, text=cut, logprobs=())
    return completion


def _filler(tokens: int) -> str:
    return (FILLER * (tokens * 4 // len(FILLER) + 1))[: tokens * 4]


def _changed(outcome: str, model: str, completion: Completion, limit: int | None) -> tuple[str, Completion]:
    """Return the model that is reported, and the completion, as a fault has them."""
    match outcome:
        case Fault.EMPTY:
            completion = replace(completion, status=Status.OK, text="", logprobs=())
        case Fault.WRONG_MODEL:
            model = OTHER_MODEL
        case Fault.USAGE_ABOVE_LIMIT:
            usage = replace(completion.usage, output_tokens=20 * (limit or 1000))
            completion = replace(completion, usage=usage)
    return model, completion


def _events(dialect: Dialect, body: Body, call: Asked, outcome: str, chunks: int) -> list[bytes]:
    events = [_encoded(frame) for frame in dialect.frames(body, call, chunks)]
    if outcome == Fault.INVALID_JSON:
        events[len(events) // 2] = b'data: {"broken\n\n'
    return events


def _encoded(frame: tuple[str | None, Body | str]) -> bytes:
    name, data = frame
    text = data if isinstance(data, str) else _dumped(data)
    return (f"event: {name}\n" if name else "").encode() + b"data: " + text.encode() + b"\n\n"


def _dumped(data: object) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate stays an escape
        return json.dumps(data, separators=(",", ":"))
    return text
