"""The interval of a calibration error: small errors, errors of 0, and answers that are all alike."""

import numpy as np
import pytest

from metacog_pipeline.stats import calibration, resampling
from metacog_pipeline.stats.intervals import of_totals
from metacog_pipeline.stats.resampling import Patterns


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
