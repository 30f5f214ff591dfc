"""The HTTP side: routes, counters, the call log.

Every call goes through ``SimulatedProvider._serve`` once: read it, decide what happens to it, count and log it, wait
out the latency, answer. The outcome is decided and logged on arrival, so a call whose client dies waiting is in the log.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import logging
import os
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm.server import anthropic, gemini, openai, replies
from metacog_pipeline.llm.server.dialects import BadRequest, Dialect, Problem
from metacog_pipeline.llm.server.faults import Fault, FaultPlan
from metacog_pipeline.llm.types import ChatRequest, Completion, Status

Respond = Callable[[str, ChatRequest], str | Completion]
MAX_BODY_BYTES = 64 * 2**20
FAULT_HEADER = "x-metacog-fault"
FAULT_NAMES = frozenset(Fault)
_logger = logging.getLogger(__name__)


class SimulatedProvider:
    """An HTTP provider whose answers come from ``respond(model, request)``.

    ``respond`` runs in the event loop, so it should be quick; it returns the text, or a ``Completion`` where it wants
    to refuse, stop early or give log-probabilities. With ``models``, any other model id gets a 404. ``log`` is a file
    that gets one JSON line per call received, in one unbuffered write: ``{"n", "digest", "outcome"}`` with the
    SHA-256 of the body and ``ok``, a fault's name, ``limit`` (over the plan's limits) or ``bad_request``.
    ``label`` goes before the model id that answers report, so that they can be told from real ones.
    """

    def __init__(
        self,
        respond: Respond,
        plan: FaultPlan | None = None,
        *,
        models: tuple[str, ...] = (),
        log: Path | None = None,
        label: str = "",
    ) -> None:
        self._respond = respond
        self._label = label
        self._models = models
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if log else None
        self._received = self._answered = self._in_flight = self._max_in_flight = 0
        self._statuses: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self.use(plan or FaultPlan())

    def use(self, plan: FaultPlan) -> None:
        """Follow ``plan`` from the next call on; counters stay."""
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
        """Close the call log."""
        if self._log is not None:
            os.close(self._log)
            self._log = None

    def app(self) -> web.Application:
        """Return the application with all routes."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_post("/v1/chat/completions", functools.partial(self._serve, openai.DIALECT))
        app.router.add_post("/v1/messages", functools.partial(self._serve, anthropic.DIALECT))
        path = "/{version:v1|v1beta}/models/{model}:generateContent"
        app.router.add_post(path, functools.partial(self._serve, gemini.DIALECT))
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_get("/healthz", self._health)
        app.router.add_get("/stats", self._show_stats)
        app.router.add_post("/faults", self._set_faults)
        return app

    async def _serve(self, dialect: Dialect, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        self._received += 1
        self._in_flight += 1
        self._max_in_flight = max(self._max_in_flight, self._in_flight)
        try:
            digest = sha256_hex(raw)
            call = _read(dialect, http, raw)
            outcome = "bad_request" if isinstance(call, Problem) else self._outcome(http, call[1], digest)
            self._note(digest, outcome)
            return await self._reply(dialect, http, call, outcome, self._received)
        finally:
            self._in_flight -= 1

    def _outcome(self, http: web.Request, request: ChatRequest, digest: str) -> str:
        asked = http.headers.get(FAULT_HEADER)
        if asked is not None:
            return "ok" if _spared(asked, request) else asked
        if self._limits.exceeded(self._in_flight):
            return "limit"
        for name in self.plan.always:
            if not _spared(name, request):
                return name
        drawn = self._script.popleft() if self._script else self.plan.draw(digest, self._seen[digest])
        return "ok" if drawn is None or _spared(drawn, request) else str(drawn)

    def _note(self, digest: str, outcome: str) -> None:
        self._seen[digest] += 1
        self._outcomes[outcome] += 1
        if self._log is not None:
            line = f'{{"n":{self._received},"digest":"{digest}","outcome":"{outcome}"}}\n'
            os.write(self._log, line.encode())

    async def _reply(
        self,
        dialect: Dialect,
        http: web.Request,
        call: tuple[str, ChatRequest] | Problem,
        outcome: str,
        number: int,
    ) -> web.StreamResponse:
        if isinstance(call, Problem):
            return self._problem(dialect, call, number)
        if outcome == Fault.RESET:
            self._statuses["reset"] += 1
            return replies.reset_connection(http)
        model, request = call
        problem = replies.problem_of(outcome, model, replies.rejected_parameter(request))
        if problem is not None:
            return self._problem(dialect, problem, number)
        await asyncio.sleep(self.plan.latency_s + (self.plan.slow_s if outcome == Fault.SLOW else 0.0))
        if self._models and model not in self._models:
            missing = replies.problem_of(Fault.MODEL_NOT_FOUND, model, {})
            assert missing is not None
            return self._problem(dialect, missing, number)
        try:
            said = self._respond(model, request)
        except Exception:
            _logger.exception("the respondent failed on call %d", number)
            return self._problem(dialect, Problem(500, "server_error", "the respondent failed"), number)
        completion = said if isinstance(said, Completion) else Completion(Status.OK, said)
        model, completion = replies.faulty_completion(outcome, model, completion)
        body = json.dumps(dialect.answer(self._label + model, request, completion, number)).encode()
        if outcome == Fault.CUT:
            self._statuses["cut"] += 1
            return await replies.cut_reply(http, body, number)
        self._statuses["200"] += 1
        self._answered += outcome != Fault.INVALID_JSON
        return replies.json_reply(200, body[:-2] if outcome == Fault.INVALID_JSON else body, number)

    def _problem(self, dialect: Dialect, problem: Problem, number: int) -> web.Response:
        self._statuses[str(problem.status)] += 1
        waits = replies.retry_after(problem.kind, self.plan.retry_after_s)
        return replies.json_reply(problem.status, json.dumps(dialect.error(problem)).encode(), number, waits)

    async def _list_models(self, http: web.Request) -> web.Response:
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "simulated"} for name in self._models
        ]
        return web.json_response({"object": "list", "data": listed})

    async def _health(self, http: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _show_stats(self, http: web.Request) -> web.Response:
        return web.json_response(self.stats())

    async def _set_faults(self, http: web.Request) -> web.Response:
        """Replace the plan by the one in the body; fields not given take their defaults."""
        try:
            fields = await http.json()
            self.use(
                FaultPlan(**{**fields, **{k: tuple(fields[k]) for k in ("script", "always") if k in fields}})
            )
        except (ValueError, TypeError, AttributeError) as problem:
            return web.json_response({"error": str(problem)}, status=400)
        return web.json_response(dataclasses.asdict(self.plan))


def _read(dialect: Dialect, http: web.Request, raw: bytes) -> tuple[str, ChatRequest] | Problem:
    asked = http.headers.get(FAULT_HEADER)
    if asked is not None and asked not in FAULT_NAMES:
        return Problem(400, "bad_request", f"{FAULT_HEADER}: no fault named {asked!r}")
    try:
        return dialect.read(http.match_info.get("model", ""), json.loads(raw))
    except BadRequest as wrong:
        return Problem(400, "bad_request", str(wrong), wrong.param)
    except (ValueError, RecursionError):
        return Problem(400, "bad_request", "the body is not JSON")


def _spared(name: str, request: ChatRequest) -> bool:
    """Whether ``name`` rejects a parameter that ``request`` does not carry."""
    return name.startswith("reject_") and name not in replies.rejected_parameter(request)
