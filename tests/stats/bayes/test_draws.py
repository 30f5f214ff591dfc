"""Derived draws, and the layout other tools read."""

import numpy as np
import pytest

from metacog_pipeline.stats.bayes.diagnostics import diagnose, summarise, with_ratios


def some(seed=0, shape=(4, 300)):
    rng = np.random.default_rng(seed)
    draws = {"d1": 1 + rng.random(shape), "c1": np.full(shape, 0.25), "meta_d": rng.standard_normal(shape)}
    return with_ratios(draws | {"t2c_rs1": np.sort(rng.standard_normal((*shape, 2)))})


def test_a_d_prime_of_exactly_zero_counts_as_a_ten_thousandth_under_the_ratio():
    d1, meta = np.array([[0.0, 2.0]]), np.array([[0.5, 1.0]])
    assert with_ratios({"d1": d1, "meta_d": meta})["m_ratio"] == pytest.approx(np.array([[5000.0, 0.5]]))


def test_a_summary_is_that_of_the_pooled_draws():
    draws = some()
    rows = summarise(draws, diagnose(draws))
    flat = draws["meta_d"].ravel()
    row = rows["meta_d"]
    assert (row.mean, row.sd) == pytest.approx((flat.mean(), flat.std(ddof=1)))
    assert (row.q025, row.median, row.q975) == pytest.approx(tuple(np.quantile(flat, [0.025, 0.5, 0.975])))
    inside = (flat >= row.hdi_low) & (flat <= row.hdi_high)
    assert (
        inside.mean() == pytest.approx(0.95, abs=2 / len(flat))
        and row.hdi_high - row.hdi_low <= row.q975 - row.q025
    )
