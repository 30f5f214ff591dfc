"""Signal detection as printed (arXiv:2603.29693): posterior means and criteria, and what the counts give again."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.published_rows import Computed, Tables, long

_KEY = ["task", "condition", "model", "quantity"]


def values(tables: Tables) -> pl.DataFrame:
    """Return the printed numbers, the condition with its task in front as on the board."""
    return _printed(tables).with_columns(
        dataset=pl.lit("published"),
        condition=pl.col("task") + " " + pl.col("condition"),
        measure=_measure(),
        low=(pl.col("value") - pl.col("half_width")).round(6),
        high=(pl.col("value") + pl.col("half_width")).round(6),
    )


def claims(tables: Tables, computed: Computed) -> pl.DataFrame:
    """Return every printed number beside the paper's method on its counts, and beside maximum likelihood."""
    printed = _printed(tables).with_columns(published=pl.col("value"))
    widths = printed.drop_nulls("half_width").with_columns(
        quantity=pl.lit("ci_half"), published=pl.col("half_width"), note=pl.lit(None, pl.String)
    )
    stated = pl.concat([printed, widths]).select("place", *_KEY, "published", "note")
    again, likeliest = _computed(computed)
    found = stated.join(again, on=_KEY, how="left").with_columns(
        method=pl.lit("as the paper"), note=pl.coalesce("note_right", "note")
    )
    beside = stated.drop("note").join(likeliest, on=_KEY, how="inner")
    both = pl.concat([found, beside.with_columns(note=pl.lit(None, pl.String))], how="diagonal")
    gap = pl.col("recomputed") - pl.col("published")
    follows = (
        pl.when(pl.col("method") != "as the paper").then(pl.lit("another estimator"))
        .when(pl.col("recomputed").is_null()).then(pl.lit("not computed"))
        .when(gap.abs() <= pl.col("tolerance")).then(pl.lit("follows"))
        .otherwise(pl.lit("differs"))
    )  # fmt: skip
    subject = pl.col("model") + ", task " + pl.col("task") + ", " + pl.col("condition")
    return both.with_columns(subject=subject, difference=gap, verdict=follows)


def _measure() -> pl.Expr:
    return pl.when(place="table S1").then(pl.col("quantity") + "_bayes").otherwise(pl.col("quantity"))


def _printed(tables: Tables) -> pl.DataFrame:
    """Return one row per printed number: place, task, condition, model, quantity, value, half_width, n, note."""
    fits = tables("table_s1").rename({"dprime": "d", "M_ratio": "m_ratio"})
    first = long(fits.select("task", "model", "d", "meta_d", "m_ratio"), ["d", "meta_d", "m_ratio"])
    first = first.rename({"measure": "quantity"}).with_columns(
        place=pl.lit("table S1"), condition=pl.lit("confidence"), half_width=pl.lit(None, pl.Float64)
    )
    second = tables("table_s2").select(
        "task", "model", pl.lit("c").alias("quantity"), pl.col("c").cast(pl.Float64).alias("value"),
        pl.lit("table S2").alias("place"), _condition(), pl.col("ci_half").cast(pl.Float64).alias("half_width"),
    )  # fmt: skip
    counts = tables("counts").select(
        "task", pl.lit("confidence").alias("condition"), "model", (pl.col("n_S1") + pl.col("n_S2")).alias("n")
    )
    decisions = tables("criterion_counts").select("task", _condition(), "model", pl.col("total").alias("n"))
    notes = tables("notes").rename({"table": "place", "measure": "quantity"})
    stated = pl.concat([first, second.select(first.columns)])
    return stated.join(pl.concat([counts, decisions]), on=["task", "condition", "model"], how="left").join(
        notes.select("place", *_KEY, "note"), on=["place", *_KEY], how="left"
    )


def _condition() -> pl.Expr:
    return ("risk_" + pl.col("risk_configuration").str.to_lowercase()).alias("condition")


def _computed(computed: Computed) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what the paper's own methods give of the counts, and the same by maximum likelihood."""
    shape = pl.Schema(
        {**dict.fromkeys(_KEY, pl.String), **dict.fromkeys(("recomputed", "low", "high", "tolerance"), pl.Float64),
         "note": pl.String, "method": pl.String}
    )  # fmt: skip
    empty = shape.to_frame()
    fits, criteria = computed("metad"), computed("criteria")
    fits = empty if fits is None else fits.with_columns(condition=pl.lit("confidence")).select(empty.columns)
    if criteria is None:
        criteria = empty.drop("method")
    own = pl.concat([fits.filter(method="bayes").drop("method"), criteria.select(empty.columns[:-1])])
    return own, fits.filter(pl.col("method") != "bayes").drop("low", "high", "tolerance", "note")
