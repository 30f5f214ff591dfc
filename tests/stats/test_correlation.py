import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from metacog_pipeline.stats.correlation import regression

points = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=4, max_size=25)


def columns(rows):
    x, y = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    return x, y


@given(points)
def test_the_interval_of_the_slope_is_that_of_its_t(rows):
    x, y = columns(rows)
    line = regression(x, y)
    assume(line.status == "ok")
    residual = y - line.intercept - line.slope * x
    error = np.sqrt(residual @ residual / (len(x) - 2) / ((x - x.mean()) ** 2).sum())
    half = scipy_stats.t.ppf(0.975, len(x) - 2) * error
    assert (line.slope_low, line.slope_high) == pytest.approx(
        (line.slope - half, line.slope + half), abs=1e-9
    )
    assert line.slope_se == pytest.approx(error, rel=1e-6)


def test_points_on_a_line_have_r_1_and_no_error():
    line = regression([1, 2, 3, 4], [3, 5, 7, 9])
    assert (line.slope, line.intercept) == pytest.approx((2, 1))
    assert (line.r, line.p, line.slope_se, line.status) == (1.0, 0.0, 0.0, "all points on one line")


def test_too_few_points_and_flat_data_say_why():
    assert regression([], []).status == "fewer than three points"
    assert regression([1, 2], [3, 4]).status == "fewer than three points"
    assert regression([2, 2, 2], [1, 2, 3]).status == "no spread in x"
    flat = regression([1, 2, 3], [0.1, 0.1, 0.1])
    assert (flat.slope, flat.r, flat.p, flat.status) == (0.0, None, None, "no spread in y")
