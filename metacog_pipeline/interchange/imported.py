"""What an import takes in and gives back: options, records of imported answers, rows that were not taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange import columns
from metacog_pipeline.transcripts.schema import Record


class Rejected(NamedTuple):
    """A row that was not taken: its number in the file and why."""

    row: int
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What an answer file gave.

    ``warnings`` are rows taken although something in them cannot be read; ``summary`` says line by line how the file was
    understood; ``rows`` are those of single records, where not all rows were read as columns; ``unreadable``: no reply
    can be read.
    """

    records: Sequence[Record]
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    unreadable: bool = False


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is to be understood.

    Attributes
    ----------
    trust
        Fields or columns whose disagreement with the items is taken.
    scale
        The confidence that can be stated; None for the benchmark's own.
    shape
        Wide columns, and words for values.
    where
        (column, value): only rows with these values are read.
    from_one
        Positions begin at 1.
    show
        Called with each line of the summary before anything is kept.
    enrich
        Returns the records as they are kept, with what else is known of them.
    keep
        False: everything is checked, and nothing is kept.
    """

    trust: tuple[str, ...] = ()
    scale: columns.Scale | None = None
    shape: columns.Shape = field(default_factory=columns.Shape)
    where: tuple[tuple[str, str], ...] = ()
    from_one: bool = False
    show: Callable[[str], None] | None = None
    enrich: Callable[[Imported], tuple[Record, ...]] | None = None
    keep: bool = True

    def tell(self, found: Imported) -> None:
        """Show the summary."""
        for line in found.summary if self.show is not None else ():
            assert self.show is not None
            self.show(line)


def identified(identity: Sequence[object]) -> str:
    """Return the digest of texts and whole numbers, that of their canonical JSON."""
    parts = [
        encode_basestring_ascii(each) if isinstance(each, str) else canonical_json(each) for each in identity
    ]
    return sha256_hex(f"[{','.join(parts)}]")


def imported_record(
    benchmark: str,
    item: tuple[str, str],
    *,
    model: str,
    run: int,
    condition: str,
    step: str,
    text: str,
    identity: Sequence[object],
    model_id: str = "",
    request_json: str = "{}",
    at: datetime | None = None,
    also: Mapping[str, Any] | None = None,
) -> Record:
    """Return one imported answer to ``step`` of ``item``, an item's id and hash.

    ``identity`` is what makes it the same answer when it is imported again; ``request_json`` how it was understood; ``at``
    when it was imported, now unless given; ``also`` what else is known of it, by the fields of a record.
    """
    item_id, item_hash = item
    fields: dict[str, Any] = {
        "answer_id": identified(identity),
        "benchmark": benchmark,
        "model": model,
        "run": run,
        "item_id": item_id,
        "item_hash": item_hash,
        "condition": condition,
        "step": step,
        "source": "imported",
        "provider": "replay",
        "model_id": model_id,
        "model_reported": None,
        "mode": "import",
        "request_json": request_json,
        "status": "ok",
        "text": text,
        "finish_reason": None,
        "logprobs_json": None,
        "input_tokens": None,
        "output_tokens": None,
        "cost_usd": None,
        "attempts": 0,
        "started_at": at or datetime.now(UTC),
        "latency_s": 0.0,
        "http_status": None,
        "error_kind": None,
        "error_code": None,
        "error_message": None,
    }
    return Record(**{**fields, **(also or {})})
