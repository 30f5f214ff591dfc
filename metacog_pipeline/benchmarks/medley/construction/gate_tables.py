"""Gates as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from metacog_pipeline.benchmarks.medley.construction.gates import Gate

_NAMES = ("name", "rule", "severity", "status", "found", "wanted")
GATES = pl.Schema([(name, pl.String) for name in _NAMES])
# ``place`` is the order of the gates.
_KEPT: dict[str, pl.DataType | type[pl.DataType]] = {
    "benchmark": pl.String,
    "dataset": pl.String,
    "place": pl.Int64,
    **dict.fromkeys(_NAMES, pl.String),
}
#: Of the set a study asks.
KEPT_GATES = pl.Schema(_KEPT)


def gate_frame(gates: Iterable[Gate]) -> pl.DataFrame:
    """Return gates as a frame of GATES."""
    return pl.DataFrame([{name: getattr(gate, name) for name in GATES} for gate in gates], schema=GATES)


def gates_of(frame: pl.DataFrame) -> tuple[Gate, ...]:
    """Return the gates of a frame."""
    return tuple(Gate(**row) for row in frame.select(GATES.names()).iter_rows(named=True))
