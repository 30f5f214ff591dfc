"""Checks of the numbers of one model and run: what makes no sense is named, and is not taken for current."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.comparisons import failures_in
from metacog_pipeline.scoring.estimates import OUTSIDE
from metacog_pipeline.study.frames import read_frame, write_frame


class Soundness(NamedTuple):
    """The estimates of a run, how many rows make no sense, and what to correct, a line each."""

    estimates: pl.DataFrame
    senseless: int
    faults: tuple[str, ...]


def score_soundly(benchmark: Bound, partition: Partition) -> Soundness:
    """Score one run and check it; estimates with faults carry no digest, so the next run scores them again."""
    found = files.score(benchmark, partition)
    odd = list(senseless(found))
    failed = (f"a measure failed: {each}; correct its compute" for each in failures_in(found))
    faults = (*odd, *_unharmonised(partition), *failed)
    if faults:
        write_frame(found, files.run_estimates_path(partition), "")
    return Soundness(found, len(odd), faults)


def senseless(estimates: pl.DataFrame) -> Iterator[str]:
    """Yield a line per measure whose numbers lie outside the declared range and are withheld."""
    odd = estimates.filter(pl.col("status").str.starts_with(OUTSIDE)).unique("measure", maintain_order=True)
    for measure, condition, status in odd.select("measure", "condition", "status").iter_rows():
        yield f"measure {measure} under {condition} is {status}"


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
