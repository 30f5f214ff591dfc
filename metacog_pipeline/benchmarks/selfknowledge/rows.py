"""One test of ``a`` minus ``b`` as a row of the table of comparisons."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """Fields of ``layout.COMPARISON_SCHEMA`` after the benchmark; what is held fixed is named, what is compared null."""

    dataset: str
    source: str
    condition: str | None
    model: str | None
    family: str
    measure: str
    a: str
    b: str
    difference: float | None = None
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
