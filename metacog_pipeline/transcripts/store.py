"""The answers of one partition: kept answers, new ones, and the Parquet copy for readers."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from metacog_pipeline.errors import StoreError
from metacog_pipeline.llm.types import Status
from metacog_pipeline.transcripts import journal, parquet
from metacog_pipeline.transcripts.folder import PartitionFolder, read_manifest, write_manifest
from metacog_pipeline.transcripts.journal import Journal
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA, FINISHED, Record, replaces
from metacog_pipeline.transcripts.shared import writing

# callers find them here too
__all__ = ["PartitionFolder", "read_manifest", "write_manifest"]
_PAID = (
    *("input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens", "cache_write_tokens"),
    *("attempts", "attempts_billed"),
)
# by what parses, scores or asks
_NEVER_READ = ("reasoning_text", "raw_zstd")


class PartitionStore:
    """The only writer of one partition folder, which it locks (made if missing) until it is closed."""

    def __init__(self, folder: PartitionFolder) -> None:
        self.folder = folder
        # Of every call ever kept, failed ones too.
        self.cost_usd = 0.0
        # the answer that counts for each identity
        self._standing: dict[str, Record] = {}
        # the highest number under which each was asked again
        self._asked: dict[str, int] = {}
        self._rows: set[tuple[str, str, str, int]] = set()
        # answers to ask once more, with the number of the next one
        self._again: dict[str, int] = {}
        with contextlib.ExitStack() as held:
            self._shared = held.enter_context(writing(folder))
            for record in kept_records(folder):
                self._remember(record)
            self._journal = Journal(folder, self._shared)
            self._held = held.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._standing)

    def __contains__(self, answer_id: str) -> bool:
        """Whether an answer is kept under ``answer_id``."""
        return answer_id in self._standing

    def find(self, answer_id: str) -> Record | None:
        """Return the answer kept under ``answer_id``; ``None`` when there is none or every call failed."""
        return None if answer_id in self._again else self._standing.get(answer_id)

    def has_row(self, answer_id: str, item_id: str, condition: str) -> bool:
        """Whether the answer is kept under this item and condition, not only under another with the same words."""
        found = self.find(answer_id)
        return found is not None and (answer_id, item_id, condition, found.reask) in self._rows

    def reask(self, answer_ids: Collection[str]) -> None:
        """Treat these answers as missing until a new one is kept; then the newest usable one of each counts."""
        for answer_id in answer_ids:
            if answer_id in self._standing:
                self._again[answer_id] = self._asked[answer_id] + 1

    def models_reported(self, answer_ids: Collection[str]) -> Counter[str]:
        """Return which model ids the provider reported for these answers, and for how many of them."""
        found = (self._standing[each].model_reported for each in answer_ids if each in self._standing)
        return Counter(name for name in found if name is not None)

    async def keep_reused(self, answer_id: str, item_id: str, item_hash: str, condition: str) -> None:
        """Keep a kept answer once more, for free, under another item or condition that asked the very same words."""
        free: dict[str, Any] = {**dict.fromkeys(_PAID, 0), "cost_usd": 0.0}
        times: dict[str, Any] = {"latency_s": 0.0, "latency_ms": 0.0, "latency_first_ms": None}
        place: dict[str, Any] = {"item_id": item_id, "item_hash": item_hash, "condition": condition}
        await self.keep(replace(self._standing[answer_id], **place, **free, **times))

    async def keep(self, record: Record) -> None:
        """Keep ``record``; on return it is durable and, unless it failed, can be found."""
        if record.answer_id in self._again:
            record = replace(record, reask=self._again[record.answer_id])
        durable = self._journal.submit(record)
        durable.add_done_callback(partial(self._written, record))
        # Handed over it is kept and counted even when the wait is cancelled.
        await asyncio.shield(durable)

    def compact(self, current: Collection[str] | None = None) -> parquet.Footer:
        """Bring the Parquet copy up to date with everything kept; see `compact_folder`."""
        # later answers go to a segment of their own, so this one is whole
        self._journal.close()
        self._journal = Journal(self.folder, self._shared)
        return parquet.compact_folder(self.folder, current)

    def close(self) -> None:
        """Wait until what was handed over is durable, then release the folder. Closing twice is harmless."""
        try:
            self._journal.close()
        finally:
            self._held.close()

    def _written(self, record: Record, durable: asyncio.Future[None]) -> None:
        if not durable.cancelled() and durable.exception() is None:
            self._remember(record)

    def _remember(self, record: Record) -> None:
        if record.cost_usd is not None and math.isfinite(record.cost_usd):
            self.cost_usd += record.cost_usd
        if record.status not in FINISHED:
            return
        known = record.answer_id
        self._rows.add((known, record.item_id, record.condition, record.reask))
        self._again.pop(known, None)
        self._asked[known] = max(self._asked.get(known, 0), record.reask)
        if replaces(record, self._standing.setdefault(known, record)):
            self._standing[known] = record


def keep_whole(folder: PartitionFolder, records: Sequence[Record]) -> None:
    """Keep ``records``, answers that are all there already, in a partition's folder: all of them or none."""
    if not records:
        return
    with writing(folder):
        try:
            journal.write_segment(folder, records)
        except OSError as error:
            raise StoreError(
                f"cannot write to {folder}: {error.strerror or error}: free space or repair the disk and import again; "
                "nothing of the file was kept"
            ) from error


def kept_records(folder: PartitionFolder) -> Iterator[Record]:
    """Yield every record kept in ``folder``, without locking it: the journals', then those only the Parquet copy has."""
    for path in journal.segments(folder):
        yield from journal.read_segment(path)
    yield from parquet.only_copied(folder)


def standing_answers(folder: PartitionFolder) -> Iterator[Record]:
    """Yield the answers kept in ``folder``; of one identity, each replaces those before. Takes no lock."""
    counted: dict[str, Record] = {}
    for record in (each for each in kept_records(folder) if each.status in FINISHED):
        before = counted.setdefault(record.answer_id, record)
        if before is record or replaces(record, before):
            counted[record.answer_id] = record
            yield record


def read_partition(folder: PartitionFolder, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the Parquet copy in ``folder``: all columns, or those named, in that order. Raises as `current_table`."""
    return parquet.current_table(folder.copy, ARROW_SCHEMA.names if columns is None else columns)


def answers_table(folder: PartitionFolder) -> pa.Table:
    """Return the Parquet copy in ``folder`` as whoever reads answers out of it may see it. Raises as `read_partition`."""
    table = read_partition(folder, [name for name in ARROW_SCHEMA.names if name not in _NEVER_READ])
    # What had arrived of a failed call before it broke is no answer.
    failed = pc.equal(table["status"], Status.FAILED.value)
    for name, instead in (("text", ""), ("logprobs_json", None)):
        place = table.schema.get_field_index(name)
        seen = pc.if_else(failed, pa.scalar(instead, pa.string()), table[name])
        table = table.set_column(place, table.schema.field(name), seen)
    return table
