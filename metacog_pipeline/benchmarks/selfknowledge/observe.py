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
from metacog_pipeline.benchmarks.common.thinking import without_thinking
from metacog_pipeline.benchmarks.selfknowledge import matching
from metacog_pipeline.benchmarks.selfknowledge.confidence import confidence
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK, LANGUAGE_OF, Item, asked
from metacog_pipeline.benchmarks.selfknowledge.parsing import YesNoRule, abstains, read_yes_no, says_yes
from metacog_pipeline.benchmarks.selfknowledge.prompts import IDK, META, condition_steps

ObservationStatus = Literal["ok", "meta_invalid", "refused", "transport_error", "too_long", "not_run"]
# Without an answer in the store that can be read: a run that has one of these is not complete.
UNANSWERED = ("transport_error", "too_long", "not_run")
UNPARSED = ("meta_invalid",)

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "benchmark": pl.String,
    "dataset": pl.String,
    "split": pl.String,
    "condition": pl.String,
    "language": pl.String,
    "model": pl.String,
    "run": pl.Int32,
    "item_id": pl.String,
    "question_id": pl.String,
    "event_id": pl.String,
    "position": pl.Int32,
    "answerable": pl.Int8,
    "output": pl.String,
    "meta_output": pl.String,
    "correct": pl.Int8,
    "correct_strict": pl.Int8,
    "yes": pl.Int8,
    "yes_strict": pl.Int8,
    "yes_reference": pl.Int8,
    "abstained": pl.Int8,
    "confidence": pl.Float64,
    "status": pl.String,
    "reason": pl.String,
    "truncated": pl.Int8,
    "meta_truncated": pl.Int8,
    "latency_s": pl.Float64,
    "cost_usd": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "mode": pl.String,
    "answer_id": pl.String,
    "answer_id_meta": pl.String,
    "matching": pl.String,
    "yes_no": pl.String,
    "wording": pl.String,
    "source": pl.String,
}
OBSERVATION_SCHEMA = pl.Schema(_TYPES)
_SUMMED = ("latency_s", "cost_usd", "input_tokens", "output_tokens")
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class _Partition:
    """What all rows have in common."""

    model: str
    run: int
    source: str
    matching: matching.Rule
    yes_no: YesNoRule
    wording: Mapping[str, str]


def observe(
    items: Sequence[Item],
    transcripts: pa.Table | pl.DataFrame,
    *,
    conditions: Sequence[str],
    model: str,
    run: int,
    source: str | None = None,
    rule: matching.Rule = "inclusion",
    yes_no: YesNoRule = "default",
    wording: Mapping[str, str] | None = None,
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
    rule, yes_no
        How ``correct`` and ``yes`` are read; kept in columns ``matching`` and ``yes_no``.
    wording
        Digest of the texts asked, by condition; kept in column ``wording``.

    Notes
    -----
    ``correct`` says whether ``output`` holds an accepted answer, ``correct_strict`` whether it does as whole words; both
    are 1 or 0 wherever there is a text, and 0 for an item that no answer is accepted of (``answerable`` 0). Under the
    dual conditions ``yes`` is what ``meta_output`` says by the study's rule, ``yes_strict`` and ``yes_reference`` by those
    rules; null, and status ``meta_invalid``, where neither can be read: ``correct`` stays. ``confidence`` is D of the
    meta reply, 0 to 1, null where no log-probabilities were kept. Under ``idk`` all of these are null and ``abstained``
    says whether the answer was withheld; a reply can be right and abstain at once.

    A refusal reported by the provider is scored: it is wrong, claims no knowledge and withholds the answer, by the
    default rules, so far as its text says nothing else. A reply that was cut by the length limit is scored as it stands
    (``truncated``, ``meta_truncated``), except where it was cut while thinking: that is ``too_long`` and, like a failed
    call, not scored. ``latency_s`` is in seconds, ``cost_usd`` in dollars; both, and the
    tokens, are sums over an item's calls.
    """
    kept = partition_rows(transcripts, BENCHMARK, run, model=model)
    source = source_in(kept) if source is None else source
    calls = current_calls(kept, ("logprobs_json",))
    shared = _Partition(model, run, source, rule, yes_no, wording or {})
    rows = [
        _row(item, condition, calls.get((item.item_id, condition), {}), shared)
        for condition in conditions
        for item in asked(items, condition)
    ]
    return pl.DataFrame(rows, schema=OBSERVATION_SCHEMA, orient="row")


def _row(item: Item, condition: str, calls: Mapping[str, Call], shared: _Partition) -> Row:
    language = LANGUAGE_OF[condition]
    steps = condition_steps(condition)
    made = [calls[step] for step in steps if step in calls]
    first = calls.get(steps[0])
    meta = calls.get(META) if META in steps else None
    row: Row = {
        "benchmark": BENCHMARK,
        "dataset": item.dataset,
        "split": item.split,
        "condition": condition,
        "language": language,
        "model": shared.model,
        "run": shared.run,
        "item_id": item.item_id,
        "question_id": item.question_id or None,
        "event_id": item.event_id or None,
        "position": item.position,
        "answerable": int(item.answerable(language)),
        "output": _text(first),
        "meta_output": _text(meta),
        **{name: total(made, name) for name in _SUMMED},
        "mode": made[0]["mode"] if made else None,
        "answer_id": first["answer_id"] if first else None,
        "answer_id_meta": meta["answer_id"] if meta else None,
        "matching": shared.matching,
        "yes_no": shared.yes_no,
        "wording": shared.wording.get(condition),
        "source": shared.source,
    }
    read = {} if first is None else _read_answer(first, item, condition, shared)
    if meta is not None:
        read |= _read_meta(meta, language, shared.yes_no)
    status, reason = _status(steps, calls, read)
    return {**dict.fromkeys(OBSERVATION_SCHEMA), **row, **read, "status": status, "reason": reason}


def _read_answer(call: Call, item: Item, condition: str, shared: _Partition) -> Row:
    """Return whether the answer is right and, under ``idk``, withheld; nothing where there is no text to score."""
    reply = _reply(call)
    if reply is None:
        return {}
    accepted = item.accepted(LANGUAGE_OF[condition])
    read: Row = {
        "correct": int(matching.matches(reply, accepted, shared.matching)),
        "correct_strict": int(matching.matches(reply, accepted, matching.STRICT)),
        "truncated": int(call["status"] == "truncated"),
    }
    if condition == IDK:
        withheld = abstains(reply, shared.yes_no, accepted)
        # A refusal withholds the answer whatever it is worded as; the reference knows one wording only.
        refused = call["status"] == "refused" and shared.yes_no != "reference" and not read["correct"]
        read["abstained"] = int(withheld or refused)
    return read


def _read_meta(call: Call, language: str, rule: YesNoRule) -> Row:
    """Return what the meta reply says by each rule; nothing where there is no text to read."""
    reply = _reply(call)
    if reply is None:
        return {}
    reading = read_yes_no(reply, language, rule)
    value = reading.value
    if value is None and call["status"] == "refused" and rule != "strict":
        value = 0
    return {
        "yes": value,
        "yes_strict": read_yes_no(reply, language, "strict").value,
        "yes_reference": int(says_yes(reply, language)),
        "confidence": confidence(call["logprobs_json"], language),
        "meta_truncated": int(call["status"] == "truncated"),
        "reason": reading.reason if value is None else None,
    }


def _text(call: Call | None) -> str | None:
    return None if call is None or call["status"] == "failed" else str(call["text"])


def _reply(call: Call) -> str | None:
    """Return the text of a reply without thinking, None where there is nothing to score."""
    if call["status"] == "failed":
        return None
    reply = without_thinking(call["text"]).strip()
    return None if not reply and call["status"] == "truncated" else reply


def _status(
    steps: Sequence[str], calls: Mapping[str, Call], read: Row
) -> tuple[ObservationStatus, str | None]:
    for step in steps:
        call = calls.get(step)
        if call is None:
            first = step == steps[0]
            return "not_run", "not asked yet" if first else "whether it is known was not asked yet"
        if call["status"] == "failed":
            return "transport_error", f"{step}: {why_failed(call)}"
        if _reply(call) is None:
            return "too_long", f"{step}: cut by the length limit before a word was said; raise max_tokens"
    said = [calls[step] for step in steps]
    refused = [call["step"] for call in said if call["status"] == "refused"]
    if refused:
        return "refused", f"{refused[0]}: the provider reports a refusal or a content filter"
    if META in steps and read["yes"] is None:
        cut = "; cut by the length limit" if read["meta_truncated"] else ""
        return "meta_invalid", f"meta: {read['reason']}{cut}"
    return "ok", None
