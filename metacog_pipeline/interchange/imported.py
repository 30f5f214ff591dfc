"""What an import takes in and gives back: options, records of imported answers, rows that were not kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, NamedTuple

from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange import columns
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.schema import Record

NOT_KEPT, UNSCORED = "not kept", "kept, not scored"


class Rejected(NamedTuple):
    """A row that is not kept or not scored: its number in a table or its name in a log, which of both, and why."""

    row: int | str
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file gave.

    The ``rows`` of the file are the ``records`` kept or ``known`` before, the ``same`` answers once more, and those
    ``rejected`` as not kept. ``warnings`` are kept replies that cannot be read; ``summary`` says line by line how the file
    was understood.
    """

    records: Sequence[Record]
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    study: Study | None = None
    known: int = 0
    rows: int = 0
    same: int = 0

    @property
    def kept(self) -> int:
        """How many answers are new."""
        return len(self.records) - self.known


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is to be understood."""

    trust: tuple[str, ...] = ()  # fields or columns whose disagreement with the items is taken
    scale: columns.Scale | None = None  # of confidence; None for the benchmark's own
    shape: columns.Shape = field(default_factory=columns.Shape)  # words for values
    from_one: bool = False  # positions begin at 1
    show: Callable[[str], None] | None = None  # gets each line of the summary before anything is kept
    model: str | None = None  # renames the only model of a log
    run: int = 1  # what the first run of a log becomes
    benchmark: str | None = None  # of the study, which the file is about
    also: Callable[[int], Mapping[str, Any]] | None = None  # row → what else is known of its records

    def report(self, lines: Sequence[str]) -> None:
        """Show lines of the summary."""
        for line in lines if self.show is not None else ():
            self.show(line)  # type: ignore[misc]


#: What an imported answer has unless its log says more: null where nothing is known.
_UNKNOWN: Mapping[str, Any] = {
    **{each.name: None for each in fields(Record) if each.default is MISSING},
    "source": "imported",
    "provider": "replay",
    "mode": "import",
    "status": "ok",
    "attempts": 0,
    "latency_s": 0.0,
    "model_id": "",
    "request_json": "{}",
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
    at: datetime | None = None,
    also: Mapping[str, Any] | None = None,
) -> Record:
    """Return one imported answer to ``step`` of ``item``, an item's id and hash.

    ``identity`` is what makes it the same answer when it is imported again; ``at`` when it was imported, now unless
    given; ``also`` what else is known of it, by the fields of a record.
    """
    own: dict[str, Any] = {
        **_UNKNOWN, "answer_id": sha256_hex(canonical_json(list(identity))), "benchmark": benchmark, "model": model,
        "run": run, "item_id": item[0], "item_hash": item[1], "condition": condition, "step": step, "text": text,
        "started_at": at or datetime.now(UTC), **(also or {}),
    }  # fmt: skip
    return Record(**own)
