"""Find one call among everything a home keeps, and show all that is kept of it."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from typing import Any

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.transcripts import raw
from metacog_pipeline.transcripts.folder import kept_folders
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import kept_records

_JSON = ("request_json", "logprobs_json", "prices_json")


def records_of(home: Home, answer_id: str) -> list[Record]:
    """Return every record of the one call in ``home`` whose identity begins so, in the order of asking, or raise."""
    kept = (record for folder in kept_folders(home) for record in kept_records(folder))
    found = [record for record in kept if record.answer_id.startswith(answer_id)]
    ids = sorted({record.answer_id for record in found})
    if not ids:
        raise StoreError(
            f"{answer_id}: no call of this id is kept in {home.transcripts}: ids are the answer_id of calls in metacog sql"
        )
    if len(ids) > 1:
        raise StoreError(
            f"{answer_id}: {len(ids)} calls begin so, {ids[0]} and {ids[1]} among them: give more digits"
        )
    return sorted(found, key=lambda record: record.started_at)


def shown(record: Record) -> dict[str, Any]:
    """Return all that is kept of a call as JSON values; of the reply's body its size in bytes."""
    row = asdict(record)
    for name in _JSON:
        row[name.removesuffix("_json")] = _parsed(row.pop(name))
    body = None if row.pop("raw_zstd") is None else len(_body(record))
    return {**row, "started_at": record.started_at.isoformat(), "raw_bytes": body}


def newest_body(records: list[Record]) -> bytes:
    """Return the body of the newest reply that was kept with it. Raises ``StoreError`` where none was."""
    for record in reversed(records):
        if record.raw_zstd is not None:
            return _body(record)
    raise StoreError(
        f"{records[0].answer_id}: the reply's body was not kept; set keep_raw = true for model {records[0].model}: "
        "answers from then on have it"
    )


def _body(record: Record) -> bytes:
    try:
        return raw.body_of(record.raw_zstd) or b""
    except ValueError as error:
        raise StoreError(f"{record.answer_id}: {error}: restore its journal from a copy") from error


def _parsed(text: str | None) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return None if text is None else json.loads(text)
    return text
