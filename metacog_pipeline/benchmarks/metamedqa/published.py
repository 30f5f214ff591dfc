"""What the paper prints: values in the units of the board, and its statements and headline claims computed again."""

from __future__ import annotations

from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Published
from metacog_pipeline.benchmarks.metamedqa.headline_claims import ledger
from metacog_pipeline.benchmarks.metamedqa.items import NAME
from metacog_pipeline.files import shipped


def values(benchmark: Any) -> pl.DataFrame:
    """Return the printed numbers; intervals are the printed half widths, or 1.96 printed standard errors."""
    marks = _table("significance").with_columns(place=pl.lit("table 4"))
    printed = _table("figures").join(marks, on=["place", "condition", "measure"], how="left")
    stated, half_width, sem = (pl.col(name).cast(pl.Float64) for name in ("stated", "half_width", "sem"))
    scale = pl.when(unit="percent").then(0.01).otherwise(1.0)
    half = pl.coalesce(half_width, 1.96 * sem)
    chance = "printed p " + pl.col("p_stated").cast(pl.String)
    return printed.with_columns(
        dataset=pl.lit("published"),
        value=(stated * scale).round(6),
        low=((stated - half) * scale).round(6),
        high=((stated + half) * scale).round(6),
        note=_joined(pl.col("note"), "printed mark " + pl.col("stars"), chance),
    )


def claims(benchmark: Any) -> pl.DataFrame:
    """Return the statements that were computed again; what is printed and computed is told in words."""
    told = _table("claims").with_columns(pl.all().cast(pl.String))
    checked = told.select(
        place="topic",
        subject="subject",
        quantity="claim",
        method=pl.lit("counts that fit the printed figures"),
        published=pl.col("stated").cast(pl.Float64, strict=False),
        recomputed=pl.col("recomputed").cast(pl.Float64, strict=False),
        verdict="verdict",
        note=_joined(
            "printed " + pl.col("stated"), "computed " + pl.col("recomputed"), pl.col("explanation")
        ),
    )
    return pl.concat([checked, ledger(shipped("data", "published", NAME))], how="diagonal_relaxed")


def _table(stem: str) -> pl.DataFrame:
    return pl.read_csv(
        shipped("data", "published", NAME, f"{stem}.csv"), infer_schema_length=None, glob=False
    )


def _joined(*parts: pl.Expr) -> pl.Expr:
    text = pl.concat_str(parts, separator=" | ", ignore_nulls=True)
    return pl.when(text != "").then(text)


PUBLISHED = Published(values, claims)
