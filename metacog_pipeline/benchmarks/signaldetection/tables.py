"""The benchmark's own tables: how far criteria move, and the tests between the published cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Scored, Table, schema_of
from metacog_pipeline.benchmarks.signaldetection import published
from metacog_pipeline.benchmarks.signaldetection.contrasts import criteria

_ON = ("dataset", "source", "task", "model", "measure", "a", "b")


@dataclass
class CriterionShift:
    """One pair of stated risks of one model and task."""

    dataset: Annotated[str, "published, sample"]
    source: Annotated[
        str, "measured, simulated, or published: made from the published counts, whose items are not known"
    ]
    task: Annotated[str, 'A sentiment, B oral or written, C was one "the" deleted']
    model: Annotated[str, "the model"]
    measure: Annotated[str, "c, d or c_prime"]
    a: Annotated[str, "the condition whose c is predicted to be higher"]
    b: Annotated[str, "the other"]
    difference: Annotated[float | None, "value under a - value under b"]
    se: Annotated[float | None, "its standard error, the two conditions taken as independent"]
    z: Annotated[float | None, "difference / se"]
    p: Annotated[float | None, "of z, two-sided"]
    p_adjusted: Annotated[float | None, "Bonferroni over the family of pairs"]
    low: Annotated[float | None, "lower end of the 95 % interval"]
    high: Annotated[float | None, "upper end"]
    low_adjusted: Annotated[float | None, "lower end of the interval at the family's level"]
    high_adjusted: Annotated[float | None, "upper end; the verdict rests on this interval"]
    verdict: Annotated[
        str | None,
        "not_significant; significant (and outside the region of no practical importance); negligible (inside it); "
        "inconclusive (across its edge)",
    ]
    as_predicted: Annotated[
        bool | None, "whether c moved as the stated risks ask for; null for other measures"
    ]
    n: Annotated[int, "trials"]
    paired_difference: Annotated[
        float | None, "the same over the items answered under both, items as unit of chance"
    ]
    paired_low: Annotated[float | None, "lower end of its 95 % interval"]
    paired_high: Annotated[float | None, "upper end"]
    paired_low_adjusted: Annotated[float | None, "lower end of the interval at the level of its family"]
    paired_high_adjusted: Annotated[float | None, "upper end; the paired verdict rests on this interval"]
    paired_p: Annotated[float | None, "of the paired test, two-sided"]
    paired_p_adjusted: Annotated[float | None, "over its own family"]
    paired_verdict: Annotated[str | None, "as verdict, of the paired test"]
    paired_n: Annotated[int | None, "items answered under both"]
    paired_status: Annotated[str | None, "ok, or why there is no paired test"]
    note: Annotated[str | None, "for c_prime whether it is worth a look, which it is where d moved too"]
    status: Annotated[str, "ok, or why there is no test"]


def criterion_shifts(benchmark: Benchmark[Any, Any, Any], scored: Scored) -> pl.DataFrame:
    """Return the published test and the paired one side by side; the published counts have the first only."""
    independent = [*criteria.independent(benchmark, scored.groups), *published.published_shifts()]
    paired = _frame(criteria.paired(benchmark, scored.groups)).rename({"value": "difference"})
    names = (
        "difference",
        "low",
        "high",
        "low_adjusted",
        "high_adjusted",
        "p",
        "p_adjusted",
        "verdict",
        "n",
        "status",
    )
    beside = paired.select(*_ON, *(pl.col(name).alias(f"paired_{name}") for name in names))
    rose = pl.when(pl.col("measure") == "c").then(pl.col("difference") > 0)
    return (
        _frame(independent)
        .rename({"value": "difference"})
        .join(beside, on=_ON, how="left")
        .with_columns(z=pl.col("statistic"), as_predicted=rose)
        .select(schema_of(CriterionShift).names())
        .sort(_ON)
    )


@dataclass
class PublishedTest:
    """One test between published models, tasks or conditions, or of an M-ratio with 1, made from the published counts."""

    family: Annotated[str, "which test, as in comparisons"]
    task: Annotated[str | None, "held fixed, null where tasks are compared"]
    condition: Annotated[str | None, "held fixed, null where conditions are compared"]
    model: Annotated[str | None, "held fixed, null where models are compared"]
    measure: Annotated[str, "m_ratio, log_m_ratio, d, c or c_prime"]
    a: Annotated[str, "first of the pair"]
    b: Annotated[str, "second of the pair"]
    value: Annotated[float | None, "a - b"]
    se: Annotated[float | None, "its standard error"]
    low: Annotated[float | None, "lower end of the 95 % interval of the difference"]
    high: Annotated[float | None, "upper end"]
    low_adjusted: Annotated[
        float | None, "lower end of the interval at the level of the whole family of tests"
    ]
    high_adjusted: Annotated[float | None, "upper end"]
    statistic: Annotated[float | None, "z, or the probability that a is the larger"]
    p: Annotated[float | None, "two-sided"]
    p_adjusted: Annotated[float | None, "over the family"]
    verdict: Annotated[str | None, "as in the table of criterion shifts"]
    n: Annotated[int, "trials the test rests on"]
    note: Annotated[str | None, "what to know about the test"]
    status: Annotated[str, "ok, or why there is no number"]


def published_tests(benchmark: Benchmark[Any, Any, Any], scored: Scored) -> pl.DataFrame:
    """Return the tests between the published cells."""
    return _frame(published.refit(benchmark).contrasts).select(schema_of(PublishedTest).names())


def _frame(rows: Iterable[Comparison]) -> pl.DataFrame:
    schema = schema_of(Comparison)
    values: Sequence[tuple[Any, ...]] = [tuple(getattr(row, name) for name in schema) for row in rows]
    return pl.DataFrame(values, schema=schema, orient="row")


TABLES = (
    Table(
        "criterion_shifts", CriterionShift, criterion_shifts,
        "One pair of stated risks of one model and task: how far a measure moved between them, and what that amounts to. "
        "Predicted of c: lowest under risk_s1 (wrongly saying 0 is punished), then risk_none, then risk_s2.", _ON,
    ),
    Table(
        "published_tests", PublishedTest, published_tests,
        "One test between published models, tasks or conditions, or of an M-ratio with 1, made from the published counts.",
        ("family", "task", "condition", "model", "measure", "a", "b"),
    ),
)  # fmt: skip
