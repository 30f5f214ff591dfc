"""Rows of tables of comparisons: the benchmark first, every number finite or absent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.common.rows import number, table

SCHEMA = pl.Schema({"benchmark": pl.String, "model": pl.String, "value": pl.Float64, "n": pl.Int64})


@dataclass(frozen=True, slots=True)
class Row:
    model: str | None
    value: float | None = None
    n: int = 0


def test_rows_stand_behind_their_benchmark_in_the_order_of_their_fields() -> None:
    found = table("some", [Row("m", 0.5, 3), Row(None)], SCHEMA)
    assert found.schema == SCHEMA
    assert found.rows() == [("some", "m", 0.5, 3), ("some", None, None, 0)]


def test_no_rows_give_an_empty_table_with_all_columns() -> None:
    assert table("some", [], SCHEMA).schema == SCHEMA


@given(st.floats())
def test_a_number_is_finite_and_unchanged_or_absent(value: float) -> None:
    expected = value if math.isfinite(value) else None
    assert number(value) == expected


@pytest.mark.parametrize("value", [None, np.float64("nan"), np.float32("inf")])
def test_what_is_no_number_is_absent(value: np.floating | None) -> None:
    assert number(value) is None


def test_a_number_of_numpy_becomes_a_plain_one() -> None:
    assert type(number(np.float64(1.5))) is float
