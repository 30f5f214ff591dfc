"""The Parquet copy of a partition: all segments of its journal as one sorted file, for readers.

It is made from the journals whenever they have more, in memory bounded by the keys of the rows and never by their texts:
keys are read first and sorted, then the records are read again a batch at a time.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json, put_aside, replacing, sha256_hex
from metacog_pipeline.llm.types import Status, usable
from metacog_pipeline.transcripts.folder import COPY_NAME, PartitionFolder
from metacog_pipeline.transcripts.journal import (
    Location,
    read_at,
    read_segment,
    segment_number,
    segment_sizes,
    segments,
)
from metacog_pipeline.transcripts.lines import FIELDS
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA, SCHEMA_VERSION, Record, upgrade

BATCH_BYTES = 8 * 2**20  # of journal lines held at once; one longer line is a batch of its own
BATCH_ROWS = 8192  # a row group large enough to compress, small enough to hold
_VERSION_KEY, _FOOTER_KEY = b"metacog_schema_version", b"metacog_compaction"
_STRINGS = tuple(name for name in FIELDS if pa.types.is_string(ARROW_SCHEMA.field(name).type))


class DamagedCopyError(StoreError):
    """The Parquet copy is not a whole Parquet file."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet copy says about itself.

    ``segments`` size in bytes of every journal segment it was made from, by name; ``carried`` rows that come from an
    older copy and from no segment; ``current`` digest of the answers that were current, ``""`` when unknown.
    """

    rows: int = 0
    version: int = SCHEMA_VERSION
    segments: Mapping[str, int] = field(default_factory=dict)
    carried: int = 0
    superseded: int = 0
    current: str = ""

    def may_hold_more_than(self, present: Mapping[str, int]) -> bool:
        """Whether some row may be in no segment that is ``present`` (size in bytes by name)."""
        gone = any(present.get(name, -1) < size for name, size in self.segments.items())
        return self.rows > 0 and (gone or self.carried > 0 or not self.segments)

    def schema(self) -> pa.Schema:
        """Return the schema of a file with this footer."""
        content = asdict(self)
        version = str(content.pop("version"))
        return ARROW_SCHEMA.with_metadata(
            {_VERSION_KEY: version.encode(), _FOOTER_KEY: canonical_json(content).encode()}
        )


@dataclass(frozen=True, slots=True)
class CompactResult:
    """What the Parquet copy holds: ``rows`` in all, of which ``superseded`` belong to questions asked otherwise now."""

    rows: int
    superseded: int
    path: Path


class _Row(NamedTuple):
    """One row to write; the first eight fields give the order of the rows.

    ``origin`` counts the segments in reading order; the older copy comes after the last, so that of two equal rows the
    journal's, which has the exact text, is first. ``source``: where the line stands, or a row of the older copy itself.
    """

    item_id: str
    condition: str
    step: str
    answer_id: str
    reask: int
    started_at: datetime
    origin: int
    place: int
    failed: bool
    usable: bool
    model: str
    source: Location | tuple[Record, bool]


def compact_folder(folder: PartitionFolder, current: Collection[str] | None) -> CompactResult:
    """Write every record kept in ``folder`` to its Parquet file, sorted, unless it holds exactly that already.

    ``current`` names the answers asked for now: a row is superseded when it is not among them and one that is
    belongs to the same item, condition and model (several judges answer in one folder). The step does not matter: another
    answer mode has steps of other names, and a later step follows from the earlier ones. ``None`` leaves the marks as they
    are. Where a call was asked again, the answers beside the one that stands are superseded too. The caller holds the lock
    of the folder, and no segment is being written.

    A damaged copy is put aside and made again where no segment is missing, so that it can have held nothing more. Raises
    ``StoreError`` when a journal or the older copy cannot be read or the new one cannot be written; the older copy and the
    journals are then as before.
    """
    path = folder.copy
    try:
        for abandoned in folder.path.glob(f".{COPY_NAME}.*.tmp"):  # of a process killed while compacting
            abandoned.unlink()
        sizes, old = segment_sizes(folder), _older(folder)
        digest = "" if current is None else sha256_hex(canonical_json(sorted(current)))
        if old is not None and _up_to_date(old, sizes, digest):
            return CompactResult(old.rows, old.superseded, path)
        return _write(folder, path, old, current, digest)
    except (OSError, pa.ArrowException, OverflowError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise StoreError(
            f"cannot write {path}: {reason}: free space and run again; the journals and the file before are untouched"
        ) from error


def write_again(folder: PartitionFolder, target: Path) -> None:
    """Write to ``target`` what the Parquet copy of ``folder``, which is up to date, has to hold, marks and all.

    Raises ``StoreError`` when a journal or the copy cannot be read.
    """
    old = read_footer(folder.copy)
    _write(folder, target, old, None, "" if old is None else old.current)


def _older(folder: PartitionFolder) -> Footer | None:
    try:
        return read_footer(folder.copy)
    except DamagedCopyError:
        numbers = [segment_number(segment) for segment in segments(folder)]
        if not numbers or numbers != list(range(1, len(numbers) + 1)):
            raise
        put_aside(folder.copy)
        return None


def _up_to_date(old: Footer, sizes: dict[str, int], digest: str) -> bool:
    same = old.version == SCHEMA_VERSION and old.segments == sizes
    return same and digest in ("", old.current) and not (old.rows > 0 and not sizes and old.carried == 0)


def _write(
    folder: PartitionFolder, target: Path, old: Footer | None, current: Collection[str] | None, digest: str
) -> CompactResult:
    sizes, journals = segment_sizes(folder), len(segments(folder))
    found = list(_journal_rows(folder))
    if old is not None and old.may_hold_more_than(sizes):
        found += [
            _row(stored[0], journals, number, stored)
            for number, stored in enumerate(stored_rows(folder.copy))
        ]
    rows = list(_once(found, journals))
    marked = _superseded(rows, current, folder.copy if old is not None and old.superseded else None)
    footer = Footer(
        rows=len(rows),
        segments=sizes,
        carried=sum(row.origin == journals for row in rows),
        superseded=sum(marked),
        current=digest,
    )
    with (
        replacing(target) as temporary,
        pq.ParquetWriter(temporary, footer.schema(), compression="zstd", write_page_checksum=True) as writer,
    ):
        done = 0
        for batch in _batches(rows):
            read = [(read_at(at), False) if isinstance(at := row.source, Location) else at for row in batch]
            marks = marked[done : done + len(batch)]
            writer.write_batch(batch_of([each for each, _ in read], marks, [altered for _, altered in read]))
            done += len(batch)
    return CompactResult(footer.rows, footer.superseded, folder.copy)


def _journal_rows(folder: PartitionFolder) -> Iterator[_Row]:
    for origin, segment in enumerate(segments(folder)):
        for record, location in read_segment(segment):
            yield _row(record, origin, location.offset, location)


def _row(record: Record, origin: int, place: int, source: Location | tuple[Record, bool]) -> _Row:
    return _Row(
        without_surrogates(record.item_id),
        without_surrogates(record.condition),
        without_surrogates(record.step),
        without_surrogates(record.answer_id),
        record.reask,
        record.started_at,
        origin,
        place,
        record.status == Status.FAILED,
        usable(record.status, record.text),
        sys.intern(record.model),
        source,
    )


def _once(rows: list[_Row], journals: int) -> Iterator[_Row]:
    """Yield the rows in order: what was answered each time it was asked once, a failed call once unless the journals
    hold it twice."""
    rows.sort(key=lambda row: row[:8])
    for _, same in groupby(rows, key=lambda row: row[:5]):
        finished = False
        journalled: set[datetime] = set()
        for row in same:
            if not row.failed:
                if not finished:
                    finished = True
                    yield row
            elif row.origin < journals:
                journalled.add(row.started_at)
                yield row
            elif row.started_at not in journalled:
                yield row


def _superseded(rows: Sequence[_Row], current: Collection[str] | None, marks: Path | None) -> list[bool]:
    """Return for each row whether it is superseded; with ``current`` unknown, as in the older copy ``marks``."""
    replaced = _replaced(rows)
    if current is not None:
        known = frozenset(current)
        asked_now = {(*row[:2], row.model) for row in rows if row.answer_id in known}
        return [
            row[:8] in replaced or (row.answer_id not in known and (*row[:2], row.model) in asked_now)
            for row in rows
        ]
    before = set()
    if marks is not None:
        names = ["item_id", "condition", "step", "answer_id", "reask", "status", "superseded"]
        for batch in current_table(marks, names).to_batches():
            for *key, status, superseded in zip(
                *(column.to_pylist() for column in batch.columns), strict=True
            ):
                if superseded:
                    before.add((*key, status == Status.FAILED))
    return [row[:8] in replaced or (*row[:5], row.failed) in before for row in rows]


def _replaced(rows: Sequence[_Row]) -> set[tuple[Any, ...]]:
    """Return the answers beside the one that stands, of calls that were asked again, by the first eight fields."""
    found = set()
    for _, same in groupby((row for row in rows if not row.failed), key=lambda row: row[:4]):
        answers = list(same)
        best = max(answers, key=lambda row: (row.usable, row.reask))
        found |= {row[:8] for row in answers if row is not best}
    return found


def _batches(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    first = size = 0
    for i, row in enumerate(rows):
        length = row.source.length if isinstance(row.source, Location) else len(row.source[0].text)
        if i > first and (size + length > BATCH_BYTES or i - first >= BATCH_ROWS):
            yield rows[first:i]
            first, size = i, 0
        size += length
    if first < len(rows):
        yield rows[first:]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Yield the Parquet copy at ``path``; turn what goes wrong while it is read into one line.

    Raises ``StoreError`` when the file is missing or written by a newer version, ``DamagedCopyError`` when it is damaged or
    not a transcript file.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            _check_columns(file)
            yield file
    except FileNotFoundError as error:
        raise StoreError(f"{path} does not exist: run this partition first") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        kind = DamagedCopyError if isinstance(error, pa.ArrowException | OSError) else StoreError
        raise kind(f"{path} cannot be read ({error}): {_advice(path)}") from error


def read_footer(path: Path) -> Footer | None:
    """Return the footer of the copy at ``path``, ``None`` when there is no file. Raises as :func:`opened`."""
    if not path.exists():
        return None
    with opened(path) as file:
        metadata = file.schema_arrow.metadata or {}
        rows = file.metadata.num_rows
        version = _version(metadata)
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{path}: written by a newer version of metacog_pipeline (schema {version}, this one reads up to "
                f"{SCHEMA_VERSION}): upgrade metacog_pipeline to read it"
            )
        counted = {rows, sum(file.metadata.row_group(g).num_rows for g in range(file.num_row_groups))}
        try:
            content = json.loads(metadata.get(_FOOTER_KEY, b"{}"))
            footer = Footer(
                rows=rows,
                version=version,
                segments={str(name): int(size) for name, size in content.get("segments", {}).items()},
                carried=int(content.get("carried", 0)),
                superseded=int(content.get("superseded", 0)),
                current=str(content.get("current", "")),
            )
            counted.add(content.get("rows", rows))
        except (ValueError, TypeError, AttributeError):
            footer = Footer(rows=rows, version=version)  # another tool's footer
        if len(counted) > 1:
            raise ValueError("its row counts disagree")
        return footer


def stored_rows(path: Path) -> Iterator[tuple[Record, bool]]:
    """Yield the rows of the copy at ``path`` in their order, made current, each with its ``text_altered``.

    Raises as :func:`opened`.
    """
    with opened(path) as file:
        for group in range(
            file.num_row_groups
        ):  # iter_batches may end early, and say nothing, in a damaged file
            for batch in file.read_row_group(group).to_batches(max_chunksize=1000):
                for row in map(_upgraded, batch.to_pylist()):
                    yield Record(**{name: row[name] for name in FIELDS}), bool(row["text_altered"])


def current_table(path: Path, columns: Sequence[str]) -> pa.Table:
    """Return ``columns`` of the copy at ``path``, whatever version wrote it, as the current one has them.

    Raises as :func:`opened`.
    """
    with opened(path) as file:
        if _version(file.schema_arrow.metadata or {}) == SCHEMA_VERSION:
            return file.read(columns=list(columns))
        rows = map(_upgraded, file.read().to_pylist())
        return pa.Table.from_pylist(list(rows), schema=ARROW_SCHEMA).select(list(columns))


def _upgraded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of any version as a current one. Raises ``ValueError`` when it lacks a column of its version."""
    current = {"superseded": False, "text_altered": False, **upgrade(row)}
    if missing := [name for name in ARROW_SCHEMA.names if name not in current]:
        raise ValueError(f"not a transcript file: it has no column {missing[0]}")
    return current


def batch_of(
    records: Sequence[Record], superseded: Sequence[bool], altered: Sequence[bool]
) -> pa.RecordBatch:
    """Return Arrow columns for ``records``; lone surrogates become U+FFFD and ``text_altered`` says so.

    ``altered`` marks rows that come from an older copy and were altered then.
    """
    columns: dict[str, list[Any]] = {name: [getattr(each, name) for each in records] for name in FIELDS}
    changed = list(altered)
    for name in _STRINGS:
        for i, value in enumerate(columns[name]):
            if value is not None and (clean := without_surrogates(value)) != value:
                columns[name][i], changed[i] = clean, True
    columns["superseded"], columns["text_altered"] = list(superseded), changed
    return pa.RecordBatch.from_pydict(columns, schema=ARROW_SCHEMA)


def without_surrogates(text: str) -> str:
    """Return ``text`` with each lone surrogate, which UTF-8 cannot hold, replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def _check_columns(file: pq.ParquetFile) -> None:
    schema = file.schema_arrow
    if _version(schema.metadata or {}) != SCHEMA_VERSION:
        return  # other columns belong to other versions
    for wanted in ARROW_SCHEMA:
        if wanted.name not in schema.names:
            raise ValueError(f"not a transcript file: it has no column {wanted.name}")
        if (kind := schema.field(wanted.name).type) != wanted.type:
            raise ValueError(f"not a transcript file: column {wanted.name} is {kind}")


def _version(metadata: Mapping[bytes, bytes]) -> int:
    """Return the schema version a file names; one rewritten without metadata counts as current."""
    text = metadata.get(_VERSION_KEY, b"").decode("ascii", "replace")
    return int(text) if text.isdecimal() and len(text) < 10 else SCHEMA_VERSION


def _advice(path: Path) -> str:
    if any(map(segment_number, path.parent.glob("journal-*.jsonl"))):
        return "move it aside and run again: the journals beside it hold every answer"
    return "restore it from a copy; there is no journal beside it, so without it its answers would be asked again"
