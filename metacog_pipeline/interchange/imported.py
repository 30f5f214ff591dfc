"""What an import takes in and gives back: options, records of imported answers, rows that were not taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, datetime
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
    understood; ``rows`` are those of single records; ``known`` counts answers that were kept before.
    """

    records: Sequence[Record]
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    known: int = 0


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is to be understood."""

    trust: tuple[str, ...] = ()  # fields or columns whose disagreement with the items is taken
    scale: columns.Scale | None = None  # of confidence; None for the benchmark's own
    shape: columns.Shape = field(default_factory=columns.Shape)  # words for values
    from_one: bool = False  # positions begin at 1
    show: Callable[[str], None] | None = None  # gets each line of the summary before anything is kept
    also: Callable[[int], Mapping[str, Any]] | None = None  # row → what else is known of its records


#: What an imported answer has unless its log says more: null where nothing is known.
_UNKNOWN: Mapping[str, Any] = {
    **{each.name: None for each in fields(Record) if each.default is MISSING},
    "source": "imported",
    "provider": "replay",
    "mode": "import",
    "status": "ok",
    "attempts": 0,
    "latency_s": 0.0,
}


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
    own = dict(_UNKNOWN)
    own.update(
        answer_id=sha256_hex(canonical_json(list(identity))), benchmark=benchmark, model=model, run=run,
        item_id=item[0], item_hash=item[1], condition=condition, step=step, model_id=model_id,
        request_json=request_json, text=text, started_at=at or datetime.now(UTC),
    )  # fmt: skip
    own.update(also or {})
    return Record(**own)
