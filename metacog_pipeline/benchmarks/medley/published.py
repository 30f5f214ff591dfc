"""MEDLEY-BENCH as printed (arXiv:2604.16009): points of 0 to 100 become shares, agreements of rankings stay as they are."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmark.contract import Published
from metacog_pipeline.benchmarks.medley.headline_claims import ledger, published_slopes
from metacog_pipeline.benchmarks.medley.items import BENCHMARK
from metacog_pipeline.benchmarks.medley.published_audit import audit_tables
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring.published import Tables, audited, hundredth, long

_ABILITIES = ["monitoring", "control", "evaluation", "self_regulation"]
_SCORES = ["mms", "mas", "t1", "t2", "t3", *_ABILITIES]
_OF = {
    "adversarial": ("adversarial", 30),
    "adversarial_delta": ("adversarial", 30),
    "stripped_delta": ("stripped", 50),
}


def _table(stem: str) -> pl.DataFrame:
    return pl.read_csv(
        shipped("data", "published", BENCHMARK, f"{stem}.csv"), infer_schema_length=None, glob=False
    )


def values(tables: Tables) -> pl.DataFrame:
    """Return the scores, changes and profiles of every model; agreements and verified claims have no model."""
    scores = _points(tables, "table_1", "table 1", _SCORES)
    changes = _points(tables, "table_s7", "table S7", list(_OF))
    changes = changes.with_columns(
        condition=pl.col("measure").replace_strict({name: given for name, (given, _) in _OF.items()}),
        n=pl.col("measure").replace_strict({name: n for name, (_, n) in _OF.items()}),
        measure=pl.col("measure").replace("adversarial", "mms"),
    )
    profiles = _points(tables, "table_s10", "table S10", [f"ipsative_{name}" for name in _ABILITIES])
    dominant = long(tables("table_s10").select("model", "dominant", "dominant_pct"), ["dominant_pct"])
    dominant = dominant.select(
        "model", pl.lit("table S10").alias("place"), pl.lit("normal").alias("condition"),
        pl.lit("dominant_share").alias("measure"), hundredth("value").alias("value"), pl.lit(130).alias("n"),
        ("dominant: " + pl.col("dominant")).alias("note"),
    )  # fmt: skip
    labels = tables("table_s7").select(
        "model", pl.lit("table S7").alias("place"), pl.lit("all").alias("condition"),
        pl.lit("profile").alias("measure"), pl.lit(None, pl.Float64).alias("value"),
        pl.col("profile").str.to_lowercase().alias("note"),
    )  # fmt: skip
    models = pl.concat([scores, changes, profiles, dominant, labels], how="diagonal_relaxed")
    parts = [models, _agreements(tables), _verified(tables), _sizes(tables)]
    return pl.concat(parts, how="diagonal_relaxed").with_columns(dataset=pl.lit("published"))


def claims() -> pl.DataFrame:
    """Return the audit of the printed numbers against the numbers printed beside them, and the ledger of claims."""
    data = shipped("data", "published", BENCHMARK)
    return pl.concat([audited(audit_tables(data)), ledger(data)], how="diagonal_relaxed")


def _points(tables: Tables, name: str, place: str, measures: list[str]) -> pl.DataFrame:
    found = long(tables(name).select("model", *measures), measures)
    return found.with_columns(
        place=pl.lit(place), condition=pl.lit("normal"), value=hundredth("value"), n=pl.lit(130)
    )


def _agreements(tables: Tables) -> pl.DataFrame:
    """Return Spearman's correlations of rankings; the condition names the pair."""
    pair = pl.col("a") + " and " + pl.col("b")
    domains = tables("table_s5").select(pair.alias("condition"), pl.col("rho").alias("cross_domain"))
    without = tables("table_s6").select(
        pl.col("domain_removed").alias("condition"),
        pl.col("rho").alias("leave_one_domain_out"),
        pl.col("max_rank_shift").alias("leave_one_domain_out_shift"),
        pl.col("spread_change").alias("leave_one_domain_out_spread"),
    )
    means = tables("table_s8").select(pair.alias("condition"), pl.col("rho").alias("aggregation"))
    found = [
        long(frame, frame.columns[1:]).with_columns(place=pl.lit(place))
        for place, frame in (("table S5", domains), ("table S6", without), ("table S8", means))
    ]
    return pl.concat(found)


def _verified(tables: Tables) -> pl.DataFrame:
    counts = ["claims", "agree", "disagree", "agree_pct"]
    found = long(tables("table_s9").select(pl.col("category").alias("condition"), *counts), counts)
    return found.with_columns(place=pl.lit("table S9"))


def _sizes(tables: Tables) -> pl.DataFrame:
    """Return what is known of the size of the printed models, in billions of parameters."""
    known = tables("models").with_columns(
        note=pl.format(
            "family {}; series {}; released {}",
            *(pl.col(name).fill_null("-") for name in ("family", "series", "released")),
        )
    )
    found = long(
        known.select("model", "note", "params_b", "params_active_b"), ["params_b", "params_active_b"]
    )
    return found.with_columns(place=pl.lit("models"), condition=pl.lit("all"))


PUBLISHED = Published(
    lambda benchmark: values(_table),
    lambda benchmark: claims(),
    lambda benchmark: published_slopes(shipped("data", "published", BENCHMARK)),
)
