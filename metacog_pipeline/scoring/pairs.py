"""Rows of a contrast that rest on two models, or on one: computed together, and each alone where they fail together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from operator import attrgetter
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Contrast
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.errors import one_line
from metacog_pipeline.scoring.estimates import FAILED
from metacog_pipeline.scoring.schemas import COMPARISON

#: The models a row rests on: two, or one.
Models = tuple[str, ...]
_PLACE = "place"  # of a row among those of its models, in the order in which they were given
_SCHEMA = pl.Schema({**COMPARISON, _PLACE: pl.Int64()})
_VALUES = attrgetter(*COMPARISON.names()[1:])
_WHERE = ("dataset", "source", "task", "condition", "scoring")


def rows_of(benchmark: Benchmark[Any, Any, Any], contrast: Contrast, groups: Sequence[Group]) -> pl.DataFrame:
    """Return the rows of every pair of models of ``groups``, or of every model, as `COMPARISON`, without corrections."""
    names = sorted({group.model for group in groups})
    every: list[Models] = list(combinations(names, 2)) if contrast.pairs else [(name,) for name in names]
    if not every:
        return COMPARISON.to_frame()
    try:
        return _ordered(_table(benchmark, _rows(benchmark, contrast, groups, every), every))
    except Exception:  # one model must not take the rows of the others: each is tried alone
        return _ordered(pl.concat([_alone(benchmark, contrast, groups, models) for models in every]))


def _rows(
    benchmark: Benchmark[Any, Any, Any],
    contrast: Contrast,
    groups: Sequence[Group],
    wanted: Sequence[Models],
) -> Iterable[Comparison]:
    if contrast.pairs:
        found: Iterable[Comparison] = contrast.compute(benchmark, groups, list(wanted))
        return found
    named = {name for models in wanted for name in models}
    return contrast.compute(benchmark, [group for group in groups if group.model in named])


def _alone(
    benchmark: Benchmark[Any, Any, Any], contrast: Contrast, groups: Sequence[Group], models: Models
) -> pl.DataFrame:
    own = [group for group in groups if group.model in models]
    try:
        return _table(benchmark, _rows(benchmark, contrast, own, [models]), [models])
    except Exception as error:
        status = one_line(f"{FAILED}{type(error).__name__}: {error}")
        kinds = dict.fromkeys((group.dataset, group.source) for group in own)
        named: dict[str, Any] = (
            dict(zip(("a", "b"), models, strict=True)) if contrast.pairs else {"model": models[0]}
        )
        rows = [
            Comparison(contrast.family, "", dataset=dataset, source=source, status=status, **named)
            for dataset, source in kinds
        ]
        return _table(benchmark, rows, [models])


def _table(
    benchmark: Benchmark[Any, Any, Any], rows: Iterable[Comparison], wanted: Sequence[Models]
) -> pl.DataFrame:
    number = dict.fromkeys(wanted, 0)
    values: list[tuple[object, ...]] = []
    for row in rows:
        pair = (str(row.a), str(row.b))
        models = pair if pair in number else (str(row.model),)
        values.append((benchmark.name, *_VALUES(row), number[models]))
        number[models] += 1
    return pl.DataFrame(values, schema=_SCHEMA, orient="row")


def _ordered(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows in one order, whichever of them were computed together."""
    first = rows.rechunk().with_columns(_first=pl.col(_PLACE).min().over("family", "measure"))
    order = (*_WHERE, "_first", "family", "measure", "model", "a", "b", _PLACE)
    return first.sort(order, maintain_order=True).select(COMPARISON.names())
