"""All segments of a partition as one sorted Parquet file, in memory bounded by the keys, never by the texts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json, put_aside, replacing, sha256_hex
from metacog_pipeline.llm.types import Status, usable
from metacog_pipeline.transcripts import parquet
from metacog_pipeline.transcripts.folder import COPY_NAME, PartitionFolder
from metacog_pipeline.transcripts.lines import decode_line
from metacog_pipeline.transcripts.schema import SCHEMA_VERSION, Record
from metacog_pipeline.transcripts.segments import at_hand, read_segment, segment_number, segments

BATCH_BYTES = 8 * 2**20  # of journal lines held at once; one longer line is a batch of its own
BATCH_ROWS = 8192  # a row group large enough to compress, small enough to hold


@dataclass(frozen=True, slots=True)
class CompactResult:
    """What the Parquet copy holds: ``rows`` in all, of which ``superseded`` belong to questions asked otherwise now."""

    rows: int
    superseded: int
    path: Path


#: Origin and place of a row → its record.
Known = dict[tuple[int, int], Record]


@dataclass(frozen=True, slots=True)
class FromKept:
    """Which answers are asked for now, where the kept ones decide it: ``see`` is shown each in reading order, then
    ``current`` is asked."""

    see: Callable[[Record], None]
    current: Callable[[], Collection[str]]


Current = Collection[str] | FromKept | None


class _Key(NamedTuple):
    """One row to write; the order of the fields is the order of the rows.

    ``origin`` counts the segments in reading order; the older copy comes after the last, so that of two equal rows
    the journal's, which has the exact text, is first. ``place`` is a byte offset there, in the copy a row number.
    """

    item_id: str
    condition: str
    step: str
    answer_id: str
    reask: int
    started_at: datetime
    origin: int
    place: int
    length: int
    failed: bool
    usable: bool
    model: str


def compact_folder(folder: PartitionFolder, current: Current) -> CompactResult:
    """Write every record kept in ``folder`` to its Parquet file, sorted, unless it holds exactly that already.

    ``current`` names the answers asked for now: a row is superseded when it is not among them and one that is
    belongs to the same item, condition and model (several judges answer in one folder). The step does not matter: another
    answer mode has steps of other names, and a later step follows from the earlier ones. ``None`` leaves the marks as they
    are. Where a call was asked again, the answers beside the one that stands are superseded too. The caller holds the lock
    of the folder, and no segment is being written.

    A damaged copy is put aside and made anew where no segment is missing, so that it can have held nothing more. Raises
    ``StoreError`` when a journal or the older copy cannot be read or the new one cannot be written; the older copy and the
    journals are then as before.
    """
    path = folder.copy
    try:
        for abandoned in folder.path.glob(f".{COPY_NAME}.*.tmp"):  # of a process killed while compacting
            abandoned.unlink()
        sizes = parquet.segment_sizes(folder)
        old = _older(folder)
        read = None
        if isinstance(current, FromKept):
            read = _read(folder, old, sizes, current.see)
            current = current.current()
        digest = "" if current is None else sha256_hex(canonical_json(sorted(current)))
        if old is not None and _up_to_date(old, sizes, digest):
            return CompactResult(old.rows, old.superseded, path)
        return _rewrite(path, old, sizes, read or _read(folder, old, sizes), _Asked(current, digest))
    except (OSError, pa.ArrowException, OverflowError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise StoreError(
            f"cannot write {path}: {reason}: free space and run again; the journals and the file before are untouched"
        ) from error


def _older(folder: PartitionFolder) -> parquet.Footer | None:
    try:
        return parquet.read_footer(folder.copy)
    except parquet.DamagedCopyError:
        numbers = [segment_number(segment) for segment in segments(folder)]
        if not numbers or numbers != list(range(1, len(numbers) + 1)):
            raise
        put_aside(folder.copy)
        return None


def _up_to_date(old: parquet.Footer, sizes: dict[str, int], digest: str) -> bool:
    same = old.version == SCHEMA_VERSION and old.segments == sizes
    return same and digest in ("", old.current) and not (old.rows > 0 and not sizes and old.carried == 0)


def written_anew(folder: PartitionFolder, target: Path) -> None:
    """Write to ``target`` what the Parquet copy of ``folder``, which is up to date, has to hold, marks and all.

    Raises ``StoreError`` when a journal or the copy cannot be read.
    """
    old = parquet.read_footer(folder.copy)
    digest = "" if old is None else old.current
    sizes = parquet.segment_sizes(folder)
    _rewrite(target, old, sizes, _read(folder, old, sizes), _Asked(None, digest))


class _Asked(NamedTuple):
    """The answers asked for now, None where that is unknown, and the digest of them."""

    current: Collection[str] | None
    digest: str


class _Read(NamedTuple):
    """What is kept in a folder: its copy and journals, the key of every row in reading order, and the first records."""

    copy: Path
    journals: Sequence[Path]
    keys: list[_Key]
    known: Known


def _read(
    folder: PartitionFolder,
    old: parquet.Footer | None,
    sizes: dict[str, int],
    see: Callable[[Record], None] | None = None,
) -> _Read:
    """Read every row once; ``see`` is shown each record, and of those in the copy what no journal has."""
    journals = segments(folder)
    known: Known = {}
    keys = list(_journal_keys(journals, known, see))
    if old is not None and old.may_hold_more_than(sizes):
        there = {_moment(key) for key in keys} if see is not None else set()
        for row, (record, _) in enumerate(parquet.stored_rows(folder.copy)):
            keys.append(key := _key(record, len(journals), row, 0))
            if see is not None and _moment(key) not in there:
                see(record)
    return _Read(folder.copy, journals, keys, known)


def _moment(key: _Key) -> tuple[str, str, str, datetime]:
    return key.answer_id, key.item_id, key.condition, key.started_at


def _rewrite(
    target: Path, old: parquet.Footer | None, sizes: dict[str, int], read: _Read, asked: _Asked
) -> CompactResult:
    path, journals, keys, known = read
    rows = list(_once(keys, len(journals)))
    marked = _superseded(rows, asked.current, path if old is not None and old.superseded else None)
    footer = parquet.Footer(
        rows=len(rows),
        segments=sizes,
        carried=sum(row.origin == len(journals) for row in rows),
        superseded=sum(marked),
        current=asked.digest,
    )
    with (
        replacing(target) as temporary,
        pq.ParquetWriter(temporary, footer.schema(), compression="zstd", write_page_checksum=True) as writer,
    ):
        done = 0
        for batch in _batches(rows):
            records, altered = _fetch(batch, journals, path, known)
            writer.write_batch(parquet.batch_of(records, marked[done : done + len(batch)], altered))
            done += len(batch)
    return CompactResult(footer.rows, footer.superseded, path)


def _journal_keys(
    journals: Sequence[Path], known: Known, see: Callable[[Record], None] | None = None
) -> Iterator[_Key]:
    """Yield the keys of all records; the first records, one batch of them at most, are ``known`` from then on, and so are
    those that are in memory anyway."""
    held = 0
    for origin, segment in enumerate(journals):
        there = at_hand(segment)
        for record, (_, offset, length) in read_segment(segment):
            if there or (held := held + length) <= BATCH_BYTES:
                known[origin, offset] = record
            if see is not None:
                see(record)
            yield _key(record, origin, offset, length)


def _key(record: Record, origin: int, place: int, length: int) -> _Key:
    return _Key(
        parquet.without_surrogates(record.item_id),
        parquet.without_surrogates(record.condition),
        parquet.without_surrogates(record.step),
        parquet.without_surrogates(record.answer_id),
        record.reask,
        record.started_at,
        origin,
        place,
        length,
        record.status == Status.FAILED,
        usable(record.status, record.text),
        sys.intern(record.model),
    )


def _once(keys: list[_Key], journals: int) -> Iterator[_Key]:
    """Yield the rows in order: what was answered each time it was asked once, a failed call once unless the journals
    hold it twice."""
    keys.sort()
    for _, same in groupby(keys, key=lambda key: key[:5]):
        finished = False
        journalled: set[datetime] = set()
        for key in same:
            if not key.failed:
                if not finished:
                    finished = True
                    yield key
            elif key.origin < journals:
                journalled.add(key.started_at)
                yield key
            elif key.started_at not in journalled:
                yield key


def _superseded(rows: Sequence[_Key], current: Collection[str] | None, marks: Path | None) -> list[bool]:
    """Return for each row whether it is superseded; with ``current`` unknown, as in the older copy ``marks``."""
    replaced = _replaced(rows)
    if current is not None:
        known = frozenset(current)
        asked_now = {(*row[:2], row.model) for row in rows if row.answer_id in known}
        return [
            row in replaced or (row.answer_id not in known and (*row[:2], row.model) in asked_now)
            for row in rows
        ]
    if marks is None:
        return [row in replaced for row in rows]
    before = set()
    with parquet.opened(marks) as file:
        numbered = "reask" in file.schema_arrow.names  # not in a copy of version 1
        names = ["item_id", "condition", "step", "answer_id", "status", "superseded"]
        for batch in file.iter_batches(columns=[*names, "reask"] if numbered else names):
            for row in batch.to_pylist():
                if row["superseded"]:
                    place = (row["item_id"], row["condition"], row["step"], row["answer_id"])
                    before.add((*place, row.get("reask", 0), row["status"] == Status.FAILED))
    return [row in replaced or (*row[:5], row.failed) in before for row in rows]


def _replaced(rows: Sequence[_Key]) -> frozenset[_Key]:
    """Return the answers beside the one that stands, of calls that were asked again."""
    found: list[_Key] = []
    for _, same in groupby((row for row in rows if not row.failed), key=lambda row: row[:4]):
        answers = list(same)
        if len(answers) > 1:
            best = max(answers, key=lambda row: (row.usable, row.reask))
            found += [row for row in answers if row is not best]
    return frozenset(found)


def _batches(rows: Sequence[_Key]) -> Iterator[Sequence[_Key]]:
    first = size = 0
    for i, row in enumerate(rows):
        if i > first and (size + row.length > BATCH_BYTES or i - first >= BATCH_ROWS):
            yield rows[first:i]
            first, size = i, 0
        size += row.length
    if first < len(rows):
        yield rows[first:]


def _fetch(
    batch: Sequence[_Key], journals: Sequence[Path], copy: Path, known: Known
) -> tuple[list[Record], list[bool]]:
    """Return the records of ``batch`` in its order and whether each comes altered, opening each file once."""
    held = {i: known.pop((key.origin, key.place), None) for i, key in enumerate(batch)}
    found = {i: (record, False) for i, record in held.items() if record is not None}
    by_place = sorted(held.keys() - found.keys(), key=lambda i: (batch[i].origin, batch[i].place))
    for origin, group in groupby(by_place, key=lambda i: batch[i].origin):
        indices = list(group)
        if origin == len(journals):
            wanted = parquet.stored_rows(copy, {batch[i].place for i in indices})
            found.update(zip(indices, wanted, strict=True))
            continue
        with journals[origin].open("rb") as file:
            for i in indices:
                file.seek(batch[i].place)
                found[i] = decode_line(file.read(batch[i].length)), False
    ordered = [found[i] for i in range(len(batch))]
    return [record for record, _ in ordered], [altered for _, altered in ordered]
