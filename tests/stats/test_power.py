"""The power planner against the normal approximation, its own null, and what more trials must do."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from metacog_pipeline.stats import power
from metacog_pipeline.stats.observers import expected_counts
from tests.tables import every

NULLS = (
    power.Design("mratio", 1.5, 0.8, 0.0),
    power.Design("mratio", 1.0, 0.6, 0.0, c=0.5, ratings=3),
    power.Design("optimality", 1.5, 1.0),
    power.Design("dprime", 1.5, 0.8, 0.0),
    power.Design("criterion", 1.0, 0.8, 0.0, c=0.4),
)


@pytest.mark.proof
@every("design", NULLS)
def test_without_a_difference_the_test_rejects_at_its_level(design):
    found = power.simulated_power(design, 2000, simulations=4000, seed=3)
    assert found.power.value == pytest.approx(0.05, abs=0.017)
    assert found.untestable == 0


@pytest.mark.proof
@every(
    "design",
    [
        power.Design("mratio", 1.5, 0.8, 0.2),
        power.Design("mratio", 1.2, 0.9, -0.25, c=-0.3, ratings=4),
        power.Design("optimality", 1.5, 0.8),
        power.Design("dprime", 1.5, 1.0, 0.15),
        power.Design("criterion", 1.5, 1.0, -0.08),
    ],
)
def test_in_large_samples_it_is_the_normal_approximation(design):
    found = power.simulated_power(design, 3000, simulations=3000, seed=1)
    assert found.power.value == pytest.approx(found.approximation, abs=0.035)
    assert found.power.low <= found.power.value <= found.power.high and found.power.n == 3000


def test_the_approximation_of_a_criterion_shift_is_the_textbook_formula():
    design, n = power.Design("criterion", 2.0, 1.0, 0.1), 4000
    errors = []
    for c in (0.0, 0.1):
        rates = norm.cdf(1 - c), norm.cdf(-1 - c)
        errors.append(sum(r * (1 - r) / (n / 2 * norm.pdf(norm.ppf(r)) ** 2) for r in rates) / 4)
    shift = 0.1 / math.sqrt(sum(errors))
    expected = norm.sf(1.959964 - shift) + norm.sf(1.959964 + shift)
    assert power.approximate_power(design, n) == pytest.approx(expected, abs=0.003)


def test_more_trials_never_lower_the_power():
    for design in (power.Design("mratio", 1.5, 0.8, 0.2), power.Design("optimality", 1.0, 0.6)):
        powers = [
            power.simulated_power(design, n, simulations=2000, seed=2).power.value
            for n in (300, 1000, 3000, 9000)
        ]
        assert powers == sorted(powers) and powers[0] + 0.1 < powers[-1]


@pytest.mark.proof
@every("design", [power.Design("mratio", 1.5, 0.8, 0.2), power.Design("dprime", 1.0, 1.0, 0.3)])
@every("target", [0.5, 0.8, 0.95])
def test_the_trials_found_give_the_power_asked_for(design, target):
    needed = power.trials_needed(design, target, simulations=1000, seed=4)
    assert needed.status == "ok" and needed.found is not None
    assert needed.found.power.value >= target
    fresh = power.simulated_power(design, needed.found.trials, simulations=2000, seed=99)
    assert fresh.power.value == pytest.approx(target, abs=0.045)
    less = [step for step in needed.steps if step.trials < needed.found.trials]
    assert all(step.power.value < target for step in less)
    assert len(needed.steps) <= power.MOST_STEPS + 12


def test_the_same_seed_gives_the_same_plan():
    design = power.Design("mratio", 1.5, 0.8, 0.3)
    one = power.trials_needed(design, simulations=300, seed=5)
    assert one == power.trials_needed(design, simulations=300, seed=5)


def test_what_no_experiment_can_show_is_said():
    found = power.trials_needed(power.Design("mratio", 0.5, 0.8, 0.0005), simulations=100)
    assert found.found is None and "10,000,000" in found.status


def test_obvious_differences_take_the_fewest_trials_there_are():
    found = power.trials_needed(power.Design("dprime", -2.5, 1.0, 5.0), simulations=200)
    assert found.found is not None and found.found.trials == 20


@settings(max_examples=50)
@given(
    st.floats(0.2, 3),
    st.floats(-0.5, 1.6),
    st.floats(-1, 1),
    st.integers(2, 9),
    st.sampled_from([0.2, 0.5, 0.7]),
)
def test_every_rating_is_used_equally_with_either_answer(d, m, c, ratings, share):
    low, high = power.equal_use_criteria(power.Observer(d, m, c), ratings, share)
    table = expected_counts(d, m, c, low, high, 1000, share)
    used = (table.n_s1 + table.n_s2)[0].reshape(2, ratings)
    np.testing.assert_allclose(used / used.sum(axis=1, keepdims=True), 1 / ratings, rtol=1e-6)


def test_samples_too_small_to_measure_count_as_no_rejection():
    found = power.simulated_power(power.Design("mratio", 1.0, 1.0, 0.5), 20, simulations=500)
    assert found.power.value < 0.3 and 0 <= found.untestable <= 1
