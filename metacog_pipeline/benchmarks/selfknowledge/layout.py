"""The tables that scoring makes: estimates, comparisons, curves. Observations: ``observe.OBSERVATION_SCHEMA``."""

from __future__ import annotations

import polars as pl

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "model"), pl.String),
    "run": pl.Int32,
    "measure": pl.String,
    **dict.fromkeys(("estimate", "low", "high", "sem"), pl.Float64),
    **dict.fromkeys(("n", "n_failed", "n_unparsable"), pl.Int64),
    "coverage": pl.Float64,
    **dict.fromkeys(("method", "status", "source"), pl.String),
}
#: One row per cell and measure; ``run`` is null where runs are pooled.
ESTIMATE_SCHEMA = pl.Schema(_TYPES)

_COMPARED: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "source", "condition", "model"), pl.String),
    **dict.fromkeys(("family", "measure", "a", "b"), pl.String),
    **dict.fromkeys(("difference", "se", "low", "high", "statistic", "p", "p_adjusted"), pl.Float64),
    "verdict": pl.String,
    "n": pl.Int64,
    **dict.fromkeys(("note", "status"), pl.String),
}
#: One row per test of ``a`` minus ``b``; ``condition`` and ``model`` say what is held fixed.
COMPARISON_SCHEMA = pl.Schema(_COMPARED)

_CURVES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "model", "source"), pl.String),
    "curve": pl.String,
    "position": pl.Int32,
    **dict.fromkeys(("x", "y", "threshold"), pl.Float64),
    "n": pl.Int64,
}
#: One row per point of a curve. ``roc``: x false alarms, y hits, at confidences of ``threshold`` and more; ``said``: the
#: one point of the spoken yes; ``correct``, ``wrong``: x the lower edge of a bin of confidence, y the density, n the items.
CURVE_SCHEMA = pl.Schema(_CURVES)
