"""MetaMedQA as printed (Griot et al., Nature Communications 16:642, 2025): values in units of the board, claims."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.published_rows import Computed, Tables


def values(tables: Tables) -> pl.DataFrame:
    """Return the printed numbers; intervals are the printed half widths, or 1.96 printed standard errors."""
    printed = tables("figures").with_columns(pl.col("stated", "half_width", "sem").cast(pl.Float64))
    marks = tables("significance").with_columns(place=pl.lit("table 4"))
    scale = pl.when(unit="percent").then(0.01).otherwise(1.0)
    half = pl.coalesce("half_width", 1.96 * pl.col("sem"))
    joined = printed.join(marks, on=["place", "condition", "measure"], how="left")
    star = "printed mark " + pl.col("stars")
    chance = "printed p " + pl.col("p_stated").cast(pl.String)
    return joined.with_columns(
        dataset=pl.lit("published"),
        value=(pl.col("stated") * scale).round(6),
        low=((pl.col("stated") - half) * scale).round(6),
        high=((pl.col("stated") + half) * scale).round(6),
        note=_joined(pl.col("note"), star, chance),
    )


def claims(tables: Tables, computed: Computed) -> pl.DataFrame:
    """Return the statements that were computed again; what is printed and computed is told in words."""
    told = tables("claims").with_columns(pl.all().cast(pl.String))
    words = "printed " + pl.col("stated"), "computed " + pl.col("recomputed"), pl.col("explanation")
    return told.select(
        pl.col("topic").alias("place"),
        "subject",
        pl.col("claim").alias("quantity"),
        pl.lit("counts that fit the printed figures").alias("method"),
        pl.col("stated").cast(pl.Float64, strict=False).alias("published"),
        pl.col("recomputed").cast(pl.Float64, strict=False),
        "verdict",
        _joined(*words).alias("note"),
    )


def _joined(*parts: pl.Expr) -> pl.Expr:
    text = pl.concat_str(parts, separator=" | ", ignore_nulls=True)
    return pl.when(text != "").then(text)
