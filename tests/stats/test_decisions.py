import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from metacog_pipeline.stats.decisions import (
    against_optimality,
    compare,
    contrasts,
    verdicts,
    z_test,
)
from tests.tables import every


def draws(seed, mean=1.0, sd=0.1, n=4000):
    return np.random.default_rng(seed).normal(mean, sd, n)


# --- the region of practical equivalence -------------------------------------------------------------------------


@every(
    ("low", "high", "significant", "verdict"),
    [
        (0.2, 0.3, True, "significant"),
        (-0.3, -0.2, True, "significant"),
        (0.01, 0.09, True, "negligible"),
        (-0.1, -0.01, True, "negligible"),
        (0.05, 0.2, True, "inconclusive"),
        (-0.2, 0.2, True, "inconclusive"),
        (0.1, 0.2, True, "inconclusive"),  # it touches the region: not outside
        (0.2, 0.3, False, "not_significant"),
    ],
)
def test_the_verdict_is_where_the_interval_lies(low, high, significant, verdict):
    found = verdicts(np.array([low]), np.array([high]), 0.1, np.array([significant]))
    assert found.tolist() == [verdict]


# --- Z tests -----------------------------------------------------------------------------------------------------


@given(st.floats(-3, 3), st.floats(0.01, 2), st.integers(1, 300))
def test_a_test_rejects_exactly_where_its_adjusted_interval_leaves_out_zero(delta, se, family):
    test = z_test([delta] * family, [se] * (family - 1) + [math.nan] if family > 1 else [se])
    assert test.family_size == family
    assert test.p[0] == pytest.approx(2 * norm.sf(abs(delta / se)))
    assert test.p_adjusted[0] == pytest.approx(min(1.0, family * test.p[0]))
    outside = test.low_adjusted[0] > 0 or test.high_adjusted[0] < 0
    if abs(test.p_adjusted[0] - 0.05) > 1e-9:
        assert bool(test.significant[0]) == outside
    assert test.high_adjusted[0] - test.low_adjusted[0] >= test.high[0] - test.low[0] - 1e-12
    assert family == 1 or (np.isnan(test.p[-1]) and not test.significant[-1])


# --- posterior draws ---------------------------------------------------------------------------------------------


def test_independent_fits_are_compared_on_both_scales():
    found = compare(draws(1, 0.8, 0.02), draws(2, 0.6, 0.02), rope=0.05)
    assert found.log_ratio == pytest.approx(math.log(0.8 / 0.6), abs=0.005)
    assert found.difference == pytest.approx(0.2, abs=0.005)
    half = 1.96 * math.sqrt(2) * 0.02
    assert found.high - found.low == pytest.approx(2 * half, rel=0.05)
    assert found.differs and found.verdict == "significant" and found.probability == 1.0


def test_draws_at_or_below_zero_leave_the_difference_and_say_why():
    found = compare(draws(1, 0.1, 0.2), draws(2, 1.0, 0.1))
    assert found.log_ratio is None and found.scale == "difference" and "log" in found.status
    assert found.differs and found.verdict == "significant"


def test_optimality_is_a_ratio_of_one():
    assert against_optimality(draws(1, 1.0, 0.05)).verdict == "not_significant"
    below = against_optimality(draws(2, 0.8, 0.02))
    assert below.log_ratio == pytest.approx(math.log(0.8), abs=0.005) and below.verdict == "significant"
    assert against_optimality(draws(3, 1.02, 0.001)).verdict == "negligible"


# --- families of contrasts ---------------------------------------------------------------------------------------


def test_a_difference_without_a_number_is_untested_and_says_why():
    place = np.array([0, 0, 0])
    found = contrasts("c", place, place, [math.inf, 0.5, math.nan], [1.0, 0.0, 1.0])
    assert found.verdict.tolist() == ["untested"] * 3 and not found.test.significant.any()
    assert all(status != "ok" for status in found.status)
