"""Findings as rows of a benchmark's table of comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def table(benchmark: str, rows: Sequence[DataclassInstance], schema: pl.Schema) -> pl.DataFrame:
    """Return the rows in ``schema``: the benchmark, then the fields of a row in their order."""
    return pl.DataFrame([(benchmark, *astuple(row)) for row in rows], schema=schema, orient="row")


def number(value: float | np.floating | None) -> float | None:
    """Return a plain number, None for one that is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)
