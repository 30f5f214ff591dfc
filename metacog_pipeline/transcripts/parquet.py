"""The Parquet copy of a partition: its rows, its footer, and what to say when it cannot be read."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.lines import FIELDS
from metacog_pipeline.transcripts.migrations import upgrade
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA, SCHEMA_VERSION, Record, record_of
from metacog_pipeline.transcripts.segments import segment_number, segments

_VERSION_KEY = b"metacog_schema_version"
_FOOTER_KEY = b"metacog_compaction"
_fields = attrgetter(*FIELDS)
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


def segment_sizes(folder: PartitionFolder) -> dict[str, int]:
    """Return the size in bytes of every journal segment of ``folder`` by name."""
    return {path.name: path.stat().st_size for path in segments(folder)}


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
        groups = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
        try:
            said = json.loads(metadata.get(_FOOTER_KEY, b"{}"))
            counted = {rows, sum(groups), said.get("rows", rows)}
            footer = Footer(
                rows=rows,
                version=version,
                segments={str(name): int(size) for name, size in said.get("segments", {}).items()},
                carried=int(said.get("carried", 0)),
                superseded=int(said.get("superseded", 0)),
                current=str(said.get("current", "")),
            )
        except (ValueError, TypeError, AttributeError):
            footer, counted = Footer(rows=rows, version=version), {rows, sum(groups)}  # another tool's footer
        if len(counted) > 1:
            raise ValueError("its row counts disagree")
        return footer


def stored_rows(path: Path, wanted: Collection[int] | None = None) -> Iterator[tuple[Record, bool]]:
    """Yield the rows of the copy at ``path`` in their order, made current, each with its ``text_altered``.

    ``wanted`` limits them to these row numbers (0-based). Raises as :func:`opened`.
    """
    with opened(path) as file:
        first = 0
        for group in range(file.num_row_groups):
            after = first + file.metadata.row_group(group).num_rows
            rows = range(first, after) if wanted is None else sorted(r for r in wanted if first <= r < after)
            if rows:
                table = file.read_row_group(group).take([row - first for row in rows])
                for batch in table.to_batches(max_chunksize=1000):
                    yield from map(_row, batch.to_pylist())
            first = after


def current_table(path: Path, columns: Sequence[str]) -> pa.Table:
    """Return ``columns`` of the copy at ``path``, whatever version wrote it, as the current one has them.

    Raises as :func:`opened`.
    """
    with opened(path) as file:
        if _version(file.schema_arrow.metadata or {}) == SCHEMA_VERSION:
            return file.read(columns=list(columns))
        batches = [
            pa.RecordBatch.from_pylist([_upgraded(row) for row in batch.to_pylist()], schema=ARROW_SCHEMA)
            for batch in file.iter_batches(batch_size=1000)
        ]
        return pa.Table.from_batches(batches, ARROW_SCHEMA).select(list(columns))


def _upgraded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of any version as a current one. Raises ``ValueError`` when it lacks a column of its version."""
    current = {"superseded": False, "text_altered": False, **upgrade(row)}
    if missing := [name for name in ARROW_SCHEMA.names if name not in current]:
        raise ValueError(f"not a transcript file: it has no column {missing[0]}")
    return current


def _row(row: dict[str, Any]) -> tuple[Record, bool]:
    current = _upgraded(row)
    return record_of({name: current[name] for name in FIELDS}), bool(current["text_altered"])


def batch_of(
    records: Sequence[Record], superseded: Sequence[bool], altered: Sequence[bool]
) -> pa.RecordBatch:
    """Return Arrow columns for ``records``; lone surrogates become U+FFFD and ``text_altered`` says so.

    ``altered`` marks rows that come from an older copy and were altered then.
    """
    every = [*zip(*map(_fields, records), strict=True)] or [()] * len(FIELDS)
    columns: dict[str, Sequence[Any]] = dict(zip(FIELDS, every, strict=True))
    changed = list(altered)
    for name in _STRINGS:
        if all(each is None or each.isascii() for each in set(columns[name])):
            continue
        values = columns[name] = list(columns[name])
        for i, value in enumerate(values):
            if value is not None and not value.isascii():
                clean = without_surrogates(value)
                changed[i] = changed[i] or clean != value
                values[i] = clean
    columns["superseded"] = list(superseded)
    columns["text_altered"] = changed
    return pa.RecordBatch.from_pydict(columns, schema=ARROW_SCHEMA)


def without_surrogates(text: str) -> str:
    """Return ``text`` with each lone surrogate replaced by U+FFFD."""
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
        if schema.field(wanted.name).type != wanted.type:
            raise ValueError(
                f"not a transcript file: column {wanted.name} is {schema.field(wanted.name).type}"
            )


def _version(metadata: Mapping[bytes, bytes]) -> int:
    """Return the schema version a file names; one rewritten without metadata counts as current."""
    text = metadata.get(_VERSION_KEY, b"").decode("ascii", "replace")
    return int(text) if text.isdecimal() and len(text) < 10 else SCHEMA_VERSION


def _advice(path: Path) -> str:
    if any(map(segment_number, path.parent.glob("journal-*.jsonl"))):
        return "move it aside and run again: the journals beside it hold every answer"
    return "restore it from a copy; there is no journal beside it, so without it its answers would be asked again"
