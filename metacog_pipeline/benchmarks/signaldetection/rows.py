"""One test as a row of the table of comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "source", "task", "condition", "model"), pl.String),
    **dict.fromkeys(("family", "measure", "a", "b"), pl.String),
    **dict.fromkeys(("difference", "se", "low", "high", "low_adjusted", "high_adjusted"), pl.Float64),
    **dict.fromkeys(("statistic", "p", "p_adjusted"), pl.Float64),
    "verdict": pl.String,
    "n": pl.Int64,
    "note": pl.String,
    "status": pl.String,
}
COMPARISON_SCHEMA = pl.Schema(_TYPES)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One test of ``a`` minus ``b``; ``task``, ``condition`` and ``model`` say what is held fixed."""

    dataset: str
    source: str
    task: str | None
    condition: str | None
    model: str | None
    family: str
    measure: str
    a: str | None = None
    b: str | None = None
    difference: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    low_adjusted: float | None = None
    high_adjusted: float | None = None
    statistic: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    verdict: str | None = None
    n: int = 0
    note: str | None = None
    status: str = "ok"
