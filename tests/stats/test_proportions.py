import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.estimate import Estimate, unavailable
from metacog_pipeline.stats.proportions import Z95, proportion, sem_interval, wilson_interval


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_agrees_with_scipy_and_stays_inside_0_and_1(case):
    k, n = case
    theirs = binomtest(k, n).proportion_ci(confidence_level=0.95, method="wilson")
    low, high = wilson_interval(k / n, n, z=1.959963984540054)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert 0.0 <= low <= k / n <= high <= 1.0


@given(st.integers(2, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_swapping_right_and_wrong_mirrors_the_estimate(case):
    k, n = case
    one, other = proportion(k, n), proportion(n - k, n)
    assert one.value == pytest.approx(1 - other.value)
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low))
    assert one.sem == pytest.approx(other.sem)


@given(st.lists(st.booleans(), min_size=2, max_size=200))
def test_a_share_and_the_mean_of_its_outcomes_have_one_standard_error(outcomes):
    share = proportion(sum(outcomes), len(outcomes))
    mean = resampling.mean(outcomes, range(len(outcomes)))
    assert share.value == pytest.approx(mean.value)
    assert share.sem == pytest.approx(mean.sem, abs=1e-12)


def test_one_right_of_six_has_the_published_half_width_because_the_sd_has_n_minus_1():
    estimate = proportion(1, 6)
    low, high = sem_interval(estimate.value, estimate.sem)
    assert round(100 * (high - low) / 2, 2) == 32.67
    assert low < 0  # unclipped
    assert estimate.low > 0


def test_nothing_and_one_item_have_no_interval_and_say_why():
    assert proportion(0, 0) == unavailable(0, "wilson", "no items")
    assert resampling.mean([], []) == unavailable(0, "sem", "no items")
    for lone in (proportion(1, 1), resampling.mean([3.5], [0])):
        assert lone.value is not None
        assert (lone.low, lone.high, lone.sem, lone.status) == (None, None, None, "single item")


def test_an_estimate_never_holds_nan_half_an_interval_or_numpy_types():
    with pytest.raises(ValueError, match="value of an estimate is nan"):
        Estimate(math.nan, None, None, 1, "m")
    with pytest.raises(ValueError, match="two ends or none"):
        Estimate(0.5, 0.1, None, 1, "m")
    with pytest.raises(ValueError, match="upside down"):
        Estimate(0.5, 0.6, 0.4, 1, "m")
    with pytest.raises(ValueError, match="below 0"):
        Estimate(0.5, 0.4, 0.6, -1, "m")
    estimate = Estimate(
        np.float64(0.5), np.float32(0.25), np.float64(1), np.int64(3), "m", sem=np.float64(0.5)
    )
    assert [type(x) for x in (estimate.value, estimate.low, estimate.high, estimate.sem)] == [float] * 4
    assert type(estimate.n) is int
    assert unavailable(0, "m", "no items").value is None


def test_the_half_width_is_1_96_standard_errors():
    assert sem_interval(10.0, 1.0) == pytest.approx((10 - Z95, 10 + Z95))
