"""One transcript row: what was sent, what came back, how it ended. One explicit schema, versioned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args, get_type_hints

import pyarrow as pa

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Status, request_json, usable

SCHEMA_VERSION = 2

Source = Literal["measured", "imported", "simulated"]


@dataclass(frozen=True, slots=True)
class Record:
    """One call and its outcome. JSON columns hold canonical JSON."""

    answer_id: str
    benchmark: str
    model: str
    run: int
    item_id: str
    item_hash: str
    condition: str
    step: str
    source: Source
    provider: str
    model_id: str
    model_reported: str | None
    # How the answer was constrained.
    mode: str
    request_json: str
    status: str
    # Exactly what came back.
    text: str
    finish_reason: str | None
    logprobs_json: str | None
    input_tokens: int | None
    output_tokens: int | None
    # Null when the model has no price.
    cost_usd: float | None
    attempts: int
    started_at: datetime
    latency_s: float
    http_status: int | None
    error_kind: str | None
    error_code: str | None
    error_message: str | None
    reasoning_text: str | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    service_tier: str | None = None
    lane: str | None = None
    prices_json: str | None = None
    response_id: str | None = None
    system_fingerprint: str | None = None
    finish_detail: str | None = None
    latency_first_ms: float | None = None
    latency_ms: float | None = None
    attempts_billed: int | None = None
    raw_zstd: str | None = None
    reask: int = 0
    schema_version: int = SCHEMA_VERSION


_ARROW = {int: pa.int32(), float: pa.float64(), datetime: pa.timestamp("us", tz="UTC")}


def _column(name: str, kind: Any) -> pa.Field:
    """Return the column of a field: null where it may be None, text where it is no number; tokens count in 64 bits."""
    nullable = type(None) in get_args(kind)
    plain = get_args(kind)[0] if nullable else kind
    stored = pa.int64() if name.endswith("_tokens") else _ARROW.get(plain, pa.string())
    return pa.field(name, stored, nullable=nullable)


# ``superseded`` and ``text_altered`` exist only in the Parquet copy: the first marks answers to questions no longer
# asked this way and answers that another one to the same call replaced, the second rows whose text held lone surrogates
# Parquet cannot store (the journal keeps them).
ARROW_SCHEMA = pa.schema(
    [
        *(_column(name, kind) for name, kind in get_type_hints(Record).items()),
        pa.field("superseded", pa.bool_(), nullable=False),
        pa.field("text_altered", pa.bool_(), nullable=False),
    ],
    metadata={"metacog_schema_version": str(SCHEMA_VERSION)},
)

_NAMES = ARROW_SCHEMA.names
ADDED_IN_2 = tuple(_NAMES[_NAMES.index("reasoning_text") : _NAMES.index("reask")])


class NewerVersionError(ValueError):
    """A row or file was written by a newer version of the package than this one."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"written by a newer version of metacog_pipeline (schema {version}, this one reads up to {SCHEMA_VERSION})"
        )


def upgrade(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of any version, that of homes since 0.1 included, as a current one; journals are never rewritten."""
    version = row.get("schema_version")
    if type(version) is not int or version < 1:
        raise ValueError(f"no schema_version that is known: {version!r}")
    if version > SCHEMA_VERSION:
        raise NewerVersionError(version)
    if version == SCHEMA_VERSION:
        return row
    # Version 1 kept none of the reasoning, the usage details or the reply's ids: they are not known. It asked once.
    return {**row, **dict.fromkeys(ADDED_IN_2), "reask": 0, "schema_version": SCHEMA_VERSION}


FINISHED = frozenset((Status.OK, Status.REFUSED, Status.TRUNCATED))


def answer_id(spec: ModelSpec, request: ChatRequest) -> str:
    """Return the identity of the answer ``spec`` gives to ``request``: 64 lower-case hex digits."""
    # SHA-256 of the canonical JSON of what decides an answer in the model's row of the study and of the request. Item
    # and condition are not part of it: the same words sent to the same model with the same parameters are one call.
    # Both parts are canonical JSON already, so joining them gives the canonical JSON of the list of both.
    return sha256_hex(f"[{spec.identity_json},{request_json(request)}]")


def replaces(new: Record, old: Record) -> bool:
    """Whether an answer replaces one kept before: usable before not, then newer; of one asking the first."""
    standing = [(usable(each.status, each.text), each.reask) for each in (new, old)]
    return new.reask != old.reask and standing[0] > standing[1]
