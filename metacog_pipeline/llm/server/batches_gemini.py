"""Gemini's files and batches as the local server takes them."""

from __future__ import annotations

import functools
import json
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from aiohttp import web

from metacog_pipeline.llm.server import batches
from metacog_pipeline.llm.server.batches import Batches, BatchFault, Taken
from metacog_pipeline.llm.server.dialects import JsonDict

NAME = re.compile(r"files/[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
MAX_INLINE_BYTES = 20 * 2**20
MAX_FILE_BYTES = 2 * 2**30
VERSION = "/{version:v1|v1beta}"
STATES = {"running": "RUNNING", "done": "SUCCEEDED"}
_TYPES = "type.googleapis.com/google.ai.generativelanguage."


def add_routes(app: web.Application, kept: Batches) -> None:
    """Add the routes of files and batches."""
    bound = functools.partial
    app.router.add_post("/upload" + VERSION + "/files", bound(_start_upload, kept))
    app.router.add_route("*", "/upload-to/{token}", bound(_upload, kept))
    for version in ("/v1", "/v1beta"):
        app.router.add_get(version + "/files/{name}:download", bound(_download, kept))
    app.router.add_get("/v1beta/files/{name}", bound(show_file, kept))
    app.router.add_post(VERSION + "/models/{model}:batchGenerateContent", bound(_create, kept))
    app.router.add_get("/v1beta/batches", bound(list_batches, kept))
    app.router.add_get("/v1beta/batches/{name}", bound(show, kept))
    app.router.add_post(VERSION + "/batches/{name}:cancel", bound(_cancel, kept))


def _problem(status: int, kind: str, message: str) -> web.Response:
    body = {"error": {"code": status, "message": message, "status": kind, "details": []}}
    return web.json_response(body, status=status)


async def _start_upload(kept: Batches, http: web.Request) -> web.Response:
    try:
        asked = json.loads(await http.read() or b"{}").get("file", {})
        name = asked.get("name") or f"files/{secrets.token_hex(8)}"
    except (ValueError, AttributeError):
        return _problem(400, "INVALID_ARGUMENT", "the body is not JSON")
    if not NAME.fullmatch(name):
        return _problem(400, "INVALID_ARGUMENT", f"{name}: not a file name")
    if name in kept.files:
        return _problem(409, "ALREADY_EXISTS", f"{name} is there already")
    token = secrets.token_hex(16)
    kept.files[f"upload/{token}"] = (batches.owner_of(http), name, Path(asked.get("displayName") or ""))
    where = f"{http.scheme}://{http.host}/upload-to/{token}"
    return web.json_response({}, headers={"x-goog-upload-url": where, "x-goog-upload-status": "active"})


async def _upload(kept: Batches, http: web.Request) -> web.Response:
    begun = kept.files.get(f"upload/{http.match_info['token']}")
    if begun is None:
        return _problem(404, "NOT_FOUND", "no such upload")
    owner, name, _ = begun
    path = kept.folder / http.match_info["token"]
    with path.open("ab") as target:
        async for chunk in http.content.iter_chunked(2**20):
            target.write(chunk)
    if "finalize" not in http.headers.get("x-goog-upload-command", ""):
        return web.json_response({}, headers={"x-goog-upload-status": "active"})
    if path.stat().st_size > MAX_FILE_BYTES:
        return _problem(400, "INVALID_ARGUMENT", "the file is larger than 2 GB")
    lost = kept.peek_fault() == BatchFault.UPLOAD_LOST
    kept.files.pop(f"upload/{http.match_info['token']}")
    kept.keep_file(owner, name, path, name)
    reply = batches.reply_of(http, kept.next_fault() if lost else None, {"file": _file(name, path)})
    reply.headers["x-goog-upload-status"] = "final"
    return reply


def _file(name: str, path: Path) -> JsonDict:
    return {
        "name": name,
        "mimeType": "application/jsonl",
        "sizeBytes": str(path.stat().st_size),
        "state": "ACTIVE",
        "uri": f"https://files.invalid/{name}",
        "source": "UPLOADED",
    }


def _found_file(kept: Batches, http: web.Request) -> tuple[str, str, Path] | None:
    found = kept.files.get(f"files/{http.match_info['name']}")
    return found if found is not None and found[0] == batches.owner_of(http) else None


async def show_file(kept: Batches, http: web.Request) -> web.StreamResponse:
    """Say what a file is."""
    found = _found_file(kept, http)
    if found is None:
        return _problem(403, "PERMISSION_DENIED", "no such file, or no permission to see it")
    return web.json_response(_file(found[1], found[2]))


async def _download(kept: Batches, http: web.Request) -> web.StreamResponse:
    found = _found_file(kept, http)
    if found is None:
        return _problem(403, "PERMISSION_DENIED", "no such file, or no permission to see it")
    return await batches.sent_file(http, found[2])


async def _create(kept: Batches, http: web.Request) -> web.Response:
    owner, whole, path = batches.owner_of(http), kept.new_path(), kept.new_path()
    await batches.received(http, whole)
    size = whole.stat().st_size
    try:
        fields = json.loads(whole.read_bytes())["batch"]
        title, source = str(fields["displayName"]), fields["inputConfig"]
        file = source.get("fileName")
        if file is None and size > MAX_INLINE_BYTES:
            raise ValueError("inline requests may have 20 MB together")
        if file is not None and (file not in kept.files or kept.files[file][0] != owner):
            return _problem(404, "NOT_FOUND", f"no file {file}")
        requests = _inlined(source["requests"]["requests"]) if file is None else _lines(kept.files[file][2])
        ids = batches.write_requests(path, requests)
        if not ids:
            raise ValueError("a batch takes one request or more")
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        return _problem(400, "INVALID_ARGUMENT", f"batch: {wrong}")
    finally:
        whole.unlink()
    fault = kept.next_fault()
    if fault == BatchFault.REJECTED:
        return _problem(500, "INTERNAL", "something broke")
    name = f"batches/{secrets.token_hex(8)}"
    batch = Taken(
        name, "gemini", owner, http.match_info["model"], title, path, ids, fault=fault, source=file or ""
    )
    kept.take(batch)
    return batches.reply_of(http, fault, _worded(kept, batch))


def _inlined(requests: list[JsonDict]) -> Iterator[tuple[str, object]]:
    for place, each in enumerate(requests):
        metadata = each.get("metadata")
        key = metadata.get("key") if isinstance(metadata, dict) else None
        yield str(key or f"request-{place}"), each["request"]


def _lines(path: Path) -> Iterator[tuple[str, object]]:
    with path.open("rb") as lines:
        for line in lines:
            fields = json.loads(line)
            yield str(fields["key"]), fields["request"]


def _worded(kept: Batches, batch: Taken) -> JsonDict:
    state = f"BATCH_STATE_{STATES.get(batch.state, batch.state.upper())}"
    output: JsonDict = {}
    if batch.results is not None and batch.state != "failed":
        if batch.source:
            name = f"files/{batch.name.removeprefix('batches/')}-out"
            kept.files[name] = (batch.owner, name, batch.results)
            output = {"responsesFile": name}
        else:
            output = {"inlinedResponses": {"inlinedResponses": [*_inline(batch.results)]}}
    metadata: JsonDict = {
        "@type": _TYPES + "GenerateContentBatch",
        "name": batch.name,
        "model": f"models/{batch.target}",
        "displayName": batch.title,
        "state": state,
        "createTime": batches.rfc3339(batch.created),
        "updateTime": batches.rfc3339(batch.ended or batch.created),
        "batchStats": {"requestCount": str(len(batch.ids))},
    }
    if batch.ended is not None:
        metadata |= {"endTime": batches.rfc3339(batch.ended), "output": output}
    fields: JsonDict = {"name": batch.name, "metadata": metadata, "done": batch.ended is not None}
    if batch.state == "failed":
        fields["error"] = {"code": 13, "message": "the batch was refused"}
    elif output:
        fields["response"] = {"@type": _TYPES + "GenerateContentBatchOutput", **output}
    return fields


def _inline(path: Path) -> Iterator[JsonDict]:
    with path.open("rb") as lines:
        for line in lines:
            fields = json.loads(line)
            yield {"metadata": {"key": fields.pop("key")}, **fields}


async def list_batches(kept: Batches, http: web.Request) -> web.StreamResponse:
    """List the batches of a key, newest first."""
    listed = kept.of(batches.owner_of(http), "gemini")
    most = batches.most_of(http, "pageSize", 50, 1000)
    shown, more = batches.page(listed, http.query.get("pageToken"), most)
    token = {"nextPageToken": shown[-1].name} if more else {}
    return web.json_response({"operations": [_worded(kept, each) for each in shown], **token})


def _found(kept: Batches, http: web.Request) -> Taken | None:
    return kept.find(batches.owner_of(http), "gemini", f"batches/{http.match_info['name']}")


async def show(kept: Batches, http: web.Request) -> web.StreamResponse:
    """Say how a batch stands."""
    batch = _found(kept, http)
    if batch is None:
        return _problem(404, "NOT_FOUND", "no such batch")
    return web.json_response(_worded(kept, batch))


async def _cancel(kept: Batches, http: web.Request) -> web.Response:
    batch = _found(kept, http)
    if batch is None:
        return _problem(404, "NOT_FOUND", "no such batch")
    batch.cancelled = batch.cancelled or batch.ended is None
    return web.json_response({})
