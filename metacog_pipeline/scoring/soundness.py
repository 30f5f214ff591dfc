"""Checks of the numbers of one model and run: what makes no sense is named, and not passed on as if it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from metacog_pipeline.asking import judging
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.contract import Benchmark
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.comparisons import failures_in
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.harmonised import harmonised_path
from metacog_pipeline.study.frames import read_frame, write_frame

Bound = Benchmark[Any, Any, Any]
_HAIR = 1e-9  # rounding may pass the end of a range


@dataclass(frozen=True, slots=True)
class Soundness:
    """How the estimates of a run are: rows that make no sense, the lowest coverage, and what to mend, a line each."""

    senseless: int
    coverage: float
    faults: tuple[str, ...]


def score_soundly(benchmark: Bound, partition: Partition) -> tuple[pl.DataFrame, Soundness]:
    """Score one run and check it; estimates with faults are not taken for current, so the next run scores them again.

    Raises
    ------
    MetacogError
        If derived columns have cost responses or columns: the numbers of what is left are withdrawn.
    """
    frame = files.score(benchmark, partition)
    _refuse_lost(benchmark, partition)
    odd, outside = _odd(frame), _outside(benchmark, frame)
    broken = pl.concat([odd, outside.select(odd.columns)]).unique()
    faults = (*_unharmonised(partition), *_faults(odd, outside), *_failed(frame))
    if faults:
        write_frame(frame, files.run_estimates_path(partition), "")
    lowest = frame["coverage"].min()
    return frame, Soundness(broken.height, float(lowest) if isinstance(lowest, int | float) else 0.0, faults)


def _odd(estimates: pl.DataFrame) -> pl.DataFrame:
    numbers = pl.col("estimate", "low", "high").cast(pl.Float64)
    return estimates.filter(
        pl.any_horizontal(numbers.is_nan() | numbers.is_infinite()).fill_null(False)
        | (pl.col("low").is_null() != pl.col("high").is_null())
        | (pl.col("low") > pl.col("high")).fill_null(False)
    )


def _outside(benchmark: Bound, estimates: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose estimate lies outside the range of its measure."""
    rows = [(each.name, *each.range) for each in measures_of(benchmark)]
    bounds = pl.DataFrame(
        rows, schema={"measure": pl.String, "min": pl.Float64, "max": pl.Float64}, orient="row"
    )
    kept = estimates.join(bounds, on="measure", how="left", maintain_order="left")
    below, above = pl.col("estimate") < pl.col("min") - _HAIR, pl.col("estimate") > pl.col("max") + _HAIR
    return kept.filter((below | above).fill_null(False))


def _failed(estimates: pl.DataFrame) -> Iterator[str]:
    for each in failures_in(estimates):
        yield f"a measure failed: {each}; mend its compute"


def _faults(odd: pl.DataFrame, outside: pl.DataFrame) -> Iterator[str]:
    """Yield a line per measure: of several rows of one, the first."""
    shown = outside.unique("measure", maintain_order=True)
    for name, condition, value, low, high in shown.select(
        "measure", "condition", "estimate", "min", "max"
    ).iter_rows():
        yield (
            f"measure {name} is {value:.6g} under {condition}, outside {_end(low)} to {_end(high)}: the board shows no "
            "number for it; mend its compute or the range it declares"
        )
    for name, condition in (
        odd.unique("measure", maintain_order=True).select("measure", "condition").iter_rows()
    ):
        yield f"measure {name} has no sensible value or interval under {condition}; mend its compute"


def _end(value: float | None) -> str:
    return "any" if value is None else f"{value:g}"


def _refuse_lost(benchmark: Bound, partition: Partition) -> None:
    before, after = judging.responses_path(partition), files.scored_path(partition)
    read, made = (pl.scan_parquet(path, glob=False, hive_partitioning=False) for path in (before, after))
    rows, kept = (each.select(pl.len()).collect().item() for each in (read, made))
    lost = [name for name in read.collect_schema() if name not in made.collect_schema()]
    if rows == kept and not lost:
        return
    for path in (after, harmonised_path(partition), files.run_estimates_path(partition)):
        path.unlink(missing_ok=True)
    what = f"{kept} of {rows} responses" if rows != kept else f"responses without {', '.join(lost)}"
    raise MetacogError(f"{benchmark.name}.derive returns {what}; return all of them and add columns only")


def _unharmonised(partition: Partition) -> Iterator[str]:
    """Yield what is wrong with right, wrong and confidence, where anything is: then none of it is passed on."""
    path = harmonised_path(partition)
    made = read_frame(path)
    wrong = made.filter(~pl.col("correct").is_in([0.0, 1.0]) | ~pl.col("confidence").is_between(0, 1))
    if not wrong.is_empty():
        write_frame(made.clear(), path, "")
        correct, confidence = wrong.select("correct", "confidence").row(0)
        yield (
            f"harmonise gives correct {correct} and confidence {confidence} ({wrong.height} of {made.height} responses): "
            "none of them stands beside other benchmarks; correct is 0 or 1, confidence 0 to 1 or null"
        )
