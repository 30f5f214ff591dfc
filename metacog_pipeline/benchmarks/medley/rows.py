"""One finding between models, conditions, domains or judges as a row of the table of comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "source", "variant", "condition", "model"), pl.String),
    **dict.fromkeys(("family", "measure", "a", "b"), pl.String),
    **dict.fromkeys(("value", "se", "low", "high", "statistic", "p", "p_adjusted"), pl.Float64),
    "verdict": pl.String,
    "n": pl.Int64,
    "note": pl.String,
    "status": pl.String,
}
COMPARISON_SCHEMA = pl.Schema(_TYPES)


@dataclass(frozen=True, slots=True)
class Row:
    """One finding; ``condition`` and ``model`` say what is held fixed, ``family`` what ``value`` is."""

    dataset: str
    source: str
    variant: str
    condition: str | None
    model: str | None
    family: str
    measure: str
    a: str | None = None
    b: str | None = None
    value: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    statistic: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    verdict: str | None = None
    n: int = 0
    note: str | None = None
    status: str = "ok"
