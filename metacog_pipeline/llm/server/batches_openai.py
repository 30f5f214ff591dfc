"""OpenAI's files and batches as the local server takes them."""

from __future__ import annotations

import functools
import json
import secrets
from collections.abc import Iterator
from pathlib import Path

from aiohttp import BodyPartReader, web

from metacog_pipeline.llm.server import batches
from metacog_pipeline.llm.server.batches import Batches, BatchFault, Taken
from metacog_pipeline.llm.server.dialects import JsonDict

ENDPOINTS = frozenset({"/v1/chat/completions", "/v1/responses"})
MAX_FILE_BYTES = 200_000_000
STATES = {"running": "in_progress", "done": "completed"}


def add_routes(app: web.Application, kept: Batches) -> None:
    """Add the routes of files and batches."""
    bound = functools.partial
    app.router.add_post("/v1/files", bound(_upload, kept))
    app.router.add_get("/v1/files", bound(_list_files, kept))
    app.router.add_get("/v1/files/{name}/content", bound(_content, kept))
    app.router.add_post("/v1/batches", bound(_create, kept))
    app.router.add_post("/v1/batches/{name}/cancel", bound(_cancel, kept))


def _problem(status: int, message: str, code: str | None = None, param: str | None = None) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return web.json_response({"error": error}, status=status)


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


async def _upload(kept: Batches, http: web.Request) -> web.Response:
    purpose, title, path = "", "", kept.new_path()
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
        return _problem(
            400, "file and purpose are required; purpose 'batch' is the only one here", param="purpose"
        )
    if path.stat().st_size > MAX_FILE_BYTES:
        return _problem(413, "the file is larger than 200 MB")
    lost = kept.peek_fault() == BatchFault.UPLOAD_LOST
    name = kept.keep_file(batches.owner_of(http), title, path)
    return batches.reply_of(http, kept.next_fault() if lost else None, _file(name, title, path))


async def _list_files(kept: Batches, http: web.Request) -> web.Response:
    owner, purpose = batches.owner_of(http), http.query.get("purpose")
    mine = [_file(name, title, path) for name, (whose, title, path) in kept.files.items() if whose == owner]
    mine = [each for each in reversed(mine) if purpose in (None, each["purpose"])]
    names = [each["id"] for each in mine]
    after = http.query.get("after")
    start = names.index(after) + 1 if after in names else 0
    most = batches.most_of(http, "limit", 10_000, 10_000)
    shown = mine[start : start + most]
    return web.json_response({"object": "list", "data": shown, "has_more": start + most < len(mine)})


def _found_file(kept: Batches, http: web.Request) -> tuple[str, str, Path] | None:
    found = kept.files.get(http.match_info["name"])
    return found if found is not None and found[0] == batches.owner_of(http) else None


async def show_file(kept: Batches, http: web.Request) -> web.StreamResponse:
    """Say what a file is."""
    found = _found_file(kept, http)
    if found is None:
        return _problem(404, f"No such File object: {http.match_info['name']}", param="id")
    return web.json_response(_file(http.match_info["name"], found[1], found[2]))


async def _content(kept: Batches, http: web.Request) -> web.StreamResponse:
    found = _found_file(kept, http)
    if found is None:
        return _problem(404, f"No such File object: {http.match_info['name']}", param="id")
    return await batches.sent_file(http, found[2])


async def _create(kept: Batches, http: web.Request) -> web.Response:
    owner = batches.owner_of(http)
    try:
        fields = json.loads(await http.read())
        source, endpoint = fields["input_file_id"], fields["endpoint"]
        window, mark = fields["completion_window"], fields.get("metadata") or {}
    except (ValueError, KeyError, TypeError) as wrong:
        return _problem(400, f"missing or unreadable: {wrong}")
    if endpoint not in ENDPOINTS or window != "24h":
        return _problem(
            400, f"endpoint {endpoint!r} or completion_window {window!r} is not offered", param="endpoint"
        )
    if source not in kept.files or kept.files[source][0] != owner:
        return _problem(404, f"No such File object: {source}", param="input_file_id")
    fault = kept.next_fault()
    if fault == BatchFault.REJECTED:
        return _problem(500, "something broke", "server_error")
    path = kept.new_path()
    try:
        ids = batches.write_requests(path, _requests(kept.files[source][2], endpoint))
        if not 0 < len(ids) <= batches.MOST_LINES["openai"]:
            raise ValueError(f"{len(ids)} requests: a batch takes 1 to {batches.MOST_LINES['openai']}")
    except ValueError as wrong:
        return _problem(400, str(wrong), "invalid_batch_file")
    name = f"batch_{secrets.token_hex(8)}"
    batch = Taken(name, "openai", owner, endpoint, "", path, ids, mark, source, fault)
    kept.take(batch)
    return batches.reply_of(http, fault, _worded(kept, batch))


def _requests(path: Path, endpoint: str) -> Iterator[tuple[str, object]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            fields = json.loads(line)
            if fields.get("url") != endpoint or fields.get("method") != "POST":
                raise ValueError(f"line {number}: url must be {endpoint} and method POST")
            custom_id = fields.get("custom_id")
            if not isinstance(custom_id, str) or not 0 < len(custom_id) <= 512:
                raise ValueError(f"line {number}: custom_id must be a string")
            yield custom_id, fields.get("body")


def _worded(kept: Batches, batch: Taken) -> JsonDict:
    output = errors = None
    if batch.ended is not None and batch.state != "failed":
        for kind, path in (("output", batch.results), ("error", batch.errors)):
            if path is not None and path.stat().st_size:
                kept.files[f"file-{kind}-{batch.name}"] = (batch.owner, "", path)
        output = f"file-output-{batch.name}" if f"file-output-{batch.name}" in kept.files else None
        errors = f"file-error-{batch.name}" if f"file-error-{batch.name}" in kept.files else None
    ended = batches.seconds(batch.ended)
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
        "output_file_id": output,
        "error_file_id": errors,
        "created_at": batches.seconds(batch.created),
        "in_progress_at": batches.seconds(batch.created),
        "expires_at": batches.seconds(batch.created + batches.WINDOW),
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


async def list_batches(kept: Batches, http: web.Request) -> web.StreamResponse:
    """List the batches of a key, newest first."""
    listed = kept.of(batches.owner_of(http), "openai")
    shown, more = batches.page(listed, http.query.get("after"), batches.most_of(http, "limit", 20, 100))
    worded = [_worded(kept, each) for each in shown]
    ends = {"first_id": worded[0]["id"], "last_id": worded[-1]["id"]} if worded else {}
    return web.json_response({"object": "list", "data": worded, "has_more": more, **ends})


async def show(kept: Batches, http: web.Request) -> web.StreamResponse:
    """Say how a batch stands."""
    batch = kept.find(batches.owner_of(http), "openai", http.match_info["name"])
    if batch is None:
        return _problem(404, f"No batch found with id '{http.match_info['name']}'", param="id")
    return web.json_response(_worded(kept, batch))


async def _cancel(kept: Batches, http: web.Request) -> web.Response:
    batch = kept.find(batches.owner_of(http), "openai", http.match_info["name"])
    if batch is None:
        return _problem(404, f"No batch found with id '{http.match_info['name']}'", param="id")
    batch.cancelled = batch.cancelled or batch.ended is None
    worded = _worded(kept, batch)
    if batch.ended is None:
        worded["status"] = "cancelling"
    return web.json_response(worded)
