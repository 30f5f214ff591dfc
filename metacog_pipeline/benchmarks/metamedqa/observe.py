"""Observations: the typed reading of every item's transcripts, one row per item and condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import polars as pl
import pyarrow as pa

from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item
from metacog_pipeline.benchmarks.metamedqa.parsing import parse, read_confidence
from metacog_pipeline.benchmarks.metamedqa.probabilities import RATINGS, menu_probabilities

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
_NEEDED = (
    *("answer_id", "item_id", "condition", "step", "status", "mode", "text", "logprobs_json"),
    *("input_tokens", "output_tokens", "cost_usd", "latency_s", "error_code", "error_message"),
)
Call = Mapping[str, Any]


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
    frame = _of_partition(transcripts, model, run)
    if source is None:
        source = frame["source"][0] if frame.height else "measured"
    calls = _current_calls(frame)
    rows: list[tuple[object, ...]] = []
    for condition in conditions:
        for item in items:
            found = _newest_mode(calls.get((item.item_id, condition), {}))
            reading = _read(item, found)
            rows.append(_row(item, condition, model, run, source, found, reading))
    return pl.DataFrame(rows, schema=OBSERVATION_SCHEMA, orient="row")


def _of_partition(transcripts: pa.Table | pl.DataFrame, model: str, run: int) -> pl.DataFrame:
    is_frame = isinstance(transcripts, pl.DataFrame)
    frame = transcripts if is_frame else cast(pl.DataFrame, pl.from_arrow(transcripts))
    frame = frame.filter(pl.col("benchmark") == BENCHMARK, pl.col("model") == model, pl.col("run") == run)
    return frame.filter(~pl.col("superseded")) if "superseded" in frame.columns else frame


def _current_calls(frame: pl.DataFrame) -> dict[tuple[str, str], dict[str, Call]]:
    """Return {(item, condition): {step: newest call, a failed one only where there is no other}}."""
    frame = frame.sort(pl.col("status") != "failed", pl.col("started_at"), maintain_order=True)
    calls: dict[tuple[str, str], dict[str, Call]] = {}
    for row in frame.select(*_NEEDED).iter_rows(named=True):
        calls.setdefault((row["item_id"], row["condition"]), {})[row["step"]] = row
    return calls


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
    if (ended := _without_text(first)) is not None:
        return ended
    parsed = parse(first["text"], item.options)
    if parsed.answer is None:
        return _Reading(parsed.status, reason=parsed.reason)
    choice, mass = menu_probabilities(first["logprobs_json"], LETTERS, parsed.answer)
    rating, reason, told = parsed.confidence, parsed.reason, first
    if first["step"] == "choice":
        if len(calls) == 1:
            return _Reading("not_run", reason="the confidence was not asked yet")
        told = calls[1]
        if (ended := _without_text(told)) is not None and ended.status != "refused":
            return ended
        rating, reason = (
            (None, "the confidence was refused") if ended else read_confidence(told["text"], bare=True)
        )
    shares = None
    if rating is not None:
        shares, _ = menu_probabilities(told["logprobs_json"], RATINGS, str(rating))
    status: ObservationStatus = "confidence_unparsed" if rating is None else "ok"
    return _Reading(status, parsed.answer, rating, reason, choice, shares, mass)


def _without_text(call: Call) -> _Reading | None:
    """Return the reading of a call that ended without a whole answer, else None."""
    match call["status"]:
        case "failed":
            why = call["error_message"] or call["error_code"] or "the call failed"
            return _Reading("transport_error", reason=str(why))
        case "truncated" if call["mode"] != "logit_bias":
            return _Reading("too_long", reason="cut by the length limit; raise max_tokens")
        case "refused":
            return _Reading("refused", reason="the provider reports a refusal or a content filter")
        case _:
            return None


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
        _total(calls, "latency_s"),
        _total(calls, "cost_usd"),
        _total(calls, "input_tokens"),
        _total(calls, "output_tokens"),
        first["mode"] if first else None,
        first["answer_id"] if first else None,
        source,
        list(item.tags),
        item.meta_info,
        item.source_target,
    )


def _total(calls: Sequence[Call], field: str) -> float | int | None:
    known = [call[field] for call in calls if call[field] is not None]
    return sum(known) if known else None
