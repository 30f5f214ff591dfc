"""The planner of trials against simulated experiments."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.stats import power
from metacog_pipeline.stats.observers import expected_counts
from tests.proofs.coverage_grid import simulated_power
from tests.tables import every


def test_experiments_of_the_planned_size_have_the_planned_power():
    needed = power.approximate_trials(1.5, 0.8, 0.2, power=0.8)
    assert simulated_power(1.5, 0.8, 0.2, needed, 1000, seed=1) / 1000 == pytest.approx(0.8, abs=0.05)


@pytest.mark.proof
@every(("d", "m_ratio", "ratings"), [(1.5, 0.8, 5), (1.0, 0.6, 3)])
def test_without_a_difference_the_test_rejects_at_its_level(d, m_ratio, ratings):
    rejected = simulated_power(d, m_ratio, 0.0, 2000, 4000, seed=3, ratings=ratings)
    assert rejected / 4000 == pytest.approx(0.05, abs=0.017)


@settings(max_examples=50)
@given(st.floats(0.2, 3), st.floats(-0.5, 1.6), st.integers(2, 9))
def test_every_rating_is_used_equally_with_either_answer(d, m, ratings):
    table = expected_counts(d, m, 0.0, *power.criteria(d, m, ratings), 1000)
    used = (table.n_s1 + table.n_s2)[0].reshape(2, ratings)
    np.testing.assert_allclose(used / used.sum(axis=1, keepdims=True), 1 / ratings, rtol=1e-6)


def test_a_difference_that_no_trial_can_show_is_refused_and_an_obvious_one_takes_the_fewest_trials():
    with pytest.raises(ValueError, match="nothing to detect"):
        power.approximate_trials(1.0, 1.0, 0.0)
    assert power.approximate_trials(2.0, -1.9, 4.9, power=0.1) == power.LEAST_TRIALS
    assert math.isfinite(power.approximate_trials(0.5, 0.8, 0.0005))
