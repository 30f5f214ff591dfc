"""The columns of every table that benchmarks share, from responses to curves; the leaderboard reads them with these."""

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

#: One response that could be read, alike for every benchmark: ``correct`` 0 or 1, ``confidence`` 0..1 or null, ``cluster``
#: the unit of chance.
HARMONISED = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "condition", "model", "source"), pl.String),
        "run": pl.Int32,
        **dict.fromkeys(("item_id", "cluster"), pl.String),
        **dict.fromkeys(("correct", "confidence"), pl.Float64),
        "n_alternatives": pl.Int32,
        "response": pl.String,
    }
)
#: One measure of confidence of one model under one condition, over all runs.
CALIBRATION = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "condition", "model", "source", "measure"), pl.String),
        **dict.fromkeys(("estimate", "low", "high", "sem"), pl.Float64),
        **dict.fromkeys(("n", "n_items", "n_without_confidence"), pl.Int64),
        **dict.fromkeys(("method", "status"), pl.String),
        "low_n": pl.Boolean,
    }
)
#: One pair of measures over the models that have both; ``source`` keeps simulated observers and models apart.
CORRELATION = pl.Schema(
    {
        **dict.fromkeys(("source", "a", "b", "trait_a", "trait_b", "benchmark_a", "benchmark_b"), pl.String),
        "kind": pl.String,
        "n_models": pl.Int64,
        **dict.fromkeys(("spearman", "low", "high", "p", "p_adjusted"), pl.Float64),
        "n_tests": pl.Int64,
        **dict.fromkeys(("verdict", "status"), pl.String),
        **dict.fromkeys(("reliability_a", "reliability_b", "disattenuated", "disattenuated_low"), pl.Float64),
        "disattenuated_high": pl.Float64,
        "disattenuated_status": pl.String,
    }
)
#: One point of a curve; of risk against coverage x is the coverage, y the risk, threshold the lowest confidence kept.
CURVES = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "condition", "model", "source", "curve"), pl.String),
        "position": pl.Int32,
        **dict.fromkeys(("x", "y", "low", "high", "threshold"), pl.Float64),
        **dict.fromkeys(("n", "n_items"), pl.Int64),
    }
)
#: One verdict of one judge on one response, in one dimension.
JUDGEMENT = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "condition", "model"), pl.String),
        "run": pl.Int32,
        **dict.fromkeys(("item_id", "judge", "judge_model", "relation", "dimension"), pl.String),
        "value": pl.Float64,
        **dict.fromkeys(("status", "reason", "answer_id"), pl.String),
        "cost_usd": pl.Float64,
        **dict.fromkeys(("source", "facts"), pl.String),
    }
)
#: How far judges agree, with each other or with rules, in one dimension.
AGREEMENT = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "source", "condition", "judge", "relation"), pl.String),
        **dict.fromkeys(("model", "reading", "measure", "dimension", "a", "b"), pl.String),
        **dict.fromkeys(("estimate", "low", "high"), pl.Float64),
        "n": pl.Int64,
        **dict.fromkeys(("method", "status", "facts"), pl.String),
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
