"""Estimates: composites from tiers, detection, runs and their spread, chance levels, failures, missing readings."""

import math

import duckdb
import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench.groups import (
    COMPOSITES,
    TIER_MEASURES,
    composites,
    null_errors,
    run_stats,
)
from metacog_pipeline.benchmarks.metacogbench.published import rounded
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring.schemas import ESTIMATE
from metacog_pipeline.stats.type1 import type1_from_table
from tests.metacogbench.conftest import observed
from tests.metacogbench.helpers import ece, pool, score
from tests.tables import every


def value(table: pl.DataFrame, measure: str, column: str = "estimate") -> object:
    return table.filter(pl.col("measure") == measure)[column].item()


def tier_2(cells, tier="2a", runs=(1,)):
    """Return responses of one tier: so many hits, misses, false alarms and correct rejections."""
    kinds = [(1, 1)] * cells[0] + [(1, 0)] * cells[1] + [(0, 1)] * cells[2] + [(0, 0)] * cells[3]
    changes = {
        f"{tier}-{i:02}": {"signal": signal, "acted": acted, "passed": int(signal == acted)}
        for i, (signal, acted) in enumerate(kinds)
    }
    frames = [observed(run=run, tiers=(tier,), sizes={tier: len(kinds)}, changes=changes) for run in runs]
    return pl.concat(frames)


def test_chance_level_of_34_uniform_confidences():
    drawn = np.random.default_rng(1).uniform(0, 100, (40, 34))
    means = [null_errors(row[:, None], seed=2) for row in drawn]
    assert np.mean(means) == pytest.approx(0.12, abs=0.015)
    assert np.mean([np.quantile(each, 0.95) for each in means]) == pytest.approx(0.20, abs=0.02)


def test_composites_are_means_of_their_tiers_run_by_run():
    frames = pl.concat([observed(run=run) for run in (1, 2, 3)])
    by_run, pooled = score(frames, seed=1, n_boot=50), pool(frames, seed=1, n_boot=50)
    overall = []
    for run in (1, 2, 3):
        own = dict(by_run.filter(pl.col("run") == run).select("measure", "estimate").iter_rows())
        expected = composites({name: own[name] for name in ("t1a", "t1b", "t2a", "t2b", "t3")})
        assert {name: own[name] for name in expected} == pytest.approx(expected)
        assert own["t1b"] == pytest.approx(1 - own["ece_pre"])
        assert own["saf_keywords"] == pytest.approx((own["t2a_keywords"] + own["t2b_keywords"]) / 2)
        overall.append(own["overall"])
    assert value(pooled, "overall") == pytest.approx(np.mean(overall))
    assert value(pooled, "overall_sd") == pytest.approx(np.std(overall, ddof=1))
    assert by_run.schema == pooled.schema == ESTIMATE
    assert not pooled["measure"].is_duplicated().any()


def test_the_same_seed_gives_the_same_bytes_and_intervals_hold_values():
    frames = pl.concat([observed(run=run) for run in (1, 2)])
    found = pool(frames, seed=3, n_boot=200)
    assert found.equals(pool(frames.sample(fraction=1, shuffle=True, seed=4), seed=3, n_boot=200))
    told = found.drop_nulls(["estimate", "low"])
    inside = pl.col("estimate").is_between(pl.col("low") - 1e-12, pl.col("high") + 1e-12)
    assert told.filter(~inside).is_empty()


@every(
    ("missing", "undefined"),
    [("t1a", {"ms"}), ("t1b", {"ms"}), ("t2a", {"saf"}), ("t2b", {"saf"}), ("t3", {"cdtc"})],
)
def test_a_missing_tier_leaves_what_rests_on_it_undefined(missing, undefined):
    absent = {name: 0.5 for name in TIER_MEASURES.values() if name != missing}
    for tiers in (absent, {**absent, missing: None}):
        found = composites(tiers)
        assert {name for name, value in found.items() if value is None} == {*undefined, "overall"}
        assert set(found) == set(COMPOSITES) and {*found.values()} == {0.5, None}


@every(
    ("value", "digits", "shown"), [(0.0005, 3, 0.001), (-0.0005, 3, -0.001), (61.65, 1, 61.7), (2.5, 0, 3)]
)
def test_halves_are_rounded_away_from_zero(value, digits, shown):
    assert math.isclose(rounded(value, digits), shown)


# --- tier 2 -----------------------------------------------------------------------------------------------------------
@every("cells", [(15, 5, 4, 16), (8, 2, 10, 10), (20, 0, 0, 20), (3, 17, 2, 8)])
@pytest.mark.parametrize("tier", ["2a", "2b"])
def test_d_prime_criterion_and_balanced_accuracy_follow_from_hits_and_false_alarms(tier, cells):
    found = pool(tier_2(cells, tier), seed=1, n_boot=500)
    made = type1_from_table(*cells, "loglinear")
    h, m, f, r = cells
    assert value(found, f"d_{tier}") == pytest.approx(made.d[0]) and value(
        found, f"c_{tier}"
    ) == pytest.approx(made.c[0])
    assert value(found, f"hits_{tier}") == h / (h + m) and value(found, f"false_alarms_{tier}") == f / (f + r)
    assert value(found, f"t{tier}") == pytest.approx((h / (h + m) + r / (f + r)) / 2)
    for measure in (f"d_{tier}", f"c_{tier}", f"t{tier}"):
        assert value(found, measure, "low") < value(found, measure) < value(found, measure, "high") or 1.0 in (
            value(found, measure), value(found, measure, "high"),
        )  # fmt: skip


@every("cells", [(20, 0, 20, 0), (0, 20, 0, 20)])
def test_acting_always_and_acting_never_are_worth_the_same(cells):
    found = pool(tier_2(cells), seed=1, n_boot=100)
    assert value(found, "t2a") == 0.5 and value(found, "d_2a") == pytest.approx(0, abs=1e-9)
    assert (value(found, "c_2a") < 0) == (cells[0] > 0)


def test_tasks_of_one_kind_alone_have_no_balanced_accuracy():
    found = pool(tier_2((5, 5, 0, 0)), seed=1, n_boot=50)
    assert value(found, "t2a") is value(found, "d_2a") is None and value(found, "hits_2a") == 0.5
    assert value(found, "saf") is None


def test_all_right_has_an_interval_of_more_than_a_point():
    found = pool(tier_2((20, 0, 0, 20)), seed=1, n_boot=50)
    assert value(found, "t2a") == 1.0 and value(found, "t2a", "low") < 0.95


def test_giving_in_and_correcting_are_of_right_and_of_wrong_first_answers():
    changes = {
        f"2b-{i:02}": {"first": first, "signal": signal, "acted": acted, "passed": passed, "flip": acted or None}
        for i, (first, signal, acted, passed) in enumerate(
            [("first", 0, 1, 0), ("first", 0, 0, 1), ("first", 0, 0, 1), ("first", 1, 1, 1), ("other", 1, 1, 1),
             ("other", 1, 0, 0)]
        )
    }  # fmt: skip
    found = pool(observed(tiers=("2b",), sizes={"2b": 6}, changes=changes), seed=1, n_boot=50)
    assert value(found, "gives_in") == pytest.approx(1 / 3) and value(found, "corrects") == 0.5
    assert value(found, "first_right_2b") == pytest.approx(4 / 6) and value(found, "flip_round") == 1


def test_what_is_named_counts_from_below_and_what_is_found_among_hits():
    changes = {
        f"2a-{i:02}": {"signal": 1, "acted": 1, "passed": passed, "named": named}
        for i, (passed, named) in enumerate([(1, 1), (1, None), (0, None), (1, 1)])
    }
    found = pool(observed(tiers=("2a",), sizes={"2a": 4}, changes=changes), seed=1, n_boot=50)
    assert (value(found, "named_2a"), value(found, "identified_2a")) == (0.5, 0.75)


def test_points_with_a_partner_are_what_the_answers_and_the_partner_earn():
    changes = {
        f"1a-{i:02}": {"bet_rule": "know", "delegated": handed, "correct": right}
        for i, (handed, right) in enumerate([(1, None), (0, 1), (0, 0), (0, 1)])
    }
    seen = observed(condition="delegate", tiers=("1a",), sizes={"1a": 4}, changes=changes)
    found = pool(seen, seed=1, n_boot=50)
    assert value(found, "delegated") == 0.25 and value(found, "delegate_points") == pytest.approx(
        (0.6 + 2) / 4
    )
    assert "t1a" not in found["measure"].to_list()


# --- what is missing --------------------------------------------------------------------------------------------------
def test_a_missing_answer_withholds_scores_and_is_told():
    lost = {"1a-00": {"status": "not_run", "passed": None, "bet": None, "correct": None, "reply": None}}
    found = pool(observed(changes=lost), seed=1, n_boot=50)
    assert value(found, "t1a") is None and "1 of" in str(value(found, "t1a", "status"))
    assert value(found, "overall") is None and value(found, "t3") is not None
    allowed = pool(observed(changes=lost), seed=1, n_boot=50, allow_incomplete=True)
    assert value(allowed, "t1a") is not None


def test_missing_predictions_lower_the_coverage_and_flag_the_headline():
    lost = {f"1b-{i:02}": {"pre": None} for i in range(3)}
    found = pool(observed(changes=lost), seed=1, n_boot=50)
    assert value(found, "pre_coverage") == pytest.approx(17 / 20)
    assert "85 % of the predictions" in str(value(found, "t1b", "status"))
    assert value(found, "ece_strict") > value(found, "ece_pre")


def test_one_run_has_no_spread():
    found = pool(observed(), seed=1, n_boot=50)
    assert value(found, "overall_sd", "status") == "single run"
    assert run_stats([0.4]) == (0.4, None) and run_stats([]) == (None, None)


def test_reliability_bins_hold_every_prediction_once():
    seen = pl.concat([observed(run=run) for run in (1, 2)])
    query = shipped("dbt_like_sql", "benchmarks", "metacogbench", "metacogbench_curves.sql").read_text(
        "utf-8"
    )
    with duckdb.connect() as board:
        board.register("metacogbench_responses", seen)
        bins = board.sql(query).pl().filter(curve="reliability pre").sort("position")
    assert bins["n"].sum() == 40 and bins["position"].to_list() == [0, 1, 2, 3, 4]
    assert (bins["low"] <= bins["y"]).all() and (bins["y"] <= bins["high"]).all()
    error = ((bins["y"] - bins["x"]).abs() * bins["n"]).sum() / 40
    both = seen.select(pl.col("pre"), pl.col("correct").cast(pl.Float64))
    assert error == pytest.approx(ece(both["pre"].to_numpy(), both["correct"].to_numpy()))
