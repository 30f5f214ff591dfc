"""The group model: its density and gradient, its priors, its gate, recovery of a known population."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, multinomial, norm

from metacog_pipeline.stats.bayes.group import bayes_metad_group, group_model, product_prior
from metacog_pipeline.stats.counts import Counts, counts
from tests.observers import criteria_around, simulate


def population(subjects, trials, mean_log_m=-0.2, spread=0.25, d=1.6, seed=1):
    rng = np.random.default_rng(seed)
    m = np.exp(rng.normal(mean_log_m, spread, subjects))
    c = rng.normal(0, 0.2, subjects)
    low, high = criteria_around(m, c, [0.5, 1.0, 1.5])
    return simulate(rng.normal(d, 0.4, subjects), m, c, low, high, trials, seed)


SMALL = population(3, 60)


# --- density -----------------------------------------------------------------------------------------------------


def log_density_in_words(table, p, subject):
    """The model as its definition reads, for one subject, up to a constant."""
    n_s1, n_s2 = table.n_s1[subject], table.n_s2[subject]
    k = len(n_s1) // 2
    d1, c1, meta = (p[name][subject] for name in ("d1", "c1", "meta_d"))
    low, high = p["t2c_rs1"][subject], p["t2c_rs2"][subject]
    total = norm.logpdf(d1, p["mu_d1"], p["sigma_d1"]) + norm.logpdf(c1, p["mu_c"], p["sigma_c"])
    total += binom.logpmf(n_s2[k:].sum(), n_s2.sum(), norm.cdf(d1 / 2 - c1))
    total += binom.logpmf(n_s1[k:].sum(), n_s1.sum(), norm.cdf(-d1 / 2 - c1))
    m, s = p["mu_c2"], p["sigma_c2"]
    total += (norm.logpdf(low, -m, s) - norm.logcdf(c1, -m, s)).sum()
    total += (norm.logpdf(high, m, s) - norm.logsf(c1, m, s)).sum()
    delta = math.log(meta / d1) - p["mu_log_m"]
    total += norm.logpdf(delta, 0, p["sigma_log_m"])
    edges = np.r_[-np.inf, low, c1, high, np.inf]
    for mean, row in ((-meta / 2, n_s1), (meta / 2, n_s2)):
        share = np.diff(norm.cdf(edges, mean, 1))
        for side in (slice(0, k), slice(k, 2 * k)):
            p_side = np.maximum(share[side] / share[side].sum(), 1e-5)
            total += multinomial.logpmf(row[side], row[side].sum(), p_side / p_side.sum())
    return total


def test_the_density_is_the_models_definition():
    model = group_model(SMALL.n_s1, SMALL.n_s2)
    rng = np.random.default_rng(2)
    points = model.guess() + 0.15 * rng.normal(size=(6, model.dim))
    expected = []
    for point in points:
        p = model.parameters(point)
        total = sum(log_density_in_words(SMALL, p, i) for i in range(3))
        for mu, sigma in (("mu_d1", "sigma_d1"), ("mu_c", "sigma_c"), ("mu_c2", "sigma_c2")):
            total += norm.logpdf(p[mu], 0, 10) + norm.logpdf(p[sigma], 0, 10) + math.log(p[sigma])
        total += norm.logpdf(p["mu_log_m"]) + float(product_prior(np.log(p["sigma_log_m"]))[0])
        total += 3 * math.log(p["sigma_log_m"])  # z instead of delta
        for k, sigma in enumerate(("sigma_d1", "sigma_c")):  # u instead of d and c
            total += (1 - model.centring[k]).sum() * math.log(p[sigma])
        for cuts in (p["t2c_rs1"], p["t2c_rs2"]):  # log distances instead of cuts
            ends = np.sort(np.abs(cuts - p["c1"][:, None]), axis=1)
            total += np.log(np.diff(np.c_[np.zeros(3), ends], axis=1)).sum()
        expected.append(total)
    value = model(points)[0]
    np.testing.assert_allclose(value - value[0], np.array(expected) - expected[0], atol=1e-7)


def test_the_prior_of_the_spread_is_that_of_a_product_with_a_uniform_factor():
    rng = np.random.default_rng(3)
    product = np.sort(rng.uniform(size=200_000) * np.abs(rng.normal(size=200_000)))
    mass = quad(lambda x: math.exp(product_prior(np.array(x))[0]), -30, 5)[0]
    for upper in (0.01, 0.1, 0.5, 1.0, 2.0):
        share = quad(lambda x: math.exp(product_prior(np.array(x))[0]), -30, math.log(upper))[0] / mass
        assert share == pytest.approx(np.searchsorted(product, upper) / len(product), abs=0.005)


# --- posterior ---------------------------------------------------------------------------------------------------


def test_data_that_cannot_speak_have_a_status():
    one = bayes_metad_group(SMALL.take([0]), seed=1)
    assert one.status == "few_subjects" and one.efficiency().value is None
    single = bayes_metad_group(counts([[5.0, 5.0]] * 3, [[5.0, 5.0]] * 3), seed=1)
    assert single.status == "unidentified"
    same = np.array([[0, 9, 9, 0.0]] * 3)
    assert bayes_metad_group(Counts(same, same), seed=1).status == "unidentified"
    nobody = bayes_metad_group(Counts(np.zeros_like(SMALL.n_s1), SMALL.n_s2), seed=1)
    assert nobody.status == "undefined_type1"
