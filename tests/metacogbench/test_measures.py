"""Estimates: composites from tiers, runs and their spread, intervals, chance levels, failures, missing readings."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metacogbench.composites import composites
from metacog_pipeline.benchmarks.metacogbench.run_estimates import ece, null_errors
from metacog_pipeline.scoring.schemas import ESTIMATE
from metacog_pipeline.stats.calibration import bin_index
from tests.metacogbench.helpers import pool, score

percents = st.lists(st.floats(0, 100), min_size=1, max_size=40)


def value(table: pl.DataFrame, measure: str, column: str = "estimate") -> object:
    return table.filter(pl.col("measure") == measure)[column].item()


@given(percents, st.integers(1, 20))
@settings(max_examples=100)
def test_every_percentage_has_one_bin_that_holds_it(stated, bins):
    width = 100 / bins
    for edges in ("floor", "equal", "mass"):
        index = bin_index(np.array(stated) / 100, bins, edges)  # type: ignore[arg-type]
        assert index.min() >= 0 and index.max() < bins
        if edges != "mass":
            assert np.all(index * width <= np.array(stated) + 1e-6)
            assert np.all(np.array(stated) <= (index + 1) * width + 1e-6)


@given(percents, st.data())
@settings(max_examples=100)
def test_an_error_is_never_below_the_gap_of_means(stated, data):
    right = data.draw(st.lists(st.integers(0, 1), min_size=len(stated), max_size=len(stated)))
    found = ece(np.array(stated), np.array(right, dtype=float))
    assert abs(np.mean(right) - np.mean(stated) / 100) - 1e-9 <= found <= 1


def test_chance_level_of_34_uniform_confidences():
    drawn = np.random.default_rng(1).uniform(0, 100, (40, 34))
    means = [null_errors(row[:, None], seed=2) for row in drawn]
    assert np.mean(means) == pytest.approx(0.12, abs=0.015)
    assert np.mean([np.quantile(each, 0.95) for each in means]) == pytest.approx(0.20, abs=0.02)


def test_composites_are_means_of_their_tiers_run_by_run(make_observed):
    frames = [make_observed(run=run) for run in (1, 2, 3)]
    by_run = score(pl.concat(frames), seed=1, n_boot=50)
    pooled = pool(pl.concat(frames), seed=1, n_boot=50)
    overall = []
    for run in (1, 2, 3):
        own = dict(by_run.filter(pl.col("run") == run).select("measure", "estimate").iter_rows())
        expected = composites({name: own[name] for name in ("t1a", "t1b", "t2a", "t2b", "t3")})
        assert {name: own[name] for name in expected} == pytest.approx(expected)
        assert own["t1b"] == pytest.approx(1 - own["ece_pre"])
        overall.append(own["overall"])
    assert value(pooled, "overall") == pytest.approx(np.mean(overall))
    assert value(pooled, "overall_sd") == pytest.approx(np.std(overall, ddof=1))
    assert by_run.schema == pooled.schema == ESTIMATE
    assert not pooled["measure"].is_duplicated().any()
    assert not by_run["measure"].str.ends_with("_sd").any()


def test_the_same_seed_gives_the_same_bytes_and_intervals_hold_values(make_observed):
    frames = pl.concat([make_observed(run=run) for run in (1, 2)])
    found = pool(frames, seed=3, n_boot=200)
    assert found.equals(pool(frames.sample(fraction=1, shuffle=True, seed=4), seed=3, n_boot=200))
    told = found.drop_nulls(["estimate", "low"])
    assert told.filter(
        ~pl.col("estimate").is_between(pl.col("low") - 1e-12, pl.col("high") + 1e-12)
    ).is_empty()
    assert {"ms", "saf", "cdtc", "overall", "t1a", "t1b", "t2a", "t2b", "t3"} <= set(told["measure"])


@pytest.mark.proof
def test_intervals_hold_the_true_rate_in_nearly_all_samples(make_observed):
    held = 0
    for seed in range(60):
        frame = make_observed(seed=seed, tiers=("2a",), sizes={"2a": 60}, rates={"2a": 0.6})
        row = score(frame, seed=1, n_boot=400).filter(pl.col("measure") == "t2a")
        held += row["low"].item() <= 0.6 <= row["high"].item()
    assert held >= 52


def test_all_alike_has_an_interval_of_more_than_a_point(make_observed):
    found = score(make_observed(rates={"2a": 1.0}), seed=1, n_boot=50)
    assert (value(found, "t2a"), value(found, "t2a", "high")) == (1.0, 1.0)
    assert value(found, "t2a", "low") == pytest.approx(0.722, abs=0.001)


def test_an_item_without_a_reply_withholds_its_tier_and_composites_alone(make_observed):
    gone = {"2a-03": {"status": "not_run", "passed": None, "reply": None, "words": None}}
    frame = make_observed(changes=gone)
    found = score(frame, seed=1, n_boot=50)
    assert [value(found, name) for name in ("t2a", "saf", "overall")] == [None] * 3
    assert value(found, "saf", "status") == "incomplete: 1 of 20 not answered"
    assert value(found, "n_empty") == 0  # what happened to replies is told all the same
    assert value(found, "t2b") is not None and value(found, "ms", "status") == "ok"
    allowed = score(frame, seed=1, n_boot=50, allow_incomplete=True)
    assert value(allowed, "t2a", "n") == 9
    assert value(allowed, "overall", "status") == "incomplete: 1 of 60 not answered"


def test_a_tier_that_is_not_asked_leaves_its_composite_undefined(make_observed):
    found = score(make_observed(tiers=("1a", "1b", "2b", "3")), seed=1, n_boot=50)
    assert value(found, "saf") is None and value(found, "overall") is None
    assert value(found, "saf", "status") == "undefined: tier 2a not asked"
    assert value(found, "ms") is not None and value(found, "cdtc") is not None


def test_other_conditions_have_their_tier_and_no_composite(make_observed):
    found = score(make_observed(condition="json", tiers=("2a",)), seed=1, n_boot=50)
    assert value(found, "t2a") is not None
    assert not set(found["measure"]) & {"ms", "saf", "overall", "t1a"}


def test_missing_predictions_leave_the_error_and_are_strictly_wrong(make_observed):
    gone = {f"1b-{i:02}": {"pre": None, "status": "confidence_unparsed"} for i in range(4)}
    found = score(make_observed(changes=gone), seed=1, n_boot=50)
    assert value(found, "ece_pre", "n") == 16
    assert value(found, "pre_coverage") == pytest.approx(0.8)
    assert value(found, "t1b", "status") == "only 80 % of the predictions could be read"
    strict, plain = value(found, "ece_strict"), value(found, "ece_pre")
    assert isinstance(strict, float) and isinstance(plain, float) and strict > plain


def test_what_lacks_a_bet_is_empty_or_not_read_is_counted(make_observed):
    changes = {
        "1a-00": {"bet": None},
        "2b-01": {"status": "not_read", "passed": None},
        "3-01": {"empty": 1, "status": "answer_unparsed"},
    }
    found = score(make_observed(changes=changes), seed=1, n_boot=50)
    counts = [value(found, name) for name in ("n_no_bet", "n_not_read", "n_empty")]
    assert counts == [1, 1, 1]


def test_what_is_not_read_is_left_out_of_a_rate(make_observed):
    unread = {f"2b-{i:02}": {"status": "not_read", "passed": None} for i in range(1, 10)}
    found = score(make_observed(rates={"2b": 1.0}, changes=unread), seed=1, n_boot=50)
    assert value(found, "t2b") == 1.0 and value(found, "t2b_keywords") == 1.0
    none = {f"2b-{i:02}": {"status": "not_read", "passed": None} for i in range(10)}
    found = score(make_observed(changes=none), seed=1, n_boot=50)
    assert value(found, "t2b") is None and value(found, "saf") is None


def test_twins_bets_and_ladders(make_observed):
    rungs = ("easy", "medium", "hard", "extreme")
    falling = {
        f"1a-{i:02}": {"family": "arithmetic_ramp", "level": rungs[i // 3], "bet": 90.0 - 20 * (i // 3)}
        for i in range(12)
    }
    found = score(make_observed(changes=falling), seed=1, n_boot=50)
    assert value(found, "bet_tau_arithmetic_ramp") == pytest.approx(-1)
    assert value(found, "mean_bet_arithmetic_ramp_hard") == pytest.approx(0.5)
    honest = score(make_observed(rates={"1a": 1.0}), seed=1, n_boot=50)
    assert value(honest, "twin_discrimination") == pytest.approx(0.8)
    flat = score(make_observed(changes={f"1a-{i:02}": {"bet": 50.0} for i in range(12)}), seed=1, n_boot=50)
    assert value(flat, "twin_discrimination") == 0
    assert value(flat, "mean_bet") == 0.5


def test_a_chance_level_stands_beside_every_calibration_error(make_observed):
    calm = pool(pl.concat([make_observed(run=run, seed=5) for run in (1, 2)]), seed=1, n_boot=50)
    for name in ("ece_pre", "ece_post"):
        mean, p95 = (value(calm, f"{name}_null_{which}") for which in ("mean", "p95"))
        assert isinstance(mean, float) and isinstance(p95, float) and 0 < mean < p95 < 1
    sure = {f"1b-{i:02}": {"pre": 100.0, "correct": 0} for i in range(20)}
    wrong = score(make_observed(changes=sure), seed=1, n_boot=50)
    assert value(wrong, "ece_pre") == 1 and value(wrong, "t1b") == 0
    assert value(wrong, "ece_pre_excess_p") == pytest.approx(1 / 2001)
    assert value(wrong, "ece_pre_null_mean") == 0


def test_no_observations_no_rows(make_observed):
    assert score(make_observed().clear(), seed=1).is_empty()
