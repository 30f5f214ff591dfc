"""Reliability data and pass rates at matched length."""

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import schema_of
from metacog_pipeline.benchmarks.metacogbench.lengths import NOTHING_SHARED, ONE_MODEL, LengthRate
from metacog_pipeline.benchmarks.metacogbench.reliability import ReliabilityBin
from metacog_pipeline.benchmarks.metacogbench.run_estimates import ece
from tests.metacogbench.helpers import score, tabled


def test_the_calibration_error_follows_from_the_bins(make_observed):
    seen = make_observed(tiers=("1b",), sizes={"1b": 34})
    found = tabled("reliability", seen)
    assert found.schema == schema_of(ReliabilityBin) and found.height == 2 * 5
    pre = found.filter(moment="pre")
    assert pre["n"].sum() == 34
    used = pre.filter(pl.col("n") > 0)
    gap = ((used["accuracy"] - used["confidence"]).abs() * used["n"]).sum() / 34
    assert gap == pytest.approx(ece(seen["pre"].to_numpy(), seen["correct"].cast(float).to_numpy()))
    inside = used.filter(pl.col("confidence").is_between(pl.col("stated_from"), pl.col("stated_to")))
    assert inside.height == used.height


def test_empty_bins_have_rows_without_numbers_and_runs_are_not_items(make_observed):
    seen = make_observed(tiers=("1b",)).with_columns(pre=pl.lit(90.0))
    found = tabled("reliability", pl.concat([seen, seen.with_columns(run=pl.lit(2, pl.Int32))])).filter(
        moment="pre"
    )
    assert found["n"].to_list() == [0, 0, 0, 0, 40] and found["n_items"].to_list()[-1] == 20
    assert found["accuracy"].null_count() == 4
    once = tabled("reliability", seen).filter(moment="pre").row(4, named=True)
    assert found.row(4, named=True)["low"] == pytest.approx(once["low"])


def test_a_model_without_a_readable_confidence_has_rows_and_no_numbers(make_observed):
    seen = make_observed(tiers=("1b",)).with_columns(
        pre=pl.lit(None, pl.Float64), post=pl.lit(None, pl.Float64)
    )
    found = tabled("reliability", seen)
    assert found["n"].sum() == 0 and found["accuracy"].null_count() == 10
    gone = seen.with_columns(status=pl.lit("not_run"))
    assert (
        tabled("reliability", gone)["n"].sum() == 0 and tabled("lengths", gone, seed=1, n_boot=20).is_empty()
    )


def test_every_calibration_error_has_its_chance_beside_it(make_observed):
    found = score(make_observed(), seed=1, n_boot=20)
    names = set(found["measure"])
    parts = ("_null_", "_excess_p", "_delta", "_sd")
    errors = {name for name in names if name.startswith("ece_") and not any(part in name for part in parts)}
    assert len(errors) == 6
    for name in errors:
        assert {f"{name}_null_mean", f"{name}_null_p95", f"{name}_excess_p"} <= names, name
    grid = tabled("sensitivity", make_observed())
    bins = grid.filter(threshold="bins")
    assert bins["chance"].is_between(0, 1).all() and bins["chance"].null_count() == 0
    assert grid.filter(pl.col("threshold") != "bins")["chance"].null_count() == grid.height - bins.height


def with_words(seen: pl.DataFrame, words: pl.Expr, passed: pl.Expr) -> pl.DataFrame:
    return seen.with_columns(words=words.cast(pl.Int32), passed=passed.cast(pl.Int8))


def whole(found: pl.DataFrame, model: str, measure: str = "t2a") -> dict[str, object]:
    return found.filter(model=model, measure=measure, words="all").row(0, named=True)


def test_a_model_that_only_writes_more_is_no_better_at_matched_length(make_observed):
    """Both pass whenever they write 100 words or more; the longer one does so more often."""
    sizes, place = {"2a": 40}, pl.col("position")
    short = make_observed("short", tiers=("2a",), sizes=sizes)
    long = make_observed("long", tiers=("2a",), sizes=sizes)
    short = with_words(short, pl.when(place % 4 == 0).then(150).otherwise(50), place % 4 == 0)
    long = with_words(long, pl.when(place % 4 == 0).then(50).otherwise(150), place % 4 != 0)
    found = tabled("lengths", pl.concat([short, long]), seed=1, n_boot=200)
    assert found.schema == schema_of(LengthRate)
    first, second = whole(found, "short"), whole(found, "long")
    assert first["rate"] == 0.25 and second["rate"] == 0.75
    assert first["matched"] == pytest.approx(second["matched"]) == pytest.approx(0.5)
    assert first["status"] == "ok" and first["mean_words"] == 75


def test_groups_hold_every_reply_once_and_rates_are_shares(make_observed):
    rng = np.random.default_rng(3)
    frames = []
    for model in ("a", "b", "c"):
        seen = make_observed(model, tiers=("2a", "2b"))
        words = pl.Series("words", rng.integers(10, 400, seen.height), pl.Int32)
        frames += [seen.with_columns(words)]
    found = tabled("lengths", pl.concat(frames), seed=1, n_boot=50)
    for model in ("a", "b", "c"):
        own = found.filter(model=model, measure="t2b")
        assert own.filter(words="all")["n"].item() == own.filter(pl.col("words") != "all")["n"].sum() == 10
        seen = pl.concat(frames).filter(pl.col("model") == model, pl.col("tier") == "2b")
        everything = own.filter(words="all").row(0, named=True)
        assert (
            everything["mean_words"] == seen["words"].mean() and everything["rate"] == seen["passed"].mean()
        )
        by_length = found.filter(pl.col("words") != "all", measure="t2b")
        together = by_length.group_by("words").agg(
            pl.col("n").sum().alias("all"), shared=pl.col("n").min() > 0
        )
        quarters = own.join(together.filter("shared"), on="words")
        matched = (quarters["rate"] * quarters["all"]).sum() / quarters["all"].sum()
        assert everything["matched"] == pytest.approx(matched)
    known = found.drop_nulls("low")
    assert known.height and known.filter(pl.col("low") > pl.col("matched")).is_empty()
    assert found["rate"].drop_nulls().is_between(0, 1).all()


def test_what_cannot_be_matched_says_why(make_observed):
    alone = tabled("lengths", make_observed(tiers=("2a",)), seed=1, n_boot=20)
    assert whole(alone, "alpha")["status"] == ONE_MODEL
    short = with_words(make_observed("short", tiers=("2a",)), pl.lit(5), pl.lit(1))
    long = with_words(make_observed("long", tiers=("2a",)), pl.lit(500), pl.lit(1))
    apart = whole(tabled("lengths", pl.concat([short, long]), seed=1, n_boot=20), "long")
    assert apart["status"] == NOTHING_SHARED and apart["matched"] is None
