"""The lines of a batch's results, in each provider's words, with the faults its plan asks for."""

from __future__ import annotations

import json
from typing import BinaryIO

from metacog_pipeline.llm.server.batches import BatchFault, Taken
from metacog_pipeline.llm.server.dialects import JsonDict

NOT_ASKED = "0" * 64
GARBAGE = (b"{not json\n", b"null\n", b'{"custom_id": 7}\n', b"\xff\xfe\n", b"\n")
SAID = {
    "expired": "the batch expired before this request was answered",
    "cancelled": "the batch was cancelled",
}


class Writer:
    """Writes the result lines of one batch; OpenAI's come in two files, the others' in one."""

    def __init__(self, batch: Taken, good: BinaryIO, bad: BinaryIO) -> None:
        self._batch = batch
        self._good = good
        self._bad = bad if batch.way == "openai" else good
        self._held: list[bytes] = []

    def answered(self, place: int, custom_id: str, status: int, body: JsonDict) -> None:
        """Write the answer to one request; every second one may be struck by the batch's fault."""
        fault, odd = self._batch.fault, place % 2 == 1
        if odd and fault == BatchFault.HALF_MISSING:
            return
        if odd and fault == BatchFault.LINE_ERRORS:
            status, body = 500, _broken(self._batch.way)
        self._batch.counts["answered" if status == 200 else "errored"] += 1
        line = _line(self._batch.way, custom_id, status, body)
        target = self._good if status == 200 else self._bad
        target.write(line)
        if odd and fault == BatchFault.DUPLICATES:
            target.write(line)
        if fault == BatchFault.GARBAGE:
            target.write(GARBAGE[place % len(GARBAGE)])
        if not self._held:
            self._held.append(line)

    def unanswered(self, custom_id: str, why: str) -> None:
        """Write that one request was not answered."""
        self._batch.counts[why] += 1
        if self._batch.fault != BatchFault.FAILED:
            self._bad.write(_not_answered(self._batch.way, custom_id, why))

    def finish(self) -> None:
        """Write what comes after the last request."""
        if self._batch.fault == BatchFault.UNKNOWN_ID and self._held:
            self._good.write(self._held[0].replace(self._batch.ids[0].encode(), NOT_ASKED.encode()))


def _line(way: str, custom_id: str, status: int, body: JsonDict) -> bytes:
    fields: JsonDict
    match way:
        case "openai":
            reply = {"status_code": status, "request_id": f"req_{custom_id[:8]}", "body": body}
            fields = {
                "id": f"batch_req_{custom_id[:8]}",
                "custom_id": custom_id,
                "response": reply,
                "error": None,
            }
        case "anthropic":
            kind = (
                {"type": "succeeded", "message": body}
                if status == 200
                else {"type": "errored", "error": body}
            )
            fields = {"custom_id": custom_id, "result": kind}
        case _:
            said = {"response": body} if status == 200 else {"error": body.get("error")}
            fields = {"key": custom_id, **said}
    return json.dumps(fields).encode() + b"\n"


def _not_answered(way: str, custom_id: str, why: str) -> bytes:
    fields: JsonDict
    match way:
        case "openai":
            error = {"code": f"batch_{why}", "message": SAID[why]}
            fields = {
                "id": f"batch_req_{custom_id[:8]}",
                "custom_id": custom_id,
                "response": None,
                "error": error,
            }
        case "anthropic":
            fields = {"custom_id": custom_id, "result": {"type": why.replace("cancelled", "canceled")}}
        case _:
            fields = {
                "key": custom_id,
                "error": {"code": 1 if why == "cancelled" else 4, "message": SAID[why]},
            }
    return json.dumps(fields).encode() + b"\n"


def _broken(way: str) -> JsonDict:
    match way:
        case "openai":
            return {
                "error": {"message": "something broke", "type": "server_error", "param": None, "code": None}
            }
        case "anthropic":
            return {
                "type": "error",
                "error": {"type": "api_error", "message": "something broke"},
                "request_id": None,
            }
        case _:
            return {"error": {"code": 500, "message": "something broke", "status": "INTERNAL", "details": []}}
