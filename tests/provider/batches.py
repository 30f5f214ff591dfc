"""Batches as the local server takes them: one engine, and in a class each what OpenAI, Anthropic and Gemini differ in.

A batch is answered in the background, ``delay_s`` seconds after it was taken: those of the plan of each moment, so that
a shorter plan ends what waits. Only the key that made a batch or a file sees it. ``POST /batch-faults`` sets the delay and
the fault of each of the next batches, ``GET /batch-stats`` names the batches taken, with the requests of each.
"""

from __future__ import annotations

import asyncio
import enum
import functools
import json
import secrets
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from aiohttp import BodyPartReader, web

from tests.provider import anthropic, gemini, openai, replies
from tests.provider.dialects import Dialect, JsonDict, Problem

LOOKED_EVERY_S = 0.05
LINES_AT_ONCE = 50  # answered before other calls get their turn
NOT_ASKED = "0" * 64
GARBAGE = (b"{not json\n", b"null\n", b'{"custom_id": 7}\n', b"\xff\xfe\n", b"\n")
OUTCOMES = ("answered", "errored", "expired", "cancelled")
VERSION = "/{version:v1|v1beta}"


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


@dataclass(slots=True)
class Taken:
    """One batch the server has taken; ``target`` is the endpoint or model all its requests share."""

    name: str
    way: Way
    owner: str
    target: str
    mark: str
    requests: list[tuple[str, object]]
    fault: str | None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended: bool = False
    cancelled: bool = False
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    results: bytes = b""
    errors: bytes = b""

    @property
    def ids(self) -> list[str]:
        return [custom_id for custom_id, _ in self.requests]

    @property
    def state(self) -> str:
        if not self.ended:
            return "running"
        if self.fault in (BatchFault.FAILED, BatchFault.EXPIRED):
            return str(self.fault)
        return "cancelled" if self.cancelled else "done"


#: Answers one line: whose way, endpoint or model of the path, body -> HTTP status, decoded reply.
AnswerLine = Callable[["Way", str, object], tuple[int, JsonDict]]


class Way(ABC):
    """One provider's batches. ``errors_apart``: what was not answered stands in a file of its own."""

    name: str
    interface: str
    dialect: Dialect
    prefix: str
    errors_apart = False

    def __init__(self, kept: Batches) -> None:
        self.kept = kept

    @abstractmethod
    def worded(self, http: web.Request, batch: Taken) -> JsonDict:
        """Return it as the provider words it."""

    @abstractmethod
    def line(self, custom_id: str, status: int, body: JsonDict) -> JsonDict:
        """Return it as the provider words it."""

    @abstractmethod
    def unanswered(self, custom_id: str, why: str) -> JsonDict:
        """Return it as the provider words it."""

    def problem(self, status: int, kind: str, message: str) -> web.Response:
        return web.json_response(self.dialect.error(Problem(status, kind, message)), status=status)

    def missing(self) -> web.Response:
        return self.problem(404, "not_found", "no such batch or file")

    def mine(self, http: web.Request) -> list[Taken]:
        owner = owner_of(http)
        return [
            each for each in reversed(self.kept.taken.values()) if (each.owner, each.way) == (owner, self)
        ]

    def found(self, http: web.Request) -> Taken | None:
        name = http.match_info["name"]
        return next((each for each in self.mine(http) if each.name in (name, self.prefix + name)), None)

    async def show(self, http: web.Request) -> web.Response:
        batch = self.found(http)
        return self.missing() if batch is None else web.json_response(self.worded(http, batch))

    async def cancel(self, http: web.Request) -> web.Response:
        batch = self.found(http)
        if batch is None:
            return self.missing()
        batch.cancelled = batch.cancelled or not batch.ended
        return web.json_response(self.worded(http, batch))

    def page(self, http: web.Request, after: str, limit: str) -> tuple[list[JsonDict], bool]:
        """Return the batches on the page asked for, newest first, and whether more follow."""
        mine, last = self.mine(http), http.query.get(after)
        names = [each.name for each in mine]
        start = names.index(last) + 1 if last in names else 0
        end = start + int(http.query.get(limit, "20"))
        return [self.worded(http, each) for each in mine[start:end]], end < len(mine)

    def take(
        self, http: web.Request, target: str, mark: str, requests: list[tuple[str, object]]
    ) -> web.Response:
        fault = self.kept.next_fault()
        if fault == BatchFault.REJECTED:
            return self.problem(500, "server_error", "something broke")
        if not requests or len({custom_id for custom_id, _ in requests}) < len(requests):
            return self.problem(400, "bad_request", "custom_id: each must be there once")
        name = f"{self.prefix}{secrets.token_hex(8)}"
        batch = Taken(name, self, owner_of(http), target, mark, requests, fault)
        self.kept.take(batch)
        return reply_of(http, fault, self.worded(http, batch))

    def file(self, http: web.Request, name: str) -> bytes | None:
        owner, content = self.kept.files.get(name, ("", None))
        return content if owner == owner_of(http) else None

    def sent(self, http: web.Request, name: str) -> web.Response:
        content = self.file(http, name)
        return self.missing() if content is None else web.Response(body=content)


class OpenAiWay(Way):
    """Requests come in a file that was uploaded before, results go into one file, errors into another."""

    name, interface, dialect, prefix, errors_apart = "openai", "chat", openai.DIALECT, "batch_", True

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{name}/content", self._content)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_post("/v1/batches/{name:batch_.*}/cancel", self.cancel)

    async def _upload(self, http: web.Request) -> web.Response:
        fields = {
            part.name: await part.read()
            async for part in await http.multipart()
            if isinstance(part, BodyPartReader)
        }
        if fields.get("purpose") != b"batch" or "file" not in fields:
            return self.problem(
                400, "bad_request", "file and purpose are required; purpose 'batch' is the only one"
            )
        name = f"file-{secrets.token_hex(8)}"
        self.kept.files[name] = (owner_of(http), bytes(fields["file"]))
        return reply_of(http, self.kept.upload_fault(), {"id": name, "object": "file"})

    async def _content(self, http: web.Request) -> web.Response:
        return self.sent(http, http.match_info["name"])

    async def _create(self, http: web.Request) -> web.Response:
        fields = await http.json()
        source, endpoint = self.file(http, fields["input_file_id"]), fields["endpoint"]
        if source is None:
            return self.missing()
        lines = [json.loads(line) for line in source.splitlines()]
        if any((each["url"], each["method"]) != (endpoint, "POST") for each in lines):
            return self.problem(400, "bad_request", f"url must be {endpoint} and method POST")
        mark = fields.get("metadata", {}).get("metacog", "")
        return self.take(http, endpoint, mark, [(each["custom_id"], each["body"]) for each in lines])

    def worded(self, http: web.Request, batch: Taken) -> JsonDict:
        files: JsonDict = {"output_file_id": None, "error_file_id": None}
        for kind, content in (("output", batch.results), ("error", batch.errors)):
            if content and batch.state != "failed":
                name = files[f"{kind}_file_id"] = f"file-{kind}-{batch.name}"
                self.kept.files[name] = (batch.owner, content)
        said = {"code": "invalid_batch", "message": "the batch was refused"}
        return {
            "id": batch.name,
            "object": "batch",
            "errors": {"data": [said]} if batch.state == "failed" else None,
            "status": {"running": "in_progress", "done": "completed"}.get(batch.state, batch.state),
            "metadata": {"metacog": batch.mark},
            **files,
        }

    async def list(self, http: web.Request) -> web.Response:
        worded, more = self.page(http, "after", "limit")
        return web.json_response({"object": "list", "data": worded, "has_more": more})

    def line(self, custom_id: str, status: int, body: JsonDict) -> JsonDict:
        return {"custom_id": custom_id, "response": {"status_code": status, "body": body}, "error": None}

    def unanswered(self, custom_id: str, why: str) -> JsonDict:
        return {"custom_id": custom_id, "response": None, "error": {"code": f"batch_{why}", "message": why}}


class AnthropicWay(Way):
    """One call brings all requests, one file all results."""

    name, interface, dialect, prefix = "anthropic", "messages", anthropic.DIALECT, "msgbatch_"

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/messages/batches", self._create)
        app.router.add_get("/v1/messages/batches", self._list)
        app.router.add_get("/v1/messages/batches/{name}", self.show)
        app.router.add_get("/v1/messages/batches/{name}/results", self._results)
        app.router.add_post("/v1/messages/batches/{name}/cancel", self.cancel)

    async def _create(self, http: web.Request) -> web.Response:
        requests = (await http.json())["requests"]
        return self.take(http, "", "", [(each["custom_id"], each["params"]) for each in requests])

    def worded(self, http: web.Request, batch: Taken) -> JsonDict:
        counts, left = batch.counts, 0 if batch.ended else len(batch.requests)
        answered, stopped = {"succeeded": counts["answered"]}, {"canceled": counts["cancelled"]}
        counted = {"processing": left, "errored": counts["errored"], "expired": counts["expired"]}
        return {
            "id": batch.name,
            "type": "message_batch",
            "processing_status": "ended"
            if batch.ended
            else "canceling"
            if batch.cancelled
            else "in_progress",
            "request_counts": counted | answered | stopped,
            "created_at": batch.created.isoformat().replace("+00:00", "Z"),
            "archived_at": None,
            "results_url": "https://elsewhere.invalid/results",
        }

    async def _list(self, http: web.Request) -> web.Response:
        worded, more = self.page(http, "after_id", "limit")
        return web.json_response({"data": worded, "has_more": more})

    async def _results(self, http: web.Request) -> web.Response:
        batch = self.found(http)
        return self.missing() if batch is None or not batch.ended else web.Response(body=batch.results)

    def line(self, custom_id: str, status: int, body: JsonDict) -> JsonDict:
        kind = {"type": "succeeded", "message": body} if status == 200 else {"type": "errored", "error": body}
        return {"custom_id": custom_id, "result": kind}

    def unanswered(self, custom_id: str, why: str) -> JsonDict:
        return {"custom_id": custom_id, "result": {"type": why.replace("cancelled", "canceled")}}


class GeminiWay(Way):
    """Requests come in a file that was uploaded before, in two calls; results are one file."""

    name, interface, dialect, prefix = "gemini", "gemini", gemini.DIALECT, "batches/"

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/upload" + VERSION + "/files", self._start_upload)
        app.router.add_post("/upload-to/{token}", self._upload)
        app.router.add_get(VERSION + "/files/{name}:download", self._download)
        app.router.add_post(VERSION + "/models/{model}:batchGenerateContent", self._create)
        app.router.add_get("/v1beta/batches", self.list)
        app.router.add_get("/v1beta/batches/{name}", self.show)
        app.router.add_post(VERSION + "/batches/{name}:cancel", self.cancel)

    async def _start_upload(self, http: web.Request) -> web.Response:
        token = secrets.token_hex(16)
        self.kept.files[f"upload/{token}"] = (owner_of(http), b"")
        where = f"{http.scheme}://{http.host}/upload-to/{token}"
        return web.json_response({}, headers={"x-goog-upload-url": where})

    async def _upload(self, http: web.Request) -> web.Response:
        begun = self.kept.files.pop(f"upload/{http.match_info['token']}", None)
        if begun is None or "finalize" not in http.headers.get("x-goog-upload-command", ""):
            return self.missing()
        name = f"files/{secrets.token_hex(8)}"
        self.kept.files[name] = (begun[0], await http.read())
        return reply_of(http, self.kept.upload_fault(), {"file": {"name": name}})

    async def _download(self, http: web.Request) -> web.Response:
        return self.sent(http, f"files/{http.match_info['name']}")

    async def _create(self, http: web.Request) -> web.Response:
        fields = (await http.json())["batch"]
        source = self.file(http, fields["inputConfig"]["fileName"])
        if source is None:
            return self.missing()
        lines = [json.loads(line) for line in source.splitlines()]
        requests = [(each["key"], each["request"]) for each in lines]
        return self.take(http, http.match_info["model"], fields["displayName"], requests)

    def worded(self, http: web.Request, batch: Taken) -> JsonDict:
        state = {"running": "RUNNING", "done": "SUCCEEDED"}.get(batch.state, batch.state.upper())
        metadata = {"displayName": batch.mark, "state": f"BATCH_STATE_{state}"}
        fields: JsonDict = {"name": batch.name, "metadata": metadata, "done": batch.ended}
        if batch.state == "failed":
            fields["error"] = {"code": 13, "message": "the batch was refused"}
        elif batch.ended:
            name = f"files/{batch.name.removeprefix(self.prefix)}-out"
            self.kept.files[name] = (batch.owner, batch.results)
            fields["response"] = {"responsesFile": name}
        return fields

    async def list(self, http: web.Request) -> web.Response:
        worded, more = self.page(http, "pageToken", "pageSize")
        token = {"nextPageToken": worded[-1]["name"]} if more else {}
        return web.json_response({"operations": worded, **token})

    def line(self, custom_id: str, status: int, body: JsonDict) -> JsonDict:
        return {"key": custom_id, **({"response": body} if status == 200 else {"error": body["error"]})}

    def unanswered(self, custom_id: str, why: str) -> JsonDict:
        return {"key": custom_id, "error": {"code": 1 if why == "cancelled" else 4, "message": why}}


class Batches:
    """The batches and files of one server."""

    def __init__(self, answer: AnswerLine) -> None:
        self._answer = answer
        self.taken: dict[str, Taken] = {}
        self.files: dict[str, tuple[str, bytes]] = {}  # name -> owner, content
        self._working: set[asyncio.Task[None]] = set()
        self.use(Plan())

    def use(self, plan: Plan) -> None:
        self.plan = plan
        self._script = deque(plan.script)

    def add_routes(self, app: web.Application) -> None:
        openai_way, gemini_way = OpenAiWay(self), GeminiWay(self)
        for way in (openai_way, AnthropicWay(self), gemini_way):
            way.add_routes(app)

        # Two providers have these paths; the header of the key tells them apart.
        async def by_key(name: str, http: web.Request) -> web.Response:
            way = gemini_way if "x-goog-api-key" in http.headers else openai_way
            found: web.Response = await getattr(way, name)(http)
            return found

        app.router.add_get("/v1/batches", functools.partial(by_key, "list"))
        app.router.add_get("/v1/batches/{name}", functools.partial(by_key, "show"))
        app.router.add_post("/batch-faults", self._set_plan)
        app.router.add_get("/batch-stats", self._stats)
        app.on_cleanup.append(self._cleanup)

    def next_fault(self) -> str | None:
        return self._script.popleft() if self._script else self.plan.always

    def upload_fault(self) -> str | None:
        coming = self._script[0] if self._script else self.plan.always
        return self.next_fault() if coming == BatchFault.UPLOAD_LOST else None

    def take(self, batch: Taken) -> None:
        self.taken[batch.name] = batch
        task = asyncio.get_running_loop().create_task(self._work(batch))
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def _work(self, batch: Taken) -> None:
        now = asyncio.get_running_loop().time
        taken = now()
        while now() < taken + self.plan.delay_s:  # a shorter plan ends it sooner
            await asyncio.sleep(min(self.plan.delay_s, LOOKED_EVERY_S))
        good, bad = list[bytes](), list[bytes]()
        for place, (custom_id, body) in enumerate(batch.requests):
            if place % LINES_AT_ONCE == 0:
                await asyncio.sleep(0)
            if batch.fault == BatchFault.CANCELLED and place == len(batch.requests) // 2:
                batch.cancelled = True
            for line, ok in self._lines(batch, place, custom_id, body):
                (good if ok or not batch.way.errors_apart else bad).append(line)
        if batch.fault == BatchFault.UNKNOWN_ID and good:
            good.append(good[0].replace(batch.ids[0].encode(), NOT_ASKED.encode()))
        batch.results, batch.errors, batch.ended = b"".join(good), b"".join(bad), True

    def _lines(self, batch: Taken, place: int, custom_id: str, body: object) -> Iterator[tuple[bytes, bool]]:
        """Yield the lines of results of one request, each with whether it is an answer."""
        way, fault, odd = batch.way, batch.fault, place % 2 == 1
        expired = fault == BatchFault.FAILED or (odd and fault == BatchFault.EXPIRED)
        if batch.cancelled or expired:
            why = "cancelled" if batch.cancelled else "expired"
            batch.counts[why] += 1
            yield _encoded(way.unanswered(custom_id, why)), False
            return
        status, reply = self._answer(way, batch.target, body)
        if odd and fault == BatchFault.HALF_MISSING:
            return
        if odd and fault == BatchFault.LINE_ERRORS:
            status, reply = 500, way.dialect.error(Problem(500, "server_error", "something broke"))
        batch.counts["answered" if status == 200 else "errored"] += 1
        for _ in range(2 if odd and fault == BatchFault.DUPLICATES else 1):
            yield _encoded(way.line(custom_id, status, reply)), status == 200
        if fault == BatchFault.GARBAGE:
            yield GARBAGE[place % len(GARBAGE)], True

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


def owner_of(http: web.Request) -> str:
    headers: Mapping[str, str] = http.headers
    named = headers.get("x-api-key") or headers.get("x-goog-api-key")
    return named or headers.get("authorization", "").removeprefix("Bearer ")


def reply_of(http: web.Request, fault: str | None, said: JsonDict) -> web.Response:
    if fault in (BatchFault.REPLY_LOST, BatchFault.UPLOAD_LOST):
        return replies.reset_connection(http)
    return web.json_response(said)


def _encoded(fields: JsonDict) -> bytes:
    return json.dumps(fields).encode() + b"\n"
