"""The one family of intervals: Wilson's for shares, the same on two nodes for means, inside the range, clustered."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from metacog_pipeline.stats import calibration, intervals
from metacog_pipeline.stats.estimate import Estimate, unavailable
from metacog_pipeline.stats.intervals import mean, proportion, ratio, wilson_interval
from metacog_pipeline.stats.resampling import Patterns, patterns_of
from metacog_pipeline.stats.resampling import patterns as resample

LEVEL = np.repeat(np.arange(1, 6), 2).astype(float)
RIGHT = np.tile([0.0, 1.0], 5)
ONE = np.ones(10)
tables = st.lists(st.integers(0, 30), min_size=10, max_size=10)


def one_run(counts):
    return Patterns(np.eye(10, dtype=int), np.array(counts))


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_agrees_with_scipy_and_stays_inside_0_and_1(case):
    k, n = case
    theirs = binomtest(k, n).proportion_ci(confidence_level=0.95, method="wilson")
    low, high = wilson_interval(k / n, n)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert 0.0 <= low <= k / n <= high <= 1.0


def test_a_mean_of_equal_values_hides_what_the_rule_of_three_says():
    found = mean([0.75] * 20, range(20))
    hidden = 1 - 0.025 ** (1 / 20)
    assert (found.low, found.high) == pytest.approx((0.75 * (1 - hidden), 0.75 + 0.25 * hidden))


def test_without_errors_a_brier_score_is_not_certain():
    found = calibration.brier([0.9] * 20, [1] * 20, range(20))
    assert found.value == pytest.approx(0.01)
    assert found.low >= 0 and found.high > 0.1
    assert found.high == pytest.approx(
        calibration.brier_from_patterns(Patterns(np.eye(2, dtype=int), np.array([0, 20])), [0.9]).high
    )


@given(tables)
def test_a_share_over_one_run_is_the_plain_proportion(counts):
    high = (LEVEL == 5).astype(float)
    estimate = ratio(one_run(counts), high * RIGHT, high)
    expected = proportion(counts[9], counts[8] + counts[9])
    assert (estimate.value, estimate.n, estimate.status) == (expected.value, expected.n, expected.status)
    if expected.sem is not None:
        assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))
        assert estimate.sem == pytest.approx(expected.sem)


@given(tables)
def test_a_mean_over_one_run_is_the_plain_mean(counts):
    estimate = ratio(one_run(counts), LEVEL, ONE)
    said = np.repeat(LEVEL, counts)
    expected = mean(said, np.arange(len(said)), (1.0, 5.0))
    assert (estimate.n, estimate.status, estimate.method) == (expected.n, expected.status, expected.method)
    if expected.sem is not None:
        assert estimate.value == pytest.approx(expected.value)
        assert estimate.sem == pytest.approx(expected.sem, abs=1e-9)
        assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))


def test_the_clustered_standard_error_is_that_of_resampled_items():
    rng = np.random.default_rng(8)
    items = np.repeat(np.arange(300), 3)
    right = (rng.random(900) < np.repeat(rng.random(300), 3)).astype(int)
    patterns = patterns_of(items, right, 2)
    drawn = resample(patterns, 4000, 2)
    spread = (drawn[:, 1] / drawn.sum(axis=1)).std()
    assert ratio(patterns, [0, 1], [1, 1]).sem == pytest.approx(spread, rel=0.05)


def test_nothing_and_one_item_have_no_interval_and_say_why():
    assert proportion(0, 0) == unavailable(0, "wilson", "no items")
    assert mean([], []) == unavailable(0, "two-point score", "no items")
    for lone in (proportion(1, 1), mean([0.5], [0])):
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
    made = Estimate(np.float64(0.5), np.float32(0.25), np.float64(1), np.int64(3), "m", sem=np.float64(0.5))
    assert [type(x) for x in (made.value, made.low, made.high, made.sem)] == [float] * 4
    assert type(made.n) is int


def test_every_kind_of_interval_is_named_with_its_source():
    assert all(kind.of and kind.source for kind in intervals.FAMILY.values())
    named = [each.method.split(",")[0] for each in (proportion(1, 2), mean([0.2, 0.4], [0, 1]))]
    assert set(named) <= set(intervals.FAMILY)
