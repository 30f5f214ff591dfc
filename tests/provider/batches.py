"""Batches as the local server takes them: the OpenAI, Anthropic and Gemini ways, and what goes wrong with them.

A batch is answered in the background, ``delay_s`` seconds after it was taken: those of the plan of each moment, so that
a shorter plan ends what waits. Its lines lie in files, so that neither side holds fifty thousand bodies.
``POST /batch-faults`` sets the delay and the fault of each of the next batches, ``GET /batch-stats`` names the batches
taken, with the requests of each.
"""

from __future__ import annotations

import asyncio
import functools
import json
import secrets
import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from aiohttp import web

from tests.provider.batch_ways import BatchFault, Taken, Way, lines_in
from tests.provider.batches_anthropic import AnthropicWay
from tests.provider.batches_gemini import GeminiWay
from tests.provider.batches_openai import OpenAiWay
from tests.provider.dialects import JsonDict, Problem

LOOKED_EVERY_S = 0.05
LINES_AT_ONCE = 50  # answered before other calls get their turn
NOT_ASKED = "0" * 64
GARBAGE = (b"{not json\n", b"null\n", b'{"custom_id": 7}\n', b"\xff\xfe\n", b"\n")

#: Answers one line: whose way, endpoint or model of the path, body -> HTTP status, decoded reply.
AnswerLine = Callable[[Way, str, object], tuple[int, JsonDict]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Plan:
    """When batches end and what happens to the next ones; ``always`` strikes all that ``script`` does not name."""

    delay_s: float = 0.0
    script: tuple[str | None, ...] = ()
    always: str | None = None

    def __post_init__(self) -> None:
        for name in (*self.script, self.always):
            if name is not None:
                BatchFault(name)
        if not 0 <= self.delay_s < float("inf"):
            raise ValueError("delay_s is seconds: 0 or more")


class Batches:
    """The batches and files of one server, each seen only by the key that made it."""

    def __init__(self, answer: AnswerLine) -> None:
        self._answer = answer
        self.folder = Path(tempfile.mkdtemp(prefix="metacog-batches-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self.folder, True)
        self.taken: dict[str, Taken] = {}
        self.files: dict[str, tuple[str, str, Path]] = {}  # name -> owner, title, where it lies
        self._working: set[asyncio.Task[None]] = set()
        self.use(Plan())

    def use(self, plan: Plan) -> None:
        self.plan = plan
        self._script = deque(plan.script)

    def add_routes(self, app: web.Application) -> None:
        openai, gemini = OpenAiWay(self), GeminiWay(self)
        for way in (openai, AnthropicWay(self), gemini):
            way.add_routes(app)
        # Two providers have these paths; the header of the key, or the name, tells them apart.
        for path, theirs, others in (
            ("/v1/batches", openai.list, gemini.list),
            ("/v1/batches/{name}", openai.show, gemini.show),
            ("/v1/files/{name:[^:/]+}", openai.show_file, gemini.show_file),
        ):
            app.router.add_get(path, functools.partial(self._by_key, theirs, others))
        app.router.add_post("/batch-faults", self._set_plan)
        app.router.add_get("/batch-stats", self._stats)
        app.on_cleanup.append(self._cleanup)

    def next_fault(self) -> str | None:
        return self._script.popleft() if self._script else self.plan.always

    def upload_fault(self) -> str | None:
        coming = self._script[0] if self._script else self.plan.always
        return self.next_fault() if coming == BatchFault.UPLOAD_LOST else None

    def new_path(self) -> Path:
        return self.folder / secrets.token_hex(8)

    def take(self, batch: Taken) -> None:
        self.taken[batch.name] = batch
        task = asyncio.get_running_loop().create_task(self._work(batch))
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def _work(self, batch: Taken) -> None:
        taken = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() < taken + self.plan.delay_s:  # a shorter plan ends it sooner
            await asyncio.sleep(min(self.plan.delay_s, LOOKED_EVERY_S))
        results, errors = self.new_path(), self.new_path()
        with results.open("wb") as good, errors.open("wb") as bad:
            writer = _Writer(batch, good, bad if batch.way.errors_apart else good)
            for place, asked in enumerate(lines_in(batch.requests)):
                if place % LINES_AT_ONCE == 0:
                    await asyncio.sleep(0)
                custom_id, odd = str(asked["custom_id"]), place % 2 == 1
                if batch.fault == BatchFault.CANCELLED and place == len(batch.ids) // 2:
                    batch.cancelled = True
                if batch.cancelled:
                    writer.unanswered(custom_id, "cancelled")
                elif batch.fault == BatchFault.FAILED or (odd and batch.fault == BatchFault.EXPIRED):
                    writer.unanswered(custom_id, "expired")
                else:
                    writer.answered(place, custom_id, *self._answer(batch.way, batch.target, asked["body"]))
            writer.finish()
        batch.results, batch.errors = results, errors
        batch.ended = datetime.now(UTC)

    async def _by_key(self, openai: Handler, gemini: Handler, http: web.Request) -> web.StreamResponse:
        name = http.match_info.get("name", "")
        theirs = f"batches/{name}" in self.taken or f"files/{name}" in self.files
        return await (gemini if theirs or "x-goog-api-key" in http.headers else openai)(http)

    async def _set_plan(self, http: web.Request) -> web.Response:
        try:
            fields = await http.json()
            self.use(Plan(**{**fields, "script": tuple(fields.get("script", ()))}))
        except (ValueError, TypeError, AttributeError) as problem:
            return web.json_response({"error": str(problem)}, status=400)
        return web.json_response(asdict(self.plan))

    async def _stats(self, http: web.Request) -> web.Response:
        listed = [
            {
                "name": each.name,
                "way": each.way.name,
                "state": each.state,
                "ids": each.ids,
                "counts": each.counts,
            }
            for each in self.taken.values()
        ]
        return web.json_response({"batches": listed, "files": len(self.files)})

    async def _cleanup(self, app: web.Application) -> None:
        for task in list(self._working):
            task.cancel()
        self._remove()


class _Writer:
    """Writes the lines of one batch's results, with the faults its plan asks for."""

    def __init__(self, batch: Taken, good: BinaryIO, bad: BinaryIO) -> None:
        self._batch, self._good, self._bad = batch, good, bad
        self._first: bytes | None = None

    def answered(self, place: int, custom_id: str, status: int, body: JsonDict) -> None:
        way, fault, odd = self._batch.way, self._batch.fault, place % 2 == 1
        if odd and fault == BatchFault.HALF_MISSING:
            return
        if odd and fault == BatchFault.LINE_ERRORS:
            status, body = 500, way.dialect.error(Problem(500, "server_error", "something broke"))
        self._batch.counts["answered" if status == 200 else "errored"] += 1
        line = _encoded(way.line(custom_id, status, body))
        target = self._good if status == 200 else self._bad
        target.write(line * 2 if odd and fault == BatchFault.DUPLICATES else line)
        if fault == BatchFault.GARBAGE:
            target.write(GARBAGE[place % len(GARBAGE)])
        self._first = self._first or line

    def unanswered(self, custom_id: str, why: str) -> None:
        self._batch.counts[why] += 1
        if self._batch.fault != BatchFault.FAILED:
            self._bad.write(_encoded(self._batch.way.unanswered(custom_id, why)))

    def finish(self) -> None:
        if self._batch.fault == BatchFault.UNKNOWN_ID and self._first is not None:
            self._good.write(self._first.replace(self._batch.ids[0].encode(), NOT_ASKED.encode()))


def _encoded(fields: JsonDict) -> bytes:
    return json.dumps(fields).encode() + b"\n"
