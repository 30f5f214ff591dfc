"""Anthropic's message batches as the local server takes them."""

from __future__ import annotations

import functools
import json
import re
import secrets
from collections.abc import Iterator

from aiohttp import web

from metacog_pipeline.llm.server import batches
from metacog_pipeline.llm.server.batches import Batches, BatchFault, Taken
from metacog_pipeline.llm.server.dialects import JsonDict

ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_BYTES = 256_000_000


def add_routes(app: web.Application, kept: Batches) -> None:
    """Add the routes of message batches."""
    bound = functools.partial
    app.router.add_post("/v1/messages/batches", bound(_create, kept))
    app.router.add_get("/v1/messages/batches", bound(_list, kept))
    app.router.add_get("/v1/messages/batches/{name}", bound(_show, kept))
    app.router.add_get("/v1/messages/batches/{name}/results", bound(_results, kept))
    app.router.add_post("/v1/messages/batches/{name}/cancel", bound(_cancel, kept))


def _problem(status: int, kind: str, message: str) -> web.Response:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": None}
    return web.json_response(body, status=status)


async def _create(kept: Batches, http: web.Request) -> web.Response:
    if "anthropic-version" not in http.headers:
        return _problem(400, "invalid_request_error", "anthropic-version: header is required")
    whole, path = kept.new_path(), kept.new_path()
    await batches.received(http, whole)
    if whole.stat().st_size > MAX_BYTES:
        return _problem(413, "request_too_large", "the batch is larger than 256 MB")
    try:
        ids = batches.write_requests(path, _requests(json.loads(whole.read_bytes())))
        if not 0 < len(ids) <= batches.MOST_LINES["anthropic"]:
            raise ValueError(f"{len(ids)} requests: a batch takes 1 to {batches.MOST_LINES['anthropic']}")
    except (ValueError, KeyError, TypeError) as wrong:
        return _problem(400, "invalid_request_error", f"requests: {wrong}")
    finally:
        whole.unlink()
    fault = kept.next_fault()
    if fault == BatchFault.REJECTED:
        return _problem(500, "api_error", "something broke")
    name = f"msgbatch_{secrets.token_hex(8)}"
    batch = Taken(name, "anthropic", batches.owner_of(http), "", "", path, ids, fault=fault)
    kept.take(batch)
    return batches.reply_of(http, fault, _worded(http, batch))


def _requests(body: JsonDict) -> Iterator[tuple[str, object]]:
    requests = body["requests"]
    assert isinstance(requests, list)
    for request in requests:
        if not ID.fullmatch(request["custom_id"]):
            raise ValueError("custom_id: 1 to 64 letters, digits, - and _")
        yield request["custom_id"], request["params"]


def _worded(http: web.Request, batch: Taken) -> JsonDict:
    ended = batch.ended is not None
    counts = batch.counts if ended else dict.fromkeys(batches.OUTCOMES, 0)
    url = f"{http.scheme}://{http.host}/v1/messages/batches/{batch.name}/results"
    return {
        "id": batch.name,
        "type": "message_batch",
        "processing_status": "ended" if ended else "canceling" if batch.cancelled else "in_progress",
        "request_counts": {
            "processing": 0 if ended else len(batch.ids),
            "succeeded": counts["answered"],
            "errored": counts["errored"],
            "canceled": counts["cancelled"],
            "expired": counts["expired"],
        },
        "created_at": batches.rfc3339(batch.created),
        "ended_at": batches.rfc3339(batch.ended),
        "expires_at": batches.rfc3339(batch.created + batches.WINDOW),
        "archived_at": None,
        "cancel_initiated_at": batches.rfc3339(batch.created) if batch.cancelled else None,
        "results_url": url if ended else None,
    }


async def _list(kept: Batches, http: web.Request) -> web.Response:
    listed = kept.of(batches.owner_of(http), "anthropic")
    shown, more = batches.page(listed, http.query.get("after_id"), batches.most_of(http, "limit", 20, 1000))
    worded = [_worded(http, each) for each in shown]
    first, last = (worded[0]["id"], worded[-1]["id"]) if worded else (None, None)
    return web.json_response({"data": worded, "has_more": more, "first_id": first, "last_id": last})


def _found(kept: Batches, http: web.Request) -> Taken | None:
    return kept.find(batches.owner_of(http), "anthropic", http.match_info["name"])


def _missing(http: web.Request) -> web.Response:
    return _problem(404, "not_found_error", f"no batch {http.match_info['name']}")


async def _show(kept: Batches, http: web.Request) -> web.Response:
    batch = _found(kept, http)
    return _missing(http) if batch is None else web.json_response(_worded(http, batch))


async def _results(kept: Batches, http: web.Request) -> web.StreamResponse:
    batch = _found(kept, http)
    if batch is None:
        return _missing(http)
    if batch.ended is None:
        return _problem(404, "not_found_error", "the batch has no results yet")
    return await batches.sent_file(http, batch.results)


async def _cancel(kept: Batches, http: web.Request) -> web.Response:
    batch = _found(kept, http)
    if batch is None:
        return _missing(http)
    batch.cancelled = batch.cancelled or batch.ended is None
    return web.json_response(_worded(http, batch))
