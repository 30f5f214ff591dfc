"""The batches of OpenAI, Anthropic and Gemini: submit, find again, look, read a line of results, cancel.

OpenAI takes a file of requests and bears our mark in the metadata of the batch. Gemini takes a file too; the mark is the
batch's display name. Anthropic takes the requests in one call and has no place for a mark: where the reply to a
submission was lost, a batch of the same size made at that time may be ours, and its results decide, because they name
the requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import quote, urlencode, urlsplit

from metacog_pipeline.llm.batch.records import BatchRecord
from metacog_pipeline.llm.batch.transport import Calls, Later
from metacog_pipeline.llm.wire import HttpCall, values

Phase = Literal["running", "ended", "failed"]
Why = Literal["expired", "cancelled", "error"]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,255}")
MOST_PAGES = 200  # of a list, so that a server that repeats itself ends
CLOCKS_DIFFER_S = 300.0  # ours and the provider's


@dataclass(frozen=True, slots=True)
class Look:
    """How a batch stands at the provider: ``word`` is the provider's, ``results`` the addresses of its results."""

    phase: Phase
    word: str
    results: tuple[str, ...] = ()
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One result: of which request, and either an HTTP answer (status, body) or why there is none.

    ``expired`` and ``cancelled`` requests are not billed; an ``error`` without an answer may have been.
    """

    custom_id: str
    status: int = 0
    body: bytes = b""
    why: Why | None = None


class _Backend:
    """What the backends share. ``separator`` stands between two requests."""

    most_requests: int
    most_bytes: int
    separator = b"\n"
    cancels_at = "/cancel"


class OpenAiBatches(_Backend):
    """The batches of OpenAI."""

    most_requests = 50_000
    most_bytes = 200_000_000
    running = frozenset({"validating", "in_progress", "finalizing", "cancelling", "unknown"})
    unbilled: ClassVar[dict[str, Why]] = {"batch_expired": "expired", "batch_cancelled": "cancelled"}

    def target(self, root: str, call: HttpCall) -> str:
        """Return the endpoint as a batch names it."""
        return "/v1" + call.url.removeprefix(root).partition("?")[0]

    def line(self, custom_id: str, target: str, call: HttpCall) -> bytes:
        """Return one request."""
        head = f'{{"custom_id":"{custom_id}","method":"POST","url":{json.dumps(target)},"body":'
        return head.encode() + call.body + b"}"

    async def submit(self, calls: Calls, root: str, record: BatchRecord, requests: Path) -> str:
        """Upload the file and make the batch; a file whose reply was lost is uploaded again, which costs nothing."""
        edge = record.mark
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{record.mark}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode()
        headers = {"content-type": f"multipart/form-data; boundary={edge}"}
        parts = (head, requests, f"\r\n--{edge}--\r\n".encode())
        file, _ = await calls.json("POST", f"{root}/files", headers=headers, parts=parts)
        body = {
            "input_file_id": _name(file, "id"),
            "endpoint": record.target,
            "completion_window": "24h",
            "metadata": {"metacog": record.mark},
        }
        made, _ = await calls.json("POST", f"{root}/batches", body)
        return _name(made, "id")

    async def find(self, calls: Calls, root: str, record: BatchRecord) -> Sequence[tuple[str, bool]]:
        """Look for the mark among the batches of the account."""
        async for page in _pages(calls, f"{root}/batches", {"limit": "100"}, "data", _after("after")):
            for each in page:
                if values.str_at(values.dict_at(each, "metadata"), "metacog") == record.mark:
                    return [(_name(each, "id"), True)]
        return []

    async def look(self, calls: Calls, root: str, record: BatchRecord) -> Look:
        """Ask how the batch stands."""
        found, _ = await calls.json("GET", self.url(root, record))
        word = values.str_at(found, "status") or "unknown"
        if word in self.running:
            return Look("running", word)
        files = [key for key in ("output_file_id", "error_file_id") if values.at(found, key)]
        error = values.first(values.list_at(values.dict_at(found, "errors"), "data"))
        names = tuple(f"{root}/files/{quote(_name(found, key))}/content" for key in files)
        return Look("failed" if word == "failed" else "ended", word, names, values.str_at(error, "message"))

    def url(self, root: str, record: BatchRecord) -> str:
        """Return where a batch is looked at."""
        return f"{root}/batches/{quote(record.remote or '')}"

    def read(self, decoded: values.JsonDict) -> Line | None:
        """Read a line of either file."""
        custom_id = values.str_at(decoded, "custom_id")
        if custom_id is None:
            return None
        response = values.dict_at(decoded, "response")
        status = values.count_at(response, "status_code")
        if response is None or status is None:
            code = values.str_at(values.dict_at(decoded, "error"), "code") or ""
            return Line(custom_id, why=self.unbilled.get(code, "error"))
        return Line(custom_id, status, _encoded(response.get("body")))


class AnthropicBatches(_Backend):
    """The batches of Anthropic."""

    most_requests = 100_000
    most_bytes = 255_000_000  # 256 MB with what stands around the requests
    separator = b",\n"
    unbilled: ClassVar[dict[str | None, Why]] = {"expired": "expired", "canceled": "cancelled"}
    status_of: ClassVar[Mapping[str, int]] = {
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "timeout_error": 504,
        "overloaded_error": 529,
    }

    def target(self, root: str, call: HttpCall) -> str:
        """Every request goes to the same place."""
        return "messages"

    def line(self, custom_id: str, target: str, call: HttpCall) -> bytes:
        """Return one request."""
        return f'{{"custom_id":"{custom_id}","params":'.encode() + call.body + b"}"

    async def submit(self, calls: Calls, root: str, record: BatchRecord, requests: Path) -> str:
        """Make the batch."""
        headers = {"content-type": "application/json"}
        parts = (b'{"requests":[\n', requests, b"]}")
        made, _ = await calls.json("POST", self._all(root), headers=headers, parts=parts)
        return _name(made, "id")

    async def find(self, calls: Calls, root: str, record: BatchRecord) -> Sequence[tuple[str, bool]]:
        """Return the batches of this size made since the submission began, oldest first."""
        begun = datetime.fromisoformat(record.submitting_since or record.created_at).timestamp()
        since, found = begun - CLOCKS_DIFFER_S, list[tuple[str, bool]]()
        async for page in _pages(calls, self._all(root), {"limit": "100"}, "data", _after("after_id")):
            for each in page:
                counts = values.dict_at(each, "request_counts") or {}
                total = sum(values.count_at(counts, key) or 0 for key in counts)
                name = _name(each, "id")
                if _made(each) >= since and total == record.n and name not in record.foreign:
                    found.append((name, False))
            if not page or _made(page[-1]) < since:  # newest first: what follows is older still
                break
        return found[::-1]

    async def look(self, calls: Calls, root: str, record: BatchRecord) -> Look:
        """Ask how the batch stands."""
        found, _ = await calls.json("GET", self.url(root, record))
        word = values.str_at(found, "processing_status") or "unknown"
        if word != "ended":
            return Look("running", word)
        if values.str_at(found, "archived_at"):
            return Look("ended", "archived", (), "its results are not offered any more")
        # The address of the results is the provider's to name, but the key goes only to the address of the study.
        return Look("ended", word, (f"{self.url(root, record)}/results",))

    def url(self, root: str, record: BatchRecord) -> str:
        """Return where a batch is looked at."""
        return f"{self._all(root)}/{quote(record.remote or '')}"

    def read(self, decoded: values.JsonDict) -> Line | None:
        """Read a line of results."""
        custom_id, result = values.str_at(decoded, "custom_id"), values.dict_at(decoded, "result")
        if custom_id is None or result is None:
            return None
        kind = values.str_at(result, "type")
        if kind == "succeeded":
            return Line(custom_id, 200, _encoded(result.get("message")))
        if kind == "errored":
            error = result.get("error")
            named = values.str_at(values.dict_at(error, "error"), "type") or ""
            return Line(custom_id, self.status_of.get(named, 500), _encoded(error))
        return Line(custom_id, why=self.unbilled.get(kind, "error"))

    def _all(self, root: str) -> str:
        return f"{root}/messages/batches" if root.endswith("/v1") else f"{root}/v1/messages/batches"


class GeminiBatches(_Backend):
    """The batches of Gemini."""

    most_requests = 100_000  # no limit is documented; what fits into memory when results come back
    most_bytes = 2_000_000_000
    cancels_at = ":cancel"
    ended = frozenset({"SUCCEEDED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED"})
    #: Of google.rpc.Code.
    status_of: ClassVar[Mapping[int, int]] = {
        3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 13: 500, 14: 503, 16: 401,
    }  # fmt: skip
    unbilled: ClassVar[Mapping[int, Why]] = {
        1: "cancelled",
        4: "expired",
    }  # codes without the name of a status

    def target(self, root: str, call: HttpCall) -> str:
        """Return the model as the address names it."""
        return re.sub(r":\w+$", "", call.url.removeprefix(_versioned(root) + "/").partition("?")[0])

    def line(self, custom_id: str, target: str, call: HttpCall) -> bytes:
        """Return one request."""
        return f'{{"key":"{custom_id}","request":'.encode() + call.body + b"}"

    async def submit(self, calls: Calls, root: str, record: BatchRecord, requests: Path) -> str:
        """Upload the file under a name of the provider's choice, and make the batch."""
        versioned, mime = _versioned(root), "application/jsonl"
        base, _, version = versioned.rpartition("/")
        headers = {
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(requests.stat().st_size),
            "x-goog-upload-header-content-type": mime,
        }
        body: dict[str, object] = {"file": {"displayName": record.mark, "mimeType": mime}}
        _, replied = await calls.json("POST", f"{base}/upload/{version}/files", body, headers=headers)
        where = replied.get("x-goog-upload-url", "")
        if urlsplit(where)[:2] != urlsplit(base)[:2]:
            raise Later(
                "the address to upload to is not at the address of the study: nothing was uploaded",
                taken=True,
            )
        headers = {
            "x-goog-upload-command": "upload, finalize",
            "x-goog-upload-offset": "0",
            "content-type": mime,
        }
        file, _ = await calls.json("POST", where, headers=headers, parts=(b"", requests, b""))
        source = _name(values.dict_at(file, "file"), "name")
        body = {"batch": {"displayName": record.mark, "inputConfig": {"fileName": source}}}
        made, _ = await calls.json("POST", f"{versioned}/{record.target}:batchGenerateContent", body)
        return _name(made, "name")

    async def find(self, calls: Calls, root: str, record: BatchRecord) -> Sequence[tuple[str, bool]]:
        """Look for the mark among the batches of the account."""

        def next_page(found: values.JsonDict, page: list[object]) -> dict[str, str]:
            token = values.str_at(found, "nextPageToken")
            return {"pageToken": token} if token else {}

        url = f"{_versioned(root)}/batches"
        async for page in _pages(calls, url, {"pageSize": "100"}, "operations", next_page):
            for each in page:
                if values.str_at(values.dict_at(each, "metadata"), "displayName") == record.mark:
                    return [(_name(each, "name"), True)]
        return []

    async def look(self, calls: Calls, root: str, record: BatchRecord) -> Look:
        """Ask how the operation stands."""
        found, _ = await calls.json("GET", self.url(root, record))
        metadata = values.dict_at(found, "metadata")
        state = values.str_at(metadata, "state") or "unknown"
        word = state.removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
        if word == "FAILED":
            error = values.str_at(values.dict_at(found, "error"), "message")
            return Look("failed", word.lower(), (), error)
        if word not in self.ended:
            return Look("running", word.lower())
        for place in (values.dict_at(found, "response"), values.dict_at(metadata, "output")):
            if values.at(place, "responsesFile") is not None:
                file = f"{_versioned(root)}/{quote(_name(place, 'responsesFile'))}:download?alt=media"
                return Look("ended", word.lower(), (file,))
        return Look("ended", word.lower())

    def url(self, root: str, record: BatchRecord) -> str:
        """Return where a batch is looked at."""
        return f"{_versioned(root)}/{quote(record.remote or '')}"

    def read(self, decoded: values.JsonDict) -> Line | None:
        """Read a line of results."""
        key, error = values.str_at(decoded, "key"), values.dict_at(decoded, "error")
        if key is None:
            return None
        if error is None:
            return Line(key, 200, _encoded(decoded["response"])) if "response" in decoded else None
        code = values.count_at(error, "code") or 0
        if code in self.unbilled and values.str_at(error, "status") is None:
            return Line(key, why=self.unbilled[code])
        status = code if 400 <= code < 600 else self.status_of.get(code, 500)
        return Line(key, status, _encoded({"error": {**error, "code": status}}))


Backend = OpenAiBatches | AnthropicBatches | GeminiBatches
BACKENDS: Mapping[str, Backend] = {
    "openai": OpenAiBatches(),
    "anthropic": AnthropicBatches(),
    "gemini": GeminiBatches(),
}


async def cancel(backend: Backend, calls: Calls, root: str, record: BatchRecord) -> None:
    """Ask the provider to stop a batch."""
    await calls.json("POST", f"{backend.url(root, record)}{backend.cancels_at}", {})


def read_line(backend: Backend, line: bytes) -> Line | None:
    """Return what a line of results means; None where it is none, whatever stands in it."""
    decoded = values.load(line)
    try:
        return backend.read(decoded) if isinstance(decoded, dict) else None
    except (TypeError, ValueError, RecursionError):
        return None


async def _pages(
    calls: Calls,
    url: str,
    size: Mapping[str, str],
    entries: str,
    next_page: Callable[[values.JsonDict, list[object]], dict[str, str]],
) -> AsyncIterator[list[object]]:
    """Yield the pages of a list: ``entries`` names their field, ``next_page`` gives a query, empty at the end."""
    query: dict[str, str] = {}
    for _ in range(MOST_PAGES):
        found, _headers = await calls.json("GET", f"{url}?{urlencode({**size, **query})}")
        page = values.list_at(found, entries) or []
        yield page
        query = next_page(found, page)
        if not query:
            return


def _after(key: str) -> Callable[[values.JsonDict, list[object]], dict[str, str]]:
    """Return what asks for the entries behind the last one of a page."""

    def next_page(found: values.JsonDict, page: list[object]) -> dict[str, str]:
        more = page and values.at(found, "has_more") is True
        return {key: _name(page[-1], "id")} if more else {}

    return next_page


def _name(found: object, key: str) -> str:
    """Return a name the provider gave; raise `Later` for one that cannot stand in an address."""
    name = values.str_at(found, key)
    if name is None or not NAME.fullmatch(name) or ".." in name:
        raise Later(
            f"the provider named what was made in a way that cannot be used: {key} is missing or odd",
            taken=True,
        )
    return name


def _encoded(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _made(batch: object) -> float:
    try:
        return datetime.fromisoformat(values.str_at(batch, "created_at") or "").timestamp()
    except ValueError:
        return 0.0


def _versioned(root: str) -> str:
    return root if re.search(r"/v\d[a-z0-9]*$", root) else f"{root}/v1"
