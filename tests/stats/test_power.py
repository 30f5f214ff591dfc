"""The planner of trials against the textbook formula and against simulated experiments."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from metacog_pipeline.stats import power
from metacog_pipeline.stats.observers import expected_counts
from tests.proofs.coverage_grid import simulated_power
from tests.tables import every


def test_the_trials_for_a_criterion_shift_are_those_of_the_textbook_formula():
    errors = []
    for c in (0.0, 0.1):
        rates = norm.cdf(1 - c), norm.cdf(-1 - c)
        errors.append(sum(r * (1 - r) / (0.5 * norm.pdf(norm.ppf(r)) ** 2) for r in rates) / 4)
    wanted = sum(errors) * ((1.959964 + norm.ppf(0.8)) / 0.1) ** 2
    found = power.approximate_trials(power.Design("criterion", 2.0, 1.0, 0.1))
    assert found == pytest.approx(wanted, rel=0.01)


@every("target", [0.5, 0.8])
def test_experiments_of_the_planned_size_have_the_planned_power(target):
    design = power.Design("mratio", 1.5, 0.8, 0.2)
    found = simulated_power(design, power.approximate_trials(design, target), 1000, seed=1)
    assert found / 1000 == pytest.approx(target, abs=0.05)


@pytest.mark.proof
@every(
    "design",
    [
        power.Design("mratio", 1.5, 0.8, 0.0),
        power.Design("mratio", 1.0, 0.6, 0.0, c=0.5, ratings=3),
        power.Design("optimality", 1.5, 1.0),
        power.Design("dprime", 1.5, 0.8, 0.0),
        power.Design("criterion", 1.0, 0.8, 0.0, c=0.4),
    ],
)
def test_without_a_difference_the_test_rejects_at_its_level(design):
    assert simulated_power(design, 2000, 4000, seed=3) / 4000 == pytest.approx(0.05, abs=0.017)


@settings(max_examples=50)
@given(
    st.floats(0.2, 3),
    st.floats(-0.5, 1.6),
    st.floats(-1, 1),
    st.integers(2, 9),
    st.sampled_from([0.2, 0.5, 0.7]),
)
def test_every_rating_is_used_equally_with_either_answer(d, m, c, ratings, share):
    design = power.Design("dprime", d, m, 0.1, c, ratings, p_s2=share)
    table = expected_counts(*power.shape(design, power.Observer(d, m, c)), 1000, share)
    used = (table.n_s1 + table.n_s2)[0].reshape(2, ratings)
    np.testing.assert_allclose(used / used.sum(axis=1, keepdims=True), 1 / ratings, rtol=1e-6)


def test_a_difference_that_no_trial_can_show_is_refused_and_an_obvious_one_takes_the_fewest_trials():
    with pytest.raises(ValueError, match="nothing to detect"):
        power.approximate_trials(power.Design("dprime", 1.0, 1.0, 0.0))
    assert power.approximate_trials(power.Design("dprime", -2.5, 1.0, 5.0)) == power.LEAST_TRIALS
    assert math.isfinite(power.approximate_trials(power.Design("mratio", 0.5, 0.8, 0.0005)))
