"""Printed tables as rows: one per measure, percents as shares, and the claims an audit has checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

Tables = Callable[[str], pl.DataFrame]


def audited(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the claims an audit has checked: ``follows`` told as a verdict."""
    verdict = pl.when("follows").then(pl.lit("follows")).otherwise(pl.lit("differs"))
    return frame.with_columns(verdict=verdict)


def hundredth(name: str) -> pl.Expr:
    """Return column ``name`` divided by 100, rounded once: by a number Polars multiplies with its inverse instead."""
    return pl.col(name).map_batches(
        lambda points: pl.Series(points.to_numpy() / 100), return_dtype=pl.Float64
    )


def long(frame: pl.DataFrame, measures: Sequence[str], *, value: str = "value") -> pl.DataFrame:
    """Return one row per ``measure`` that has a value; the other columns are repeated."""
    index = [column for column in frame.columns if column not in measures]
    found = frame.with_columns(pl.col(list(measures)).cast(pl.Float64)).unpivot(
        list(measures), index=index, variable_name="measure", value_name=value
    )
    return found.drop_nulls(value)
