"""The HTTP side: routes, counters, the call log.

Every call goes through ``SimulatedProvider._serve`` once: read it, decide what happens to it, count and log it, wait
out the latency, answer. The outcome is decided and logged on arrival, so a call whose client dies waiting is in the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import logging
import os
from collections import Counter, deque
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from types import MappingProxyType

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm.types import ChatRequest, Completion, Status
from tests.provider import gemini, replies, streams, thinking
from tests.provider import profile as profiles
from tests.provider.admission import ROUTES, Admission
from tests.provider.batches import Batches, Way
from tests.provider.dialects import Answer, Asked, Dialect, Problem, Refusal, Style
from tests.provider.faults import OF_STREAMS, Fault, FaultPlan

Respond = Callable[[str, ChatRequest], str | Completion]
MAX_BODY_BYTES = 64 * 2**20
OPEN_PATHS = (
    "/batch-faults",
    "/batch-stats",
    "/upload-to/",
)  # no provider's
CUTS = frozenset({Fault.CUT, Fault.CUT_CHARACTER})
NOT_WHOLE = CUTS | {Fault.INVALID_JSON, Fault.ENDLESS, Fault.ENDS_EARLY, Fault.STREAM_ERROR}
_logger = logging.getLogger(__name__)


class UnknownQuestion(Exception):
    """A question that no respondent has an answer to."""


class SimulatedProvider:
    """An HTTP provider whose answers come from ``respond(model, request)``.

    ``respond`` runs in the event loop, so it should be quick; it returns the text, or a ``Completion`` where it wants
    to refuse, stop early or give log-probabilities. With ``models``, any other model id gets a 404. ``log`` is a file
    that gets one JSON line per call received, in one unbuffered write: ``{"n", "digest", "outcome"}`` with the
    SHA-256 of the body and ``ok``, a fault's name, ``limit`` (over the plan's limits) or ``bad_request``.
    ``label`` goes before the model id that answers report, so that they can be told from real ones. ``profile`` names the
    provider it behaves as (see `profile`); ``key`` is the only key that one takes, None: any.
    """

    def __init__(
        self,
        respond: Respond,
        plan: FaultPlan | None = None,
        *,
        models: tuple[str, ...] = (),
        log: Path | None = None,
        label: str = "",
        profile: str | None = None,
        key: str | None = None,
    ) -> None:
        self._respond = respond
        self._label = label
        self._profile = None if profile is None else profiles.load(profile)
        self._admission = Admission(self._profile, models, key)
        self._headers = {} if self._profile is None else dict(self._profile.headers)
        self._models = models
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if log else None
        self._received = self._answered = self._in_flight = self._max_in_flight = 0
        self._statuses: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self.batches = Batches(self.answer_line)
        self.use(plan or FaultPlan(rates={} if self._profile is None else self._profile.faults))

    def use(self, plan: FaultPlan) -> None:
        self.plan = plan
        self._script = deque(plan.script)
        self._limits = replies.Limits(plan.max_in_flight, plan.requests_per_minute)

    def stats(self) -> dict[str, object]:
        """Return the counters.

        ``received`` calls, ``answered`` (whole answers with status 200, client gone or not), ``distinct`` bodies,
        ``in_flight``, ``max_in_flight``, ``statuses`` (HTTP status, ``reset`` or ``cut`` -> calls), ``outcomes``
        (as in the log -> calls).
        """
        return {
            "received": self._received,
            "answered": self._answered,
            "distinct": len(self._seen),
            "in_flight": self._in_flight,
            "max_in_flight": self._max_in_flight,
            "statuses": dict(self._statuses),
            "outcomes": dict(self._outcomes),
        }

    def close(self) -> None:
        if self._log is not None:
            os.close(self._log)
            self._log = None

    def app(self) -> web.Application:
        single: set[str] = set()
        gates = () if self._profile is None else (self._gate(self._profile, single),)
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=gates)
        for interface, path, dialect in ROUTES:
            route = app.router.add_post(path, functools.partial(self._serve, interface, dialect))
            single |= {route.resource.canonical} if route.resource is not None else set()
        app.router.add_get("/v1/models", self._list_models)
        self.batches.add_routes(app)
        return app

    def _gate(self, profile: profiles.Profile, single: Container[str]) -> Middleware:

        @web.middleware
        async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
            resource = request.match_info.route.resource
            if request.path.startswith(OPEN_PATHS) or (resource is not None and resource.canonical in single):
                return await handler(request)
            call = profiles.Call("batches", "", request.headers, request.query, None)
            refused = profile.unkeyed(call, self._admission.key)
            offered = profile.batches or request.path == "/v1/models"
            if refused is None and (resource is None or not offered):
                refused = profile.elsewhere.filled(model="")
            return await handler(request) if refused is None else self._refused(refused, self._received)

        return gate

    def answer_line(self, way: Way, target: str, body: object) -> tuple[int, dict[str, object]]:
        dialect, interface = way.dialect, way.interface
        path_model = target if dialect is gemini.DIALECT else ""
        # The submission showed the key; its lines come without headers.
        line = profiles.Call(interface, path_model, {}, {}, body)
        call = Admission(self._profile, self._models, keyed=True).judged(line, dialect, path_model)
        if isinstance(call, Asked) and call.stream:
            call = Problem(400, "bad_request", "stream: a batch has no streams", "stream")
        if isinstance(call, Refusal):
            return call.status, call.body
        answer = call if isinstance(call, Problem) else self._answer(call, "ok", self._answered + 1)
        if isinstance(answer, Problem):
            return answer.status, dialect.error(answer)
        self._answered += 1
        return 200, dialect.answer(answer)

    async def _serve(self, interface: str, dialect: Dialect, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        self._received += 1
        self._in_flight += 1
        self._max_in_flight = max(self._max_in_flight, self._in_flight)
        try:
            digest = sha256_hex(raw)
            call = self._read(interface, dialect, http, raw)
            if isinstance(call, Asked):
                outcome = self._outcome(call, digest)
            else:
                outcome = "bad_request" if isinstance(call, Problem) else "refused"
            self._note(digest, outcome)
            return await self._reply(dialect, http, call, outcome, self._received)
        finally:
            self._in_flight -= 1

    def _read(
        self, interface: str, dialect: Dialect, http: web.Request, raw: bytes
    ) -> Asked | Problem | Refusal:
        path_model = http.match_info.get("model", "")
        return self._admission.read(interface, dialect, path_model, raw, http.headers, http.query)

    def _outcome(self, call: Asked, digest: str) -> str:
        if self._limits.exceeded(self._in_flight):
            return "limit"
        for name in self.plan.always:
            if not _spared(name, call):
                return name
        drawn = self._script.popleft() if self._script else self.plan.draw(digest, self._seen[digest])
        return "ok" if drawn is None or _spared(drawn, call) else str(drawn)

    def _note(self, digest: str, outcome: str) -> None:
        self._seen[digest] += 1
        self._outcomes[outcome] += 1
        if self._log is not None:
            line = f'{{"n":{self._received},"digest":"{digest}","outcome":"{outcome}"}}\n'
            os.write(self._log, line.encode())

    async def _reply(
        self, dialect: Dialect, http: web.Request, call: Asked | Problem | Refusal, outcome: str, number: int
    ) -> web.StreamResponse:
        if isinstance(call, Refusal):
            return self._refused(call, number)
        if isinstance(call, Problem):
            return self._problem(dialect, call, number)
        if outcome == Fault.RESET:
            self._statuses["reset"] += 1
            return replies.reset_connection(http)
        problem = replies.problem_of(outcome, call.model, replies.rejected_parameter(call.request))
        if problem is not None:
            return self._problem(dialect, problem, number)
        begun = await self._waited(http, call, outcome, number)
        answer = self._answer(call, outcome, number)
        if isinstance(answer, Problem):
            if begun is None:
                return self._problem(dialect, answer, number)
            return await self._streamed(http, begun, [streams.encoded(dialect.broken(answer))], "ok", number)
        body = replies.faulty_body(outcome, dialect.answer(answer))
        if call.stream:
            events = self._events(dialect, call, body, outcome)
            return await self._streamed(http, begun, events, outcome, number)
        return await self._whole(http, streams.dumped(body).encode(), outcome, number)

    async def _waited(
        self, http: web.Request, call: Asked, outcome: str, number: int
    ) -> web.StreamResponse | None:
        seconds = self.plan.latency_s + (self.plan.slow_s if outcome == Fault.SLOW else 0.0)
        if not (call.stream and self.plan.keep_alive_s):
            await asyncio.sleep(seconds)
            return None
        begun = await streams.opened(http, number, self._headers)
        await streams.waited(begun, seconds, self.plan)
        return begun

    def _answer(self, call: Asked, outcome: str, number: int) -> Answer | Problem:
        try:
            said = self._respond(call.model, call.request)
        except UnknownQuestion as unknown:
            return Problem(404, "bad_request", str(unknown))
        except Exception:
            _logger.exception("the respondent failed on call %d", number)
            return Problem(500, "server_error", "the respondent failed")
        completion = said if isinstance(said, Completion) else Completion(Status.OK, said)
        limit = call.request.sampling.max_tokens
        reasoning = thinking.Reasoning(tokens=self.plan.thinking_tokens)
        if self._profile is not None and not reasoning.tokens:
            reasoning = self._profile.thinking
        completion = thinking.worked(
            completion, reasoning.wanted(call), limit, bounded=self._profile is not None
        )
        if outcome == Fault.HUGE_THINKING:
            huge = thinking.text_of(thinking.HUGE_CHARACTERS // thinking.CHARACTERS_PER_TOKEN)
            completion = dataclasses.replace(completion, reasoning_text=huge)
        model, completion = replies.faulty_completion(outcome, call.model, completion)
        completion = replies.faulty_usage(outcome, completion, limit)
        style = Style() if self._profile is None else self._profile.style
        return Answer(self._label + model, call, completion, number, style)

    def _events(self, dialect: Dialect, call: Asked, body: dict[str, object], outcome: str) -> list[bytes]:
        events = [streams.encoded(frame) for frame in dialect.frames(body, call, self.plan.chunks)]
        if outcome == Fault.INVALID_JSON:
            events[len(events) // 2] = b'data: {"broken\n\n'
        if outcome == Fault.STREAM_ERROR:
            problem = Problem(529, "overloaded", "the service is overloaded")
            events = [*events[: len(events) // 2], streams.encoded(dialect.broken(problem))]
        return events

    async def _streamed(
        self,
        http: web.Request,
        begun: web.StreamResponse | None,
        events: list[bytes],
        outcome: str,
        number: int,
    ) -> web.StreamResponse:
        self._statuses["cut" if outcome in CUTS else "200"] += 1
        self._answered += outcome not in NOT_WHOLE
        response = begun
        with contextlib.suppress(ConnectionError):  # the client left: it is billed all the same
            response = response or await streams.opened(http, number, self._headers)
            await streams.send(http, response, events, outcome, self.plan)
        return response or web.Response()

    async def _whole(self, http: web.Request, body: bytes, outcome: str, number: int) -> web.StreamResponse:
        if outcome in CUTS:
            self._statuses["cut"] += 1
            sent = replies.character_cut(body) if outcome == Fault.CUT_CHARACTER else body[: len(body) // 2]
            return await replies.cut_reply(http, body, number, sent)
        self._statuses["200"] += 1
        self._answered += outcome != Fault.INVALID_JSON
        body = body[:-2] if outcome == Fault.INVALID_JSON else body
        return replies.json_reply(200, body, number, self._headers)

    def _refused(
        self, refusal: Refusal, number: int, waits: Mapping[str, str] = MappingProxyType({})
    ) -> web.Response:
        self._statuses[str(refusal.status)] += 1
        body = streams.dumped(refusal.body).encode()
        return replies.json_reply(refusal.status, body, number, {**self._headers, **waits})

    def _problem(self, dialect: Dialect, problem: Problem, number: int) -> web.Response:
        waits = replies.retry_after(problem.kind, self.plan.retry_after_s)
        return self._refused(Refusal(problem.status, dialect.error(problem)), number, waits)

    async def _list_models(self, http: web.Request) -> web.Response:
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "simulated"} for name in self._models
        ]
        return web.json_response({"object": "list", "data": listed})


def _spared(name: str, call: Asked) -> bool:
    if name.startswith("reject_"):
        return name not in replies.rejected_parameter(call.request)
    return name in OF_STREAMS and not call.stream
