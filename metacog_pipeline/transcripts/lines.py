"""A record as one line of a journal, and back: any text survives exactly.

A line is one JSON object with a checksum as its last field. Lines without one are of version 0.2 and before; they are read
as they stand.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from metacog_pipeline.checksums import is_sealed, seal
from metacog_pipeline.llm.types import Status
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA, Record, upgrade

_COPY_ONLY = ("superseded", "text_altered")
FIELDS: tuple[str, ...] = tuple(name for name in ARROW_SCHEMA.names if name not in _COPY_ONLY)

_STATUSES = frozenset(Status)
_RANGES = {32: range(-(2**31), 2**31), 64: range(-(2**63), 2**63)}
_encode_ascii = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode
_encode_raw = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _json_types(field: pa.Field) -> frozenset[type]:
    """Return the exact Python types ``json`` may give for a column: a bool is no int."""
    types: set[type] = {str}  # times are ISO 8601 text
    if pa.types.is_integer(field.type):
        types = {int}
    elif pa.types.is_floating(field.type):
        types = {int, float}
    return frozenset(types | {type(None)} if field.nullable else types)


_TYPES = {name: _json_types(ARROW_SCHEMA.field(name)) for name in FIELDS}
_COUNTS = {
    each.name: _RANGES[each.type.bit_width]
    for each in ARROW_SCHEMA
    if pa.types.is_integer(each.type) and each.nullable
}
_MEASURED = {
    each.name: None if each.nullable else 0.0 for each in ARROW_SCHEMA if pa.types.is_floating(each.type)
}


def encode_line(record: Record) -> bytes:
    """Return ``record`` as one line of JSON that ends in a newline.

    ASCII, unless a text holds a high and a low surrogate as two characters: escaped, the two would be read back
    as one, so such a line carries them raw. What no provider can mean (a count beyond 64 bits, a cost or a time that
    is not a number) is kept as null, or 0 where the column has none, rather than losing the answer.
    """
    row: dict[str, Any] = {name: getattr(record, name) for name in FIELDS}
    started = record.started_at if record.started_at.tzinfo else record.started_at.replace(tzinfo=UTC)
    row["started_at"] = started.astimezone(UTC).isoformat()
    for name, instead in _MEASURED.items():
        if row[name] is not None and not math.isfinite(row[name]):
            row[name] = instead
    for name, held in _COUNTS.items():
        if row[name] is not None and row[name] not in held:
            row[name] = None
    line = _encode_ascii(row)
    if "\\ud" in line and any(isinstance(v, str) and _SPLIT_PAIR.search(v) for v in row.values()):
        line = _encode_raw(row)
    return seal(line.encode("utf-8", "surrogatepass"))


def decode_line(line: bytes) -> Record:
    """Return the record in ``line``, of whatever version.

    Raises ``ValueError`` when it is not a whole, valid record; ``NewerVersionError`` (a ``ValueError``) when a newer
    version of the package wrote it.
    """
    sealed = is_sealed(line)
    try:
        row = json.loads(line.decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if type(row) is not dict:
        raise ValueError("not a JSON object")
    if sealed:
        del row["crc32"]
    return _record(upgrade(row))


def _record(row: dict[str, Any]) -> Record:
    """Return the record of a current row of plain JSON values. Raises ``ValueError`` naming the wrong field."""
    for name, types in _TYPES.items():
        if name not in row:
            raise ValueError(f"field {name} is missing")
        if type(row[name]) not in types:
            raise ValueError(f"field {name} is a {type(row[name]).__name__}")
    if len(row) != len(_TYPES):
        raise ValueError(f"unknown fields {sorted(set(row) - set(FIELDS))}")
    if row["status"] not in _STATUSES:
        raise ValueError(f"field status is {row['status']!r}")
    started = datetime.fromisoformat(row["started_at"])
    if started.tzinfo is None:
        raise ValueError(f"field started_at has no time zone: {row['started_at']}")
    return Record(**{**row, "started_at": started})
