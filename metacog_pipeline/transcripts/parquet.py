"""The Parquet copy of a partition: all segments of its journal as one sorted file, for readers."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json, put_aside, replacing, sha256_hex
from metacog_pipeline.llm.types import Status
from metacog_pipeline.transcripts.folder import COPY_NAME, PartitionFolder
from metacog_pipeline.transcripts.journal import (
    read_segment,
    scanned,
    segment_sizes,
    segments,
)
from metacog_pipeline.transcripts.lines import FIELDS
from metacog_pipeline.transcripts.schema import (
    ADDED_IN_2,
    ARROW_SCHEMA,
    SCHEMA_VERSION,
    NewerVersionError,
    Record,
    replaces,
    upgrade,
)

_VERSION_KEY, _FOOTER_KEY = b"metacog_schema_version", b"metacog_compaction"
_STRINGS = tuple(name for name in FIELDS if pa.types.is_string(ARROW_SCHEMA.field(name).type))
_SURROGATE = re.compile("[\ud800-\udfff]")
_CALL = attrgetter("item_id", "condition", "step", "answer_id")
_QUESTION = attrgetter("item_id", "condition", "model")
_ROW_NAMES = ("item_id", "condition", "step", "answer_id", "reask", "status", "started_at")
_ROW = attrgetter(*_ROW_NAMES)


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet copy says about itself."""

    rows: int = 0
    version: int = SCHEMA_VERSION
    # Bytes of every segment it was made from, by name.
    segments: Mapping[str, int] = field(default_factory=dict)
    superseded: int = 0
    # A digest of the answers that were current, "" when unknown.
    current: str = ""
    # Rows that no segment has, which versions up to 0.3 could have.
    carried: int = 0

    def covers(self, sizes: Mapping[str, int]) -> bool:
        """Whether the copy holds what segments of these ``sizes`` do, in the current version."""
        return (self.version, self.segments, self.carried) == (SCHEMA_VERSION, sizes, 0)

    def schema(self) -> pa.Schema:
        """Return the schema of a file with this footer."""
        content = asdict(self)
        version = str(content.pop("version"))
        return ARROW_SCHEMA.with_metadata({_VERSION_KEY: version, _FOOTER_KEY: canonical_json(content)})


# Made whole whenever the journals have more; all records of the partition are in memory meanwhile.
def compact_folder(folder: PartitionFolder, current: Collection[str] | None) -> Footer:
    """Write the journals of ``folder`` to its Parquet file, sorted, unless it holds exactly that already."""
    # The caller holds the lock of the folder, and no segment is being written.
    path, sizes = folder.copy, segment_sizes(folder)
    try:
        # of a process killed while compacting
        for abandoned in folder.path.glob(f".{COPY_NAME}.*.tmp"):
            abandoned.unlink()
        try:
            old = read_footer(path)
        except StoreError:
            if not sizes:
                raise
            # The journals hold every answer: a copy that cannot be read is renamed.
            put_aside(path)
            old = None
        # Without ``current`` the marks stay as they are.
        digest = "" if current is None else sha256_hex(canonical_json(sorted(current)))
        if old is not None and digest in ("", old.current) and old.covers(sizes):
            return old
        table = copied(folder, current)
        superseded = sum(table["superseded"].to_pylist())
        footer = Footer(table.num_rows, segments=sizes, superseded=superseded, current=digest)
        with replacing(path) as temporary:
            pq.write_table(
                table.cast(footer.schema()), temporary, compression="zstd", write_page_checksum=True
            )
    except (OSError, pa.ArrowException, OverflowError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise StoreError(
            f"cannot write {path}: {reason}: free space and run again; the journals and the file before are untouched"
        ) from error
    return footer


def copied(folder: PartitionFolder, current: Collection[str] | None) -> pa.Table:
    """Return what the copy of ``folder`` has to hold; with ``current`` None, marked as the present copy is."""
    records = _once(record for segment in segments(folder) for record in read_segment(segment))
    marked = _marked(folder.copy) if current is None and folder.copy.exists() else set()
    superseded = _superseded(records, frozenset(current or ()), marked)
    return pa.Table.from_batches([batch_of(records, superseded)])


def _once(found: Iterable[Record]) -> list[Record]:
    """Return records in order: what was answered each time it was asked once, failed calls as often as there are."""
    records: list[Record] = []
    known: set[tuple[Any, ...]] = set()
    for record in sorted(found, key=lambda record: (_CALL(record), record.reask, record.started_at)):
        key = (_CALL(record), record.reask)
        if record.status == Status.FAILED:
            records.append(record)
        elif key not in known:
            known.add(key)
            records.append(record)
    return records


def _superseded(records: Sequence[Record], current: frozenset[str], marked: set[Any]) -> list[bool]:
    """Return for each record whether it is superseded: replaced, not ``current`` where another is, or ``marked`` before."""
    counted: dict[Any, Record] = {}
    for record in (each for each in records if each.status != Status.FAILED):
        if replaces(record, counted.setdefault(_CALL(record), record)):
            counted[_CALL(record)] = record
    asked_now = {_QUESTION(record) for record in records if record.answer_id in current}
    return [
        (record.status != Status.FAILED and counted[_CALL(record)] is not record)
        or _ROW(record) in marked
        or (record.answer_id not in current and _QUESTION(record) in asked_now)
        for record in records
    ]


def _marked(copy: Path) -> set[Any]:
    columns = current_table(copy, [*_ROW_NAMES, "superseded"]).columns
    return {
        tuple(row) for *row, superseded in zip(*(c.to_pylist() for c in columns), strict=True) if superseded
    }


def only_copied(folder: PartitionFolder) -> list[Record]:
    """Return what only the copy of ``folder`` has and no line of its journals: somebody deleted or cut one of them."""
    try:
        # before the journals are looked at: they only grow
        footer = read_footer(folder.copy)
        sizes = segment_sizes(folder)
        cut = footer is not None and any(sizes.get(name, -1) < size for name, size in footer.segments.items())
        if footer is None or not footer.rows or not (cut or footer.carried or not footer.segments):
            return []
        copy = current_table(folder.copy, FIELDS).to_pylist()
    except StoreError:
        if segments(folder):
            # the journals hold every answer
            return []
        raise
    lines = (line.record for path in segments(folder) for line in scanned(path))
    known = {_ROW(record) for record in lines if record is not None}
    return [record for row in copy if _ROW(record := Record(**row)) not in known]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[pq.ParquetFile, int]]:
    """Yield the Parquet copy at ``path`` and its version; turn what goes wrong while it is read into one line."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file, _version(file.schema_arrow)
    except FileNotFoundError as error:
        raise StoreError(f"{path} does not exist: run this partition first") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        advice = "run again, the journals next to it hold every answer; where there are none, restore it from a copy"
        if isinstance(error, NewerVersionError):
            advice = "upgrade metacog_pipeline to read it"
        raise StoreError(f"{path} cannot be read ({error}): {advice}") from error


def _version(schema: pa.Schema) -> int:
    """Return the version a copy names. Raises ``ValueError`` for another file, and for a version of the future."""
    version = int((schema.metadata or {}).get(_VERSION_KEY, b"0"))
    if version > SCHEMA_VERSION:
        raise NewerVersionError(version)
    # columns of the first version were those of today, but for these
    names = set(ARROW_SCHEMA.names) - {*ADDED_IN_2, "reask"} if version == 1 else set(ARROW_SCHEMA.names)
    if version < 1 or not names <= {*schema.names, "superseded", "text_altered"}:
        raise ValueError("not a transcript file, by its columns")
    return version


def read_footer(path: Path) -> Footer | None:
    """Return the footer of the copy at ``path``, None when there is no file. Raises ``StoreError`` if it is damaged."""
    if not path.exists():
        return None
    with _opened(path) as (file, version):
        content = json.loads((file.schema_arrow.metadata or {}).get(_FOOTER_KEY, b"{}"))
        footer = Footer(**{"rows": file.metadata.num_rows, **content, "version": version})
        if footer.rows != file.metadata.num_rows:
            raise ValueError("its row counts disagree")
        return footer


def current_table(path: Path, columns: Sequence[str]) -> pa.Table:
    """Return ``columns`` of the copy at ``path``, written by any version, as the current one has them."""
    with _opened(path) as (file, version):
        if version == SCHEMA_VERSION:
            return file.read(columns=list(columns))
        marks = {"superseded": False, "text_altered": False}
        rows = [{**marks, **upgrade(row)} for row in file.read().to_pylist()]
        return pa.Table.from_pylist(rows, schema=ARROW_SCHEMA).select(list(columns))


def batch_of(records: Sequence[Record], superseded: Sequence[bool]) -> pa.RecordBatch:
    """Return Arrow columns for ``records``; ``text_altered`` says where lone surrogates became U+FFFD."""
    columns: dict[str, list[Any]] = {name: [getattr(each, name) for each in records] for name in FIELDS}
    altered = [False] * len(records)
    for name in _STRINGS:
        for i, value in enumerate(columns[name]):
            if value is not None and (clean := without_surrogates(value)) != value:
                columns[name][i], altered[i] = clean, True
    columns["superseded"], columns["text_altered"] = list(superseded), altered
    return pa.RecordBatch.from_pydict(columns, schema=ARROW_SCHEMA)


def without_surrogates(text: str) -> str:
    """Return ``text`` with each lone surrogate, which UTF-8 cannot hold, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text
