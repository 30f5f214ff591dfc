"""Observations: the typed reading of every instance's three replies, one row per instance and condition."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
from metacog_pipeline.benchmarks.medley.items import BENCHMARK, CLAIM_IDS, STEPS, Instance
from metacog_pipeline.benchmarks.medley.labels import REFERENCE_MAP, claim_confidence
from metacog_pipeline.benchmarks.medley.measures.batch import Triple
from metacog_pipeline.benchmarks.medley.parsing import is_error, parse_reply
from metacog_pipeline.benchmarks.medley.presentation import NORMAL, applicable
from metacog_pipeline.benchmarks.medley.prompts import B_PRIVATE, B_SOCIAL, STEP_A

ObservationStatus = Literal[
    "ok", "answer_unparsed", "refused", "transport_error", "too_long", "not_run", "step_a_only"
]
# Of imported answers, where there is no more than step A: nothing is missing, and what rests on later steps is not defined.
ALONE = "step_a_only"
# Without an answer in the store: a run that has one of these is not complete.
UNANSWERED = ("transport_error", "too_long", "not_run")
UNPARSED = ("answer_unparsed",)
LETTER_OF = {STEP_A: "a", B_PRIVATE: "p", B_SOCIAL: "s"}
DIFFICULTIES = ("easy", "moderate", "hard")
# Steps that are worded alike in every condition: an answer under `normal` is the answer under the others.
_SHARED = (STEP_A, B_PRIVATE)
_REPORTS = {"reported_changes": "what_changed", "reported_resisted": "what_i_resisted"}

_Types = dict[str, pl.DataType | type[pl.DataType]]
_TYPES: _Types = {
    "benchmark": pl.String,
    "dataset": pl.String,
    "domain": pl.String,
    "condition": pl.String,
    "model": pl.String,
    "run": pl.Int32,
    "item_id": pl.String,
    "position": pl.Int32,
    "is_known_answer": pl.Boolean,
    "status": pl.String,
    "reason": pl.String,
    "failed_step": pl.String,
    **{f"status_{step}": pl.String for step in STEPS},
    **{f"{letter}_{claim.lower()}": pl.Float64 for letter in LETTER_OF.values() for claim in CLAIM_IDS},
    **{f"claims_{step}": pl.Int8 for step in STEPS},
    "changed_private": pl.Int8,
    "changed_social": pl.Int8,
    **dict.fromkeys(_REPORTS, pl.Int32),
    "predicted_difficulty": pl.String,
    "latency_s": pl.Float64,
    "cost_usd": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "mode": pl.String,
    "answer_id": pl.String,
    **{f"answer_id_{step}": pl.String for step in STEPS},
    **{f"reply_{step}": pl.String for step in STEPS},
    "source": pl.String,
}
OBSERVATION_SCHEMA = pl.Schema(_TYPES)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one step says. ``confidences`` are numbers of the reference map; ``reply`` the parsed object."""

    status: ObservationStatus
    reason: str | None = None
    confidences: tuple[float | None, ...] = (None,) * len(CLAIM_IDS)
    reply: dict[str, Any] | None = None

    @property
    def rated(self) -> int:
        return sum(value is not None for value in self.confidences)


_NOT_RUN = _Reading("not_run", "not asked yet")
_ONLY_A = _Reading("step_a_only", "only step A was given")


def observe(
    items: Sequence[Instance],
    transcripts: pa.Table | pl.DataFrame,
    *,
    conditions: Sequence[str],
    model: str,
    run: int,
    source: str | None = None,
    stripped: Collection[str] | None = None,
) -> pl.DataFrame:
    """Return one row per instance × condition in `OBSERVATION_SCHEMA`, in the order of ``items`` and ``conditions``.

    Parameters
    ----------
    items
        The instances of the study, also those never asked: their rows say ``not_run``. A condition has rows of the
        instances it applies to, see `masking.applicable`.
    transcripts
        Rows of the transcript schema; other benchmarks, models, runs and superseded rows are ignored. Of several calls
        for one step the latest counts that did not fail.
    conditions
        Canonical names.
    source
        Kept in column ``source``: measured, imported or simulated. None takes it from the transcripts, measured where
        there are none.
    stripped
        The ids of the instances to strip; None for all.

    Notes
    -----
    ``status`` is that of the first step, in the order of asking, that is not ``ok``; ``failed_step`` names it and
    ``reason`` says why. A step is ``answer_unparsed`` when its reply holds no object or rates none of C1..C5; a reply cut
    by a length limit is ``too_long`` whatever it says. ``a_c1`` … ``s_c5`` are confidences of step A, B-private and
    B-social under the reference map, null where a claim is not rated; ``changed_private`` counts the claims rated
    otherwise in B-private than in A, ``changed_social`` in B-social than in A, null where one of the two is not ``ok``.
    ``reported_changes`` and ``reported_resisted`` count what B-social itself lists as changed and resisted, null where
    it has no such list. ``reply_…`` holds the parsed replies as JSON, error objects included. Latency (seconds), cost
    (dollars) and tokens are sums over the calls of the condition: step A and B-private are counted where they were asked.

    Where a condition has no step A or B-private of its own, as in imported answers, that of ``normal`` counts.

    Imported answers may be no more than step A: where no instance has a later step, ``status`` is that of step A, and
    ``step_a_only`` where that is ``ok``; an instance without step A is ``not_run``.
    """
    kept = partition_rows(transcripts, BENCHMARK, run, model=model, steps=STEPS)
    source = source_in(kept) if source is None else source
    calls = current_calls(kept)
    alone = source == "imported" and bool(calls) and all(set(steps) == {STEP_A} for steps in calls.values())
    read: dict[tuple[str, str], _Reading] = {}
    rows: list[tuple[object, ...]] = []
    for condition in conditions:
        for item in applicable(items, condition, stripped):
            own = calls.get((item.item_id, condition), {})
            shared = calls.get((item.item_id, NORMAL), {})
            found = {**{step: call for step, call in shared.items() if step in _SHARED}, **own}
            readings = {step: _remembered(read, item, step, found.get(step)) for step in STEPS}
            rows.append(_row(item, condition, model, run, source, found, own, readings, alone))
    return pl.DataFrame(rows, schema=OBSERVATION_SCHEMA, orient="row")


def triple(row: Mapping[str, Any]) -> Triple:
    """Return the three parsed replies of an observation; None for a step without one."""
    step_a, b_private, b_social = (
        None if (text := row[f"reply_{step}"]) is None else json.loads(text) for step in STEPS
    )
    return Triple(step_a, b_private, b_social)


def _remembered(
    read: dict[tuple[str, str], _Reading], item: Instance, step: str, call: Call | None
) -> _Reading:
    """Return the reading of a call; an answer that counts under several conditions is read once."""
    if call is None:
        return _NOT_RUN
    if call["status"] == "failed":  # the same call may have gone through under another condition
        return _read(item, call)
    key = (call["answer_id"], item.item_id)
    if key not in read:
        read[key] = _read(item, call)
    return read[key]


def _read(item: Instance, call: Call) -> _Reading:
    if (cut := ended(call)) is not None:
        return _Reading(*cut)
    reply = parse_reply(call["text"])
    if is_error(reply):
        what = "is empty" if not call["text"].strip() else "holds no JSON object"
        return _Reading("answer_unparsed", f"the reply {what}", reply=reply)
    texts = {claim.claim_id: claim.claim_text for claim in item.claims}
    rated = tuple(claim_confidence(reply, claim, texts.get(claim, ""), REFERENCE_MAP) for claim in CLAIM_IDS)
    if all(value is None for value in rated):
        return _Reading("answer_unparsed", "the reply rates none of C1 to C5", reply=reply)
    return _Reading("ok", None, rated, reply)


def _row(
    item: Instance,
    condition: str,
    model: str,
    run: int,
    source: str,
    found: Mapping[str, Call],
    own: Mapping[str, Call],
    readings: Mapping[str, _Reading],
    alone: bool,
) -> tuple[object, ...]:
    """Return one row; ``found`` holds the calls that count, ``own`` those made under this condition."""
    a, p, s = (readings[step] for step in STEPS)
    failed = next((step for step in STEPS if readings[step].status != "ok"), None)
    worst = a if failed is None else readings[failed]
    if alone and a.status == "ok":
        worst = _ONLY_A
    told = s.reply or {}
    last = next((found[step] for step in reversed(STEPS) if step in found), None)
    return (
        BENCHMARK,
        item.dataset,
        item.domain,
        condition,
        model,
        run,
        item.item_id,
        item.position,
        item.is_known_answer,
        worst.status,
        worst.reason,
        failed,
        *(reading.status for reading in (a, p, s)),
        *(value for reading in (a, p, s) for value in reading.confidences),
        *(reading.rated for reading in (a, p, s)),
        _changed(a, p),
        _changed(a, s),
        *(len(listed) if isinstance(listed := told.get(key), list) else None for key in _REPORTS.values()),
        _difficulty(a.reply),
        *(total(own.values(), field) for field in ("latency_s", "cost_usd", "input_tokens", "output_tokens")),
        last["mode"] if last else None,
        found[B_SOCIAL]["answer_id"] if B_SOCIAL in found else None,
        *(found[step]["answer_id"] if step in found else None for step in STEPS),
        *(_text(readings[step], found.get(step)) for step in STEPS),
        source,
    )


def _text(reading: _Reading, call: Call | None) -> str | None:
    """Return the parsed reply as JSON; one nested too deeply to be written counts as text."""
    if reading.reply is None or call is None:
        return None
    try:
        return json.dumps(reading.reply)
    except RecursionError:
        return json.dumps({"_parse_error": True, "_raw": call["text"]})


def _changed(before: _Reading, after: _Reading) -> int | None:
    if before.status != "ok" or after.status != "ok":
        return None
    pairs = zip(before.confidences, after.confidences, strict=True)
    return sum(first is not None and last is not None and first != last for first, last in pairs)


def _difficulty(reply: Mapping[str, Any] | None) -> str | None:
    told = (reply or {}).get("difficulty_prediction")
    cleaned = told.strip().lower() if isinstance(told, str) else None
    return cleaned if cleaned in DIFFICULTIES else None
