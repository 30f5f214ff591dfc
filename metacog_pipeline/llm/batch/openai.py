"""OpenAI: a file of requests is uploaded, a batch refers to it, the results are two files.

The mark stands in the metadata of the batch and in the name of the file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from metacog_pipeline.llm.batch import ways
from metacog_pipeline.llm.batch.calls import Calls
from metacog_pipeline.llm.batch.records import BatchRecord
from metacog_pipeline.llm.wire import HttpCall, values

MARK_KEY = "metacog"
NOT_ANSWERED: dict[str, ways.Why] = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
RUNNING = frozenset({"validating", "in_progress", "finalizing", "cancelling", "unknown"})


class OpenAiBatches(ways.Way):
    """The batches of OpenAI."""

    most_requests = 50_000
    most_bytes = 200_000_000

    def target(self, root: str, call: HttpCall) -> str:
        """Return the endpoint as a batch names it."""
        return "/v1" + call.url.removeprefix(root).partition("?")[0]

    def line(self, custom_id: str, target: str, call: HttpCall) -> bytes:
        """Return one request."""
        head = f'{{"custom_id":"{custom_id}","method":"POST","url":{json.dumps(target)},"body":'
        return head.encode() + call.body + b"}"

    async def submit(self, calls: Calls, root: str, record: BatchRecord, requests: Path) -> str:
        """Upload the file, unless it is there already, and make the batch."""
        source = await self._uploaded(calls, root, record)
        source = source or await self._upload(calls, root, record, requests)
        body = {
            "input_file_id": source,
            "endpoint": record.target,
            "completion_window": "24h",
            "metadata": {MARK_KEY: record.mark},
        }
        made, _ = await calls.json("POST", f"{root}/batches", body)
        return ways.name_at(made, "id")

    async def _upload(self, calls: Calls, root: str, record: BatchRecord, requests: Path) -> str:
        edge = record.mark
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{record.mark}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode()
        headers = {"content-type": f"multipart/form-data; boundary={edge}"}
        parts = (head, requests, f"\r\n--{edge}--\r\n".encode())
        made, _ = await calls.json("POST", f"{root}/files", headers=headers, parts=parts)
        return ways.name_at(made, "id")

    async def _uploaded(self, calls: Calls, root: str, record: BatchRecord) -> str | None:
        """Return the file of an earlier try: the upload may have been taken although no reply came."""
        if record.tries < 2:
            return None
        found, _ = await calls.json("GET", f"{root}/files?{urlencode({'purpose': 'batch', 'limit': 1000})}")
        for each in values.list_at(found, "data") or []:
            whole = values.count_at(each, "bytes") == record.size
            if whole and values.str_at(each, "filename") == f"{record.mark}.jsonl":
                return ways.name_at(each, "id")
        return None

    async def find(self, calls: Calls, root: str, record: BatchRecord) -> Sequence[tuple[str, bool]]:
        """Look for the mark among the batches of the account."""

        def after(found: values.JsonDict, shown: list[object]) -> dict[str, str]:
            more = shown and values.at(found, "has_more") is True
            return {"after": ways.name_at(shown[-1], "id")} if more else {}

        async for page in ways.listed(calls, f"{root}/batches", ("limit", 100), "data", after):
            for each in page:
                if values.str_at(values.dict_at(each, "metadata"), MARK_KEY) == record.mark:
                    return [(ways.name_at(each, "id"), True)]
        return []

    async def look(self, calls: Calls, root: str, record: BatchRecord) -> ways.Look:
        """Ask how the batch stands."""
        found, _ = await calls.json("GET", self.batch_url(root, record))
        word = values.str_at(found, "status") or "unknown"
        if word in RUNNING:
            return ways.Look("running", word)
        files = [key for key in ("output_file_id", "error_file_id") if values.at(found, key)]
        said = values.first(values.list_at(values.dict_at(found, "errors"), "data"))
        return ways.Look(
            "failed" if word == "failed" else "ended",
            word,
            tuple(ways.name_at(found, key) for key in files),
            values.str_at(said, "message"),
        )

    def url_of(self, root: str, result: str) -> str:
        """Return where the content of a file lies."""
        return f"{root}/files/{ways.in_path(result)}/content"

    def batch_url(self, root: str, record: BatchRecord) -> str:
        """Return where a batch is looked at."""
        return f"{root}/batches/{ways.in_path(record.remote or '')}"

    def read(self, decoded: values.JsonDict) -> ways.Line | None:
        """Read a line of either file."""
        custom_id = values.str_at(decoded, "custom_id")
        if custom_id is None:
            return None
        response = values.dict_at(decoded, "response")
        status = values.count_at(response, "status_code")
        if response is None or status is None:
            code = values.str_at(values.dict_at(decoded, "error"), "code") or ""
            return ways.Line(custom_id, why=NOT_ANSWERED.get(code, "error"))
        return ways.Line(custom_id, status, ways.encoded(response.get("body")))
