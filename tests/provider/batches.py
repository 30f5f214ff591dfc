"""Batches as the server takes them: one engine, and a table of what OpenAI, Anthropic and Gemini word otherwise."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import struct
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aiohttp import BodyPartReader, web

from tests.provider.dialects import DIALECTS, GEMINI, Body, Dialect, Problem

LOOKED_EVERY_S = 0.05
LINES_AT_ONCE = 50  # answered before other calls get their turn
GARBAGE = (b"{not json\n", b"null\n", b'{"custom_id": 7}\n', b"\xff\xfe\n", b"\n")
VERSION = "/{version:v1|v1beta}"
#: What can go wrong with one batch. Those about lines strike every second one.
FAULTS = {
    "reply_lost": "taken, and the connection is reset before the reply",
    "upload_lost": "the file is taken, and the connection is reset before the reply",
    "rejected": "500, and nothing was taken",
    "half_missing": "every second line is in no result",
    "expired": "after 24 hours every second line was not answered",
    "cancelled": "somebody cancels it after the first half of the lines",
    "duplicates": "every second line is there twice",
    "unknown_id": "one more line, for a request that was not in the batch",
    "garbage": "lines that are no JSON, or no result, between the others",
    "line_errors": "every second line is an error of the server",
    "failed": "the whole batch is refused after it was taken",
}


@dataclass(slots=True)
class Taken:
    """One batch the server has taken."""

    name: str
    way: Way
    owner: str
    model: str
    mark: str
    requests: list[tuple[str, object]]
    fault: str | None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended: bool = False
    cancelled: bool = False
    counts: Counter[str] = field(default_factory=Counter)  # of answered, errored, expired and cancelled lines
    results: bytes = b""
    errors: bytes = b""

    @property
    def ids(self) -> list[str]:
        return [custom_id for custom_id, _ in self.requests]

    @property
    def state(self) -> str:
        if not self.ended:
            return "running"
        if self.fault in ("failed", "expired"):
            return self.fault
        return "cancelled" if self.cancelled else "done"


@dataclass(frozen=True, slots=True)
class Way:
    """How one provider words batches: one that is looked at, a list of them, a line of results, one without an answer."""

    dialect: Dialect
    prefix: str
    worded: Callable[[Taken], Body]
    listed: Callable[[list[Body], bool], Body]
    line: Callable[[str, int, Body], Body]
    unanswered: Callable[[str, str], Body]
    after: str = "after"
    limit: str = "limit"
    errors_apart: bool = False  # what was not answered stands in a file of its own

    def problem(self, kind: str, message: str = "") -> web.Response:
        problem = Problem(kind, message)
        return web.json_response(self.dialect.error(problem), status=problem.status)


def _openai(batch: Taken) -> Body:
    done = batch.ended and batch.state != "failed"
    files = {"output_file_id": batch.results, "error_file_id": batch.errors}
    said = {"code": "invalid_batch", "message": "the batch was refused"}
    return {
        "id": batch.name,
        "object": "batch",
        "errors": {"data": [said]} if batch.state == "failed" else None,
        "status": {"running": "in_progress", "done": "completed"}.get(batch.state, batch.state),
        "metadata": {"metacog": batch.mark},
        **{kind: f"{kind}-{batch.name}" if done and content else None for kind, content in files.items()},
    }


def _anthropic(batch: Taken) -> Body:
    words = {"answered": "succeeded", "errored": "errored", "expired": "expired", "cancelled": "canceled"}
    counts = {word: batch.counts[name] for name, word in words.items()}
    return {
        "id": batch.name,
        "type": "message_batch",
        "processing_status": "ended" if batch.ended else "canceling" if batch.cancelled else "in_progress",
        "request_counts": counts | {"processing": 0 if batch.ended else len(batch.requests)},
        "created_at": batch.created.isoformat().replace("+00:00", "Z"),
        "archived_at": None,
        "results_url": "https://elsewhere.invalid/results",
    }


def _gemini(batch: Taken) -> Body:
    state = {"running": "RUNNING", "done": "SUCCEEDED"}.get(batch.state, batch.state.upper())
    metadata = {"displayName": batch.mark, "state": f"BATCH_STATE_{state}"}
    fields: Body = {"name": batch.name, "metadata": metadata, "done": batch.ended}
    if batch.state == "failed":
        return fields | {"error": {"code": 13, "message": "the batch was refused"}}
    return fields | ({"response": {"responsesFile": f"files/{batch.name}-out"}} if batch.ended else {})


def _line_of_openai(name: str, status: int, body: Body) -> Body:
    return {"custom_id": name, "response": {"status_code": status, "body": body}}


def _line_of_anthropic(name: str, status: int, body: Body) -> Body:
    good = {"type": "succeeded", "message": body} if status == 200 else {"type": "errored", "error": body}
    return {"custom_id": name, "result": good}


def _line_of_gemini(name: str, status: int, body: Body) -> Body:
    return {"key": name} | ({"response": body} if status == 200 else {"error": body["error"]})


WAYS = {
    "openai": Way(
        DIALECTS["openai"], "batch_", _openai,
        lambda page, more: {"object": "list", "data": page, "has_more": more},
        _line_of_openai,
        lambda name, why: {"custom_id": name, "response": None, "error": {"code": f"batch_{why}"}},
        errors_apart=True,
    ),
    "anthropic": Way(
        DIALECTS["anthropic"], "msgbatch_", _anthropic, lambda page, more: {"data": page, "has_more": more},
        _line_of_anthropic,
        lambda name, why: {"custom_id": name, "result": {"type": why.replace("cancelled", "canceled")}},
        after="after_id",
    ),
    "gemini": Way(
        DIALECTS["gemini"], "batches/", _gemini,
        lambda page, more: {"operations": page} | ({"nextPageToken": page[-1]["name"]} if more else {}),
        _line_of_gemini,
        lambda name, why: {"key": name, "error": {"code": 1 if why == "cancelled" else 4, "message": why}},
        after="pageToken", limit="pageSize",
    ),
}  # fmt: skip
#: Answers one line: dialect, model of the path, body -> HTTP status, decoded reply.
AnswerLine = Callable[[Dialect, str, object], tuple[int, Body]]


# Answered in the background, ``delay_s`` after it was taken by the plan of each moment: a shorter one ends what waits.
class Batches:
    """The batches and files of one server."""

    def __init__(self, answer: AnswerLine) -> None:
        self._answer = answer
        self._delay_s, self._script = 0.0, deque[str | None]()
        self.taken: dict[str, Taken] = {}
        self.files: dict[str, tuple[str, bytes]] = {}  # name -> owner, content
        self._working: set[asyncio.Task[None]] = set()

    def use(self, *, delay_s: float = 0.0, script: Sequence[str | None] = ()) -> None:
        """Answer so long after taking; the next batches fail as ``script`` says, by names of ``FAULTS``."""
        assert {name for name in script if name is not None} <= FAULTS.keys(), script
        self._delay_s, self._script = delay_s, deque(script)

    def add_routes(self, app: web.Application) -> None:
        for path in (f"{VERSION}/batches", "/v1/messages/batches"):
            app.router.add_get(path, self._list)
            app.router.add_get(f"{path}/{{name}}", self._show)
            app.router.add_post(f"{path}/{{name}}/cancel", self._cancel)
        app.router.add_post(f"{VERSION}/batches/{{name}}:cancel", self._cancel)
        app.router.add_post("/v1/files", self._upload_form)
        app.router.add_post("/v1/batches", self._create_openai)
        app.router.add_post("/v1/messages/batches", self._create_anthropic)
        app.router.add_post(f"/upload{VERSION}/files", self._start_upload)
        app.router.add_post("/upload-to/{token}", self._upload)
        app.router.add_post(f"{GEMINI}:batchGenerateContent", self._create_gemini)
        for path in (
            "/v1/files/{name}/content",
            f"{VERSION}/{{name:files/.*}}:download",
            "/v1/messages/batches/{name}/results",
        ):
            app.router.add_get(path, self._content)
        app.on_cleanup.append(self._cleanup)

    # --- looking ----------------------------------------------------------------------------------------------------
    def _mine(self, http: web.Request) -> list[Taken]:
        whose = owner_of(http), way_of(http)
        return [each for each in reversed(self.taken.values()) if (each.owner, each.way) == whose]

    def _found(self, http: web.Request) -> Taken | None:
        name, way = http.match_info["name"], way_of(http)
        return next((each for each in self._mine(http) if each.name in (name, way.prefix + name)), None)

    async def _list(self, http: web.Request) -> web.Response:
        way, mine = way_of(http), self._mine(http)
        names, last = [each.name for each in mine], http.query.get(way.after)
        start = names.index(last) + 1 if last in names else 0
        end = start + int(http.query.get(way.limit, "20"))
        return web.json_response(way.listed([way.worded(each) for each in mine[start:end]], end < len(mine)))

    async def _show(self, http: web.Request) -> web.Response:
        way, batch = way_of(http), self._found(http)
        return way.problem("not_found") if batch is None else web.json_response(way.worded(batch))

    async def _cancel(self, http: web.Request) -> web.Response:
        if (batch := self._found(http)) is not None:
            batch.cancelled = batch.cancelled or not batch.ended
        return await self._show(http)

    async def _content(self, http: web.Request) -> web.Response:
        """Send a file that was uploaded, or the results of a batch, whose files are named after it."""
        name = http.match_info["name"]
        batch = next((each for each in self._mine(http) if each.ended and each.name in name), None)
        if batch is None:
            content = self._file(http, name)
            return way_of(http).problem("not_found") if content is None else web.Response(body=content)
        return web.Response(body=batch.errors if name.startswith("error") else batch.results)

    # --- taking -----------------------------------------------------------------------------------------------------
    def _file(self, http: web.Request, name: str) -> bytes | None:
        owner, content = self.files.get(name, ("", None))
        return content if owner == owner_of(http) else None

    async def _upload_form(self, http: web.Request) -> web.Response:
        fields = {
            part.name: bytes(await part.read())
            async for part in await http.multipart()
            if isinstance(part, BodyPartReader)
        }
        if fields.get("purpose") != b"batch" or "file" not in fields:
            return way_of(http).problem(
                "bad_request", "file and purpose are required; purpose 'batch' is the only one"
            )
        name = f"file-{secrets.token_hex(8)}"
        self.files[name] = (owner_of(http), fields["file"])
        return self._replied(http, self._upload_fault(), {"id": name, "object": "file"})

    async def _start_upload(self, http: web.Request) -> web.Response:
        token = secrets.token_hex(16)
        self.files[f"upload/{token}"] = (owner_of(http), b"")
        where = f"{http.scheme}://{http.host}/upload-to/{token}"
        return web.json_response({}, headers={"x-goog-upload-url": where})

    async def _upload(self, http: web.Request) -> web.Response:
        begun = self.files.pop(f"upload/{http.match_info['token']}", None)
        if begun is None or "finalize" not in http.headers.get("x-goog-upload-command", ""):
            return way_of(http).problem("not_found")
        name = f"files/{secrets.token_hex(8)}"
        self.files[name] = (begun[0], await http.read())
        return self._replied(http, self._upload_fault(), {"file": {"name": name}})

    async def _create_openai(self, http: web.Request) -> web.Response:
        fields = await http.json()
        source, endpoint = self._file(http, fields["input_file_id"]), fields["endpoint"]
        lines = [json.loads(line) for line in (source or b"").splitlines()]
        if any((each["url"], each["method"]) != (endpoint, "POST") for each in lines):
            return way_of(http).problem("bad_request", f"url must be {endpoint} and method POST")
        mark = fields.get("metadata", {}).get("metacog", "")
        return self._take(http, "", mark, [(each["custom_id"], each["body"]) for each in lines])

    async def _create_anthropic(self, http: web.Request) -> web.Response:
        requests = (await http.json())["requests"]
        return self._take(http, "", "", [(each["custom_id"], each["params"]) for each in requests])

    async def _create_gemini(self, http: web.Request) -> web.Response:
        fields = (await http.json())["batch"]
        source = self._file(http, fields["inputConfig"]["fileName"]) or b""
        requests = [(each["key"], each["request"]) for each in map(json.loads, source.splitlines())]
        return self._take(http, http.match_info["model"], fields["displayName"], requests)

    def _take(
        self, http: web.Request, model: str, mark: str, requests: list[tuple[str, object]]
    ) -> web.Response:
        way, fault = way_of(http), self._script.popleft() if self._script else None
        if fault == "rejected":
            return way.problem("server_error")
        if not requests or len(dict(requests)) < len(requests):
            return way.problem("bad_request", "custom_id: each must be there once")
        name = f"{way.prefix}{secrets.token_hex(8)}"
        batch = self.taken[name] = Taken(name, way, owner_of(http), model, mark, requests, fault)
        task = asyncio.get_running_loop().create_task(self._work(batch))
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return self._replied(http, fault, way.worded(batch))

    def _upload_fault(self) -> str | None:
        return self._script.popleft() if self._script and self._script[0] == "upload_lost" else None

    def _replied(self, http: web.Request, fault: str | None, said: Body) -> web.Response:
        return reset(http) if fault in ("reply_lost", "upload_lost") else web.json_response(said)

    # --- answering --------------------------------------------------------------------------------------------------
    async def _work(self, batch: Taken) -> None:
        now = asyncio.get_running_loop().time
        taken = now()
        while now() < taken + self._delay_s:  # a shorter plan ends it sooner
            await asyncio.sleep(min(self._delay_s, LOOKED_EVERY_S))
        good, bad = list[bytes](), list[bytes]()
        for place, (custom_id, body) in enumerate(batch.requests):
            if place % LINES_AT_ONCE == 0:
                await asyncio.sleep(0)
            if batch.fault == "cancelled" and place == len(batch.requests) // 2:
                batch.cancelled = True
            for line, ok in self._lines(batch, place, custom_id, body):
                (good if ok or not batch.way.errors_apart else bad).append(line)
        if batch.fault == "unknown_id" and good:
            good.append(good[0].replace(batch.requests[0][0].encode(), b"0" * 64))
        batch.results, batch.errors, batch.ended = b"".join(good), b"".join(bad), True

    def _lines(self, batch: Taken, place: int, custom_id: str, body: object) -> Iterator[tuple[bytes, bool]]:
        """Yield the lines of results of one request, each with whether it is an answer."""
        way, fault, odd = batch.way, batch.fault, place % 2 == 1
        if batch.cancelled or fault == "failed" or (odd and fault == "expired"):
            why = "cancelled" if batch.cancelled else "expired"
            batch.counts[why] += 1
            yield _encoded(way.unanswered(custom_id, why)), False
            return
        status, reply = self._answer(way.dialect, batch.model, body)
        if odd and fault == "half_missing":
            return
        if odd and fault == "line_errors":
            status, reply = 500, way.dialect.error(Problem("server_error"))
        batch.counts["answered" if status == 200 else "errored"] += 1
        for _ in range(2 if odd and fault == "duplicates" else 1):
            yield _encoded(way.line(custom_id, status, reply)), status == 200
        if fault == "garbage":
            yield GARBAGE[place % len(GARBAGE)], True

    async def _cleanup(self, app: web.Application) -> None:
        for task in list(self._working):
            task.cancel()


def reset(http: web.Request) -> web.Response:
    """Reset the connection of a call before any byte of an answer."""
    if http.transport is not None:
        connection = http.transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        http.transport.abort()
    return web.Response()


def way_of(http: web.Request) -> Way:
    """Return whose batches a call is about; where two have the same path, the header of the key tells them apart."""
    if "x-goog-api-key" in http.headers:
        return WAYS["gemini"]
    return WAYS["anthropic" if "/messages/" in http.path else "openai"]


def owner_of(http: web.Request) -> str:
    named = http.headers.get("x-api-key") or http.headers.get("x-goog-api-key")
    return named or http.headers.get("authorization", "").removeprefix("Bearer ")


def _encoded(fields: Body) -> bytes:
    return json.dumps(fields).encode() + b"\n"
