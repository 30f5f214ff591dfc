"""Anthropic's message batches as the local server takes them."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator

from aiohttp import web

from tests.provider import anthropic, batch_ways
from tests.provider.batch_ways import BatchFault, Taken, rfc3339
from tests.provider.dialects import JsonDict

ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_BYTES = 256_000_000
MOST_REQUESTS = 100_000


def _problem(status: int, kind: str, message: str) -> web.Response:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": None}
    return web.json_response(body, status=status)


class AnthropicWay(batch_ways.Way):
    """One call brings all requests, one file all results."""

    name, interface, dialect = "anthropic", "messages", anthropic.DIALECT

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/messages/batches", self._create)
        app.router.add_get("/v1/messages/batches", self._list)
        app.router.add_get("/v1/messages/batches/{name}", self.show)
        app.router.add_get("/v1/messages/batches/{name}/results", self._results)
        app.router.add_post("/v1/messages/batches/{name}/cancel", self.cancel)

    def missing(self, http: web.Request) -> web.Response:
        return _problem(404, "not_found_error", f"no batch {http.match_info['name']}")

    async def _create(self, http: web.Request) -> web.Response:
        if "anthropic-version" not in http.headers:
            return _problem(400, "invalid_request_error", "anthropic-version: header is required")
        whole, path = self.kept.new_path(), self.kept.new_path()
        if await batch_ways.received(http, whole) > MAX_BYTES:
            return _problem(413, "request_too_large", "the batch is larger than 256 MB")
        try:
            requests = _requests(json.loads(whole.read_bytes()))
            ids = batch_ways.write_requests(path, requests, MOST_REQUESTS)
        except (ValueError, KeyError, TypeError) as wrong:
            return _problem(400, "invalid_request_error", f"requests: {wrong}")
        finally:
            whole.unlink()
        fault = self.kept.next_fault()
        if fault == BatchFault.REJECTED:
            return _problem(500, "api_error", "something broke")
        name, owner = f"msgbatch_{secrets.token_hex(8)}", batch_ways.owner_of(http)
        return self.take(http, Taken(name, self, owner, "", "", path, ids, fault=fault))

    def worded(self, http: web.Request, batch: Taken) -> JsonDict:
        ended = batch.ended is not None
        counts = batch.counts if ended else dict.fromkeys(batch_ways.OUTCOMES, 0)
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
            "created_at": rfc3339(batch.created),
            "ended_at": rfc3339(batch.ended),
            "expires_at": rfc3339(batch.created + batch_ways.WINDOW),
            "archived_at": None,
            "cancel_initiated_at": rfc3339(batch.created) if batch.cancelled else None,
            "results_url": url if ended else None,
        }

    async def _list(self, http: web.Request) -> web.Response:
        worded, more = self.page(http, "after_id", "limit", 20, 1000)
        first, last = (worded[0]["id"], worded[-1]["id"]) if worded else (None, None)
        return web.json_response({"data": worded, "has_more": more, "first_id": first, "last_id": last})

    async def _results(self, http: web.Request) -> web.StreamResponse:
        batch = self.found(http)
        if batch is None:
            return self.missing(http)
        if batch.results is None:
            return _problem(404, "not_found_error", "the batch has no results yet")
        return await batch_ways.sent_file(http, batch.results)

    def line(self, custom_id: str, status: int, body: JsonDict) -> JsonDict:
        kind = {"type": "succeeded", "message": body} if status == 200 else {"type": "errored", "error": body}
        return {"custom_id": custom_id, "result": kind}

    def unanswered(self, custom_id: str, why: str) -> JsonDict:
        return {"custom_id": custom_id, "result": {"type": why.replace("cancelled", "canceled")}}


def _requests(body: JsonDict) -> Iterator[tuple[str, object]]:
    requests = body["requests"]
    assert isinstance(requests, list)
    for request in requests:
        if not ID.fullmatch(request["custom_id"]):
            raise ValueError("custom_id: 1 to 64 letters, digits, - and _")
        yield request["custom_id"], request["params"]
