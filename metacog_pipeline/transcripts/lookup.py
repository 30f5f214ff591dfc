"""Find one call among everything a home keeps, and show all that is kept of it."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from typing import Any

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
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
    """Return all that is kept of a call as JSON values."""
    row = {**asdict(record), "started_at": record.started_at.isoformat()}
    del row["raw_zstd"]
    for name in _JSON:
        row[name.removesuffix("_json")] = _parsed(row.pop(name))
    return row


def _parsed(text: str | None) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return None if text is None else json.loads(text)
    return text
