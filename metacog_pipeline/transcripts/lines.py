"""A record as one line of a journal, and back: any text survives exactly.

A line is one JSON object with a checksum as its last field. Lines without one are of version 0.2 and before; they are read
as they stand.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pydantic_core import from_json

from metacog_pipeline.checksums import is_sealed, seal
from metacog_pipeline.llm.types import Status
from metacog_pipeline.transcripts.migrations import upgrade
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA, SCHEMA_VERSION, Record, record_of

_COPY_ONLY = ("superseded", "text_altered")
FIELDS: tuple[str, ...] = tuple(name for name in ARROW_SCHEMA.names if name not in _COPY_ONLY)

_STATUSES = frozenset(Status)
# What a provider says and no column can hold: kept as null, or as 0 where a column has no null.
_RANGES = {32: range(-(2**31), 2**31), 64: range(-(2**63), 2**63)}
_COUNTS = tuple(
    (each.name, _RANGES[each.type.bit_width])
    for each in ARROW_SCHEMA
    if pa.types.is_integer(each.type) and each.nullable
)
_MEASURED = tuple(
    (each.name, None if each.nullable else 0.0) for each in ARROW_SCHEMA if pa.types.is_floating(each.type)
)
_encode_ascii = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode
_encode_raw = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _json_types(field: pa.Field) -> frozenset[type]:
    """Return the exact Python types ``json`` may give for a column."""
    if pa.types.is_integer(field.type):
        types: set[type] = {int}
    elif pa.types.is_floating(field.type):
        types = {int, float}
    else:
        types = {str}  # times are ISO 8601 text
    return frozenset(types | {type(None)} if field.nullable else types)


_TYPES: tuple[tuple[str, frozenset[type]], ...] = tuple(
    (name, _json_types(ARROW_SCHEMA.field(name))) for name in FIELDS
)


_KEPT_TYPES = tuple((name, {datetime} if name == "started_at" else types) for name, types in _TYPES)
_READ_BACK: set[tuple[type, ...]] = set()
_values, _measured, _counts = (
    attrgetter(*names) for names in (FIELDS, [name for name, _ in _MEASURED], [name for name, _ in _COUNTS])
)
_HELD = tuple(held for _, held in _COUNTS)
_SOUND: set[tuple[Any, ...]] = set()
_MOST_SHAPES = 1000


def encode_line(record: Record) -> bytes:
    """Return ``record`` as one line of JSON that ends in a newline.

    ASCII, unless a text holds a high and a low surrogate as two characters: escaped, the two would be read back
    as one, so such a line carries them raw. What no provider can mean (a count beyond 64 bits, a cost or a time that
    is not a number) is kept as null rather than losing the answer.
    """
    row: dict[str, Any] = dict(zip(FIELDS, _values(record), strict=True))
    started = record.started_at if record.started_at.tzinfo else record.started_at.replace(tzinfo=UTC)
    row["started_at"] = started.astimezone(UTC).isoformat()
    for name, instead in _MEASURED:
        if row[name] is not None and not math.isfinite(row[name]):
            row[name] = instead
    for name, held in _COUNTS:
        if row[name] is not None and row[name] not in held:
            row[name] = None
    line = _encode_ascii(row)
    if "\\ud" in line and any(isinstance(v, str) and _SPLIT_PAIR.search(v) for v in row.values()):
        line = _encode_raw(row)
    return seal(line.encode("utf-8", "surrogatepass"))


def decode_line(line: bytes) -> Record:
    """Return the record in ``line``, made current by the migrations.

    Raises ``ValueError`` when it is not a whole, valid record; ``NewerVersionError`` (a ``ValueError``) when a newer
    version of the package wrote it.
    """
    sealed = is_sealed(line)
    try:
        row = from_json(line, cache_strings="keys")
    except ValueError:  # it knows no lone surrogates, and says otherwise what is wrong
        try:
            row = json.loads(line.decode("utf-8", "surrogatepass"))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    if type(row) is not dict:
        raise ValueError("not a JSON object")
    if sealed:
        del row["crc32"]
    return record_from_json(upgrade(row))


def record_from_json(row: dict[str, Any]) -> Record:
    """Return the record of a current row of plain JSON values. Raises ``ValueError`` naming the wrong field."""
    shape = (*row, *map(type, row.values()))
    if shape not in _SOUND:  # lines of one partition have few shapes
        _check_shape(row)
        if len(_SOUND) < _MOST_SHAPES:
            _SOUND.add(shape)
    if row["status"] not in _STATUSES:
        raise ValueError(f"field status is {row['status']!r}")
    started = datetime.fromisoformat(row["started_at"])
    if started.tzinfo is None:
        raise ValueError(f"field started_at has no time zone: {row['started_at']}")
    return record_of({**row, "started_at": started})


def reads_back(record: Record, line: bytes) -> bool:
    """Whether `decode_line` makes of ``line``, which `encode_line` made of ``record``, an equal one; False in doubt."""
    values = _values(record)
    kinds = tuple(map(type, values))
    if kinds not in _READ_BACK:
        if any(kind not in types for kind, (_, types) in zip(kinds, _KEPT_TYPES, strict=True)):
            return False
        _READ_BACK.add(kinds)
    return (
        record.schema_version == SCHEMA_VERSION
        and record.status in _STATUSES
        and record.started_at.tzinfo is not None
        and all(value is None or math.isfinite(value) for value in _measured(record))
        and all(value is None or value in held for value, held in zip(_counts(record), _HELD, strict=True))
        and b"\\ud" not in line
        and line.isascii()
    )


def _check_shape(row: dict[str, Any]) -> None:
    """Raise ``ValueError`` naming a field that is missing, unknown, or of a type its column does not have."""
    for name, types in _TYPES:
        if name not in row:
            raise ValueError(f"field {name} is missing")
        if type(row[name]) not in types:
            raise ValueError(f"field {name} is a {type(row[name]).__name__}")
    if len(row) != len(_TYPES):
        raise ValueError(f"unknown fields {sorted(set(row) - set(FIELDS))}")
