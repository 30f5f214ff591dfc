"""Anthropic: one call makes a batch, its results are one file.

A batch has no place for a mark. Where the reply to a submission was lost, a batch of the same size made at that time may
be ours; its results decide, because they name the requests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import urlencode

from metacog_pipeline.llm.batch import ways
from metacog_pipeline.llm.batch.calls import Calls
from metacog_pipeline.llm.batch.records import BatchRecord
from metacog_pipeline.llm.wire import HttpCall, values

CLOCKS_DIFFER_S = 300.0  # ours and the provider's
STATUS_OF = {
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


class AnthropicBatches:
    """The `ways.Way` of Anthropic."""

    most_requests = 100_000
    most_bytes = 255_000_000  # 256 MB with what stands around the requests
    separator = b",\n"

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
        made, _ = await calls.json("POST", _root(root), headers=headers, parts=parts)
        return ways.name_at(made, "id")

    async def find(self, calls: Calls, root: str, record: BatchRecord) -> Sequence[tuple[str, bool]]:
        """Return the batches of this size made since the submission began."""
        since = (
            datetime.fromisoformat(record.submitting_since or record.created_at).timestamp() - CLOCKS_DIFFER_S
        )
        candidates: list[tuple[str, bool]] = []
        after = ""
        for _ in range(ways.MOST_PAGES):
            page = urlencode({"limit": 100, **({"after_id": after} if after else {})})
            found, _ = await calls.json("GET", f"{_root(root)}?{page}")
            listed = values.list_at(found, "data") or []
            made = [_moment(values.str_at(each, "created_at")) for each in listed]
            for each, moment in zip(listed, made, strict=True):
                counts = values.dict_at(each, "request_counts") or {}
                total = sum(number for key in counts if (number := values.count_at(counts, key)) is not None)
                if moment >= since and total == record.n:
                    candidates.append((ways.name_at(each, "id"), False))
            # Newest first: what follows is older still.
            if not listed or made[-1] < since or values.at(found, "has_more") is not True:
                break
            after = ways.name_at(listed[-1], "id")
        return [each for each in reversed(candidates) if each[0] not in record.foreign]

    async def look(self, calls: Calls, root: str, record: BatchRecord) -> ways.Look:
        """Ask how the batch stands."""
        found, _ = await calls.json("GET", self._url(root, record))
        word = values.str_at(found, "processing_status") or "unknown"
        if word != "ended":
            return ways.Look("running", word)
        if values.str_at(found, "archived_at"):
            return ways.Look("ended", "archived", (), "its results are not offered any more")
        # The address of the results is the provider's to name, but the key goes only to the address of the study.
        return ways.Look("ended", word, (f"{record.remote}/results",))

    async def cancel(self, calls: Calls, root: str, record: BatchRecord) -> None:
        """Ask to stop the batch."""
        await calls.json("POST", f"{self._url(root, record)}/cancel", {})

    def url_of(self, root: str, result: str) -> str:
        """Return where the results lie."""
        return f"{_root(root)}/{ways.in_path(result)}"

    def read(self, decoded: values.JsonDict) -> ways.Line | None:
        """Read a line of results."""
        custom_id, result = values.str_at(decoded, "custom_id"), values.dict_at(decoded, "result")
        if custom_id is None or result is None:
            return None
        match values.str_at(result, "type"):
            case "succeeded":
                return ways.Line(custom_id, 200, ways.encoded(result.get("message")))
            case "errored":
                error = result.get("error")
                kind = values.str_at(values.dict_at(error, "error"), "type") or ""
                return ways.Line(custom_id, STATUS_OF.get(kind, 500), ways.encoded(error))
            case "expired":
                return ways.Line(custom_id, why="expired")
            case "canceled":
                return ways.Line(custom_id, why="cancelled")
            case _:
                return ways.Line(custom_id, why="error")

    def _url(self, root: str, record: BatchRecord) -> str:
        return f"{_root(root)}/{ways.in_path(record.remote or '')}"


def _root(root: str) -> str:
    return f"{root}/messages/batches" if re.search(r"/v1$", root) else f"{root}/v1/messages/batches"


def _moment(text: str | None) -> float:
    try:
        return datetime.fromisoformat((text or "").replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0
