"""Gemini: a file of requests is uploaded under our name, an operation works on it, the results are one file.

The mark is the name of the file and the display name of the batch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from metacog_pipeline.llm.batch import ways
from metacog_pipeline.llm.batch.calls import Calls, Refused, Unclear
from metacog_pipeline.llm.batch.records import BatchRecord
from metacog_pipeline.llm.wire import HttpCall, values

MIME = "application/jsonl"
STATUS_OF = {3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 13: 500, 14: 503, 16: 401}  # of google.rpc.Code
CANCELLED, DEADLINE = 1, 4
GIVEN_UP = frozenset({CANCELLED, DEADLINE})
ENDED = frozenset({"SUCCEEDED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED"})
MISSING = frozenset({403, 404})  # a file of another name, or of nobody


class GeminiBatches(ways.Way):
    """The batches of Gemini."""

    most_requests = 100_000  # no limit is told; what fits into memory when results come back
    most_bytes = 2_000_000_000
    cancels_at = ":cancel"

    def target(self, root: str, call: HttpCall) -> str:
        """Return the model as the address names it."""
        return re.sub(r":\w+$", "", call.url.removeprefix(_versioned(root) + "/").partition("?")[0])

    def line(self, custom_id: str, target: str, call: HttpCall) -> bytes:
        """Return one request."""
        return f'{{"key":"{custom_id}","request":'.encode() + call.body + b"}"

    async def submit(self, calls: Calls, root: str, record: BatchRecord, requests: Path) -> str:
        """Upload the file, unless it is there already, and make the batch."""
        name = f"files/{record.mark}"
        if record.tries < 2 or not await self._uploaded(calls, root, name, record):
            await self._upload(calls, root, name, requests)
        body = {"batch": {"displayName": record.mark, "inputConfig": {"fileName": name}}}
        url = f"{_versioned(root)}/{record.target}:batchGenerateContent"
        made, _ = await calls.json("POST", url, body)
        return ways.name_at(made, "name")

    async def _upload(self, calls: Calls, root: str, name: str, requests: Path) -> None:
        size = requests.stat().st_size
        versioned = _versioned(root)
        base, _, version = versioned.rpartition("/")
        headers = {
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(size),
            "x-goog-upload-header-content-type": MIME,
        }
        body = {"file": {"name": name, "displayName": name, "mimeType": MIME}}
        _, replied = await calls.json("POST", f"{base}/upload/{version}/files", body, headers=headers)
        where = replied.get("x-goog-upload-url", "")
        if urlsplit(where)[:2] != urlsplit(base)[:2]:
            raise Unclear("the address to upload to is not at the address of the study: nothing was uploaded")
        headers = {
            "x-goog-upload-command": "upload, finalize",
            "x-goog-upload-offset": "0",
            "content-type": MIME,
        }
        await calls.json("POST", where, headers=headers, parts=(b"", requests, b""))

    async def _uploaded(self, calls: Calls, root: str, name: str, record: BatchRecord) -> bool:
        """Whether the file of an earlier try is there: the upload may have been taken although no reply came."""
        try:
            found, _ = await calls.json("GET", f"{_versioned(root)}/{name}")
        except Refused as refusal:
            if refusal.status in MISSING:
                return False
            raise
        return values.str_at(found, "sizeBytes") == str(record.size)

    async def find(self, calls: Calls, root: str, record: BatchRecord) -> Sequence[tuple[str, bool]]:
        """Look for the mark among the batches of the account."""

        def after(found: values.JsonDict, shown: list[object]) -> dict[str, str]:
            token = values.str_at(found, "nextPageToken")
            return {"pageToken": token} if token else {}

        url = f"{_versioned(root)}/batches"
        async for page in ways.listed(calls, url, ("pageSize", 100), "operations", after):
            for each in page:
                if values.str_at(values.dict_at(each, "metadata"), "displayName") == record.mark:
                    return [(ways.name_at(each, "name"), True)]
        return []

    async def look(self, calls: Calls, root: str, record: BatchRecord) -> ways.Look:
        """Ask how the operation stands."""
        found, _ = await calls.json("GET", self.batch_url(root, record))
        metadata = values.dict_at(found, "metadata")
        said = values.str_at(metadata, "state") or "unknown"
        word = said.removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
        if word == "FAILED":
            message = values.str_at(values.dict_at(found, "error"), "message")
            return ways.Look("failed", word.lower(), (), message)
        if word not in ENDED:
            return ways.Look("running", word.lower())
        for place in (values.dict_at(found, "response"), values.dict_at(metadata, "output")):
            if values.at(place, "responsesFile") is not None:
                return ways.Look("ended", word.lower(), (ways.name_at(place, "responsesFile"),))
        return ways.Look("ended", word.lower())

    def url_of(self, root: str, result: str) -> str:
        """Return where the content of a file lies."""
        return f"{_versioned(root)}/{ways.in_path(result)}:download?alt=media"

    def read(self, decoded: values.JsonDict) -> ways.Line | None:
        """Read a line of results."""
        key, error = values.str_at(decoded, "key"), values.dict_at(decoded, "error")
        if key is None:
            return None
        if error is None:
            return ways.Line(key, 200, ways.encoded(decoded["response"])) if "response" in decoded else None
        code = values.count_at(error, "code") or 0
        if code in GIVEN_UP and values.str_at(error, "status") is None:
            return ways.Line(key, why="cancelled" if code == CANCELLED else "expired")
        status = code if 400 <= code < 600 else STATUS_OF.get(code, 500)
        return ways.Line(key, status, ways.encoded({"error": {**error, "code": status}}))

    def batch_url(self, root: str, record: BatchRecord) -> str:
        """Return where a batch is looked at."""
        return f"{_versioned(root)}/{ways.in_path(record.remote or '')}"


def _versioned(root: str) -> str:
    return root if re.search(r"/v\d[a-z0-9]*$", root) else f"{root}/v1"
