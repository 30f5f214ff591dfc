"""Batches as the local server takes them: the OpenAI, Anthropic and Gemini ways, and what goes wrong with them.

A batch is answered in the background, ``delay_s`` seconds after it was taken: those of the plan of each moment, so that
a shorter plan ends what waits. Its lines lie in files, so that neither side holds fifty thousand bodies.
``POST /batch-faults`` sets the delay and the fault of each of the next batches, ``GET /batch-stats`` names the batches
taken, with the requests of each.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import functools
import json
import secrets
import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web

from metacog_pipeline.llm.server import replies
from metacog_pipeline.llm.server.dialects import JsonDict

MOST_LINES = {"openai": 50_000, "anthropic": 100_000, "gemini": 1_000_000}
OUTCOMES = ("answered", "errored", "expired", "cancelled")
WINDOW = timedelta(hours=24)
LOOKED_EVERY_S = 0.05
LINES_AT_ONCE = 50  # answered before other calls get their turn

#: Answers one line: provider, endpoint or model of the path, body -> HTTP status, decoded reply.
AnswerLine = Callable[[str, str, object], tuple[int, JsonDict]]


class BatchFault(enum.StrEnum):
    """What can go wrong with one batch. Those about lines strike every second one."""

    REPLY_LOST = "reply_lost"  # taken, and the connection is reset before the reply
    UPLOAD_LOST = "upload_lost"  # the file is taken, and the connection is reset before the reply
    REJECTED = "rejected"  # 500, and nothing was taken
    HALF_MISSING = "half_missing"  # every second line is in no result
    EXPIRED = "expired"  # after 24 hours every second line was not answered
    CANCELLED = "cancelled"  # somebody cancels it after the first half of the lines
    DUPLICATES = "duplicates"  # every second line is there twice
    UNKNOWN_ID = "unknown_id"  # one more line, for a request that was not in the batch
    GARBAGE = "garbage"  # lines that are no JSON, or no result, between the others
    LINE_ERRORS = "line_errors"  # every second line is an error of the server
    FAILED = "failed"  # the whole batch is refused after it was taken


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


@dataclass(slots=True)
class Taken:
    """One batch the server has taken."""

    name: str
    way: str
    owner: str
    target: str
    title: str
    requests: Path
    ids: list[str]
    mark: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    fault: str | None = None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended: datetime | None = None
    cancelled: bool = False
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    results: Path | None = None
    errors: Path | None = None

    @property
    def state(self) -> str:
        """How it stands: ``running``, ``done``, ``expired``, ``cancelled`` or ``failed``."""
        if self.ended is None:
            return "running"
        if self.fault == BatchFault.FAILED:
            return "failed"
        if self.fault == BatchFault.EXPIRED:
            return "expired"
        return "cancelled" if self.cancelled else "done"


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
        """Follow ``plan`` from the next batch on."""
        self.plan = plan
        self._script = deque(plan.script)

    def add_routes(self, app: web.Application) -> None:
        """Add the routes of all three providers."""
        from metacog_pipeline.llm.server import batches_anthropic, batches_gemini, batches_openai

        for way in (batches_openai, batches_anthropic, batches_gemini):
            way.add_routes(app, self)
        # Two providers have these paths; the header of the key, or the name, tells them apart.
        for path, openai, gemini in (
            ("/v1/batches", batches_openai.list_batches, batches_gemini.list_batches),
            ("/v1/batches/{name}", batches_openai.show, batches_gemini.show),
            ("/v1/files/{name:[^:/]+}", batches_openai.show_file, batches_gemini.show_file),
        ):
            app.router.add_get(path, functools.partial(_by_key, self, openai, gemini))
        app.router.add_post("/batch-faults", self._set_plan)
        app.router.add_get("/batch-stats", self._stats)
        app.on_cleanup.append(self._cleanup)

    def next_fault(self) -> str | None:
        """Return what happens to the batch that comes now."""
        return self._script.popleft() if self._script else self.plan.always

    def peek_fault(self) -> str | None:
        """Return what will happen to the next batch, without taking it off the script."""
        return self._script[0] if self._script else self.plan.always

    def new_path(self) -> Path:
        """Return where a new file may lie."""
        return self.folder / secrets.token_hex(8)

    def keep_file(self, owner: str, title: str, path: Path, name: str | None = None) -> str:
        """Keep a file under a name; return the name."""
        name = name or f"file-{secrets.token_hex(8)}"
        self.files[name] = (owner, title, path)
        return name

    def take(self, batch: Taken) -> None:
        """Take ``batch`` and begin to answer it."""
        self.taken[batch.name] = batch
        task = asyncio.get_running_loop().create_task(self._work(batch))
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    def of(self, owner: str, way: str) -> list[Taken]:
        """Return the batches of a key, newest first."""
        return [each for each in reversed(self.taken.values()) if each.owner == owner and each.way == way]

    def find(self, owner: str, way: str, name: str) -> Taken | None:
        """Return one batch, None where this key has none of this name."""
        found = self.taken.get(name)
        return found if found is not None and (found.owner, found.way) == (owner, way) else None

    async def _work(self, batch: Taken) -> None:
        from metacog_pipeline.llm.server import batch_results

        taken = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() < taken + self.plan.delay_s:  # a shorter plan ends it sooner
            await asyncio.sleep(min(self.plan.delay_s, LOOKED_EVERY_S))
        results, errors = self.new_path(), self.new_path()
        with results.open("wb") as good, errors.open("wb") as bad:
            writer = batch_results.Writer(batch, good, bad)
            for place, (custom_id, target, body) in enumerate(lines_of(batch)):
                if place % LINES_AT_ONCE == 0:
                    await asyncio.sleep(0)
                if batch.fault == BatchFault.CANCELLED and place == len(batch.ids) // 2:
                    batch.cancelled = True
                if batch.cancelled:
                    writer.unanswered(custom_id, "cancelled")
                elif batch.fault in (BatchFault.EXPIRED, BatchFault.FAILED) and (
                    place % 2 or batch.fault == BatchFault.FAILED
                ):
                    writer.unanswered(custom_id, "expired")
                else:
                    writer.answered(place, custom_id, *self._answer(batch.way, target, body))
            writer.finish()
        batch.results, batch.errors = results, errors
        batch.ended = datetime.now(UTC)

    async def _set_plan(self, http: web.Request) -> web.Response:
        try:
            fields = await http.json()
            self.use(Plan(**{**fields, "script": tuple(fields.get("script", ()))}))
        except (ValueError, TypeError, AttributeError) as problem:
            return web.json_response({"error": str(problem)}, status=400)
        return web.json_response(asdict(self.plan))

    async def _stats(self, http: web.Request) -> web.Response:
        listed = [
            {"name": each.name, "way": each.way, "state": each.state, "ids": each.ids, "counts": each.counts}
            for each in self.taken.values()
        ]
        return web.json_response({"batches": listed, "files": len(self.files)})

    async def _cleanup(self, app: web.Application) -> None:
        for task in list(self._working):
            task.cancel()
        self._remove()


Handler = Callable[[Batches, web.Request], Awaitable[web.StreamResponse]]


async def _by_key(kept: Batches, openai: Handler, gemini: Handler, http: web.Request) -> web.StreamResponse:
    name = http.match_info.get("name", "")
    theirs = f"batches/{name}" in kept.taken or f"files/{name}" in kept.files
    return await (gemini if theirs or "x-goog-api-key" in http.headers else openai)(kept, http)


def lines_of(batch: Taken) -> Iterator[tuple[str, str, object]]:
    """Yield (custom id, endpoint or model, body) of each request."""
    with batch.requests.open("rb") as lines:
        for line in lines:
            fields = json.loads(line)
            yield fields["custom_id"], batch.target, fields["body"]


def owner_of(http: web.Request) -> str:
    """Return whose call this is: the key it came with."""
    headers = http.headers
    return (
        headers.get("x-api-key")
        or headers.get("x-goog-api-key")
        or headers.get("api-key")
        or headers.get("authorization", "").removeprefix("Bearer ")
    )


def seconds(moment: datetime | None) -> int | None:
    """Return ``moment`` as whole seconds since 1970."""
    return None if moment is None else int(moment.timestamp())


def rfc3339(moment: datetime | None) -> str | None:
    """Return ``moment`` as a string with its zone."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


async def received(http: web.Request, path: Path) -> None:
    """Write the body of a call to ``path`` as it comes."""
    with path.open("wb") as target:
        async for chunk in http.content.iter_chunked(2**20):
            target.write(chunk)


def write_requests(path: Path, requests: Iterator[tuple[str, object]]) -> list[str]:
    """Write (custom id, body) one a line; return the ids. Raises ``ValueError`` for one that comes twice."""
    ids: list[str] = []
    with path.open("w") as target:
        for custom_id, body in requests:
            ids.append(custom_id)
            target.write(json.dumps({"custom_id": custom_id, "body": body}) + "\n")
    if len(set(ids)) < len(ids):
        raise ValueError("custom_id: each must be there once")
    return ids


async def sent_file(http: web.Request, *paths: Path | None) -> web.StreamResponse:
    """Send files one after another as one."""
    response = web.StreamResponse(headers={"content-type": "application/octet-stream"})
    await response.prepare(http)
    for path in paths:
        if path is not None:
            with path.open("rb") as source:
                while chunk := source.read(2**20):
                    await response.write(chunk)
    with contextlib.suppress(ConnectionResetError):
        await response.write_eof()
    return response


def reply_of(http: web.Request, fault: str | None, said: JsonDict) -> web.Response:
    """Return ``said``, or reset the connection where the reply is to be lost."""
    if fault in (BatchFault.REPLY_LOST, BatchFault.UPLOAD_LOST):
        return replies.reset_connection(http)
    return web.json_response(said)


def page(listed: list[Taken], after: str | None, most: int) -> tuple[list[Taken], bool]:
    """Return the batches after the one named ``after``, and whether there are more."""
    names = [each.name for each in listed]
    start = names.index(after) + 1 if after in names else 0
    return listed[start : start + most], start + most < len(listed)


def most_of(http: web.Request, key: str, default: int, top: int) -> int:
    """Return how many a page may hold."""
    asked = http.query.get(key, "")
    return max(1, min(int(asked), top)) if asked.isdecimal() else default
