"""MetaCog-Bench as printed: its own tasks are not public, so its sets are named apart from those of this project."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmark.contract import Published
from metacog_pipeline.benchmarks.metacogbench.headline_claims import ledger
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.published_audit import audit_tables
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring.published import Tables, audited, hundredth, long

FIRST, SCALED = "paper 41", "paper 147"
_SIZES = {
    "t1a": (13, 33), "t1b": (14, 34), "ece_pre": (14, 34), "t2a": (5, 30), "t2b": (5, 30), "t3": (4, 20),
    "ms": (27, 67), "saf": (10, 60), "cdtc": (4, 20), "overall": (41, 147),
}  # fmt: skip
_MEASURES = list(_SIZES)
_PASSED = ("t1a", "t2a", "t2b", "t3")
_COMPOSITES = ("ms", "saf", "cdtc", "overall")


def _table(stem: str) -> pl.DataFrame:
    return pl.read_csv(
        shipped("data", "published", BENCHMARK, f"{stem}.csv"), infer_schema_length=None, glob=False
    )


def values(tables: Tables) -> pl.DataFrame:
    """Return scores of both sets, and confidences of the first by difficulty."""
    first = tables("table_3").select(
        "model",
        *((pl.col(f"{name}_k") / pl.col(f"{name}_n")).alias(name) for name in _PASSED),
        (1 - pl.col("ece_pre")).alias("t1b"),
        "ece_pre",
        *_COMPOSITES,
    )
    small = long(first, _MEASURES).with_columns(
        place=pl.lit("table 3"), dataset=pl.lit(FIRST), n=_size(0), sd=pl.lit(None, pl.Float64)
    )
    large = _scaled(tables, "mean").join(_scaled(tables, "std"), on=["model", "measure"])
    large = large.rename({"mean": "value", "std": "sd"}).with_columns(
        place=pl.lit("table 7"), dataset=pl.lit(SCALED), n=_size(1)
    )
    groups = tables("table_5").select(
        "model",
        "difficulty",
        pl.col("n_items").alias("n"),
        hundredth("pre_pct").alias("mean_pre"),
        hundredth("post_pct").alias("mean_post"),
        hundredth("accuracy_pct").alias("accuracy_1b"),
    )
    by_difficulty = long(groups, ["mean_pre", "mean_post", "accuracy_1b"]).with_columns(
        place=pl.lit("table 5"),
        dataset=pl.lit(FIRST),
        measure=pl.col("measure") + "_" + pl.col("difficulty"),
    )
    return pl.concat([small, large, by_difficulty], how="diagonal_relaxed").with_columns(
        condition=pl.lit("free")
    )


def claims() -> pl.DataFrame:
    """Return the audit of the printed numbers against the numbers printed beside them, and the ledger of claims."""
    data = shipped("data", "published", BENCHMARK)
    return pl.concat([audited(audit_tables(data)), ledger(data)], how="diagonal_relaxed")


def _scaled(tables: Tables, end: str) -> pl.DataFrame:
    table = tables("table_7")
    error = pl.col(f"ece_pre_{end}")
    shown = table.select(
        "model",
        *(hundredth(f"{name}_pct_{end}").alias(name) for name in _PASSED),
        (error if end == "std" else 1 - error).alias("t1b"),
        error.alias("ece_pre"),
        *(pl.col(f"{name}_{end}").alias(name) for name in _COMPOSITES),
    )
    return long(shown, _MEASURES, value=end)


def _size(which: int) -> pl.Expr:
    return pl.col("measure").replace_strict({name: sizes[which] for name, sizes in _SIZES.items()})


PUBLISHED = Published(lambda benchmark: values(_table), lambda benchmark: claims())
