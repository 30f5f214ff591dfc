"""Observations: the typed reading of every item's transcripts, one row per item and condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl
import pyarrow as pa

from metacog_pipeline.benchmarks.common.observing import (
    Call,
    current_calls,
    ended,
    partition_rows,
    source_in,
    total,
)
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item
from metacog_pipeline.benchmarks.metamedqa.parsing import parse, read_confidence
from metacog_pipeline.benchmarks.metamedqa.parsing.probabilities import RATINGS, menu_probabilities

BENCHMARK = "metamedqa"
ObservationStatus = Literal[
    "ok", "answer_unparsed", "confidence_unparsed", "refused", "transport_error", "too_long", "not_run"
]
# Without an answer in the store: a run that has one of these is not complete.
UNANSWERED = ("transport_error", "too_long", "not_run")
UNPARSED = ("answer_unparsed", "confidence_unparsed")

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "benchmark": pl.String,
    "dataset": pl.String,
    "condition": pl.String,
    "model": pl.String,
    "run": pl.Int32,
    "item_id": pl.String,
    "position": pl.Int32,
    "kind": pl.String,
    "target": pl.String,
    "answer": pl.String,
    "confidence": pl.Int8,
    "correct": pl.Int8,
    "status": pl.String,
    "reason": pl.String,
    "choice_probs": pl.List(pl.Float64),
    "confidence_probs": pl.List(pl.Float64),
    "off_menu_mass": pl.Float64,
    "latency_s": pl.Float64,
    "cost_usd": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "mode": pl.String,
    "answer_id": pl.String,
    "source": pl.String,
    "tags": pl.List(pl.String),
    "meta_info": pl.String,
    "source_target": pl.String,
}
OBSERVATION_SCHEMA = pl.Schema(_TYPES)


@dataclass(frozen=True, slots=True)
class _Reading:
    status: ObservationStatus
    answer: str | None = None
    confidence: int | None = None
    reason: str | None = None
    choice_probs: list[float] | None = None
    confidence_probs: list[float] | None = None
    off_menu_mass: float | None = None


def observe(
    items: Sequence[Item],
    transcripts: pa.Table | pl.DataFrame,
    *,
    conditions: Sequence[str],
    model: str,
    run: int,
    source: str | None = None,
) -> pl.DataFrame:
    """Return one row per item × condition in `OBSERVATION_SCHEMA`, in the order of ``items`` and ``conditions``.

    Parameters
    ----------
    items
        The items of the study, also those never asked: their rows say ``not_run``.
    transcripts
        Rows of the transcript schema; other benchmarks, models, runs and superseded rows are ignored. Of several
        calls for one step the latest counts that did not fail.
    conditions
        Canonical names.
    source
        Kept in column ``source``: measured, imported or simulated. None takes it from the transcripts, measured
        where there are none.

    Notes
    -----
    ``correct`` is 1 or 0, and 0 without a valid letter. An answer cut by a length limit is ``too_long`` whatever it
    says, except in mode ``logit_bias``, where one token is all that was asked for. ``latency_s`` is in seconds,
    ``cost_usd`` in dollars; both, and the tokens, are sums over an item's calls.
    """
    kept = partition_rows(transcripts, BENCHMARK, run, model=model)
    source = source_in(kept) if source is None else source
    calls = current_calls(kept, ("logprobs_json",))
    rows: list[tuple[object, ...]] = []
    for condition in conditions:
        for item in items:
            found = _newest_mode(calls.get((item.item_id, condition), {}))
            reading = _read(item, found)
            rows.append(_row(item, condition, model, run, source, found, reading))
    return pl.DataFrame(rows, schema=OBSERVATION_SCHEMA, orient="row")


def _newest_mode(calls: Mapping[str, Call]) -> list[Call]:
    """Return an item's calls in order: letter first, then confidence; a whole answer before an older pair."""
    if not calls:
        return []
    places = {step: place for place, step in enumerate(calls)}
    if "choice" not in calls:
        return [calls["answer"]] if "answer" in calls else []
    if "answer" in calls and _rank(calls, places, "answer") > _rank(calls, places, "choice"):
        return [calls["answer"]]
    return [calls[step] for step in ("choice", "confidence") if step in calls]


def _rank(calls: Mapping[str, Call], places: Mapping[str, int], step: str) -> tuple[bool, int]:
    return calls[step]["status"] != "failed", places[step]


def _read(item: Item, calls: Sequence[Call]) -> _Reading:
    if not calls:
        return _Reading("not_run", reason="not asked yet")
    first = calls[0]
    if (cut := _without_text(first)) is not None:
        return cut
    parsed = parse(first["text"], item.options)
    if parsed.answer is None:
        return _Reading(parsed.status, reason=parsed.reason)
    choice, mass = menu_probabilities(first["logprobs_json"], LETTERS, parsed.answer)
    rating, reason, told = parsed.confidence, parsed.reason, first
    if first["step"] == "choice":
        if len(calls) == 1:
            return _Reading("not_run", reason="the confidence was not asked yet")
        told = calls[1]
        if (cut := _without_text(told)) is not None and cut.status != "refused":
            return cut
        rating, reason = (
            (None, "the confidence was refused") if cut else read_confidence(told["text"], bare=True)
        )
    shares = None
    if rating is not None:
        shares, _ = menu_probabilities(told["logprobs_json"], RATINGS, str(rating))
    status: ObservationStatus = "confidence_unparsed" if rating is None else "ok"
    return _Reading(status, parsed.answer, rating, reason, choice, shares, mass)


def _without_text(call: Call) -> _Reading | None:
    """Return the reading of a call that ended without a whole answer, else None."""
    if call["status"] == "truncated" and call["mode"] == "logit_bias":
        return None
    found = ended(call)
    return None if found is None else _Reading(found[0], reason=found[1])


def _row(
    item: Item, condition: str, model: str, run: int, source: str, calls: Sequence[Call], reading: _Reading
) -> tuple[object, ...]:
    first = calls[0] if calls else None
    return (
        BENCHMARK,
        item.dataset,
        condition,
        model,
        run,
        item.item_id,
        item.position,
        item.kind,
        item.target,
        reading.answer,
        reading.confidence,
        int(reading.answer == item.target),
        reading.status,
        reading.reason,
        reading.choice_probs,
        reading.confidence_probs,
        reading.off_menu_mass,
        total(calls, "latency_s"),
        total(calls, "cost_usd"),
        total(calls, "input_tokens"),
        total(calls, "output_tokens"),
        first["mode"] if first else None,
        first["answer_id"] if first else None,
        source,
        list(item.tags),
        item.meta_info,
        item.source_target,
    )
