"""One transcript row: what was sent, what came back, how it ended. One explicit schema, versioned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import pyarrow as pa

SCHEMA_VERSION = 1

Source = Literal["measured", "imported", "simulated"]


@dataclass(frozen=True, slots=True)
class Record:
    """One call and its outcome. JSON columns hold canonical JSON.

    ``answer_id`` is the identity of the call (64 hex digits); ``text`` is exactly what came back; ``latency_s``
    seconds; ``cost_usd`` dollars, null when the model has no price. ``mode`` names how the answer was constrained.
    """

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
    mode: str
    request_json: str
    status: str
    text: str
    finish_reason: str | None
    logprobs_json: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    attempts: int
    started_at: datetime
    latency_s: float
    http_status: int | None
    error_kind: str | None
    error_code: str | None
    error_message: str | None
    schema_version: int = SCHEMA_VERSION


# ``superseded`` and ``text_altered`` exist only in the Parquet copy: the first marks answers to questions no longer
# asked this way, the second rows whose text held lone surrogates Parquet cannot store (the journal keeps them).
ARROW_SCHEMA = pa.schema(
    [
        pa.field("answer_id", pa.string(), nullable=False),
        pa.field("benchmark", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("run", pa.int32(), nullable=False),
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("item_hash", pa.string(), nullable=False),
        pa.field("condition", pa.string(), nullable=False),
        pa.field("step", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("provider", pa.string(), nullable=False),
        pa.field("model_id", pa.string(), nullable=False),
        pa.field("model_reported", pa.string()),
        pa.field("mode", pa.string(), nullable=False),
        pa.field("request_json", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("finish_reason", pa.string()),
        pa.field("logprobs_json", pa.string()),
        pa.field("input_tokens", pa.int64()),
        pa.field("output_tokens", pa.int64()),
        pa.field("cost_usd", pa.float64()),
        pa.field("attempts", pa.int32(), nullable=False),
        pa.field("started_at", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("latency_s", pa.float64(), nullable=False),
        pa.field("http_status", pa.int32()),
        pa.field("error_kind", pa.string()),
        pa.field("error_code", pa.string()),
        pa.field("error_message", pa.string()),
        pa.field("schema_version", pa.int32(), nullable=False),
        pa.field("superseded", pa.bool_(), nullable=False),
        pa.field("text_altered", pa.bool_(), nullable=False),
    ],
    metadata={"metacog_schema_version": str(SCHEMA_VERSION)},
)
