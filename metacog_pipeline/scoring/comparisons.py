"""Tests between models and between conditions, corrected in families: one schema for all benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Contrast, Scored, Table
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.errors import one_line
from metacog_pipeline.scoring.estimates import FAILED
from metacog_pipeline.scoring.schemas import COMPARISON
from metacog_pipeline.stats import exact
from metacog_pipeline.stats.multiple import bonferroni, holm

VERSION = "3"  # of what all tests have in common: kept comparisons of another are made again
LEVEL = 0.05
#: What a test says. Other words in ``verdict`` name what was seen.
VERDICTS = ("significant", "not_significant", "negligible", "inconclusive")
_ADJUST = {"holm": holm, "bonferroni": bonferroni}


def comparisons(benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group]) -> pl.DataFrame:
    """Return one row per test of every contrast in the schema `COMPARISON`; groups are pooled over runs.

    A contrast that fails leaves one row of its family with the reason, per data set and source.
    """
    rows: list[Comparison] = []
    for contrast in benchmark.contrasts:
        try:
            made = [
                without_few(row, contrast.unit)
                for row in adjusted(contrast, contrast.compute(benchmark, groups))
            ]
            rows += [*made, *not_compared(contrast, groups, made)]
        except Exception as error:  # one family that fails leaves its own row
            kinds = dict.fromkeys((group.dataset, group.source) for group in groups)
            rows += [_failed(contrast.family, error, *kind) for kind in kinds]
    return as_table(benchmark, rows)


def as_table(benchmark: Benchmark[Any, Any, Any], rows: Iterable[Comparison]) -> pl.DataFrame:
    """Return comparisons in the schema `COMPARISON`."""
    columns = [name for name in COMPARISON if name != "benchmark"]
    values = [(benchmark.name, *(getattr(row, name) for name in columns)) for row in rows]
    return pl.DataFrame(values, schema=COMPARISON, orient="row")


def adjusted(contrast: Contrast, rows: Iterable[Comparison]) -> Iterator[Comparison]:
    """Yield the rows with p adjusted within their family and a verdict at 0.05; as they are without a correction."""
    if contrast.correction is None:
        yield from rows
        return
    families: dict[tuple[object, ...], list[Comparison]] = {}
    for row in rows:
        families.setdefault(tuple(getattr(row, name) for name in contrast.within), []).append(row)
    for own in families.values():
        for row, p in zip(own, _ADJUST[contrast.correction]([each.p for each in own]), strict=True):
            verdict = None if p is None else "significant" if p < LEVEL else "not_significant"
            yield replace(row, p_adjusted=p, verdict=verdict)


def not_compared(
    contrast: Contrast, groups: Iterable[Group], rows: Iterable[Comparison]
) -> Iterator[Comparison]:
    """Yield a row with the reason for each model that lacks answers and was compared with no other."""
    if not contrast.between_models:
        return
    named = {
        (row.dataset, row.source, row.task, row.condition, row.scoring, model)
        for row in rows
        for model in (row.a, row.b)
    }
    for group in groups:
        place = (group.dataset, group.source, group.task, group.condition, group.scoring)
        wanted = not contrast.under or group.condition in contrast.under
        if not wanted or group.complete or (*place, group.model) in named:
            continue
        yield Comparison(
            contrast.family, "", a=group.model, dataset=group.dataset, source=group.source, task=group.task,
            condition=group.condition, scoring=group.scoring, n=group.rows["item_id"].n_unique(),
            status=f"not compared: {group.incomplete or 'no answer'}",
        )  # fmt: skip


def without_few(row: Comparison, unit: str = "items") -> Comparison:
    """Return the row without its verdict where it rests on too few items or models for any; p stays."""
    why = exact.few_models(row.n) if unit == "models" else exact.few_items(row.n)
    if why is None or row.verdict not in VERDICTS:
        return row
    return replace(row, verdict=None, status=why if row.status == "ok" else row.status)


def table(
    benchmark: Benchmark[Any, Any, Any], each: Table, scored: Scored
) -> tuple[pl.DataFrame, str | None]:
    """Return a benchmark's own table in its schema, and why it is empty where it could not be computed."""
    schema = schema_of(each.row)
    try:
        made = each.compute(benchmark, scored)
        return made.select(pl.col(name).cast(kind) for name, kind in schema.items()), None
    except Exception as error:
        why = one_line(f"{benchmark.name}_{each.name}: {type(error).__name__}: {error}")
        return pl.DataFrame(schema=schema), why


def failures_in(frame: pl.DataFrame) -> list[str]:
    """Return the distinct reasons of rows of estimates or comparisons that failed."""
    what = "measure" if "estimate" in frame.columns else "family"
    failed = (
        frame.filter(pl.col("status").str.starts_with(FAILED))
        .select(what, "status")
        .unique(maintain_order=True)
    )
    return [f"{name}: {status.removeprefix(FAILED)}" for name, status in failed.iter_rows()]


def _failed(family: str, error: Exception, dataset: str, source: str) -> Comparison:
    status = one_line(f"{FAILED}{type(error).__name__}: {error}")
    return Comparison(family, measure="", dataset=dataset, source=source, status=status)
