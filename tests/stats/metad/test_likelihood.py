"""The likelihood against its definition, its derivatives against differences."""

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from metacog_pipeline.stats.counts import counts, padded
from metacog_pipeline.stats.metad.likelihood import UNUSED_LOG_WIDTH, by_side, collapse, evaluate, problem_of


def problem_for(table, d, c, s):
    ones = np.ones(table.cells)
    return problem_of(collapse(by_side(table)), d * ones, c * ones, s * ones)


def point(problem, seed, spread=0.7):
    rng = np.random.default_rng(seed)
    sides, _, k, cells = problem.counts.shape
    width = rng.uniform(0.1, spread, (sides, k - 1, cells))
    width[problem.inactive[:, 1:]] = np.exp(UNUSED_LOG_WIDTH)
    return rng.uniform(-2, 3, cells), np.log(width)


def by_edges(problem, x, edges):
    width = np.diff(edges, axis=1, prepend=0.0)
    return evaluate(problem, x, np.log(width))


@pytest.mark.parametrize("s", [1.0, 0.7, 1.4])
@pytest.mark.parametrize("c", [0.3, -2.5])
def test_value_is_the_log_likelihood_of_the_ratings(classic, s, c):
    d, m, width = 1.2, 0.9, np.full((2, 3, 1), 0.4)
    problem = problem_for(classic, d, c, s)
    value = evaluate(problem, m / problem.unit, np.log(width)).value * classic.n
    meta_c, edges = m * c / d, np.cumsum(width[0, :, 0])
    expected = 0.0
    for row, mean, sd in ((classic.n_s1[0], -m / 2, 1.0), (classic.n_s2[0], m / 2, 1 / s)):
        for sign, bins in ((-1, row[:4][::-1]), (1, row[4:])):
            cuts = meta_c + sign * np.concatenate([[0], edges])
            tail = np.append(ndtr(-sign * (cuts - mean) / sd), 0.0)
            expected += (bins * np.log((tail[:-1] - tail[1:]) / tail[0])).sum()
    assert value[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("s", [1.0, 0.8])
def test_first_derivatives_are_the_slopes(make_observers, s):
    problem = problem_for(padded(make_observers(5, 3)), 1.3, 0.4, s)
    x, log_width = point(problem, 1)
    here, step = evaluate(problem, x, log_width), 1e-6
    slope = (evaluate(problem, x + step, log_width).value - evaluate(problem, x - step, log_width).value) / (
        2 * step
    )
    np.testing.assert_allclose(here.gradient_x, slope, atol=1e-8)
    edges = np.cumsum(np.exp(log_width), axis=1)
    for side, k in np.ndindex(edges.shape[:2]):
        shift = np.zeros_like(edges)
        shift[side, k] = step
        slope = (by_edges(problem, x, edges + shift).value - by_edges(problem, x, edges - shift).value) / (
            2 * step
        )
        np.testing.assert_allclose(here.gradient_e[side, k], slope, atol=1e-8)


@pytest.mark.parametrize("s", [1.0, 0.8])
def test_second_derivatives_are_the_slopes_of_the_first(make_observers, s):
    problem = problem_for(padded(make_observers(5, 4)), 1.3, -0.4, s)
    x, log_width = point(problem, 2)
    here, step = evaluate(problem, x, log_width), 1e-5
    up, down = evaluate(problem, x + step, log_width), evaluate(problem, x - step, log_width)
    np.testing.assert_allclose(here.curvature_x, (up.gradient_x - down.gradient_x) / (2 * step), atol=1e-6)
    np.testing.assert_allclose(here.mixed, (up.gradient_e - down.gradient_e) / (2 * step), atol=1e-6)
    edges = np.cumsum(np.exp(log_width), axis=1)
    for side, k in np.ndindex(edges.shape[:2]):
        shift = np.zeros_like(edges)
        shift[side, k] = step
        up, down = by_edges(problem, x, edges + shift), by_edges(problem, x, edges - shift)
        column = (up.gradient_e - down.gradient_e) / (2 * step)
        np.testing.assert_allclose(here.diagonal[side, k], column[side, k], atol=1e-6)
        if k + 1 < edges.shape[1]:
            np.testing.assert_allclose(here.beside[side, k], column[side, k + 1], atol=1e-6)


@pytest.mark.parametrize("c", [15.0, 40.0, 300.0])
def test_deep_tails_keep_their_digits(c):
    """A criterion many standard deviations out: probabilities underflow, their ratios do not."""
    table = counts([5, 9, 7, 3], [2, 6, 11, 8])
    problem = problem_for(table, 1.0, c, 1.0).side(1)
    value = evaluate(problem, 1.0 / problem.unit, np.log(np.full((1, 1, 1), 1 / c))).value * table.n
    expected = 0.0
    for (low, high), mean in (((7, 3), -0.5), ((11, 8), 0.5)):
        beyond = log_ndtr(mean - c - 1 / c) - log_ndtr(mean - c)
        expected += low * np.log(-np.expm1(beyond)) + high * beyond
    assert value[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("width", [1e-4, 1e-6, 1e-9])
def test_narrow_ratings_keep_their_digits(classic, width):
    """The probability of a narrow rating is density times width; a difference of two tails would lose it."""
    problem = problem_for(classic, 1.2, 0.3, 1.0)
    log_width = np.log(np.array([[[0.4], [width], [0.3]]] * 2))
    double = np.log(np.array([[[0.4], [2 * width], [0.3]]] * 2))
    x = np.ones(1)
    middle = problem.counts[:, :, 1].sum()
    rise = evaluate(problem, x, double).value - evaluate(problem, x, log_width).value
    assert rise[0] == pytest.approx(middle * np.log(2), abs=20 * width)
