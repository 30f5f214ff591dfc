"""Observations: the typed reading of every item's transcripts, one row per item and condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl
import pyarrow as pa

from metacog_pipeline.benchmarks.common.observing import (
    Call,
    calls_in_order,
    ended,
    partition_rows,
    source_in,
)
from metacog_pipeline.benchmarks.signaldetection.asking import STEP
from metacog_pipeline.benchmarks.signaldetection.items import Item, item_hash
from metacog_pipeline.benchmarks.signaldetection.parsing import parse
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE, RATINGS

BENCHMARK = "signaldetection"
ObservationStatus = Literal[
    "ok", "answer_unparsed", "confidence_unparsed", "refused", "transport_error", "too_long", "not_run"
]
# Without an answer in the store: a run that has one of these is not complete.
UNANSWERED = ("transport_error", "too_long", "not_run")
UNPARSED = ("answer_unparsed", "confidence_unparsed")

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "benchmark": pl.String,
    "dataset": pl.String,
    "task": pl.String,
    "condition": pl.String,
    "model": pl.String,
    "run": pl.Int32,
    "item_id": pl.String,
    "position": pl.Int32,
    "stimulus": pl.Int8,
    "response": pl.Int8,
    "confidence": pl.Int8,
    "correct": pl.Int8,
    "status": pl.String,
    "reason": pl.String,
    "latency_s": pl.Float64,
    "cost_usd": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "mode": pl.String,
    "answer_id": pl.String,
    "source": pl.String,
}
OBSERVATION_SCHEMA = pl.Schema(_TYPES)
_COPIED = ("latency_s", "cost_usd", "input_tokens", "output_tokens", "mode", "answer_id")


@dataclass(frozen=True, slots=True)
class _Reading:
    status: ObservationStatus
    response: int | None = None
    confidence: int | None = None
    reason: str | None = None


def observe(
    items: Sequence[Item],
    transcripts: pa.Table | pl.DataFrame,
    *,
    conditions: Sequence[str],
    model: str,
    run: int,
    source: str | None = None,
    ratings: int = RATINGS,
) -> pl.DataFrame:
    """Return one row per item × condition in `OBSERVATION_SCHEMA`, in the order of ``items`` and ``conditions``.

    Parameters
    ----------
    items
        The items of the study, also those never asked: their rows say ``not_run``.
    transcripts
        Rows of the transcript schema; other benchmarks, models, runs, superseded rows and answers to another text
        (task C has another text under another seed) are ignored. Of several calls for one item and condition the
        latest counts that did not fail.
    conditions
        Canonical names.
    source
        Kept in column ``source``: measured, imported or simulated. None takes it from the transcripts, measured
        where there are none.
    ratings
        K of the confidence scale 1..K.

    Notes
    -----
    ``response`` and ``correct`` are null without a readable decision; a reply whose decision can be read and whose
    confidence cannot is ``confidence_unparsed`` and keeps its response. ``confidence`` is null, and not missed, in
    the conditions that do not ask for it. An answer cut by a length limit is ``too_long`` whatever it says.
    ``latency_s`` is in seconds, ``cost_usd`` in dollars.
    """
    kept = partition_rows(transcripts, BENCHMARK, run, model=model, steps=(STEP,))
    source = source_in(kept) if source is None else source
    # The newest call of each item, hash of its text and condition; a failed one only where there is no other.
    calls = {
        (call["item_id"], call["item_hash"], call["condition"]): call
        for call in calls_in_order(kept, ("item_hash",))
    }
    hashes = [_hashes(item) for item in items]
    rows: list[tuple[object, ...]] = []
    for condition in conditions:
        scale = ratings if condition == CONFIDENCE else None
        for item, own in zip(items, hashes, strict=True):
            call = next((calls[key] for h in own if (key := (item.item_id, h, condition)) in calls), None)
            rows.append(_row(item, condition, model, run, source, call, _read(call, scale)))
    return pl.DataFrame(rows, schema=OBSERVATION_SCHEMA, orient="row")


def _hashes(item: Item) -> tuple[str, str]:
    """Return the hashes of the item's text under either label: a mended label does not make an answer void."""
    return item.item_hash, item_hash(item.task, item.text, 1 - item.stimulus)


def _read(call: Call | None, ratings: int | None) -> _Reading:
    if call is None:
        return _Reading("not_run", reason="not asked yet")
    if (cut := ended(call)) is not None:
        return _Reading(cut[0], reason=cut[1])
    parsed = parse(call["text"], ratings)
    return _Reading(parsed.status, parsed.decision, parsed.confidence, parsed.reason)


def _row(
    item: Item, condition: str, model: str, run: int, source: str, call: Call | None, reading: _Reading
) -> tuple[object, ...]:
    return (
        BENCHMARK,
        item.dataset,
        item.task,
        condition,
        model,
        run,
        item.item_id,
        item.position,
        item.stimulus,
        reading.response,
        reading.confidence,
        None if reading.response is None else int(reading.response == item.stimulus),
        reading.status,
        reading.reason,
        *((call[name] for name in _COPIED) if call is not None else (None,) * len(_COPIED)),
        source,
    )
