"""Confidence measured alike: each statistic from cells equals the one from the answers; what has no number says why."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.leaderboard.glossary import formulas
from metacog_pipeline.scoring import calibration as module
from metacog_pipeline.scoring.calibration import CALIBRATION, cells_of, every_measure
from metacog_pipeline.scoring.harmonised import DECLARED, PREFIX
from metacog_pipeline.scoring.schemas import HARMONISED
from metacog_pipeline.stats import calibration, coverage
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.confidence_grid import CELLS, STATISTICS
from metacog_pipeline.stats.confidence_measures import of_trials, trials
from tests.tables import every

ANSWERS = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 1)), min_size=1, max_size=60)


def answers(pairs, model="one", runs=1, benchmark="metamedqa", alternatives=4):
    rows = [
        {
            "benchmark": benchmark, "dataset": "sample", "condition": "baseline", "model": model, "source": "measured",
            "run": run, "item_id": f"i{place}", "cluster": f"i{place}", "correct": float(correct),
            "confidence": None if percent is None else percent / 100, "n_alternatives": alternatives,
        }
        for run in range(1, runs + 1)
        for place, (percent, correct) in enumerate(pairs)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=HARMONISED)


@given(ANSWERS)
@settings(max_examples=100, deadline=None)
def test_statistics_of_cells_are_those_of_the_answers(pairs):
    frame = answers(pairs)
    confidence, correct = frame["confidence"].to_numpy(), frame["correct"].to_numpy().astype(int)
    totals = np.bincount(cells_of(frame), minlength=CELLS).astype(float)[None]
    found = {name: float(statistic(totals)[0]) for name, statistic in STATISTICS.items()}
    assert found["accuracy"] == pytest.approx(correct.mean())
    assert found["mean_confidence"] == pytest.approx(confidence.mean())
    assert found["brier"] == pytest.approx(((confidence - correct) ** 2).mean())
    assert found["ece"] == pytest.approx(calibration.ece(confidence, correct, 10).value, abs=1e-12)
    area = auroc(confidence, correct).value
    assert (
        np.isnan(found["auroc2"])
        if len(set(correct)) == 1
        else (area is None or found["auroc2"] == pytest.approx(area))
    )


def test_repeating_every_run_narrows_no_interval():
    rng = np.random.default_rng(4)
    pairs = [(int(20 * level), int(rng.random() < 0.4 + 0.1 * level)) for level in rng.integers(1, 6, 500)]
    once, thrice = (every_measure(answers(pairs, runs=runs), seed=1, n_boot=100) for runs in (1, 3))
    for measure in ("accuracy", "ece", "brier", "m_ratio_mafc", "eta_mafc", "auroc2_ideal", "d_mafc"):
        first, again = (
            frame.row(by_predicate=pl.col("measure") == f"harmonised_{measure}", named=True)
            for frame in (once, thrice)
        )
        assert first["estimate"] == pytest.approx(again["estimate"])
        wide, wide_again = (each["high"] - each["low"] for each in (first, again))
        assert wide == pytest.approx(wide_again, rel=0.2), (
            measure
        )  # narrower by 42 % if runs counted as items
        assert again["n"] == 3 * first["n"] and again["n_items"] == first["n_items"] == 500


def test_every_number_has_an_interval_or_a_status_and_nothing_is_nan():
    for pairs in ([], [(None, 1)], [(50, 1)], [(50, 1)] * 40, [(0, 0), (100, 1)] * 3, [(80, 0)] * 9):
        frame = every_measure(answers(pairs), seed=1, n_boot=50)
        assert frame.schema == CALIBRATION
        for row in frame.iter_rows(named=True):
            numbers = [row[name] for name in ("estimate", "low", "high", "sem") if row[name] is not None]
            assert all(np.isfinite(numbers)), row
            assert row["low"] is not None or row["status"] != "ok", row


def test_answers_without_a_confidence_are_counted_and_take_no_part():
    frame = every_measure(answers([(80, 1), (20, 0), (None, 1), (None, 0)] * 20), seed=1, n_boot=50)
    assert frame["n_without_confidence"].unique().to_list() == [40]
    assert frame["n"].unique().to_list() == [40]


def test_efficiency_needs_items_with_alternatives_and_keeps_to_them():
    rng = np.random.default_rng(2)
    pairs = [(int(100 * c), int(rng.random() < 0.3 + 0.6 * c)) for c in rng.random(400)]
    free = every_measure(answers(pairs, alternatives=None), seed=1, n_boot=50)
    row = free.row(by_predicate=pl.col("measure") == "harmonised_m_ratio_mafc", named=True)
    assert row["estimate"] is None and "alternatives" in row["status"] and row["n"] == 0
    both = pl.concat([answers(pairs), answers(pairs[:100], model="one", alternatives=None)])
    chosen = every_measure(both, seed=1, n_boot=50).row(
        by_predicate=pl.col("measure") == "harmonised_m_ratio_mafc", named=True
    )
    assert chosen["n"] == 400


def test_items_and_low_n_of_choices_are_those_of_the_answers_that_were_chosen(monkeypatch):
    wanted = dict.fromkeys([("m_ratio_mafc", True), ("eta_mafc", True)], 75.0)
    known = {**coverage.least(), **wanted}
    monkeypatch.setattr(coverage, "least", lambda: known)
    rng = np.random.default_rng(7)
    pairs = [(int(100 * c), int(rng.random() < 0.6 + 0.3 * c)) for c in rng.random(60)]
    chosen, free = answers(pairs, runs=2), answers([(50, 0), (60, 1)] * 100, alternatives=None)
    free = free.with_columns(pl.col("item_id", "cluster") + "-free")
    rows = {
        row["measure"]: row for row in every_measure(pl.concat([chosen, free]), seed=1).iter_rows(named=True)
    }
    wrong = int((chosen["correct"] == 0).sum())
    assert wrong < 75
    for name in ("harmonised_m_ratio_mafc", "harmonised_eta_mafc"):
        assert (rows[name]["n"], rows[name]["n_items"], rows[name]["low_n"]) == (120, 60, True)
    assert rows["harmonised_brier"]["n_items"] == 260


@every("m", [None, 1, 0, -3, 11, 1000])
def test_answers_without_usable_alternatives_are_named_and_nothing_else_is_lost(m):
    pairs = [(80, 1), (60, 1), (40, 0), (20, 0), (90, 1), (30, 1), (70, 0)] * 12
    frame = answers(pairs)
    some = frame.with_columns(
        n_alternatives=pl.when(pl.int_range(pl.len()) < 6)
        .then(pl.lit(m, pl.Int32))
        .otherwise("n_alternatives")
    )
    whole, part, none = (
        every_measure(each, seed=1)
        for each in (frame, some, frame.with_columns(n_alternatives=pl.lit(m, pl.Int32)))
    )
    ours = pl.col("measure").str.contains("mafc|auroc2_ideal")
    for other in (part, none):
        assert other.filter(~ours).equals(whole.filter(~ours))  # the other measures keep every answer
    told = part.filter(ours)
    assert told["method"].str.ends_with("; left out: 6 answers not chosen among 2 to 10 alternatives").all()
    assert told["n"].unique().to_list() == [len(pairs) - 6] and told["estimate"].null_count() == 0
    assert none.filter(ours)["status"].unique().to_list() == ["no answers chosen among 2 to 10 alternatives"]
    assert none.filter(ours)["estimate"].null_count() == none.filter(ours).height
    assert not whole["method"].str.contains("left out").any()


def test_measures_of_confidence_are_those_of_the_answers_themselves():
    rng = np.random.default_rng(12)
    pairs = [(int(p), int(rng.random() < p / 120)) for p in rng.integers(20, 101, 150)]
    frame = answers(pairs)
    rows = every_measure(frame, seed=3, n_boot=60)
    found = {row["measure"]: row for row in rows.iter_rows(named=True)}
    confidence, correct = frame["confidence"].to_numpy(), frame["correct"].to_numpy().astype(int)
    made = trials(confidence, correct, stream=1, n_draws=20)
    alone = of_trials(made)
    assert found["harmonised_aurc"]["estimate"] == pytest.approx(alone["aurc"].value)
    assert found["harmonised_excess_aurc"]["estimate"] == pytest.approx(alone["excess_aurc"].value)
    gap = found["harmonised_mean_confidence"]["estimate"] - found["harmonised_accuracy"]["estimate"]
    assert found["harmonised_calibration_in_the_large"]["estimate"] == pytest.approx(gap)


def test_every_measure_of_the_table_is_declared_with_its_range_and_holds_it():
    rng = np.random.default_rng(13)
    pairs = [(int(p), int(rng.random() < p / 110)) for p in rng.integers(0, 101, 200)]
    rows = every_measure(answers(pairs), seed=1, n_boot=50)
    declared = {PREFIX + each.name: each for each in DECLARED}
    assert rows["measure"].to_list() == list(declared)
    for row in rows.iter_rows(named=True):
        low, high = declared[row["measure"]].range
        for name in ("estimate", "low", "high"):
            assert row[name] is None or (low is None or low - 1e-9 <= row[name]), row
            assert row[name] is None or (high is None or row[name] <= high + 1e-9), row
        assert formulas()[row["measure"].removeprefix(PREFIX)]["formula"]


def test_a_model_added_leaves_the_numbers_of_the_others():
    rng = np.random.default_rng(14)
    first, second = (
        answers([(int(p), int(rng.random() < 0.7)) for p in rng.integers(0, 101, 60)], model=name)
        for name in ("one", "two")
    )
    both = every_measure(pl.concat([first, second]), seed=1, n_boot=50)
    apart = [every_measure(each, seed=1, n_boot=50) for each in (first, second)]
    assert both.equals(pl.concat(apart))


def test_the_order_of_answers_changes_no_bit():
    draw = np.random.default_rng(5)
    stated = pl.DataFrame(
        {
            "cluster": [f"q{n // 2}" for n in range(120)],
            "confidence": draw.integers(0, 101, 120) / 100,
            "correct": draw.integers(0, 2, 120).astype(float),
            "n_alternatives": pl.Series([4] * 120, dtype=pl.Int32),
        }
    )
    other = stated.sort("cluster", "confidence")
    assert repr(module.of_answers(stated, 0, 40)) == repr(module.of_answers(other, 0, 40))


def test_an_interval_of_few_items_is_marked():
    frame = answers([(place * 4 % 101, place % 3 > 0) for place in range(29)])
    found = every_measure(frame, seed=1, n_boot=50).filter(measure="harmonised_aurc")
    assert found["status"].to_list() == ["few items: 29"] and found["low"][0] is not None
