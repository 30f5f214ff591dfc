import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats import calibration, intervals, resampling
from metacog_pipeline.stats.intervals import of_totals
from metacog_pipeline.stats.resampling import Patterns, patterns_of
from metacog_pipeline.stats.resampling import patterns as resample


def ece_from_counts(table, probability):
    cells = np.asarray(table)
    items = Patterns(np.eye(cells.size, dtype=int), cells.ravel())
    return calibration.ece_estimate(items, probability, resample(items, 20, 1))


answers = st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=80)


def test_ece_of_a_table_worked_by_hand():
    table = [[0, 0], [0, 0], [5, 5], [0, 0], [2, 8]]
    assert ece_from_counts(table, calibration.level_probability(5)).value == pytest.approx(0.1)
    assert ece_from_counts(table, np.arange(1, 6) / 5).value == pytest.approx(0.5 * 0.1 + 0.5 * 0.2)


@given(answers)
def test_levels_give_the_same_ece_as_arrays_in_five_bins_that_separate_them(rows):
    level, correct = map(np.array, zip(*rows, strict=True))
    p = np.arange(1, 6) / 5
    table = np.bincount(2 * (level - 1) + correct, minlength=10).reshape(5, 2)
    assert calibration.ece(p[level - 1], correct, bins=5).value == pytest.approx(
        ece_from_counts(table, p).value, abs=1e-12
    )


@given(answers)
def test_the_error_of_answers_is_that_of_their_counts(rows):
    level, correct = map(np.array, zip(*rows, strict=True))
    p = calibration.level_probability(5)
    stated = p[level - 1]
    for edges in ("equal", "floor"):
        plain = calibration.ece(stated, correct, 5, edges).value
        table = np.bincount(2 * (level - 1) + correct, minlength=10).astype(float)[None]
        assert calibration.ece_statistic(p, 5, edges)(table)[0] == pytest.approx(plain, abs=1e-12)


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


@given(st.lists(st.integers(0, 9), min_size=10, max_size=10))
def test_the_parts_of_a_brier_score_add_up_to_it(cells):
    probability, totals = calibration.level_probability(5), np.array([cells], dtype=float)
    whole = calibration.brier_statistic(probability)(totals)
    parts = calibration.brier_parts(probability, totals)
    together = parts["reliability"] - parts["resolution"] + parts["uncertainty"]
    np.testing.assert_allclose(together, whole, atol=1e-12, equal_nan=True)
    assert np.isnan(whole[0]) == (totals.sum() == 0)


def error(n, right, said, draws=2000):
    patterns = Patterns(np.eye(2, dtype=int), np.array([n - right, right]))
    return calibration.ece_estimate(patterns, [said], resampling.patterns(patterns, draws, 1))


def test_a_small_error_reaches_up_to_the_one_that_gives_it_as_the_2_5th_percentile():
    found = error(1000, 951, 0.95, 10_000)
    assert found.value == pytest.approx(0.001)
    # A normal error of 6.8 answers around the gap leaves 2.5 % within one answer of 0.
    assert found.high == pytest.approx(0.0120, abs=0.0006)


@pytest.mark.parametrize("said", [0.95, 0.9500000001, 0.94999999, 0.9503, 0.9497])
def test_an_error_that_no_sample_could_make_smaller_has_the_upper_end_of_none(said):
    assert error(1000, 950, said).high == pytest.approx(2.24 * np.sqrt(0.95 * 0.05 / 1000), rel=0.06)


def test_a_mean_of_squared_gaps_is_not_cut_off_either():
    totals = np.array([49.0, 951.0])
    draws = np.random.default_rng(1).multinomial(1000, totals / 1000, 4000).astype(float)
    low, high = of_totals(totals, draws, np.array([0.95]), squared=True)
    assert low == 0.0
    assert np.sqrt(high) == pytest.approx(0.0120, abs=0.001)


@pytest.mark.parametrize("n", [2, 10, 100])
@pytest.mark.parametrize("said", [0.0, 1.0])
def test_certain_answers_that_all_come_true_may_hide_what_the_rule_of_three_says(said, n):
    most = 1 - 0.025 ** (1 / n)
    found = error(n, int(said) * n, said)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(most)


def test_answers_all_right_at_less_than_certainty_may_be_calibrated_or_worse():
    sure, modest = error(100, 100, 0.99), error(50, 50, 0.9)
    assert sure.low == pytest.approx(0.0, abs=1e-9)
    assert sure.high == pytest.approx(0.99 - 0.025 ** (1 / 100))
    # 50 of 50 right leave an accuracy of 0.929: a gap of 0.029 to the stated 0.9.
    assert modest.low == pytest.approx(0.025 ** (1 / 50) - 0.9)
