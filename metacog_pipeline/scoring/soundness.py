"""Checks of the numbers of one model and run: what makes no sense is named, and is not taken for current."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.comparisons import failures_in
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.study.frames import read_frame, write_frame

_HAIR = 1e-9  # rounding may pass the end of a range


class Soundness(NamedTuple):
    """The estimates of a run, how many rows make no sense, and what to correct, a line each."""

    estimates: pl.DataFrame
    senseless: int
    faults: tuple[str, ...]


def score_soundly(benchmark: Bound, partition: Partition) -> Soundness:
    """Score one run and check it; estimates with faults carry no digest, so the next run scores them again."""
    found = files.score(benchmark, partition)
    odd = senseless(benchmark, found)
    failed = (f"a measure failed: {each}; correct its compute" for each in failures_in(found))
    faults = (*senseless_lines(odd), *_unharmonised(partition), *failed)
    if faults:
        write_frame(found, files.run_estimates_path(partition), "")
    return Soundness(found, odd.height, faults)


def senseless(benchmark: Bound, estimates: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with NaN, half an interval or a reversed one, or a value outside the range of the measure."""
    rows = [(each.name, *each.range) for each in measures_of(benchmark)]
    schema = {"measure": pl.String, "min": pl.Float64, "max": pl.Float64}
    bounds = pl.DataFrame(rows, schema=schema, orient="row")
    numbers = pl.col("estimate", "low", "high").cast(pl.Float64)
    return estimates.join(bounds, on="measure", how="left", maintain_order="left").filter(
        pl.any_horizontal(~numbers.is_finite()).fill_null(False)
        | (pl.col("low").is_null() != pl.col("high").is_null())
        | (pl.col("low") > pl.col("high")).fill_null(False)
        | (pl.col("estimate") < pl.col("min") - _HAIR).fill_null(False)
        | (pl.col("estimate") > pl.col("max") + _HAIR).fill_null(False)
    )


def senseless_lines(odd: pl.DataFrame) -> Iterator[str]:
    """Yield a line per measure of `senseless` rows, of the first of each."""
    for row in odd.unique("measure", maintain_order=True).iter_rows(named=True):
        low, high = row["min"], row["max"]
        said = f"measure {row['measure']} is {row['estimate']} [{row['low']}, {row['high']}] under {row['condition']}"
        yield f"{said}, outside {low} to {high} or no whole interval; correct its compute or the range it declares"


def _unharmonised(partition: Partition) -> Iterator[str]:
    """Yield what is wrong with right, wrong and confidence, where anything is: then none of it is passed on."""
    path = partition.below("harmonised")
    made = read_frame(path)
    wrong = made.filter(~pl.col("correct").is_in([0.0, 1.0]) | ~pl.col("confidence").is_between(0, 1))
    if not wrong.is_empty():
        write_frame(made.clear(), path, "")
        correct, confidence = wrong.select("correct", "confidence").row(0)
        yield (
            f"harmonise gives correct {correct} and confidence {confidence} ({wrong.height} of {made.height} responses): "
            "none of them is compared with other benchmarks; correct is 0 or 1, confidence 0 to 1 or null"
        )
