"""Cubic curves beside SciPy's: the same cubics, the same values, beyond the ends too."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from metacog_pipeline.stats._splines import hermite, spline
from tests.tables import every

AT = np.linspace(-9.0, 9.0, 73)


def points(seed, even):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(4, 60))
    x = np.linspace(-6.5, 6.5, n) if even else np.cumsum(draw.exponential(size=n) ** 3 + 1e-3) - 5
    return x, draw.normal(size=n), draw.normal(size=n)


@every("even", [True, False])
@every("seed", range(40))
def test_a_spline_is_that_of_scipy(seed, even):
    x, y, _ = points(seed, even)
    known, found = CubicSpline(x, y), spline(x, y)
    scale = np.abs(known.c).max(axis=1, keepdims=True)
    assert np.abs(found.c - known.c).max(where=np.isfinite(scale), initial=0) <= 1e-9 * scale.max()
    assert found(AT) == pytest.approx(known(AT), rel=1e-9, abs=1e-9)
    assert found(x) == pytest.approx(y, abs=1e-9)


@every("even", [True, False])
@every("seed", range(10))
def test_a_curve_with_given_slopes_is_that_of_scipy(seed, even):
    x, y, slopes = points(seed, even)
    known, found = CubicHermiteSpline(x, y, slopes), hermite(x, y, slopes)
    assert found.c == pytest.approx(known.c, rel=1e-12)
    assert found(AT.reshape(1, -1)) == pytest.approx(known(AT.reshape(1, -1)), rel=1e-9, abs=1e-9)


def test_many_curves_through_the_same_places_are_found_at_once():
    x, y, _ = points(3, True)
    many = np.stack([y, -2 * y, y**2], axis=1).reshape(len(y), 3, 1)
    assert spline(x, many).c == pytest.approx(CubicSpline(x, many).c, rel=1e-9, abs=1e-9)


def test_points_are_left_as_they_are():
    x, y, _ = points(5, False)
    before = x.copy(), y.copy()
    spline(x, y)
    assert np.array_equal(x, before[0]) and np.array_equal(y, before[1])


def test_a_cubic_is_found_again():
    x = np.array([-2.0, -1.5, 0.1, 0.2, 3.0])
    at = np.linspace(-4, 5, 19)
    assert spline(x, x**3 - 2 * x + 1)(at) == pytest.approx(at**3 - 2 * at + 1, abs=1e-9)
