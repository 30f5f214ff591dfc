"""The printed numbers computed again from the counts published with them, and the verdicts of the text judged by them.

The paper prints posterior means of d′, meta-d′ and M-ratio of nine cells (table S1), criteria of 27 cells with 95 % half
widths from raw rates (table S2), and verdicts on the differences between them (section 2). Each is a row of ``refit.json``
with what the counts give, next to the tests between the published cells and the claims the paper leads with.

``METACOG_WRITE_REFIT=1 pytest tests/signaldetection/test_published.py`` writes that file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Published, Unit
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring.published import ledger as ledger_of
from metacog_pipeline.scoring.schemas import PUBLISHED_CLAIM, PUBLISHED_VALUE

Row = dict[str, Any]
DATASET = "published"
#: d′ of the three models in the confidence experiment, mean by task (table S1): what `plan` takes for a study's models.
SENSITIVITY = {"A": 3.25, "B": 2.38, "C": 1.78}


@dataclass(frozen=True, slots=True)
class Refit:
    """What follows from the published counts."""

    # printed numbers and verdicts with ours
    claims: Sequence[Row]
    headline: Sequence[Row]
    # between the published cells
    tests: Sequence[Comparison]
    cells: Sequence[Sequence[Any]]  # for `model_free`
    # for `relative_criteria`
    relative: Sequence[Sequence[Any]]
    # By task half the 95 % interval of an M-ratio of 0.8 at a number of trials, of an observer of that `SENSITIVITY`.
    precision: Mapping[str, Sequence[tuple[int, float]]]


def folder() -> Path:
    """Return where the published files are."""
    return shipped("data", "published", "signaldetection")


@cache  # the refit itself takes half a minute, so it is data
def read_refit(data: Path) -> Refit:
    """Return the refit kept in ``data``."""
    kept = json.loads((data / "refit.json").read_text(encoding="utf-8"))
    del kept["made_from"]
    return Refit(**{**kept, "tests": [Comparison(**row) for row in kept["tests"]]})


def ledger(data: Path) -> pl.DataFrame:
    """Return one row per headline claim."""
    return ledger_of(read_refit(data).headline)


# --- for figures --------------------------------------------------------------------------------------------------------
def model_free() -> Iterator[tuple[str, str, int, Mapping[str, float]]]:
    """Yield task, model, trials, and M-ratio, AUROC2 and meta-information of each published cell."""
    for task, model, n, *values in read_refit(folder()).cells:
        yield task, model, n, dict(zip(("m_ratio", "auroc2", "meta_information"), values, strict=True))


def relative_criteria() -> Iterator[tuple[str, str, str, int, tuple[float, float, float]]]:
    """Yield task, model, risk condition, trials and c′ with its interval, which the paper shows in a figure only."""
    for task, model, condition, n, *ends in read_refit(folder()).relative:
        yield task, model, condition, n, tuple(ends)


# --- what the contract asks for ---------------------------------------------------------------------------------------
def values(benchmark: Benchmark[Any, Any, Any]) -> pl.DataFrame:
    """Return the printed numbers as they are in the paper, with their numbers of trials."""
    printed = pl.DataFrame(read_refit(folder()).claims, infer_schema_length=None).drop_nulls("published")
    half = pl.col("quantity") == "ci_half"
    halves = printed.filter(half).select("subject", half="published")
    own, s1 = printed.filter(~half).join(halves, "subject", "left"), pl.col("place") == "table S1"
    units = {"m_ratio": Unit.RATIO.value}
    found = own.with_columns(
        benchmark=pl.lit(benchmark.name), dataset=pl.lit(DATASET), value="published",
        # as boards show it
        condition=pl.format("{} {}", "task", "condition"),
        measure=pl.when(s1).then(pl.col("quantity") + "_bayes").otherwise("quantity"),
        low=(pl.col("published") - pl.col("half")).round(6), high=(pl.col("published") + pl.col("half")).round(6),
        unit=pl.col("quantity").replace_strict(units, default=Unit.SD.value),
    )  # fmt: skip
    blank = [pl.lit(None, kind).alias(n) for n, kind in PUBLISHED_VALUE.items() if n not in found.columns]
    return found.with_columns(blank).select(pl.col(n).cast(kind) for n, kind in PUBLISHED_VALUE.items())


def claims(benchmark: Benchmark[Any, Any, Any]) -> pl.DataFrame:
    """Return printed numbers and verdicts of the text with what the counts give, and the ledger of headline claims."""
    rows = [{"benchmark": benchmark.name, **row} for row in read_refit(folder()).claims]
    checked = pl.DataFrame([{k: row.get(k) for k in PUBLISHED_CLAIM} for row in rows], schema=PUBLISHED_CLAIM)
    return pl.concat([checked, ledger(folder())], how="diagonal_relaxed")


PUBLISHED = Published(values, claims, lambda benchmark: read_refit(folder()).tests)
