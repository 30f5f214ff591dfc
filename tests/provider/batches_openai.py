"""OpenAI's files and batches as the local server takes them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

from aiohttp import BodyPartReader, web

from tests.provider import batch_ways, openai
from tests.provider.batch_ways import BatchFault, Taken, seconds
from tests.provider.dialects import JsonDict

ENDPOINTS = frozenset({"/v1/chat/completions"})
MAX_FILE_BYTES = 200_000_000
MOST_REQUESTS = 50_000
STATES = {"running": "in_progress", "done": "completed"}


def _problem(status: int, message: str, code: str | None = None, param: str | None = None) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return web.json_response({"error": error}, status=status)


def _no_file(name: str, param: str = "id") -> web.Response:
    return _problem(404, f"No such File object: {name}", param=param)


class OpenAiWay(batch_ways.Way):
    """Requests come in a file that was uploaded before, results go into one file, errors into another."""

    name, interface, dialect, errors_apart = "openai", "chat", openai.DIALECT, True

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files", self._list_files)
        app.router.add_get("/v1/files/{name}/content", self._content)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_post("/v1/batches/{name}/cancel", self.cancel)

    def missing(self, http: web.Request) -> web.Response:
        return _problem(404, f"No batch found with id '{http.match_info['name']}'", param="id")

    async def _upload(self, http: web.Request) -> web.Response:
        purpose, title, path = "", "", self.kept.new_path()
        try:
            async for part in await http.multipart():
                if not isinstance(part, BodyPartReader):
                    continue
                if part.name == "purpose":
                    purpose = await part.text()
                elif part.name == "file":
                    title = part.filename or "upload"
                    with path.open("wb") as target:
                        while chunk := await part.read_chunk(2**18):
                            target.write(chunk)
        except (ValueError, AssertionError) as wrong:
            return _problem(400, f"the upload cannot be read: {wrong}")
        if purpose != "batch" or not path.exists():
            said = "file and purpose are required; purpose 'batch' is the only one here"
            return _problem(400, said, param="purpose")
        if path.stat().st_size > MAX_FILE_BYTES:
            return _problem(413, "the file is larger than 200 MB")
        name = f"file-{secrets.token_hex(8)}"
        self.kept.files[name] = (batch_ways.owner_of(http), title, path)
        return batch_ways.reply_of(http, self.kept.upload_fault(), _file(name, title, path))

    async def _list_files(self, http: web.Request) -> web.Response:
        owner, purpose = batch_ways.owner_of(http), http.query.get("purpose")
        mine = [
            _file(name, title, path)
            for name, (whose, title, path) in reversed(self.kept.files.items())
            if whose == owner
        ]
        mine = [each for each in mine if purpose in (None, each["purpose"])]
        names = [str(each["id"]) for each in mine]
        shown, more = batch_ways.page_of(names, http, "after", "limit", 10_000, 10_000)
        return web.json_response({"object": "list", "data": mine[shown], "has_more": more})

    async def show_file(self, http: web.Request) -> web.StreamResponse:
        name = http.match_info["name"]
        found = self.found_file(http, name)
        return _no_file(name) if found is None else web.json_response(_file(name, *found))

    async def _content(self, http: web.Request) -> web.StreamResponse:
        name = http.match_info["name"]
        found = self.found_file(http, name)
        return _no_file(name) if found is None else await batch_ways.sent_file(http, found[1])

    async def _create(self, http: web.Request) -> web.Response:
        try:
            fields = json.loads(await http.read())
            source, endpoint = fields["input_file_id"], fields["endpoint"]
            window, mark = fields["completion_window"], fields.get("metadata") or {}
        except (ValueError, KeyError, TypeError) as wrong:
            return _problem(400, f"missing or unreadable: {wrong}")
        if endpoint not in ENDPOINTS or window != "24h":
            said = f"endpoint {endpoint!r} or completion_window {window!r} is not offered"
            return _problem(400, said, param="endpoint")
        found = self.found_file(http, source)
        if found is None:
            return _no_file(source, "input_file_id")
        fault = self.kept.next_fault()
        if fault == BatchFault.REJECTED:
            return _problem(500, "something broke", "server_error")
        path = self.kept.new_path()
        try:
            ids = batch_ways.write_requests(path, _requests(found[1], endpoint), MOST_REQUESTS)
        except ValueError as wrong:
            return _problem(400, str(wrong), "invalid_batch_file")
        name, owner = f"batch_{secrets.token_hex(8)}", batch_ways.owner_of(http)
        return self.take(http, Taken(name, self, owner, endpoint, "", path, ids, mark, source, fault))

    def worded(self, http: web.Request, batch: Taken) -> JsonDict:
        files: dict[str, str | None] = {"output": None, "error": None}
        if batch.state != "failed":
            for kind, path in (("output", batch.results), ("error", batch.errors)):
                if path is not None and path.stat().st_size:
                    name = files[kind] = f"file-{kind}-{batch.name}"
                    self.kept.files[name] = (batch.owner, "", path)
        ended, created = seconds(batch.ended), seconds(batch.created)
        said = {"code": "invalid_batch", "message": "the batch was refused", "line": None, "param": None}
        unanswered = batch.counts["errored"] + batch.counts["expired"] + batch.counts["cancelled"]
        return {
            "id": batch.name,
            "object": "batch",
            "endpoint": batch.target,
            "errors": {"object": "list", "data": [said]} if batch.state == "failed" else None,
            "input_file_id": batch.source,
            "completion_window": "24h",
            "status": STATES.get(batch.state, batch.state),
            "output_file_id": files["output"],
            "error_file_id": files["error"],
            "created_at": created,
            "in_progress_at": created,
            "expires_at": seconds(batch.created + batch_ways.WINDOW),
            "completed_at": ended if batch.state == "done" else None,
            "expired_at": ended if batch.state == "expired" else None,
            "cancelled_at": ended if batch.state == "cancelled" else None,
            "failed_at": ended if batch.state == "failed" else None,
            "request_counts": {
                "total": len(batch.ids),
                "completed": batch.counts["answered"],
                "failed": unanswered,
            },
            "metadata": dict(batch.mark),
        }

    def cancelling(self, http: web.Request, batch: Taken) -> JsonDict:
        return self.worded(http, batch) | ({"status": "cancelling"} if batch.ended is None else {})

    async def list(self, http: web.Request) -> web.StreamResponse:
        worded, more = self.page(http, "after", "limit", 20, 100)
        ends = {"first_id": worded[0]["id"], "last_id": worded[-1]["id"]} if worded else {}
        return web.json_response({"object": "list", "data": worded, "has_more": more, **ends})

    def line(self, custom_id: str, status: int, body: JsonDict) -> JsonDict:
        reply = {"status_code": status, "request_id": f"req_{custom_id[:8]}", "body": body}
        return _result(custom_id, reply, None)

    def unanswered(self, custom_id: str, why: str) -> JsonDict:
        return _result(custom_id, None, {"code": f"batch_{why}", "message": batch_ways.SAID[why]})


def _result(custom_id: str, response: JsonDict | None, error: JsonDict | None) -> JsonDict:
    return {
        "id": f"batch_req_{custom_id[:8]}",
        "custom_id": custom_id,
        "response": response,
        "error": error,
    }


def _file(name: str, title: str, path: Path) -> JsonDict:
    return {
        "id": name,
        "object": "file",
        "bytes": path.stat().st_size,
        "created_at": int(path.stat().st_mtime),
        "filename": title,
        "purpose": "batch" if title else "batch_output",
        "status": "processed",
    }


def _requests(path: Path, endpoint: str) -> Iterator[tuple[str, object]]:
    for number, fields in enumerate(batch_ways.lines_in(path), start=1):
        if fields.get("url") != endpoint or fields.get("method") != "POST":
            raise ValueError(f"line {number}: url must be {endpoint} and method POST")
        custom_id = fields.get("custom_id")
        if not isinstance(custom_id, str) or not 0 < len(custom_id) <= 512:
            raise ValueError(f"line {number}: custom_id must be a string")
        yield custom_id, fields.get("body")
