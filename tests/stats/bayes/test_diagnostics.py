"""Convergence diagnostics on chains whose properties are known: arviz-stats, and what it is not asked."""

import numpy as np
import pytest
from scipy.signal import lfilter

from metacog_pipeline.stats.bayes import diagnostics as d


def ar1(rho, chains, draws, parameters=1, seed=0):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((chains, draws, parameters)) * (1 - rho**2) ** 0.5
    noise[:, 0] = rng.standard_normal((chains, parameters))
    return lfilter([1.0], [1.0, -rho], noise, axis=1)


@pytest.mark.parametrize("rho", [-0.4, 0.9])
def test_the_effective_size_of_an_autoregression_is_the_known_one(rho):
    expected = 40_000 * (1 - rho) / (1 + rho)
    assert d.of_each(ar1(rho, 8, 5000, 6))[1].mean() == pytest.approx(expected, rel=0.08)


def test_a_parameter_that_does_not_move_is_not_finite_or_has_few_draws_has_no_number():
    draws = ar1(0.0, 4, 100, 3)
    draws[:, :, 1] = 2.0
    draws[2, 7, 2] = np.nan
    for found in d.of_each(draws):
        assert np.isfinite(found[0]) and np.isnan(found[1:]).all()
    assert all(np.isnan(found).all() for found in d.of_each(draws[:, :3]))
    stuck = np.tile(np.arange(4.0)[:, None, None], (1, 100, 1))
    assert d.of_each(stuck)[0][0] > 1e6
