"""A record as one line of a journal, and back: any text survives exactly; and its log-probabilities as one JSON column."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import attrgetter
from types import UnionType
from typing import Any, get_type_hints

import pyarrow as pa

from metacog_pipeline.checksums import is_sealed, seal
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.types import Status, TokenLogprob
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA, Record, upgrade

FIELDS: tuple[str, ...] = tuple(get_type_hints(Record))
_NULLABLE = frozenset(name for name in FIELDS if ARROW_SCHEMA.field(name).nullable)
_STATUSES = frozenset(Status)
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _json_type(name: str) -> type | UnionType:
    """Return what ``json`` may give for a column; times are ISO 8601 text."""
    kind = ARROW_SCHEMA.field(name).type
    plain = int if pa.types.is_integer(kind) else int | float if pa.types.is_floating(kind) else str
    return plain | None if name in _NULLABLE else plain


_TYPES = {name: _json_type(name) for name in FIELDS}
_BITS = {
    name: ARROW_SCHEMA.field(name).type.bit_width - 1 for name, kind in _TYPES.items() if kind == int | None
}
_VALUES = attrgetter(*FIELDS)
_ASCII = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_MEASURED = tuple(name for name in FIELDS if pa.types.is_floating(ARROW_SCHEMA.field(name).type))


def encode_line(record: Record) -> bytes:
    """Return ``record`` as one line of JSON that ends in a newline."""
    row: dict[str, Any] = dict(zip(FIELDS, _VALUES(record), strict=True))
    started = record.started_at if record.started_at.tzinfo else record.started_at.replace(tzinfo=UTC)
    row["started_at"] = started.astimezone(UTC).isoformat()
    # What no provider can mean is kept as null, or 0, rather than losing the answer.
    for name in _MEASURED:
        if row[name] is not None and not math.isfinite(row[name]):
            row[name] = None if name in _NULLABLE else 0.0
    for name, bits in _BITS.items():
        if row[name] is not None and not -(2**bits) <= row[name] < 2**bits:
            row[name] = None
    line = _ASCII.encode(row)
    # A high and a low surrogate as two characters would, escaped, be read back as one.
    if "\\ud" in line and any(isinstance(each, str) and _SPLIT_PAIR.search(each) for each in row.values()):
        line = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return seal(line.encode("utf-8", "surrogatepass"))


# Lines without a checksum are of version 0.2 and before; they are read unchanged.
def decode_line(line: bytes) -> Record:
    """Return the record in ``line``, of any version. Raises ``ValueError`` when it is not a whole, valid record."""
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
    if row.keys() != _TYPES.keys():
        raise ValueError(f"fields {sorted(row.keys() ^ _TYPES.keys())} are missing or unknown")
    for name, kind in _TYPES.items():
        if not isinstance(row[name], kind) or isinstance(row[name], bool):
            raise ValueError(f"field {name} is a {type(row[name]).__name__}")
    if row["status"] not in _STATUSES:
        raise ValueError(f"field status is {row['status']!r}")
    started = datetime.fromisoformat(row["started_at"])
    if started.tzinfo is None:
        raise ValueError(f"field started_at has no time zone: {row['started_at']}")
    return Record(**{**row, "started_at": started})


class LogprobsError(StoreError, ValueError):
    """Kept log-probabilities that cannot be read."""


# As ``[[token, logprob, [[alternative, logprob], …]], …]``.
def encode_logprobs(logprobs: Sequence[TokenLogprob]) -> str | None:
    """Return the JSON of ``logprobs``, ``None`` when there are none. A log-probability of -inf becomes null."""
    rows = [
        [each.token, _finite(each.logprob), [[token, _finite(value)] for token, value in each.top]]
        for each in logprobs
    ]
    return canonical_json(rows) if rows else None


def decode_logprobs(text: str | None) -> tuple[TokenLogprob, ...]:
    """Return what :func:`encode_logprobs` wrote. Raises ``LogprobsError`` for any other text."""
    try:
        return tuple(
            TokenLogprob(str(token), _number(logprob), tuple((str(t), _number(v)) for t, v in top))
            for token, logprob, top in json.loads("[]" if text is None else text)
        )
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise LogprobsError(
            f"not a list of token log-probabilities ({error}): restore the journal from a copy"
        ) from error


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _number(value: object) -> float:
    if isinstance(value, int | float):
        return float(value)
    if value is not None:
        raise TypeError(f"log-probability {value!r}")
    return -math.inf
