"""From the transcripts of a partition to the calls that count, and what those say that brought no whole answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

import polars as pl
import pyarrow as pa

Call = Mapping[str, Any]

_CALL = (
    *("answer_id", "item_id", "condition", "step", "status", "mode", "text"),
    *("input_tokens", "output_tokens", "cost_usd", "latency_s", "error_code", "error_message"),
)


def partition_rows(
    transcripts: pa.Table | pl.DataFrame,
    benchmark: str,
    run: int,
    *,
    model: str | None = None,
    steps: Sequence[str] | None = None,
    superseded: bool = False,
) -> pl.DataFrame:
    """Return the transcripts of a benchmark and run; of one model and of some steps where they are named.

    Rows that other answers took the place of are left out unless ``superseded``.
    """
    is_frame = isinstance(transcripts, pl.DataFrame)
    frame = transcripts if is_frame else cast(pl.DataFrame, pl.from_arrow(transcripts))
    frame = frame.filter(pl.col("benchmark") == benchmark, pl.col("run") == run)
    if model is not None:
        frame = frame.filter(pl.col("model") == model)
    if steps is not None:
        frame = frame.filter(pl.col("step").is_in(steps))
    if not superseded and "superseded" in frame.columns:
        frame = frame.filter(~pl.col("superseded"))
    return frame


def source_in(rows: pl.DataFrame) -> str:
    """Return what the answers are, measured, imported or simulated; measured where there are none."""
    return str(rows["source"][0]) if rows.height else "measured"


def calls_in_order(rows: pl.DataFrame, also: Sequence[str] = ()) -> Iterator[Call]:
    """Yield the calls, failed ones first and then by time, so that of several the last one counts.

    ``also`` names columns wanted besides those every reading needs.
    """
    rows = rows.sort(pl.col("status") != "failed", pl.col("started_at"), maintain_order=True)
    yield from rows.select(*_CALL, *also).iter_rows(named=True)


def current_calls(rows: pl.DataFrame, also: Sequence[str] = ()) -> dict[tuple[str, str], dict[str, Call]]:
    """Return {(item, condition): {step: newest call, a failed one only where there is no other}}."""
    calls: dict[tuple[str, str], dict[str, Call]] = {}
    for call in calls_in_order(rows, also):
        calls.setdefault((call["item_id"], call["condition"]), {})[call["step"]] = call
    return calls


def why_failed(call: Call) -> str:
    """Return why a failed call failed."""
    return str(call["error_message"] or call["error_code"] or "the call failed")


def ended(
    call: Call, limit: str = "max_tokens"
) -> tuple[Literal["transport_error", "too_long", "refused"], str] | None:
    """Return status and reason of a call that ended without a whole answer, else None.

    ``limit`` is what to raise where an answer was cut.
    """
    match call["status"]:
        case "failed":
            return "transport_error", why_failed(call)
        case "truncated":
            return "too_long", f"cut by the length limit; raise {limit}"
        case "refused":
            return "refused", "the provider reports a refusal or a content filter"
        case _:
            return None


def total(calls: Iterable[Call], column: str) -> Any:
    """Return the sum over the calls that know it; None where none does."""
    known = [call[column] for call in calls if call[column] is not None]
    return sum(known) if known else None
