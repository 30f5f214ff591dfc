"""Self-knowledge as printed (arXiv:2602.02605): d′ by the paper's own rules, shares, and which whole answers print so."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmark.contract import Published
from metacog_pipeline.benchmarks.selfknowledge.headline_claims import ledger
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK
from metacog_pipeline.benchmarks.selfknowledge.published_audit import (
    NOT_STATED,
    QUESTIONS,
    VARIANTS,
    audit_tables,
    rates_behind,
)
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring.published import Tables, audited, long

_PERCENT = {
    "raw_alignment": "raw_alignment_pct", "accuracy": "accuracy_pct", "yes_ratio": "yes_ratio_pct",
    "yfr": "yfr_pct", "nfr": "nfr_pct",
}  # fmt: skip
_ASKED_ONCE = {name: f"{name}_pct" for name in ("idk_accuracy", "idk_alignment", "all_alignment")}
_RATES = (
    *("hit_rate", "false_alarm_rate", "yes_ratio", "d_clip", "d_loglinear", "n", "n_solutions"),
    *("correct", "hits", "false_alarms"),
)


def values(tables: Tables) -> pl.DataFrame:
    """Return the printed numbers; a number printed in several tables stands once, with the first."""
    twice = long(_dual(tables), ["d_type2_reference", *_PERCENT])
    once = tables("table_2").select(
        "model", "variant", *(_share(column, name) for name, column in _ASKED_ONCE.items()),
        *_at("table 2", "trivia_qa", "idk"),
    )  # fmt: skip
    sizes = tables("figure_2").select(
        ("Qwen2.5 " + pl.col("size").cast(pl.String)).alias("model"),
        pl.col("original_auc").alias("original"),
        pl.col("esma_auc").alias("esma"),
        *_at("figure 2", "trivia_qa", "dual"),
    )
    areas = long(sizes, ["original", "esma"]).rename({"measure": "variant"})
    areas = areas.with_columns(measure=pl.lit("auroc2"))
    stated = pl.concat([twice, long(once, list(_ASKED_ONCE)), areas], how="diagonal")
    sized = ~pl.col("measure").is_in(["yfr", "nfr"])
    return stated.with_columns(
        model=pl.col("model") + pl.col("variant").replace_strict(dict(VARIANTS)),
        n=pl.when(sized).then(pl.col("dataset").replace_strict(dict(QUESTIONS))),
    )


def claims() -> pl.DataFrame:
    """Return the audit, every way in which a printed d′, alignment and accuracy can come about together,
    and the ledger of claims.
    """
    data = shipped("data", "published", BENCHMARK)
    checked = audited(audit_tables(data))
    by_clip = (pl.col("verdict") == "follows") & pl.col("note").str.ends_with("made by the clip")
    checked = checked.with_columns(
        verdict=pl.when(by_clip).then(pl.lit("made by the clip")).otherwise("verdict")
    )
    ways = (
        rates_behind(data)
        .rename({"dataset": "of"})
        .select("place", "subject", "of", "solution", "note", *_RATES)
    )
    found = long(ways, _RATES, value="recomputed").with_columns(
        quantity=pl.col("measure"),
        method=pl.format("solution {} on {}", "solution", "of"),
        verdict=pl.lit("possible"),
    )
    parts = [checked, found.drop("measure", "of", "solution"), ledger(data)]
    return pl.concat(parts, how="diagonal_relaxed")


def _dual(tables: Tables) -> pl.DataFrame:
    """Return the tables of asking twice, in the names and units of the board."""
    fourth = tables("table_4").filter(
        pl.col("variant").is_in(["direct", "meta"])
    )  # table 1 has its other rows
    model = ("Qwen2.5 " + pl.col("size").cast(pl.String)).alias("model")
    parts = [
        tables("table_1").with_columns(_at("table 1", "trivia_qa", "dual")),
        tables("table_3").with_columns(*_at("table 3", "fictional_qa", "dual"), model=pl.lit(NOT_STATED)),
        fourth.with_columns(*_at("table 4", "trivia_qa", "dual"), model=pl.lit("Qwen2.5 1.5B")),
        tables("table_5").filter(variant="sft").with_columns(_at("table 5", "trivia_qa", "dual")),
        tables("table_6").with_columns(model, place=pl.lit("table 6"), condition=pl.lit("dual")),
        tables("table_7").with_columns(
            place=pl.lit("table 7"),
            condition=pl.col("dataset").str.replace("mkqa", "dual"),
            dataset=pl.lit("mkqa"),
            model=pl.lit(NOT_STATED),
        ),
    ]
    whole = pl.concat(parts, how="diagonal_relaxed")
    return whole.select(
        *("place", "dataset", "condition", "model", "variant"),
        pl.col("d_prime").alias("d_type2_reference"),
        *(_share(column, name) for name, column in _PERCENT.items()),
    )


def _at(place: str, dataset: str, condition: str) -> list[pl.Expr]:
    given = {"place": place, "dataset": dataset, "condition": condition}
    return [pl.lit(value).alias(name) for name, value in given.items()]


def _share(column: str, name: str) -> pl.Expr:
    return (pl.col(column) / 100).round(6).alias(name)


def _table(stem: str) -> pl.DataFrame:
    return pl.read_csv(
        shipped("data", "published", BENCHMARK, f"{stem}.csv"), infer_schema_length=None, glob=False
    )


PUBLISHED = Published(lambda benchmark: values(_table), lambda benchmark: claims())
