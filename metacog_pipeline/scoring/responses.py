"""From the transcripts of a partition to one response per condition and item."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from metacog_pipeline.benchmark.contract import Benchmark, Call, Item
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.errors import one_line
from metacog_pipeline.scoring.schemas import DECIDED, response_schema

FAILED_READING = "unparsable"
FAILED = "the reader failed: "
#: What Polars raises of a value that its column cannot hold.
_UNFIT = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError)
_ANSWERS = "answer_ids"
_SUMMED = ("latency_s", "cost_usd", "input_tokens", "output_tokens")
_COLUMNS = (
    *("answer_id", "item_id", "condition", "step", "status", "mode", "text", "logprobs_json"),
    *(*_SUMMED, "error_code", "error_message"),
)
Kept = Mapping[str, Any]  # one row of the transcripts


def read_responses(
    benchmark: Benchmark[Any, Any, Any],
    transcripts: pl.DataFrame,
    asked: Iterable[tuple[str, Sequence[Item]]],
    *,
    model: str,
    run: int,
    source: str,
) -> pl.DataFrame:
    """Return one row per condition and item asked under it, in the order of both.

    Parameters
    ----------
    transcripts
        Kept answers of the partition in the transcript schema, superseded ones left out.
    asked
        (condition, items asked under it), also those never answered: the benchmark reads them from no calls.
    source
        measured, imported or simulated.
    """
    calls = newest_calls(transcripts)
    schema = response_schema(benchmark)
    own = [name for name in schema_of(benchmark.Response) if name not in DECIDED]
    with contextlib.redirect_stdout(
        sys.stderr
    ):  # a reader that prints does not print into what the command does
        rows, answers = _rows(benchmark, calls, asked, own, (model, run, source))
    place = schema.names().index(_ANSWERS)
    del schema[_ANSWERS]
    # Of rows that hold a list Polars makes a series each, which takes a third of this.
    listed = pl.Series(_ANSWERS, pa.array(answers, pa.large_list(pa.large_string())))
    return _framed(benchmark, rows, schema).insert_column(place, listed)


def _rows(
    benchmark: Benchmark[Any, Any, Any],
    calls: Mapping[tuple[str, str], Mapping[str, Kept]],
    asked: Iterable[tuple[str, Sequence[Item]]],
    own: Sequence[str],
    whose: tuple[str, int, str],
) -> tuple[list[tuple[Any, ...]], list[list[str]]]:
    """Return the values of each response, and beside them the ids of the answers it was read from."""
    model, run, source = whose
    shared = {condition.name: condition.shared for condition in benchmark.conditions()}
    statuses = {"ok", *benchmark.unanswered, *benchmark.unreadable}
    rows, answers = [], []
    for condition, items in asked:
        for item in items:
            mine = calls.get((item.item_id, condition), {})
            made = {**_elsewhere(calls, item, shared.get(condition, {})), **mine}
            read = _parsed(benchmark, item, condition, made, statuses)
            kept, paid = _of_one_mode(made.values()), _of_one_mode(mine.values())
            answers.append([each["answer_id"] for each in kept])
            rows.append(
                (
                    *(benchmark.name, item.dataset, getattr(item, "task", None), condition, model, run),
                    *(item.item_id, item.cluster, item.position, read["status"], read["reason"]),
                    kept[0]["mode"] if kept else None,
                    *(total(paid, name) for name in _SUMMED),
                    source,
                    *(read[name] for name in own),
                )
            )
    return rows, answers


def _framed(
    benchmark: Benchmark[Any, Any, Any], rows: Sequence[tuple[Any, ...]], schema: pl.Schema
) -> pl.DataFrame:
    """Return rows as a table. Those that hold what their columns cannot are unparsable, each with the reason."""
    coded = [name for name in schema if name in benchmark.coded and name in schema_of(benchmark.Response)]
    with contextlib.suppress(*_UNFIT):  # which does not say of which row
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        if not coded or frame.select(pl.all_horizontal(pl.col(coded).is_in([0, 1])).all()).item():
            return frame
    held = [_withheld(benchmark, row, schema, coded) for row in rows]
    return pl.DataFrame(held, schema=schema, orient="row")


def _withheld(
    benchmark: Benchmark[Any, Any, Any], row: tuple[Any, ...], schema: pl.Schema, coded: Sequence[str]
) -> tuple[Any, ...]:
    """Return a row as it is, or unparsable where a value of the benchmark's reading does not fit its column."""
    values = dict(zip(schema, row, strict=True))
    columns = schema_of(benchmark.Response)
    for name, kind in columns.items():
        why = misfit(values[name], kind, coded=name in coded)
        if why is not None:
            reason = one_line(f"{FAILED}{name} {why}")
            return tuple(
                {**values, **dict.fromkeys(columns), "status": FAILED_READING, "reason": reason}.values()
            )
    return row


def misfit(value: Any, kind: Any, *, coded: bool = False) -> str | None:
    """Return why a column of this kind cannot hold ``value``; one that is ``coded`` holds 0, 1 or nothing."""
    shown = one_line(repr(value), 80)
    if coded and value is not None and value not in (0, 1):
        return f"is {shown}, a column named in coded holds 0, 1 or None"
    try:
        pl.DataFrame([(value,)], schema={"value": kind}, orient="row")
    except _UNFIT:
        return f"is {shown}, its column holds {kind} or None"
    return None


def _of_one_mode(made: Iterable[Kept]) -> list[Kept]:
    """Return the calls in the answer mode of the one that answered last; trials of other modes do not count."""
    kept = list(made)
    answered = [each for each in kept if each["status"] != "failed"] or kept
    return [each for each in kept if each["mode"] == answered[-1]["mode"]]


def _elsewhere(
    calls: Mapping[tuple[str, str], Mapping[str, Kept]], item: Item, shared: Mapping[str, Sequence[str]]
) -> dict[str, Kept]:
    """Return the calls of other conditions that count under this one as well."""
    found = [(calls.get((item.item_id, other), {}), steps) for other, steps in shared.items()]
    return {step: given[step] for given, steps in found for step in steps if step in given}


def newest_calls(transcripts: pl.DataFrame) -> dict[tuple[str, str], dict[str, Kept]]:
    """Return {(item, condition): {step: newest call, a failed one only where there is no other}}."""
    calls: dict[tuple[str, str], dict[str, Kept]] = {}
    for row in in_order(transcripts):
        calls.setdefault((row["item_id"], row["condition"]), {})[row["step"]] = row
    return calls


def in_order(transcripts: pl.DataFrame, also: Sequence[str] = ()) -> Iterator[Kept]:
    """Yield the kept calls, failed ones first and then by time, so that of several the last one counts."""
    ordered = transcripts.sort(pl.col("status") != "failed", pl.col("started_at"), maintain_order=True)
    yield from ordered.select(*_COLUMNS, *also).iter_rows(named=True)


def why_failed(kept: Kept) -> str:
    """Return why a failed call failed."""
    return str(kept["error_message"] or kept["error_code"] or "the call failed")


def total(kept: Iterable[Kept], column: str) -> Any:
    """Return the sum over the calls that know it; None where none does."""
    known = [each[column] for each in kept if each[column] is not None]
    return sum(known) if known else None


def call_of(kept: Kept) -> Call:
    """Return a kept call as a benchmark reads it."""
    failed = why_failed(kept) if kept["status"] == "failed" else None
    return Call(kept["status"], kept["text"] or "", kept["mode"], kept["logprobs_json"], failed)


def _parsed(
    benchmark: Benchmark[Any, Any, Any],
    item: Item,
    condition: str,
    made: Mapping[str, Kept],
    statuses: Collection[str],
) -> Mapping[str, Any]:
    """Return the fields of the benchmark's reading; a reader that fails makes its own row unparsable, not the run."""
    calls = {step: call_of(kept) for step, kept in made.items()}
    names = schema_of(benchmark.Response)
    try:
        read = benchmark.parse(item, condition, calls)
        found = {name: getattr(read, name) for name in names}
        known = found["status"] in statuses
    except (Exception, SystemExit) as error:  # the reader is a benchmark's own code, fed by models
        return _unparsable(names, f"{type(error).__name__}: {error}")
    if not known:
        given = one_line(repr(found["status"]), 80)
        return _unparsable(names, f"status {given}; use ok, or one named in unanswered or unreadable")
    return found


def _unparsable(names: Iterable[str], why: str) -> dict[str, Any]:
    return {**dict.fromkeys(names), "status": FAILED_READING, "reason": one_line(f"{FAILED}{why}")}
