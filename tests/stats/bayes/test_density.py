"""The density against a plain one written from the model's statement, and its gradient against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from metacog_pipeline.stats.bayes.sampler import draw, warm_up
from metacog_pipeline.stats.bayes.single import TOL, subject_model
from tests.tables import every

HALF, TWO = 0.5**0.5, 2**0.5


def plain_log_density(n_s1, n_s2, point, conditional=False):
    """Return the log density of one point, term by term."""
    k = len(n_s1) // 2
    (c1, d1), rest = point[:2], point[2:]
    metas = list(rest[: 2 if conditional else 1])
    logs = rest[len(metas) :]
    below = c1 - TOL - np.cumsum(np.exp(logs[: k - 1]))
    above = c1 + TOL + np.cumsum(np.exp(logs[k - 1 :]))
    total = logs.sum() + sum(norm.logpdf(meta, d1, TWO) for meta in metas)
    total += norm.logpdf(below, 0, HALF).sum() - (k - 1) * norm.logcdf(c1 - TOL, 0, HALF)
    total += norm.logpdf(above, 0, HALF).sum() - (k - 1) * norm.logsf(c1 + TOL, 0, HALF)
    total += norm.logpdf(c1, 0, HALF) + norm.logpdf(d1, 0, TWO)
    total += binom.logpmf(n_s2[k:].sum(), n_s2.sum(), norm.cdf(d1 / 2 - c1))
    total += binom.logpmf(n_s1[k:].sum(), n_s1.sum(), norm.cdf(-d1 / 2 - c1))
    sides = (np.r_[-np.inf, below[::-1], c1], np.r_[c1, above, np.inf])
    for cuts, meta, part in zip(sides, (metas[0], metas[-1]), (slice(k), slice(k, None)), strict=True):
        for counts, mean in ((n_s1[part], -meta / 2), (n_s2[part], meta / 2)):
            reached = norm.cdf(cuts - mean)
            p = np.maximum(np.diff(reached) / (reached[-1] - reached[0]), TOL)
            total += (counts * np.log(p / p.sum())).sum()
    return total


def a_table(rng, k, high=50):
    return rng.integers(0, high, (2, 2 * k)).astype(float)


@every("k", [2, 3, 5, 11])
@every("conditional", [False, True])
def test_the_density_is_the_stated_one_up_to_a_constant(k, conditional):
    rng = np.random.default_rng(k)
    n_s1, n_s2 = a_table(rng, k)
    model = subject_model(n_s1, n_s2, conditional)
    points = model.guess() + 0.4 * rng.standard_normal((20, model.dim))
    expected = [plain_log_density(n_s1, n_s2, point, conditional) for point in points]
    assert np.ptp(model(points)[0] - expected) < 1e-8


def test_the_floor_holds_where_a_rating_has_next_to_no_probability():
    n_s1, n_s2 = np.array([30.0, 5, 0, 2, 0, 9]), np.array([1.0, 6, 0, 4, 3, 40])
    model = subject_model(n_s1, n_s2)
    points = np.tile(model.guess(), (6, 1))
    points[1, 3] = -13.0  # the rating next to c1 on the S1 side: empty
    points[2, 5] = -13.0  # on the S2 side: not empty
    points[3, 4] = 2.5  # outermost S1 cut far out
    points[4, 2] = 11.0
    points[5, 2] = -11.0
    expected = [plain_log_density(n_s1, n_s2, point) for point in points]
    assert (
        np.ptp(model(points)[0] - expected) < 1e-5
    )  # differences of a cdf, as the plain one takes, lose digits here


@settings(max_examples=60)
@given(st.integers(2, 8), st.booleans(), st.integers(0, 10**6))
def test_the_gradient_is_the_slope_of_the_density(k, conditional, seed):
    rng = np.random.default_rng(seed)
    model = subject_model(*a_table(rng, k, 30), conditional)
    points = model.guess() + 0.3 * rng.standard_normal((3, model.dim))
    step = 1e-5
    moves = step * np.eye(model.dim)
    slopes = np.stack([(model(points + m)[0] - model(points - m)[0]) / (2 * step) for m in moves], axis=1)
    gradient = model(points)[1]
    # At the floor the density has a kink: a difference across it is no slope.
    kinked = np.stack([model(points + m)[1] - model(points - m)[1] for m in moves], axis=1)
    smooth = np.abs(kinked).max(axis=(1, 2)) < 1.0
    scale = 1 + np.abs(gradient).max()
    assert np.abs(slopes - gradient)[smooth].max(initial=0.0) < 1e-6 * scale


@pytest.mark.proof
def test_without_data_c1_d1_and_meta_d_keep_their_priors():
    model = subject_model(np.zeros(8), np.zeros(8))
    starts = np.random.default_rng(0).standard_normal((64, model.dim))
    draws = draw(model, warm_up(model, starts, seed=1, warmup=200), 500)
    named = {name: values.ravel() for name, values in model.parameters(draws).items() if values.ndim == 2}
    for name, variance in (("c1", 0.5), ("d1", 2.0), ("meta_d", 4.0)):
        x = named[name] / variance**0.5
        assert abs(x.mean()) < 0.02, name
        assert abs(x.var() - 1) < 0.04, name
        for p in (0.025, 0.25, 0.75, 0.975):
            assert abs(norm.cdf(np.quantile(x, p)) - p) < 0.012, (name, p)
    # The first cut above c1 has the law of the least of three normals that are cut off below c1.
    above = model.parameters(draws)["t2c_rs2"][..., 0].ravel()
    beyond = norm.sf(above, 0, HALF) / norm.sf(named["c1"] + TOL, 0, HALF)
    assert np.quantile(beyond**3, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.015)
