"""The Parquet copy of a partition: all segments of its journal as one sorted file, for readers.

It is made from the journals whenever they have more; all records of the partition are held while it is made.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json, put_aside, replacing, sha256_hex
from metacog_pipeline.llm.types import Status
from metacog_pipeline.transcripts.folder import COPY_NAME, PartitionFolder
from metacog_pipeline.transcripts.identity import standing_of
from metacog_pipeline.transcripts.journal import read_segment, segment_number, segment_sizes, segments
from metacog_pipeline.transcripts.lines import FIELDS
from metacog_pipeline.transcripts.schema import (
    ARROW_SCHEMA,
    SCHEMA_VERSION,
    NewerVersionError,
    Record,
    upgrade,
)

BATCH_ROWS = 1024  # a row group: large enough to compress, small enough to hold with all its texts
_VERSION_KEY, _FOOTER_KEY = b"metacog_schema_version", b"metacog_compaction"
_STRINGS = tuple(name for name in FIELDS if pa.types.is_string(ARROW_SCHEMA.field(name).type))
_CALL = attrgetter("item_id", "condition", "step", "answer_id")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKED = ("item_id", "condition", "step", "answer_id", "reask", "status", "superseded")


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
        return ARROW_SCHEMA.with_metadata({_VERSION_KEY: version, _FOOTER_KEY: canonical_json(content)})


class _Row(NamedTuple):
    """One row to write: what was asked of whom, the record, whether an older copy altered its text, where it stands."""

    call: tuple[str, ...]  # item, condition, step and answer
    record: Record
    altered: bool
    journalled: bool

    @property
    def failed(self) -> bool:
        """Whether there is no answer."""
        return self.record.status == Status.FAILED


def _row(record: Record, altered: bool, journalled: bool) -> _Row:
    return _Row(tuple(map(without_surrogates, _CALL(record))), record, altered, journalled)


def compact_folder(folder: PartitionFolder, current: Collection[str] | None) -> Footer:
    """Write every record kept in ``folder`` to its Parquet file, sorted, unless it holds exactly that already.

    ``current`` names the answers asked for now: a row is superseded when it is not among them and one that is
    belongs to the same item, condition and model (several judges answer in one folder; another answer mode has steps of
    other names). ``None`` leaves the marks as they are. Where a call was asked again, the answers beside the one that
    stands are superseded too. The caller holds the lock of the folder, and no segment is being written.

    A damaged copy is put aside and made again where no segment is missing, so that it can have held nothing more. Raises
    ``StoreError``; the older copy and the journals are then as before.
    """
    path = folder.copy
    try:
        for abandoned in folder.path.glob(f".{COPY_NAME}.*.tmp"):  # of a process killed while compacting
            abandoned.unlink()
        sizes, old = segment_sizes(folder), _older(folder)
        digest = "" if current is None else sha256_hex(canonical_json(sorted(current)))
        if old is not None and digest in ("", old.current) and made_from(old, sizes):
            return old
        return write(folder, path, old, current, digest)
    except (OSError, pa.ArrowException, OverflowError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise StoreError(
            f"cannot write {path}: {reason}: free space and run again; the journals and the file before are untouched"
        ) from error


def _older(folder: PartitionFolder) -> Footer | None:
    try:
        return read_footer(folder.copy)
    except DamagedCopyError:
        numbers = [segment_number(segment) for segment in segments(folder)]
        if not numbers or numbers != list(range(1, len(numbers) + 1)):
            raise
        put_aside(folder.copy)
        return None


def made_from(old: Footer, sizes: dict[str, int]) -> bool:
    """Whether a copy holds what segments of these ``sizes`` do, in the current version."""
    foreign = old.rows > 0 and not sizes and old.carried == 0  # another tool wrote it: its order is unknown
    return old.version == SCHEMA_VERSION and old.segments == sizes and not foreign


def write(
    folder: PartitionFolder, target: Path, old: Footer | None, current: Collection[str] | None, digest: str
) -> Footer:
    """Write to ``target`` what the Parquet copy of ``folder`` has to hold; ``old`` is the footer of the one before."""
    sizes = segment_sizes(folder)
    found = [_row(record, False, True) for segment in segments(folder) for record, _ in read_segment(segment)]
    if old is not None and old.may_hold_more_than(sizes):
        found += [_row(record, altered, False) for record, altered in stored_rows(folder.copy)]
    rows = _once(found)
    marked = _marked(folder.copy) if current is None and old is not None and old.superseded else set()
    superseded = _superseded(rows, frozenset(current or ()), marked)
    carried = sum(not row.journalled for row in rows)
    footer = Footer(len(rows), SCHEMA_VERSION, sizes, carried, sum(superseded), digest)
    with (
        replacing(target) as temporary,
        pq.ParquetWriter(temporary, footer.schema(), compression="zstd", write_page_checksum=True) as writer,
    ):
        for start in range(0, len(rows), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            records, altered = [row.record for row in rows[part]], [row.altered for row in rows[part]]
            writer.write_batch(batch_of(records, superseded[part], altered))
    return footer


def _once(found: list[_Row]) -> list[_Row]:
    """Return the rows in order: what was answered each time it was asked once, failed calls as often as journals have.

    Equal rows stay in the order of reading, so the journal's, which has the exact text, is before that of an older copy.
    """
    rows: list[_Row] = []
    known = set()
    for row in sorted(found, key=lambda row: (row.call, row.record.reask, row.record.started_at)):
        key = (row.call, row.record.reask, row.record.started_at if row.failed else None)
        if key not in known or (row.failed and row.journalled):
            rows.append(row)
        if row.journalled or not row.failed:
            known.add(key)
    return rows


def _superseded(rows: Sequence[_Row], current: frozenset[str], marked: set[tuple[Any, ...]]) -> list[bool]:
    """Return for each row whether it is superseded: replaced, not ``current`` where another is, or ``marked`` before."""
    stands: dict[tuple[str, ...], _Row] = {}
    for row in (each for each in rows if not each.failed):
        best = stands.setdefault(row.call, row)
        if standing_of(row.record) > standing_of(best.record):
            stands[row.call] = row
    asked_now = {(*row.call[:2], row.record.model) for row in rows if row.record.answer_id in current}
    return [
        (not row.failed and stands[row.call] is not row)
        or (*row.call, row.record.reask, row.failed) in marked
        or (row.record.answer_id not in current and (*row.call[:2], row.record.model) in asked_now)
        for row in rows
    ]


def _marked(copy: Path) -> set[tuple[Any, ...]]:
    """Return call, number and failure of each row that a copy marks as superseded."""
    rows = zip(*(column.to_pylist() for column in current_table(copy, _MARKED).columns), strict=True)
    return {(*key, status == Status.FAILED) for *key, status, superseded in rows if superseded}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[pq.ParquetFile, int]]:
    """Yield the Parquet copy at ``path`` and its version; turn what goes wrong while it is read into one line."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file, _checked_version(file.schema_arrow)
    except FileNotFoundError as error:
        raise StoreError(f"{path} does not exist: run this partition first") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        kind = DamagedCopyError if isinstance(error, pa.ArrowException | OSError) else StoreError
        advice = "restore it from a copy; without it and journals beside it its answers would be asked again"
        if isinstance(error, NewerVersionError):
            advice = "upgrade metacog_pipeline to read it"
        elif any(map(segment_number, path.parent.glob("journal-*.jsonl"))):
            advice = "move it aside and run again: the journals beside it hold every answer"
        raise kind(f"{path} cannot be read ({error}): {advice}") from error


def _checked_version(schema: pa.Schema) -> int:
    """Return the version a file names; one rewritten without metadata counts as current. Raises ``ValueError``."""
    text = (schema.metadata or {}).get(_VERSION_KEY, b"").decode("ascii", "replace")
    version = int(text) if text.isdecimal() and len(text) < 10 else SCHEMA_VERSION
    if version > SCHEMA_VERSION:
        raise NewerVersionError(version)
    for wanted in ARROW_SCHEMA if version == SCHEMA_VERSION else ():  # older ones have other columns
        if wanted.name not in schema.names:
            raise ValueError(f"not a transcript file: it has no column {wanted.name}")
        if (kind := schema.field(wanted.name).type) != wanted.type:
            raise ValueError(f"not a transcript file: column {wanted.name} is {kind}")
    return version


def read_footer(path: Path) -> Footer | None:
    """Return the footer of the copy at ``path``, None when there is no file. Raises ``StoreError`` if it is damaged."""
    if not path.exists():
        return None
    with _opened(path) as (file, version):
        rows = file.metadata.num_rows
        try:
            content = json.loads((file.schema_arrow.metadata or {}).get(_FOOTER_KEY, b"{}"))
            footer = Footer(**{"rows": rows, **content, "version": version})
        except (ValueError, TypeError):
            footer = Footer(rows=rows, version=version)  # another tool's footer
        groups = sum(file.metadata.row_group(number).num_rows for number in range(file.num_row_groups))
        if not rows == groups == footer.rows:
            raise ValueError("its row counts disagree")
        return footer


def stored_rows(path: Path) -> Iterator[tuple[Record, bool]]:
    """Yield the rows of the copy at ``path``, made current, each with its ``text_altered``. Raises as `current_table`."""
    for batch in current_table(path, ARROW_SCHEMA.names).to_batches(max_chunksize=1000):
        for row in batch.to_pylist():
            yield Record(**{name: row[name] for name in FIELDS}), bool(row["text_altered"])


def current_table(path: Path, columns: Sequence[str]) -> pa.Table:
    """Return ``columns`` of the copy at ``path``, whatever version wrote it, as the current one has them."""
    with _opened(path) as (file, version):
        if version == SCHEMA_VERSION:
            return file.read(columns=list(columns))
        rows = [
            {"superseded": False, "text_altered": False, **upgrade(row)} for row in file.read().to_pylist()
        ]
        if missing := [name for name in ARROW_SCHEMA.names if rows and name not in rows[0]]:
            raise ValueError(f"not a transcript file: it has no column {missing[0]}")
        return pa.Table.from_pylist(rows, schema=ARROW_SCHEMA).select(list(columns))


def batch_of(
    records: Sequence[Record], superseded: Sequence[bool], altered: Sequence[bool]
) -> pa.RecordBatch:
    """Return Arrow columns for ``records``; ``text_altered`` says where lone surrogates became U+FFFD, or had."""
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
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text
