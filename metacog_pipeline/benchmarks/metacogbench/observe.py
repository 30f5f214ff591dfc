"""Observations: the typed reading of every item's replies, one row per condition and item asked under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl
import pyarrow as pa

from metacog_pipeline.benchmarks.common.observing import (
    Call,
    current_calls,
    partition_rows,
    source_in,
    total,
    why_failed,
)
from metacog_pipeline.benchmarks.metacogbench.asking import silent
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK, Item
from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon
from metacog_pipeline.benchmarks.metacogbench.prompts import ANSWER, TURN_1, applicable, item_steps
from metacog_pipeline.benchmarks.metacogbench.readings import (
    READING_TYPES,
    Reading,
    Value,
    read_item,
    thresholds,
)

ObservationStatus = Literal[
    "ok", "answer_unparsed", "confidence_unparsed", "refused", "transport_error", "not_run"
]
# Without an answer in the store: a run that has one of these is not complete.
UNANSWERED = ("transport_error", "not_run")
UNPARSED = ("answer_unparsed", "confidence_unparsed")

_FROM_ITEM = ("tier", "family", "level", "domain", "difficulty", "bet_rule", "twin_of", "structure")
_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "benchmark": pl.String,
    "dataset": pl.String,
    **dict.fromkeys(_FROM_ITEM, pl.String),
    "condition": pl.String,
    "model": pl.String,
    "run": pl.Int32,
    "item_id": pl.String,
    "position": pl.Int32,
    "min_factors": pl.Int32,
    "status": pl.String,
    "reason": pl.String,
    **READING_TYPES,
    "empty": pl.Int8,
    "truncated": pl.Int8,
    "truncated_first": pl.Int8,
    "words": pl.Int32,
    "latency_s": pl.Float64,
    "cost_usd": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "mode": pl.String,
    "answer_id": pl.String,
    "answer_id_turn_1": pl.String,
    "reply": pl.String,
    "reply_turn_1": pl.String,
    "source": pl.String,
}
OBSERVATION_SCHEMA = pl.Schema(_TYPES)
_SUMMED = ("latency_s", "cost_usd", "input_tokens", "output_tokens")
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class _Partition:
    """What all rows have in common."""

    dataset: str
    model: str
    run: int
    source: str
    lexicon: Lexicon | None


def observe(
    items: Sequence[Item],
    transcripts: pa.Table | pl.DataFrame,
    *,
    conditions: Sequence[str],
    model: str,
    run: int,
    source: str | None = None,
    dataset: str = "metacog147",
    lexicon: Lexicon | None = None,
) -> pl.DataFrame:
    """Return one row per condition and item asked under it in `OBSERVATION_SCHEMA`, in the order of both.

    Parameters
    ----------
    items
        The items of the study, also those never asked: their rows say ``not_run``.
    transcripts
        Rows of the transcript schema; other benchmarks, models, runs and superseded rows are ignored. Of several calls
        for one step the latest counts that did not fail.
    conditions
        Canonical names.
    source
        Kept in column ``source``: measured, imported or simulated. None takes it from the transcripts, measured where
        there are none.
    dataset
        The set the items are of.
    lexicon
        The cues; None for the shipped ones.

    Notes
    -----
    Flags are 1 and 0, null where a tier has no such thing and in rows without an answer. ``passed`` is the headline:
    the bet rule (1a), a right answer (1b), scoped caution (2a), pushback without caving (2b), 60 % of the fields (3).
    ``passed_lit`` is the rule as published: plain keywords, no slot test; ``passed_lit1`` and ``passed_lit2`` that of
    the first and of the scaled version; ``passed_v1`` and ``passed_strong`` are the scoped stance with the first list of
    pushback cues, or without weak ones; ``held_first`` says whether the first turn held the core claim. ``bet``, ``hi``
    and ``lo`` are tokens, ``pre`` and ``post`` percent.

    A reply that is empty or was cut by the length limit is scored as it stands: ``empty`` and ``truncated`` say so, for
    the scored turn. After a first turn that was refused or said nothing there is no second: the item is not passed.
    ``reply`` is the scored reply, ``reply_turn_1`` the one before it, ``words`` the length of the scored one.
    ``latency_s`` is in seconds, ``cost_usd`` in dollars; both, and the tokens, are sums over an item's calls.
    """
    kept = partition_rows(transcripts, BENCHMARK, run, model=model)
    source = source_in(kept) if source is None else source
    calls = current_calls(kept)
    shared = _Partition(dataset, model, run, source, lexicon)
    rows = [
        _row(item, condition, calls.get((item.item_id, condition), {}), shared)
        for condition in conditions
        for item in applicable(items, condition)
    ]
    return pl.DataFrame(rows, schema=OBSERVATION_SCHEMA, orient="row")


def _row(item: Item, condition: str, calls: Mapping[str, Call], shared: _Partition) -> Row:
    steps = item_steps(item, condition)
    asked = [calls[step] for step in steps if step in calls]
    first = calls.get(TURN_1) if len(steps) > 1 else None
    scored = calls.get(steps[-1])
    row: Row = {
        "benchmark": BENCHMARK,
        "dataset": shared.dataset,
        **{name: getattr(item, name) or None for name in _FROM_ITEM},
        "condition": condition,
        "model": shared.model,
        "run": shared.run,
        "item_id": item.item_id,
        "position": item.position,
        "min_factors": item.min_factors if item.tier == "2a" else None,
        "source": shared.source,
        **thresholds(item),
        **{name: total(asked, name) for name in _SUMMED},
        "mode": asked[-1]["mode"] if asked else None,
        "answer_id": scored["answer_id"] if scored else None,
        "answer_id_turn_1": first["answer_id"] if first else None,
        "reply": scored["text"] if scored else None,
        "reply_turn_1": first["text"] if first else None,
    }
    return {**dict.fromkeys(OBSERVATION_SCHEMA), **row, **_read(item, steps, calls, shared.lexicon)}


def _read(item: Item, steps: Sequence[str], calls: Mapping[str, Call], lexicon: Lexicon | None) -> Row:
    """Return what an item's calls say: status, reason, and everything read from them."""
    said: list[Call] = []
    for step in steps:
        call = calls.get(step)
        if call is None:
            return _unanswered(
                "not_run", "not asked yet" if not said else "the second turn was not asked yet"
            )
        if call["status"] == "failed":
            return _unanswered("transport_error", why_failed(call))
        said.append(call)
        if call["status"] == "refused" or silent(call["text"]):
            break  # nothing comes after it
    last = said[-1]
    one_turn = steps == (ANSWER,)
    complete = len(said) == len(steps)
    reply = str(last["text"]) if complete else ""
    reading = read_item(item, reply, None if one_turn else str(said[0]["text"]), lexicon=lexicon)
    status, reason = _status(reading, last, complete)
    return {
        **{name: _flag(value) for name, value in reading.values.items()},
        "status": status,
        "reason": reason,
        "empty": int(last["status"] != "refused" and not reply.strip()),
        "truncated": int(complete and last["status"] == "truncated"),
        "truncated_first": None if one_turn else int(said[0]["status"] == "truncated"),
        "words": len(reply.split()),
    }


def _status(reading: Reading, last: Call, complete: bool) -> tuple[ObservationStatus, str | None]:
    if last["status"] == "refused":
        return "refused", "the provider reports a refusal or a content filter"
    if not complete:
        return "answer_unparsed", "the reply of the first turn is empty"
    if last["status"] == "truncated":
        cut = "cut by the length limit; raise max_tokens"
        return reading.status, cut if reading.reason is None else f"{reading.reason}; {cut}"
    return reading.status, reading.reason


def _unanswered(status: ObservationStatus, reason: str) -> Row:
    return {"status": status, "reason": reason}


def _flag(value: Value) -> object:
    return int(value) if isinstance(value, bool) else value
