import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.proportions import proportion
from metacog_pipeline.stats.resampling import Patterns, patterns_of, ratio_statistic
from metacog_pipeline.stats.resampling import patterns as resample
from metacog_pipeline.stats.resampling import ratio as ratio_estimate

LEVEL = np.repeat(np.arange(1, 6), 2).astype(float)
RIGHT = np.tile([0.0, 1.0], 5)
ONE = np.ones(10)


def one_run(counts):
    return Patterns(np.eye(10, dtype=int), np.array(counts))


tables = st.lists(st.integers(0, 30), min_size=10, max_size=10)


@given(tables)
def test_a_share_over_one_run_is_the_plain_proportion(counts):
    high = (LEVEL == 5).astype(float)
    estimate = ratio_estimate(one_run(counts), high * RIGHT, high)
    expected = proportion(counts[9], counts[8] + counts[9])
    assert (estimate.value, estimate.n, estimate.status) == (expected.value, expected.n, expected.status)
    if expected.sem is not None:
        assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))
        assert estimate.sem == pytest.approx(expected.sem)


@given(tables)
def test_a_mean_over_one_run_is_the_plain_mean(counts):
    estimate = ratio_estimate(one_run(counts), LEVEL, ONE)
    said = np.repeat(LEVEL, counts)
    expected = resampling.mean(said, np.arange(len(said)))
    assert (estimate.n, estimate.status, estimate.method) == (expected.n, expected.status, expected.method)
    if expected.sem is not None:
        assert estimate.value == pytest.approx(expected.value)
        assert estimate.sem == pytest.approx(expected.sem, abs=1e-9)


@given(tables, st.integers(2, 5))
def test_repeating_every_run_alike_changes_neither_value_nor_standard_error(counts, runs):
    once = ratio_estimate(one_run(counts), RIGHT, ONE)
    again = ratio_estimate(Patterns(runs * np.eye(10, dtype=int), np.array(counts)), RIGHT, ONE)
    assert again.value == pytest.approx(once.value)
    assert again.n == runs * once.n
    if once.sem is not None:
        assert again.sem == pytest.approx(once.sem)
        assert (again.low, again.high) == pytest.approx((once.low, once.high))


def test_runs_that_disagree_within_items_narrow_the_interval():
    rng = np.random.default_rng(5)
    items, right = np.repeat(np.arange(500), 4), rng.integers(0, 2, 2000)
    clustered = ratio_estimate(patterns_of(items, right, 2), [0, 1], [1, 1])
    single = ratio_estimate(patterns_of(np.arange(500), right[::4], 2), [0, 1], [1, 1])
    assert clustered.method == "wilson, clustered"
    assert clustered.high - clustered.low == pytest.approx((single.high - single.low) / 2, rel=0.1)


def test_the_clustered_standard_error_is_that_of_resampled_items():
    rng = np.random.default_rng(8)
    items = np.repeat(np.arange(300), 3)
    right = (rng.random(900) < np.repeat(rng.random(300), 3)).astype(int)
    patterns = patterns_of(items, right, 2)
    draws = ratio_statistic([0, 1], [1, 1])(resample(patterns, 4000, 2))
    assert ratio_estimate(patterns, [0, 1], [1, 1]).sem == pytest.approx(draws.std(), rel=0.05)


def test_weighted_accuracy_takes_its_interval_from_the_draws():
    patterns = one_run([1, 0, 4, 2, 30, 20, 40, 60, 20, 90])
    draws = resample(patterns, 2000, 1)
    estimate = ratio_estimate(patterns, LEVEL * RIGHT, LEVEL, draws)
    assert estimate.value == pytest.approx((2 * 2 + 3 * 20 + 4 * 60 + 5 * 90) / (LEVEL @ patterns.totals))
    assert estimate.method == "item bootstrap"
    assert estimate.low < estimate.value < estimate.high
    linear = ratio_estimate(patterns, LEVEL * RIGHT, LEVEL)
    assert (estimate.low, estimate.high) == pytest.approx((linear.low, linear.high), abs=0.01)


def test_degenerate_sets_say_why():
    nobody = one_run([0] * 10)
    assert ratio_estimate(nobody, RIGHT, ONE).status == "no items"
    assert ratio_estimate(one_run([3] + [0] * 9), [0] * 10, [0] * 10).status == "no items"
    lone = ratio_estimate(one_run([0] * 9 + [1]), RIGHT, ONE)
    assert (lone.value, lone.low, lone.status) == (1.0, None, "single item")
    one_item = ratio_estimate(Patterns(np.array([[1, 2]]), np.array([1])), [0, 1], [1, 1])
    assert (one_item.value, one_item.low, one_item.n) == (pytest.approx(2 / 3), None, 3)


def test_an_even_split_on_every_item_has_no_more_weight_than_its_answers():
    estimate = ratio_estimate(Patterns(np.array([[1, 1]]), np.array([50])), [0, 1], [1, 1])
    expected = proportion(50, 100)
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))
