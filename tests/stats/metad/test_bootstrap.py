"""Replicates, their intervals, and the numbers that tables take from them."""

import numpy as np
import pytest

from metacog_pipeline.stats.counts import counts, padded
from metacog_pipeline.stats.metad import (
    bootstrap_metad,
    estimates,
    fit_metad,
    fit_replicates,
    resample_counts,
)
from metacog_pipeline.stats.metad.bootstrap import QUANTITIES
from metacog_pipeline.stats.metad.resampling import model_shares


@pytest.mark.parametrize("kind", ["nonparametric", "parametric"])
def test_replicates_keep_the_trials_of_either_stimulus(make_observers, kind):
    table = make_observers(3, 1)
    n_s1, n_s2 = resample_counts(padded(table), 50, 7, kind, fit_metad(table))
    assert n_s1.shape == (3, 50, 8)
    np.testing.assert_array_equal(n_s1.sum(axis=2), np.repeat(table.n1[:, None], 50, axis=1))
    np.testing.assert_array_equal(n_s2.sum(axis=2), np.repeat(table.n2[:, None], 50, axis=1))


@pytest.mark.parametrize("kind", ["nonparametric", "parametric"])
def test_one_seed_gives_one_answer(classic, kind):
    first, second, other = (bootstrap_metad(classic, 60, seed, kind).replicates.m_ratio for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_shares_of_the_model_keep_the_answers_and_match_its_rates(classic):
    fit = fit_metad(classic)
    n_s1, n_s2 = model_shares(fit)
    assert n_s1[0, 4:].sum() == pytest.approx(classic.false_alarms[0])
    assert n_s2[0, 4:].sum() == pytest.approx(classic.hits[0])
    again = fit_metad(counts(n_s1, n_s2))
    assert again.meta_d1[0] == pytest.approx(fit.meta_d1[0], abs=1e-6)


def test_a_replicate_is_fitted_as_the_same_counts_would_be(make_observers):
    table = make_observers(2, 3)
    n_s1, n_s2 = resample_counts(table, 20, 5)
    found = fit_replicates(n_s1, n_s2, padding=0.125)
    alone = fit_metad(counts(n_s1[1, 7], n_s2[1, 7]), padding=0.125)
    assert found.m_ratio[1, 7] == pytest.approx(alone.m_ratio[0], abs=1e-9)
    assert found.da[1, 7] == pytest.approx(alone.da[0], abs=1e-12)


@pytest.mark.parametrize("kind", ["nonparametric", "parametric"])
def test_spread_of_replicates_is_the_two_stage_standard_error(make_observers, kind):
    table = make_observers(4, 11, n=20_000)
    boot = bootstrap_metad(table, 600, 3, kind)
    for quantity, error in (("m_ratio", boot.fit.se_m_ratio), ("meta_da", boot.fit.se_meta_d_total)):
        np.testing.assert_allclose(boot.interval(quantity).se, error, rtol=0.15)


@pytest.mark.parametrize("method", ["percentile", "bias_corrected"])
def test_intervals_widen_with_the_level(make_observers, method):
    boot = bootstrap_metad(make_observers(5, 9), 400, 3, padding=0.125)
    for quantity in QUANTITIES:
        narrow, wide = boot.interval(quantity, 0.8, method), boot.interval(quantity, 0.99, method)
        ok = wide.status == "ok"
        assert (wide.low[ok] <= narrow.low[ok]).all()
        assert (wide.high[ok] >= narrow.high[ok]).all()


def test_a_cell_without_a_fit_has_no_interval_but_the_others_do(classic):
    table = counts([classic.n_s1[0], [25] * 8], [classic.n_s2[0], [25] * 8])
    boot = bootstrap_metad(table, 100, 1, "parametric")
    interval = boot.interval("m_ratio")
    assert list(interval.status) == ["ok", "no_fit"]
    assert np.isnan(interval.low[1])
    assert boot.usable[0] == 100
    assert boot.usable[1] == 0


def test_too_few_usable_replicates_give_no_interval():
    """One error of each kind: most resamples lose one of the two and have no d'."""
    table = counts([8, 8, 4, 0, 1, 0], [0, 1, 0, 3, 9, 9])
    boot = bootstrap_metad(table, 200, 1, padding=None)
    assert boot.fit.status[0] == "ok"
    assert 0 < boot.usable[0] < 160
    assert boot.interval("m_ratio").status[0] == "too_few_replicates"


def test_a_cell_without_a_finite_estimate_has_no_replicates():
    separable = counts([9, 3, 0, 0], [0, 0, 3, 9])
    one_error_each = counts([9, 6, 2, 0], [0, 2, 6, 9])
    for table in (separable, one_error_each):
        boot = bootstrap_metad(table, 50, 1)
        assert boot.fit.status[0] in ("undefined_type1", "boundary")
        assert boot.usable[0] == 0
        assert boot.interval("m_ratio").status[0] == "no_fit"


def test_an_end_among_replicates_without_a_finite_estimate_is_said(make_observers):
    table = make_observers(30, 2, ratings=3, n=40)
    interval = bootstrap_metad(table, 200, 1).interval("meta_da")
    assert set(interval.status) & {"open_ended", "too_few_replicates", "no_fit"}
    ok = interval.status == "ok"
    assert (np.abs(interval.low[ok]) < 10).all()
    assert (np.abs(interval.high[ok]) < 10).all()


def test_estimates_have_numbers_or_reasons(classic):
    table = counts(
        [classic.n_s1[0], [25] * 8, [0, 90, 0, 0, 0, 0, 10, 0]],
        [classic.n_s2[0], [25] * 8, [12, 0, 0, 0, 0, 0, 0, 88]],
    )
    fit = fit_metad(table)
    boot = bootstrap_metad(table, 200, 4)
    for rows in (estimates(fit), estimates(fit, boot), estimates(fit, boot, method="bias_corrected")):
        good, chance, _ = rows
        assert good["m_ratio"].value == pytest.approx(0.97115, abs=1e-4)
        assert good["m_ratio"].low < good["m_ratio"].value < good["m_ratio"].high
        assert good["m_ratio"].status == "ok"
        assert good["m_ratio"].n == 260
        assert chance["m_ratio"].value is None
        assert "d' is 0" in chance["m_ratio"].status
        assert all(e.status != "ok" or e.value is not None for row in rows for e in row.values())


def test_padding_is_not_counted_as_trials(classic):
    assert estimates(fit_metad(classic, padding=0.125))[0]["m_ratio"].n == 260


def test_a_negative_ratio_has_no_logarithm():
    fit = fit_metad(counts([10, 20, 40, 30], [5, 15, 10, 70]))
    negative = fit_metad(counts([0, 90, 10, 0], [12, 0, 0, 88]))
    assert estimates(fit)[0]["m_ratio"].value is not None
    assert negative.m_ratio[0] < 0
    entry = estimates(negative)[0]["log_m_ratio"]
    assert entry.value is None
    assert "not above 0" in entry.status


def test_unknown_quantities_methods_and_levels_are_refused(classic):
    boot = bootstrap_metad(classic, 10, 1)
    for request in (("speed",), ("m_ratio", 1.5), ("m_ratio", 0.95, "magic")):
        with pytest.raises(ValueError, match=r"unknown|outside"):
            boot.interval(*request)
    with pytest.raises(ValueError, match="n_boot, 2 K"):
        fit_replicates(np.zeros((2, 4)), np.zeros((2, 4)))
