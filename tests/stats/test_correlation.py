import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from metacog_pipeline.stats.correlation import (
    pearson,
    pearson_from_r,
    regression,
    slope_interval,
    with_and_without,
)

points = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=4, max_size=25)


def columns(rows):
    x, y = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    return x, y


@given(points)
def test_line_and_r_are_scipys(rows):
    x, y = columns(rows)
    assume(np.ptp(x) > 0 and np.ptp(y) > 0 and regression(x, y).status == "ok")
    ours, theirs = regression(x, y), scipy_stats.linregress(x, y)
    assert ours.slope == pytest.approx(theirs.slope, abs=1e-9)
    assert ours.intercept == pytest.approx(theirs.intercept, abs=1e-9)
    assert ours.slope_se == pytest.approx(theirs.stderr, rel=1e-6)
    assert ours.intercept_se == pytest.approx(theirs.intercept_stderr, rel=1e-6)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12)
    r = scipy_stats.pearsonr(x, y)
    assert ours.correlation.r == pytest.approx(r.statistic, abs=1e-12)
    assert ours.correlation.p == pytest.approx(r.pvalue, rel=1e-6, abs=1e-12)
    interval = r.confidence_interval(0.95)
    assert (ours.correlation.low, ours.correlation.high) == pytest.approx(tuple(interval), abs=1e-4)


@given(points)
def test_the_p_of_the_slope_is_the_p_of_r(rows):
    line = regression(*columns(rows))
    assert (line.p is None) == (line.correlation.p is None)
    if line.p is not None:
        assert line.p == pytest.approx(line.correlation.p, rel=1e-6, abs=1e-14)


@given(points)
def test_the_interval_of_a_slope_follows_from_slope_r_and_n(rows):
    line = regression(*columns(rows))
    assume(line.status == "ok" and abs(line.correlation.r) > 1e-6)
    interval = slope_interval(line.slope, line.correlation.r, line.n)
    assert interval == pytest.approx((line.slope_low, line.slope_high), rel=1e-6, abs=1e-9)


@given(points, st.floats(0.001, 1000), st.floats(-1000, 1000))
def test_r_does_not_know_units_or_which_is_which(rows, scale, shift):
    x, y = columns(rows)
    one, turned, rescaled = pearson(x, y), pearson(y, x), pearson(x * scale + shift, y)
    if one.r is not None:
        assert turned.r == pytest.approx(one.r, abs=1e-12)
        assert rescaled.r == pytest.approx(one.r, abs=1e-6)


def test_points_on_a_line_have_r_1_and_no_interval():
    line = regression([1, 2, 3, 4], [3, 5, 7, 9])
    assert (line.slope, line.intercept) == pytest.approx((2, 1))
    assert (line.correlation.r, line.p, line.correlation.p, line.correlation.low) == (1.0, 0.0, 0.0, None)
    assert line.status == "all points on one line"


def test_too_few_points_and_flat_data_say_why():
    assert regression([], []).status == "fewer than three points"
    assert regression([1, 2], [3, 4]).status == "fewer than three points"
    assert regression([2, 2, 2], [1, 2, 3]).status == "no spread in x"
    flat = regression([1, 2, 3], [0.1, 0.1, 0.1])
    assert (flat.slope, flat.correlation.r, flat.p, flat.status) == (0.0, None, None, "no spread in y")
    three = pearson([1, 2, 3], [1, 3, 2])
    assert three.r == pytest.approx(0.5) and three.low is None and three.p is not None
    assert pearson_from_r(0.5, 2).status == "fewer than three points"
    assert slope_interval(1.0, 0.0, 10) is None and slope_interval(1.0, 0.5, 2) is None


def test_huge_and_tiny_numbers_neither_overflow_nor_vanish():
    x, y = np.array([1.0, 2, 3, 5]), np.array([2.0, 1, 4, 4])
    plain = regression(x, y)
    for size in (1e-120, 1e120):
        scaled = regression(x * size, y * size)
        assert scaled.slope == pytest.approx(plain.slope)
        assert scaled.p == pytest.approx(plain.p)


def test_differences_too_small_to_divide_by_count_as_none():
    assert regression([0.0, 5e-324, 1e-323, 1e-322], [1e140, 0, 3, 4]).status == "no spread in x"
    assert regression([1.0, 2, 3, 4], [0.0, 5e-324, 1e-323, 0]).status == "no spread in y"


def test_outliers_are_named_with_a_reason_and_both_lines_are_kept():
    x, y = np.array([1.0, 2, 3, 4, 5, 6]), np.array([1.0, 2.2, 2.9, 4.1, 5.0, 60.0])
    both = with_and_without(x, y, {5: "chose one answer throughout"})
    assert both.with_all == regression(x, y)
    assert both.without == regression(x[:5], y[:5])
    assert [(e.index, e.reason) for e in both.excluded] == [(5, "chose one answer throughout")]
    assert with_and_without(x, y, {}).without == both.with_all
    assert with_and_without([1, 2], [1, 2], {0: "a", 1: "b"}).without.status == "fewer than three points"
