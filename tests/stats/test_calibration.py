import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats import calibration, intervals, resampling
from metacog_pipeline.stats.resampling import Patterns, patterns_of
from metacog_pipeline.stats.resampling import patterns as resample


def ece_from_counts(table, probability):
    cells = np.asarray(table)
    items = Patterns(np.eye(cells.size, dtype=int), cells.ravel())
    return calibration.ece_estimate(items, probability, resample(items, 20, 1))


answers = st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=80)
tables = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=5, max_size=5)


def test_the_two_mappings_of_five_levels():
    assert calibration.level_probability(5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert calibration.level_probability(5, "c/L").tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8, 1])
    with pytest.raises(ValueError, match="unknown mapping"):
        calibration.level_probability(5, "c")


def test_ece_of_a_table_worked_by_hand():
    table = [[0, 0], [0, 0], [5, 5], [0, 0], [2, 8]]
    assert ece_from_counts(table, calibration.level_probability(5)).value == pytest.approx(0.1)
    assert ece_from_counts(table, calibration.level_probability(5, "c/L")).value == pytest.approx(
        0.5 * 0.1 + 0.5 * 0.2
    )


@given(tables)
def test_ece_lies_in_0_and_1_and_copies_of_the_data_leave_it(table):
    table = np.array(table)
    estimate = ece_from_counts(table, calibration.level_probability(5))
    if table.sum() == 0:
        assert (estimate.value, estimate.status) == (None, "no items")
        return
    assert 0 <= estimate.value <= 1
    assert ece_from_counts(3 * table, calibration.level_probability(5)).value == pytest.approx(estimate.value)


@given(tables)
def test_swapping_right_and_wrong_and_turning_the_scale_leaves_ece(table):
    table, p = np.array(table), calibration.level_probability(5)
    swapped = ece_from_counts(table[:, ::-1], 1 - p)
    assert swapped.value == pytest.approx(ece_from_counts(table, p).value, abs=1e-12)


@given(answers)
def test_levels_give_the_same_ece_as_arrays_in_five_bins_that_separate_them(rows):
    level, correct = map(np.array, zip(*rows, strict=True))
    p = calibration.level_probability(5, "c/L")
    table = np.bincount(2 * (level - 1) + correct, minlength=10).reshape(5, 2)
    assert calibration.ece(p[level - 1], correct, bins=5).value == pytest.approx(
        ece_from_counts(table, p).value, abs=1e-12
    )


def test_bins_are_open_below_and_closed_above_and_0_joins_the_first():
    stated = [0.0, 0.1, 0.1000001, 0.3, 1.0]
    assert calibration.bin_index(stated, 10).tolist() == [0, 0, 1, 2, 9]
    assert calibration.bin_index(stated, 10, "floor").tolist() == [0, 1, 1, 3, 9]
    assert calibration.bin_index(stated, 5, "mass").tolist() == [0, 1, 2, 3, 4]
    assert calibration.bin_index([0.5, 0.2, 0.5], edges="levels").tolist() == [1, 0, 1]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=40), st.integers(2, 25))
def test_whole_percents_share_a_bin_as_the_fractions_they_are(percent, bins):
    stated = np.array(percent) / 100
    upper = [max(-(-p * bins // 100) - 1, 0) for p in percent]
    assert calibration.bin_index(stated, bins).tolist() == upper
    assert calibration.bin_index(stated, bins, "floor").tolist() == [
        min(p * bins // 100, bins - 1) for p in percent
    ]


@given(answers, st.integers(0, 5))
def test_every_way_to_an_error_gives_the_same_one(rows, seed):
    level, correct = map(np.array, zip(*rows, strict=True))
    p = calibration.level_probability(5)
    stated = p[level - 1]
    for edges in ("equal", "floor"):
        plain = calibration.ece(stated, correct, 5, edges).value
        everything = calibration.ece_draws(stated, correct.astype(float), np.ones((1, len(stated))), 5, edges)
        table = np.bincount(2 * (level - 1) + correct, minlength=10).astype(float)[None]
        assert everything[0] == pytest.approx(plain, abs=1e-12)
        assert calibration.ece_statistic(p, 5, edges)(table)[0] == pytest.approx(plain, abs=1e-12)
    found = calibration.ece_clustered(stated, correct, np.arange(len(stated)) // 2, seed, bins=5, n_draws=50)
    assert found.value == calibration.ece(stated, correct, 5).value
    assert found.low is None or found.low <= found.value <= found.high


def test_the_error_of_clusters_is_the_frozen_one_and_its_interval_holds_the_truth():
    luck = np.random.default_rng(0)
    for size in ((120,), (30, 3), (30, 2)):
        luck.integers(0, 4 if len(size) > 1 else 6, size)
    luck.normal(0.1, 0.2, 500)
    luck.random((60, 3)), luck.random((60, 3))
    stated = np.round(luck.random(90), 2)
    correct = (luck.random(90) < stated).astype(int)
    found = calibration.ece_clustered(stated, correct, np.repeat(np.arange(45), 2), 77)
    assert found.value == 0.10266666666666667 and found.sem == pytest.approx(0.03217575811571481, rel=1e-12)
    # Whoever is right as often as it says has a true error of 0, whatever the sample shows.
    assert found.low == 0.0 and found.high == pytest.approx(0.1274121907552083, rel=1e-9)


@given(answers)
def test_brier_is_the_same_from_answers_and_from_patterns(rows):
    level, correct = map(np.array, zip(*rows, strict=True))
    p = calibration.level_probability(5)
    direct = intervals.mean((p[level - 1] - correct) ** 2, np.arange(len(rows)))
    patterns = patterns_of(np.arange(len(rows)), 2 * (level - 1) + correct, 10)
    counted = calibration.brier_from_patterns(patterns, p)
    assert counted.value == pytest.approx(direct.value, abs=1e-12)
    assert (counted.n, counted.status) == (direct.n, direct.status)
    if direct.sem is not None:
        assert counted.sem == pytest.approx(direct.sem, abs=1e-12)


@given(tables, st.integers(0, 5))
def test_the_bootstrap_interval_of_ece_holds_its_value_and_stays_inside_0_and_1(table, seed):
    patterns = Patterns(np.eye(10, dtype=int), np.array(table).ravel())
    estimate = calibration.ece_estimate(
        patterns, calibration.level_probability(5), resample(patterns, 100, seed)
    )
    if patterns.n_items >= 2:
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    else:
        assert estimate.low is None and estimate.status in {"no items", "single item"}


def test_level_use_says_when_confidence_teaches_nothing():
    assert calibration.level_use([[0, 0], [3, 5]]).informative is False
    mixed = calibration.level_use([[1, 0], [1, 2]])
    assert (mixed.levels_used, mixed.commonest_share, mixed.informative) == (2, 0.75, True)
    nothing = calibration.level_use([[0, 0]])
    assert (nothing.levels_used, nothing.commonest_share, nothing.informative) == (0, None, False)


def test_nothing_gives_no_number():
    assert calibration.ece([], []).status == "no items"
    assert calibration.ece([0.5], [1]).value == 0.5


@given(st.lists(st.integers(0, 9), min_size=10, max_size=10))
def test_the_parts_of_a_brier_score_add_up_to_it(cells):
    probability, totals = calibration.level_probability(5), np.array([cells], dtype=float)
    whole = calibration.brier_statistic(probability)(totals)
    parts = {name: part(totals) for name, part in calibration.brier_parts(probability).items()}
    together = parts["reliability"] - parts["resolution"] + parts["uncertainty"]
    np.testing.assert_allclose(together, whole, atol=1e-12, equal_nan=True)
    assert np.isnan(whole[0]) == (totals.sum() == 0)


def test_confidence_that_is_right_has_no_error_on_average_once_its_bias_is_taken_off():
    rng = np.random.default_rng(3)
    items = np.arange(200)
    plain, less = [], []
    for _ in range(40):
        level = rng.integers(0, 5, 200)
        right = rng.random(200) < calibration.level_probability(5)[level]
        patterns = resampling.patterns_of(items, 2 * level + right, 10)
        error = calibration.ece_statistic(calibration.level_probability(5))
        plain.append(float(error(patterns.totals[None].astype(float))[0]))
        less.append(calibration.debiased(plain[-1], error(resampling.patterns(patterns, 200, 1))))
    assert np.mean(less) < 0.75 * np.mean(plain)
    assert calibration.debiased(0.1, np.full(20, np.nan)) is None


def test_a_debiased_error_is_never_below_0():
    assert calibration.debiased(0.02, np.full(20, 0.07)) == 0.0
    assert calibration.debiased(0.2, np.full(20, 0.25)) == pytest.approx(0.15)
