"""Convergence diagnostics on chains whose properties are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.stats import norm, rankdata

from metacog_pipeline.stats.bayes import diagnostics as d


def ar1(rho, chains, draws, parameters=1, seed=0):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((chains, draws, parameters)) * (1 - rho**2) ** 0.5
    noise[:, 0] = rng.standard_normal((chains, parameters))
    return lfilter([1.0], [1.0, -rho], noise, axis=1)


def rhat(draws):
    return d.of_each(draws)[0]


def ess_bulk(draws):
    return d.of_each(draws)[1]


def ess_tail(draws):
    return d.of_each(draws)[2]


def plain_rhat(chains):
    """Return split R̂ of the values themselves, by the definition."""
    n = chains.shape[1] // 2
    halves = np.concatenate([chains[:, :n], chains[:, -n:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = n * halves.mean(axis=1).var(ddof=1)
    return (((n - 1) / n * within + between / n) / within) ** 0.5


@pytest.mark.parametrize("rho", [-0.4, 0.0, 0.5, 0.9])
def test_the_effective_size_of_an_autoregression_is_the_known_one(rho):
    draws = ar1(rho, 8, 5000, 6)
    expected = 40_000 * (1 - rho) / (1 + rho)
    assert ess_bulk(draws).mean() == pytest.approx(expected, rel=0.08)


def test_the_error_of_a_mean_is_the_spread_of_means_over_repeats():
    means, errors = [], []
    for seed in range(200):
        draws = ar1(0.7, 4, 500, seed=seed)
        means.append(draws.mean())
        errors.append(d.mcse_mean(draws)[0])
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.15)


def test_the_error_of_a_quantile_is_the_spread_of_quantiles_over_repeats():
    ends, errors = [], []
    for seed in range(200):
        draws = ar1(0.5, 4, 500, seed=seed)
        ends.append(np.quantile(draws, 0.975))
        errors.append(d.mcse_quantile(draws, 0.975)[0])
    assert np.mean(errors) == pytest.approx(np.std(ends), rel=0.15)


def test_rhat_is_computed_as_defined_by_hand():
    draws = np.random.default_rng(0).standard_normal((3, 41, 1)) ** 3
    scores = norm.ppf((rankdata(np.concatenate([draws[:, :20], draws[:, 21:]])) - 0.375) / 120.25)
    bulk = plain_rhat(scores.reshape(6, 20)[[0, 3, 1, 4, 2, 5]].reshape(3, 40))
    folded = np.abs(draws - np.median(draws))
    folded_scores = norm.ppf((rankdata(np.concatenate([folded[:, :20], folded[:, 21:]])) - 0.375) / 120.25)
    spread = plain_rhat(folded_scores.reshape(6, 20)[[0, 3, 1, 4, 2, 5]].reshape(3, 40))
    assert rhat(draws)[0] == pytest.approx(max(bulk, spread), rel=1e-12)


def test_independent_draws_pass_and_each_kind_of_disagreement_fails():
    good = np.random.default_rng(1).standard_normal((4, 1000, 1))
    assert rhat(good)[0] < 1.01 and ess_bulk(good)[0] > 3000
    shifted, wider, drifting = good.copy(), good.copy(), good.copy()
    shifted[0] += 1
    wider[0] *= 3
    drifting += np.linspace(-1, 1, 1000)[None, :, None]
    for bad in (shifted, wider, drifting):
        assert rhat(bad)[0] > 1.01
    assert ess_bulk(shifted)[0] < 200
    # Only the folded kind sees a difference of spread.
    assert ess_tail(wider)[0] < ess_tail(good)[0]


def test_ranks_make_the_diagnostics_blind_to_the_scale():
    draws = ar1(0.3, 4, 400, 3)
    stretched = np.sinh(3 * draws)
    assert np.allclose(ess_bulk(draws), ess_bulk(stretched), rtol=1e-12)
    assert np.allclose(ess_tail(draws), ess_tail(stretched), rtol=1e-12)


def test_a_parameter_that_stands_still_is_not_finite_or_has_few_draws_has_no_number():
    draws = ar1(0.0, 4, 100, 3)
    draws[:, :, 1] = 2.0
    draws[2, 7, 2] = np.nan
    for measure in (rhat, ess_bulk, ess_tail, d.mcse_mean):
        result = measure(draws)
        assert np.isfinite(result[0])
        assert np.isnan(result[2])
    assert np.isnan(rhat(draws)[1]) and np.isnan(ess_bulk(draws)[1])
    assert np.isnan(d.mcse_quantile(draws, 0.9)[1:]).all()
    assert np.isnan(rhat(draws[:, :3])).all()


def test_chains_each_stuck_at_a_place_of_its_own_have_a_huge_rhat():
    stuck = np.tile(np.arange(4.0)[:, None, None], (1, 100, 1))
    assert rhat(stuck)[0] > 1e6


@settings(max_examples=60)
@given(st.integers(2, 6), st.integers(4, 60), st.integers(0, 10**6))
def test_the_order_of_chains_does_not_matter_and_sizes_are_bounded(chains, draws, seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 5, (chains, draws, 2)).astype(float)
    shuffled = table[rng.permutation(chains)]
    for measure in (rhat, ess_bulk, ess_tail):
        assert np.allclose(measure(table), measure(shuffled), equal_nan=True, rtol=1e-9)
    size = ess_bulk(table)
    total = chains * draws
    assert (np.isnan(size) | (size <= total * max(np.log10(total), 1) + 1e-9)).all()
