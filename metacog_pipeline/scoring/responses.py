"""From the transcripts of a partition to one response per condition and item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Call, Item
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.errors import one_line
from metacog_pipeline.reading.calls import AGAIN
from metacog_pipeline.scoring.schemas import response_schema

Kept = Mapping[str, Any]  # one row of the transcripts
FAILED_READING = "unparsable"
FAILED = "the reader failed: "
#: What Polars raises of a value that its column cannot hold.
_UNFIT = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError)
_SUMMED = ("latency_s", "cost_usd", "input_tokens", "output_tokens")
#: What is read of a call.
CALL_COLUMNS = (
    *("answer_id", "item_id", "condition", "step", "status", "mode", "text", "logprobs_json"),
    *(*_SUMMED, "error_code", "error_message"),
)


def read_responses(
    benchmark: Bound,
    transcripts: pl.DataFrame,
    asked: Iterable[tuple[str, Sequence[Item]]],
    *,
    model: str,
    run: int,
    source: str,
) -> pl.DataFrame:
    """Return one row per condition and item asked under it; an item that was never answered is read from no calls."""
    # By item and condition the newest call of each step, a failed one only where there is no other.
    calls: dict[tuple[str, str], dict[str, Kept]] = {}
    for row in in_order(transcripts):
        calls.setdefault((row["item_id"], row["condition"]), {})[row["step"]] = row
    shared = {condition.name: condition.shared for condition in benchmark.conditions()}
    schema = response_schema(benchmark)
    rows = []
    for condition, items in asked:
        for item in items:
            mine = calls.get((item.item_id, condition), {})
            made: dict[str, Kept] = {}
            for other, steps in shared.get(condition, {}).items():  # whose calls count under this one as well
                given = calls.get((item.item_id, other), {})
                made |= {step: given[step] for step in steps if step in given}
            made |= mine
            kept, paid = _of_one_mode(made.values()), _of_one_mode(mine.values())
            rows.append(
                {
                    **_parsed(benchmark, item, condition, made),
                    **{"benchmark": benchmark.name, "dataset": item.dataset, "condition": condition},
                    **{"task": getattr(item, "task", None), "model": model, "run": run, "source": source},
                    **{"item_id": item.item_id, "cluster": item.cluster, "position": item.position},
                    **{"mode": kept[0]["mode"] if kept else None},
                    **{"asked_again": any(each["step"].endswith(AGAIN) for each in kept)},
                    **{"answer_ids": [each["answer_id"] for each in kept]},
                    **{name: total(paid, name) for name in _SUMMED},
                }
            )
    try:
        return _framed(rows, schema)
    except _UNFIT:  # which does not say of which row
        return _framed([_fitting(benchmark, row, schema) for row in rows], schema)


def _framed(rows: Iterable[Mapping[str, Any]], schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame([[row[name] for name in schema] for row in rows], schema=schema, orient="row")


def _parsed(benchmark: Bound, item: Item, condition: str, made: Mapping[str, Kept]) -> dict[str, Any]:
    """Return the fields of the benchmark's reading; a reader that fails makes its row unparsable."""
    names = schema_of(benchmark.Response)
    try:
        read = benchmark.parse(item, condition, {step: call_of(kept) for step, kept in made.items()})
        found = {name: getattr(read, name) for name in names}
        known = found["status"] in {"ok", *benchmark.unanswered, *benchmark.unreadable}
        odd = [name for name in names if name in benchmark.coded and found[name] not in (None, 0, 1)]
    except (Exception, SystemExit) as error:  # the reader is a benchmark's own code, fed by models
        return _unparsable(names, f"{type(error).__name__}: {error}")
    if not known:
        given = one_line(repr(found["status"]), 80)
        return _unparsable(names, f"status {given}; use ok, or one named in unanswered or unreadable")
    if odd:
        shown = one_line(repr(found[odd[0]]), 80)
        return _unparsable(names, f"{odd[0]} is {shown}, a column named in coded holds 0, 1 or None")
    return found


def _fitting(benchmark: Bound, row: dict[str, Any], schema: pl.Schema) -> dict[str, Any]:
    names = schema_of(benchmark.Response)
    for name, kind in names.items():
        try:
            _framed([row], pl.Schema({name: kind}))
        except _UNFIT:
            shown = one_line(repr(row[name]), 80)
            return {**row, **_unparsable(names, f"{name} is {shown}, its column holds {kind} or None")}
    return row


def _unparsable(names: Iterable[str], why: str) -> dict[str, Any]:
    return {**dict.fromkeys(names), "status": FAILED_READING, "reason": one_line(f"{FAILED}{why}")}


def _of_one_mode(made: Iterable[Kept]) -> list[Kept]:
    """Return the calls in the answer mode of the one that answered last; trials of other modes do not count."""
    kept = list(made)
    answered = [each for each in kept if each["status"] != "failed"] or kept
    return [each for each in kept if each["mode"] == answered[-1]["mode"]]


def in_order(transcripts: pl.DataFrame, also: Sequence[str] = ()) -> Iterator[Kept]:
    """Yield the kept calls, failed ones first and then by time, so that of several the last one counts."""
    ordered = transcripts.sort(pl.col("status") != "failed", pl.col("started_at"), maintain_order=True)
    yield from ordered.select(*CALL_COLUMNS, *also).iter_rows(named=True)


def total(kept: Iterable[Kept], column: str) -> Any:
    """Return the sum over the calls that know it; None where none does."""
    known = [each[column] for each in kept if each[column] is not None]
    return sum(known) if known else None


def call_of(kept: Kept) -> Call:
    """Return a kept call as a benchmark reads it."""
    failed = None
    if kept["status"] == "failed":
        failed = str(kept["error_message"] or kept["error_code"] or "the call failed")
    return Call(kept["status"], kept["text"] or "", kept["mode"], kept["logprobs_json"], failed)
