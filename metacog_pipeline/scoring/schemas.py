"""The columns of every table that benchmarks share, from responses to curves; the leaderboard reads them with these."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Comparison
from metacog_pipeline.benchmark.schema import schema_of


def table_of(*columns: str) -> pl.Schema:
    """Return columns given as ``kind name name …`` each."""
    named = [(name, getattr(pl, kind)) for kind, *names in map(str.split, columns) for name in names]
    return pl.Schema(dict(named))


#: What every response has, before the benchmark's own columns.
RESPONSE = pl.Schema(
    {
        **table_of("String benchmark dataset task condition model", "Int32 run", "String item_id cluster"),
        **table_of("Int32 position", "String status reason mode", "Boolean asked_again"),
        "answer_ids": pl.List(pl.String),
        **table_of("Float64 latency_s cost_usd", "Int64 input_tokens output_tokens", "String source"),
    }
)
#: What a benchmark's reading of a response may not repeat, but for these two, which it decides.
DECIDED = ("status", "reason")
ESTIMATE = table_of(
    "String benchmark dataset task condition scoring model",
    "Int32 run",
    "String source measure",
    "Float64 estimate low high sem",
    "Int64 n n_items n_failed n_unreadable",
    "Float64 coverage",
    "String method status",
    "Boolean low_n",
)
_ORDER = (
    *("dataset", "task", "condition", "scoring", "model", "source", "family", "measure", "a", "b"),
    *(each.name for each in dataclasses.fields(Comparison)),
)
COMPARISON = pl.Schema(
    {"benchmark": pl.String(), **{name: schema_of(Comparison)[name] for name in dict.fromkeys(_ORDER)}}
)
#: One rule that an instrument is held to, and whether it fails it.
INSTRUMENT = table_of(
    "String benchmark instrument rule policy",
    "Float64 value chance high",
    "Int64 n",
    "Boolean red",
    "String reason",
)
#: One number a paper prints, in the units and names of the boards.
PUBLISHED_VALUE = table_of(
    "String benchmark place dataset task condition model measure",
    "Float64 value low high sd",
    "Int64 n",
    "String unit note",
)
#: One printed number and what the published data give; ``verdict``: follows, differs, not computed, or why not.
PUBLISHED_CLAIM = table_of(
    "String benchmark place subject quantity method",
    "Float64 published recomputed low high difference tolerance",
    "String expected verdict note",
)
#: One response that is right or wrong, alike for every benchmark: ``correct`` 0 or 1, ``confidence`` 0..1 or null,
#: ``cluster`` the unit of chance.
HARMONISED = table_of(
    "String benchmark dataset condition model source",
    "Int32 run",
    "String item_id cluster",
    "Float64 correct confidence",
    "Int32 n_alternatives",
    "String response",
)
#: One response, whether it could be read or not: ``reading`` ok, or how it ended, and the ``reason``.
ANSWER = pl.Schema({**HARMONISED, **table_of("String reading reason")})
#: One measure of confidence of one model under one condition, over all runs.
CALIBRATION = table_of(
    "String benchmark dataset condition model source measure",
    "Float64 estimate low high sem",
    "Int64 n n_items n_without_confidence",
    "String method status",
    "Boolean low_n",
)
#: One point of a curve.
CURVES = table_of(
    "String benchmark dataset condition model source curve",
    "Int32 position",
    "Float64 x y low high threshold",
    "Int64 n n_items",
)
#: One verdict of one judge on one response, in one dimension.
JUDGEMENT = table_of(
    "String benchmark dataset condition model",
    "Int32 run",
    "String item_id judge judge_model relation dimension",
    "Float64 value",
    "String status reason answer_id",
    "Float64 cost_usd",
    "String source facts",
)
#: How far judges agree, with each other or with rules, in one dimension.
AGREEMENT = table_of(
    "String benchmark dataset source condition judge relation model reading measure dimension a b",
    "Float64 estimate low high",
    "Int64 n",
    "String method status facts",
)


def response_schema(benchmark: Benchmark[Any, Any, Any] | type[Benchmark[Any, Any, Any]]) -> pl.Schema:
    """Return the columns of a benchmark's responses: the shared ones, then its own."""
    own = {name: kind for name, kind in schema_of(benchmark.Response).items() if name not in DECIDED}
    if repeated := sorted(set(own) & set(RESPONSE)):
        raise TypeError(
            f"{benchmark.name}: Response repeats {', '.join(repeated)}, which every response has; remove it there"
        )
    return pl.Schema({**RESPONSE, **own})
