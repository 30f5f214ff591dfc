"""Gemini's files and batches as the local server takes them."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from aiohttp import web

from tests.provider import batch_ways, gemini
from tests.provider.batch_ways import BatchFault, Taken, rfc3339
from tests.provider.dialects import JsonDict

NAME = re.compile(r"files/[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
MAX_INLINE_BYTES = 20 * 2**20
MAX_FILE_BYTES = 2 * 2**30
VERSION = "/{version:v1|v1beta}"
STATES = {"running": "RUNNING", "done": "SUCCEEDED"}
_TYPES = "type.googleapis.com/google.ai.generativelanguage."


def _problem(status: int, kind: str, message: str) -> web.Response:
    body = {"error": {"code": status, "message": message, "status": kind, "details": []}}
    return web.json_response(body, status=status)


def _no_file() -> web.Response:
    return _problem(403, "PERMISSION_DENIED", "no such file, or no permission to see it")


class GeminiWay(batch_ways.Way):
    """Requests come inline or in a file that was uploaded before, results in the same way."""

    name, interface, dialect = "gemini", "gemini", gemini.DIALECT

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/upload" + VERSION + "/files", self._start_upload)
        app.router.add_route("*", "/upload-to/{token}", self._upload)
        for version in ("/v1", "/v1beta"):
            app.router.add_get(version + "/files/{name}:download", self._download)
        app.router.add_get("/v1beta/files/{name}", self.show_file)
        app.router.add_post(VERSION + "/models/{model}:batchGenerateContent", self._create)
        app.router.add_get("/v1beta/batches", self.list)
        app.router.add_get("/v1beta/batches/{name}", self.show)
        app.router.add_post(VERSION + "/batches/{name}:cancel", self.cancel)

    def missing(self, http: web.Request) -> web.Response:
        return _problem(404, "NOT_FOUND", "no such batch")

    def named(self, http: web.Request) -> str:
        return f"batches/{http.match_info['name']}"

    async def _start_upload(self, http: web.Request) -> web.Response:
        try:
            asked = json.loads(await http.read() or b"{}").get("file", {})
            name = asked.get("name") or f"files/{secrets.token_hex(8)}"
        except (ValueError, AttributeError):
            return _problem(400, "INVALID_ARGUMENT", "the body is not JSON")
        if not NAME.fullmatch(name):
            return _problem(400, "INVALID_ARGUMENT", f"{name}: not a file name")
        if name in self.kept.files:
            return _problem(409, "ALREADY_EXISTS", f"{name} is there already")
        token = secrets.token_hex(16)
        self.kept.files[f"upload/{token}"] = (batch_ways.owner_of(http), name, self.kept.folder / token)
        where = f"{http.scheme}://{http.host}/upload-to/{token}"
        return web.json_response({}, headers={"x-goog-upload-url": where, "x-goog-upload-status": "active"})

    async def _upload(self, http: web.Request) -> web.Response:
        token = f"upload/{http.match_info['token']}"
        if token not in self.kept.files:
            return _problem(404, "NOT_FOUND", "no such upload")
        owner, name, path = self.kept.files[token]
        size = await batch_ways.received(http, path)
        if "finalize" not in http.headers.get("x-goog-upload-command", ""):
            return web.json_response({}, headers={"x-goog-upload-status": "active"})
        if size > MAX_FILE_BYTES:
            return _problem(400, "INVALID_ARGUMENT", "the file is larger than 2 GB")
        del self.kept.files[token]
        self.kept.files[name] = (owner, name, path)
        reply = batch_ways.reply_of(http, self.kept.upload_fault(), {"file": _file(name, path)})
        reply.headers["x-goog-upload-status"] = "final"
        return reply

    async def show_file(self, http: web.Request) -> web.StreamResponse:
        found = self.found_file(http, f"files/{http.match_info['name']}")
        return _no_file() if found is None else web.json_response(_file(*found))

    async def _download(self, http: web.Request) -> web.StreamResponse:
        found = self.found_file(http, f"files/{http.match_info['name']}")
        return _no_file() if found is None else await batch_ways.sent_file(http, found[1])

    async def _create(self, http: web.Request) -> web.Response:
        owner, whole, path = batch_ways.owner_of(http), self.kept.new_path(), self.kept.new_path()
        size = await batch_ways.received(http, whole)
        try:
            fields = json.loads(whole.read_bytes())["batch"]
            title, source = str(fields["displayName"]), fields["inputConfig"]
            file = source.get("fileName")
            if file is None and size > MAX_INLINE_BYTES:
                raise ValueError("inline requests may have 20 MB together")
            if file is not None and self.found_file(http, file) is None:
                return _problem(404, "NOT_FOUND", f"no file {file}")
            requests = (
                _inlined(source["requests"]["requests"]) if file is None else _lines(self.kept.files[file][2])
            )
            ids = batch_ways.write_requests(path, requests)
            if not ids:
                raise ValueError("a batch takes one request or more")
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            return _problem(400, "INVALID_ARGUMENT", f"batch: {wrong}")
        finally:
            whole.unlink()
        fault = self.kept.next_fault()
        if fault == BatchFault.REJECTED:
            return _problem(500, "INTERNAL", "something broke")
        name, model = f"batches/{secrets.token_hex(8)}", http.match_info["model"]
        batch = Taken(name, self, owner, model, title, path, ids, source=file or "", fault=fault)
        return self.take(http, batch)

    def worded(self, http: web.Request, batch: Taken) -> JsonDict:
        state = f"BATCH_STATE_{STATES.get(batch.state, batch.state.upper())}"
        output: JsonDict = {}
        if batch.results is not None and batch.state != "failed":
            if batch.source:
                name = f"files/{batch.name.removeprefix('batches/')}-out"
                self.kept.files[name] = (batch.owner, name, batch.results)
                output = {"responsesFile": name}
            else:
                inline = [
                    {"metadata": {"key": line.pop("key")}, **line}
                    for line in batch_ways.lines_in(batch.results)
                ]
                output = {"inlinedResponses": {"inlinedResponses": inline}}
        metadata: JsonDict = {
            "@type": _TYPES + "GenerateContentBatch",
            "name": batch.name,
            "model": f"models/{batch.target}",
            "displayName": batch.title,
            "state": state,
            "createTime": rfc3339(batch.created),
            "updateTime": rfc3339(batch.ended or batch.created),
            "batchStats": {"requestCount": str(len(batch.ids))},
        }
        if batch.ended is not None:
            metadata |= {"endTime": rfc3339(batch.ended), "output": output}
        fields: JsonDict = {"name": batch.name, "metadata": metadata, "done": batch.ended is not None}
        if batch.state == "failed":
            fields["error"] = {"code": 13, "message": "the batch was refused"}
        elif output:
            fields["response"] = {"@type": _TYPES + "GenerateContentBatchOutput", **output}
        return fields

    def cancelling(self, http: web.Request, batch: Taken) -> JsonDict:
        return {}

    async def list(self, http: web.Request) -> web.StreamResponse:
        worded, more = self.page(http, "pageToken", "pageSize", 50, 1000)
        token = {"nextPageToken": worded[-1]["name"]} if more else {}
        return web.json_response({"operations": worded, **token})

    def line(self, custom_id: str, status: int, body: JsonDict) -> JsonDict:
        return {
            "key": custom_id,
            **({"response": body} if status == 200 else {"error": body.get("error")}),
        }

    def unanswered(self, custom_id: str, why: str) -> JsonDict:
        code = 1 if why == "cancelled" else 4
        return {"key": custom_id, "error": {"code": code, "message": batch_ways.SAID[why]}}


def _file(name: str, path: Path) -> JsonDict:
    return {
        "name": name,
        "mimeType": "application/jsonl",
        "sizeBytes": str(path.stat().st_size),
        "state": "ACTIVE",
        "uri": f"https://files.invalid/{name}",
        "source": "UPLOADED",
    }


def _inlined(requests: list[JsonDict]) -> Iterator[tuple[str, object]]:
    for place, each in enumerate(requests):
        metadata = each.get("metadata")
        key = metadata.get("key") if isinstance(metadata, dict) else None
        yield str(key or f"request-{place}"), each["request"]


def _lines(path: Path) -> Iterator[tuple[str, object]]:
    return ((str(fields["key"]), fields["request"]) for fields in batch_ways.lines_in(path))
