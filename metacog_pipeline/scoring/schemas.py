"""The columns of responses, estimates and comparisons: one schema each for all benchmarks."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Comparison
from metacog_pipeline.benchmark.schema import schema_of

#: What every response has, before the benchmark's own columns.
_RESPONSE: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "dataset", "task", "condition", "model"), pl.String),
    "run": pl.Int32,
    **dict.fromkeys(("item_id", "cluster"), pl.String),
    "position": pl.Int32,
    **dict.fromkeys(("status", "reason", "mode"), pl.String),
    "answer_ids": pl.List(pl.String),
    **dict.fromkeys(("latency_s", "cost_usd"), pl.Float64),
    **dict.fromkeys(("input_tokens", "output_tokens"), pl.Int64),
    "source": pl.String,
}
RESPONSE = pl.Schema(_RESPONSE)
#: What a benchmark's reading of a response may not repeat, but for these two, which it decides.
DECIDED = ("status", "reason")

_ESTIMATE: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "dataset", "task", "condition", "scoring", "model"), pl.String),
    "run": pl.Int32,
    **dict.fromkeys(("source", "measure"), pl.String),
    **dict.fromkeys(("estimate", "low", "high", "sem"), pl.Float64),
    **dict.fromkeys(("n", "n_items", "n_failed", "n_unreadable"), pl.Int64),
    "coverage": pl.Float64,
    **dict.fromkeys(("method", "status"), pl.String),
    "low_n": pl.Boolean,
}
ESTIMATE = pl.Schema(_ESTIMATE)

_ORDER = (
    *("dataset", "task", "condition", "scoring", "model", "source", "family", "measure", "a", "b"),
    *(each.name for each in dataclasses.fields(Comparison)),
)
COMPARISON = pl.Schema(
    {"benchmark": pl.String(), **{name: schema_of(Comparison)[name] for name in dict.fromkeys(_ORDER)}}
)

#: One number a paper prints, in the units and names of the boards.
PUBLISHED_VALUE = pl.Schema(
    {
        **dict.fromkeys(
            ("benchmark", "place", "dataset", "task", "condition", "model", "measure"), pl.String
        ),
        **dict.fromkeys(("value", "low", "high", "sd"), pl.Float64),
        "n": pl.Int64,
        **dict.fromkeys(("unit", "note"), pl.String),
    }
)
#: One printed number beside what the published data give; ``verdict``: follows, differs, not computed, or why not.
PUBLISHED_CLAIM = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "place", "subject", "quantity", "method"), pl.String),
        **dict.fromkeys(("published", "recomputed", "low", "high", "difference", "tolerance"), pl.Float64),
        **dict.fromkeys(("expected", "verdict", "note"), pl.String),
    }
)


def response_schema(benchmark: Benchmark[Any, Any, Any] | type[Benchmark[Any, Any, Any]]) -> pl.Schema:
    """Return the columns of a benchmark's responses: the shared ones, then its own."""
    own = {name: kind for name, kind in schema_of(benchmark.Response).items() if name not in DECIDED}
    if repeated := sorted(set(own) & set(RESPONSE)):
        raise TypeError(
            f"{benchmark.name}: Response repeats {', '.join(repeated)}, which every response has; remove it there"
        )
    return pl.Schema({**RESPONSE, **own})
