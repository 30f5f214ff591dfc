"""Percentile intervals of meta-d' over resampled trials."""

import numpy as np
import pytest

from metacog_pipeline.stats.counts import counts, padded
from metacog_pipeline.stats.metad import bootstrap_metad, fit_metad
from metacog_pipeline.stats.metad.fit import MEASURES, OPEN_ENDED, TOO_FEW


def test_one_seed_gives_one_answer(classic):
    first, second, other = (bootstrap_metad(classic, 60, seed) for seed in (1, 1, 2))
    assert first == second != other


def test_values_are_those_of_the_fit_and_the_spread_is_the_two_stage_standard_error(make_observers):
    table = make_observers(4, 11, n=20_000)
    fit, found = fit_metad(table), bootstrap_metad(table, 600, 3)
    for name, error in (("m_ratio", fit.se_m_ratio), ("meta_da", fit.se_meta_d_total)):
        assert [row[name].value for row in found] == getattr(fit, name).tolist()
        np.testing.assert_allclose([row[name].sem for row in found], error, rtol=0.15)


def test_padding_comes_off_before_trials_are_drawn_and_is_not_counted(classic):
    given, table = (
        bootstrap_metad(classic, 100, 1, padding=0.125),
        bootstrap_metad(padded(classic, 0.125), 100, 1),
    )
    assert given == table and given[0]["m_ratio"].n == 260


def test_a_cell_without_a_fit_says_why_and_the_others_have_intervals(classic):
    table = counts([classic.n_s1[0], [25] * 8], [classic.n_s2[0], [25] * 8])
    good, chance = bootstrap_metad(table, 200, 4)
    assert good["m_ratio"].value == pytest.approx(0.97115, abs=1e-4)
    assert good["m_ratio"].low < good["m_ratio"].value < good["m_ratio"].high
    assert (good["m_ratio"].status, good["m_ratio"].n) == ("ok", 260)
    for name in MEASURES:
        assert chance[name].value is None and "d' is 0" in chance[name].status


def test_too_few_usable_replicates_give_no_interval():
    """One error to S1: a third of the resamples lose it and have no d'."""
    found = bootstrap_metad(counts([50, 8, 4, 0, 0, 1], [4, 1, 1, 3, 9, 50]), 200, 1)[0]["da"]
    assert found.value is not None and found.low is None and found.status == TOO_FEW


def test_an_end_among_replicates_without_a_finite_estimate_is_no_end(make_observers):
    table = make_observers(60, 2, ratings=3, n=120)
    found = [row["meta_da"] for row in bootstrap_metad(table, 200, 1)]
    assert any(each.status == OPEN_ENDED for each in found)
    assert all(-10 < each.low < each.high < 10 for each in found if each.status == "ok")


def test_fewer_than_one_replicate_is_refused(classic):
    with pytest.raises(ValueError, match="n_boot"):
        bootstrap_metad(classic, 0, 1)
