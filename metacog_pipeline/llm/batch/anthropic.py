"""Anthropic: one call makes a batch, its results are one file.

A batch has no place for a mark. Where the reply to a submission was lost, a batch of the same size made at that time may
be ours; its results decide, because they name the requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

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
WHY: dict[str | None, ways.Why] = {"expired": "expired", "canceled": "cancelled"}


class AnthropicBatches(ways.Way):
    """The batches of Anthropic."""

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
        begun = datetime.fromisoformat(record.submitting_since or record.created_at).timestamp()
        since = begun - CLOCKS_DIFFER_S
        candidates: list[tuple[str, bool]] = []

        def older(found: values.JsonDict, shown: list[object]) -> dict[str, str]:
            # Newest first: what follows is older still.
            more = shown and values.at(found, "has_more") is True and _made(shown[-1]) >= since
            return {"after_id": ways.name_at(shown[-1], "id")} if more else {}

        async for page in ways.listed(calls, _root(root), ("limit", 100), "data", older):
            for each in page:
                counts = values.dict_at(each, "request_counts") or {}
                total = sum(values.count_at(counts, key) or 0 for key in counts)
                if _made(each) >= since and total == record.n:
                    candidates.append((ways.name_at(each, "id"), False))
        return [each for each in reversed(candidates) if each[0] not in record.foreign]

    async def look(self, calls: Calls, root: str, record: BatchRecord) -> ways.Look:
        """Ask how the batch stands."""
        found, _ = await calls.json("GET", self.batch_url(root, record))
        word = values.str_at(found, "processing_status") or "unknown"
        if word != "ended":
            return ways.Look("running", word)
        if values.str_at(found, "archived_at"):
            return ways.Look("ended", "archived", (), "its results are not offered any more")
        # The address of the results is the provider's to name, but the key goes only to the address of the study.
        return ways.Look("ended", word, (f"{record.remote}/results",))

    def url_of(self, root: str, result: str) -> str:
        """Return where the results lie."""
        return f"{_root(root)}/{ways.in_path(result)}"

    def batch_url(self, root: str, record: BatchRecord) -> str:
        """Return where a batch is looked at."""
        return self.url_of(root, record.remote or "")

    def read(self, decoded: values.JsonDict) -> ways.Line | None:
        """Read a line of results."""
        custom_id, result = values.str_at(decoded, "custom_id"), values.dict_at(decoded, "result")
        if custom_id is None or result is None:
            return None
        kind = values.str_at(result, "type")
        if kind == "succeeded":
            return ways.Line(custom_id, 200, ways.encoded(result.get("message")))
        if kind == "errored":
            error = result.get("error")
            named = values.str_at(values.dict_at(error, "error"), "type") or ""
            return ways.Line(custom_id, STATUS_OF.get(named, 500), ways.encoded(error))
        return ways.Line(custom_id, why=WHY.get(kind, "error"))


def _root(root: str) -> str:
    return f"{root}/messages/batches" if root.endswith("/v1") else f"{root}/v1/messages/batches"


def _made(batch: object) -> float:
    try:
        return datetime.fromisoformat(values.str_at(batch, "created_at") or "").timestamp()
    except ValueError:
        return 0.0
