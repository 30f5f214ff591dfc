import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats import calibration, intervals
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
