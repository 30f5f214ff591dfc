"""The sampler on targets whose answer is known, skewed and correlated ones too."""

import numpy as np
import pytest
from scipy.special import gammaincinv, polygamma, psi

from metacog_pipeline.stats.bayes.diagnostics import of_each
from metacog_pipeline.stats.bayes.sampler import draw, mode, overdispersed, warm_up


def sample(density, starts, *, draws, **tuning):
    return draw(density, warm_up(density, starts, **tuning), draws)


def normal_target(dim, condition, seed=0):
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]
    covariance = (turn * np.geomspace(1, condition, dim) ** 2) @ turn.T
    precision = np.linalg.inv(covariance)
    return covariance, lambda q: (-0.5 * np.einsum("ci,ij,cj->c", q, precision, q), -q @ precision)


def log_gamma_target(shape):
    """Logarithms of independent gamma variables: a long tail on one side, a wall on the other."""
    return lambda q: ((shape * q - np.exp(q)).sum(axis=1), shape - np.exp(q))


def starts(chains, dim, scale=2.0):
    return scale * np.random.default_rng(9).standard_normal((chains, dim))


@pytest.mark.parametrize("shape", [0.5, 8.0])
def test_a_skewed_target_keeps_mean_variance_and_both_tails(shape):
    draws = sample(log_gamma_target(shape), starts(64, 4, 1.0), seed=2, warmup=300, draws=1500)
    assert of_each(draws)[0].max() < 1.01
    flat = draws.reshape(-1, 4)
    sd = polygamma(1, shape) ** 0.5
    assert np.abs((flat.mean(axis=0) - psi(shape)) / sd).max() < 0.025
    assert np.abs(flat.std(axis=0) / sd - 1).max() < 0.03
    for p in (0.005, 0.05, 0.5, 0.95, 0.995):
        expected = np.log(gammaincinv(shape, p))
        below = (flat <= expected).mean(axis=0)
        assert np.abs(below - p).max() < 0.05 * (p * (1 - p)) ** 0.5, p


def test_one_step_leaves_the_target_as_it_is():
    """Many chains started in the target stay in it, whatever the tuning: the Metropolis step is exact."""
    rng = np.random.default_rng(0)
    density = log_gamma_target(1.0)
    chains = warm_up(density, starts(20_000, 1, 0.5), seed=1, warmup=0)
    chains.position = np.log(rng.exponential(size=(20_000, 1)))
    chains.value, chains.gradient = density(chains.position)
    chains.step, chains.length, chains.factor = 1.5, 3.0, np.array([[1.3]])  # coarse: a good part is rejected
    moved = draw(density, chains, 5)[:, -1, 0]
    for p in (0.01, 0.1, 0.5, 0.9, 0.99):
        below = (moved <= np.log(-np.log1p(-p))).mean()
        assert abs(below - p) < 5 * (p * (1 - p) / 20_000) ** 0.5, p


def test_chains_that_start_on_a_wall_walk_off_it():
    begin = np.full((16, 2), -0.5)
    begin[0] = 7.0  # the density there is e^-1100 of its height and the usual step is refused
    draws = sample(log_gamma_target(1.0), begin, seed=3, warmup=200, draws=300)
    assert of_each(draws)[0].max() < 1.05
    assert draws[0].max() < 3


def test_the_mode_is_found_and_starts_lie_wide_around_it():
    covariance, density = normal_target(4, 2)
    at, factor = mode(density, np.array([5.0, -3, 2, 9]))
    assert np.abs(at).max() < 1e-3
    assert np.allclose(factor @ factor.T, covariance, rtol=1e-3, atol=1e-6)
    begin = overdispersed(density, at, factor, 400, 1)
    # Twice as wide, but for the few that are pulled back.
    assert 2.5 < np.trace(np.cov(begin.T)) / np.trace(covariance) < 5
