"""Exact tests of few models and few items: they agree with counting by hand and with scipy, and never say p = 0."""

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, pearsonr, permutation_test, rankdata

from metacog_pipeline.stats import exact, paired, ranks
from metacog_pipeline.stats.ranksum import mann_whitney
from tests.tables import every


def test_the_exact_p_is_that_of_scipys_permutation_test():
    x, y = np.random.default_rng(4).normal(size=(2, 7))

    def agreement(moved, axis):
        return pearsonr(moved, np.broadcast_to(rankdata(y), moved.shape), axis=axis).statistic

    ranks = permutation_test((rankdata(x),), agreement, permutation_type="pairings", n_resamples=np.inf)
    assert exact.rank_p(x, y) == pytest.approx(ranks.pvalue)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=6))
def test_ties_are_counted_as_all_orders_say(pairs):
    x, y = np.array(pairs, dtype=float).T
    found = exact.order_p(x, y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert found is None
        return
    orders = np.array([*permutations(range(len(x)))])
    every = abs(pearsonr(np.broadcast_to(x, orders.shape), y[orders], axis=1).statistic)
    assert found == pytest.approx(np.mean(every >= abs(pearsonr(x, y).statistic) - 1e-9))


@every("x", [[1, 1, 1], [1, 2], [], range(10), [1e100, 1e100, 1e100]])
def test_what_has_no_exact_p_has_none(x):
    assert exact.order_p(list(x), list(x)) is None


@every("n", [1, 2, 5, 6, 12])
def test_items_that_all_favour_one_respondent_have_p_of_two_in_two_to_the_n(n):
    found = exact.paired_p(np.ones((n, 1)), np.zeros((n, 1)), lambda each: each[:, :, 0].mean(axis=1))
    assert found == pytest.approx(2 / 2**n)
    assert (found < 0.05) == (exact.too_few(n) is None)


def test_the_stated_least_numbers_are_the_first_whose_exact_p_can_reach_five_percent():
    assert 2 / 2**exact.LEAST_ITEMS < 0.05 <= 2 / 2 ** (exact.LEAST_ITEMS - 1)
    assert exact.rank_p(range(4), range(4)) >= 0.05 > exact.rank_p(range(5), range(5))
    assert exact.too_few(4, "models") and exact.too_few(5, "models") is None


def test_an_exchange_without_a_value_counts_as_far_and_what_was_seen_needs_one():
    assert exact.exchange_p([1.0, np.nan, 0.5, -1.0]) == 0.75
    assert exact.exchange_p([np.nan, 1.0]) is None and exact.exchange_p([]) is None
    with pytest.raises(ValueError, match="13 items"):
        exact.exchanges(13)


FEW = st.lists(st.integers(0, 4), min_size=1, max_size=6)


def share_of_arrangements(first, second):
    ranks_of_all, n = rankdata([*first, *second]), len(first)
    middle = n * ranks_of_all.mean()
    far = [abs(ranks_of_all[list(own)].sum() - middle) for own in combinations(range(len(ranks_of_all)), n)]
    return np.mean(np.array(far) >= abs(ranks_of_all[:n].sum() - middle) - 1e-9)


# --- two samples ------------------------------------------------------------------------------------------------------
@given(FEW, FEW)
def test_the_p_of_two_small_samples_is_the_share_of_all_arrangements_ties_and_all(first, second):
    assume(len({*first, *second}) > 1)
    found = mann_whitney(first, second)
    assert found.method == "mann-whitney, exact"
    assert found.p == pytest.approx(share_of_arrangements(first, second), abs=1e-12)
    assert mann_whitney(second, first).p == found.p


# --- several models ---------------------------------------------------------------------------------------------------
@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4), st.data())
def test_cochrans_p_of_few_items_is_the_share_of_all_placements_within_items(k, data):
    rows = data.draw(st.lists(st.lists(st.integers(0, 1), min_size=k, max_size=k), min_size=1, max_size=5))
    table = np.array(rows)
    found = paired.cochran_q(table)
    assume(found.q is not None)
    large = []
    for places in product(*(list(combinations(range(k), right)) for right in table.sum(axis=1).tolist())):
        placed = [[model in own for model in range(k)] for own in places]
        large.append(np.square(np.sum(placed, axis=0)).sum() >= np.square(table.sum(axis=0)).sum())
    assert found.p == pytest.approx(np.mean(large), abs=1e-12)
    assert paired.cochran_q(table[::-1, ::-1]) == found


def test_many_items_that_differ_or_many_models_have_the_p_of_chi_square():
    for table in ([[1, 0, 0]] * 9 + [[0, 1, 1]] * 4, np.tri(10, 60, 25)):
        found = paired.cochran_q(np.asarray(table, dtype=int))
        assert found.p == pytest.approx(chi2.sf(found.q, found.df))


# --- rank correlations ------------------------------------------------------------------------------------------------
@every("n", range(3, 31))
def test_no_rank_correlation_has_a_p_below_that_of_the_perfect_order(n):
    least = 2 / math.factorial(n)
    for rho in (1.0, -1.0, 1 - 1e-15):
        assert ranks.spearman_p(rho, n) == pytest.approx(least, rel=1e-9)
    assert exact.rank_p(range(n), range(n)) == pytest.approx(least, rel=1e-9)
    rows = np.arange(2.0 * n).reshape(2, n)
    assert ranks.spearman_rows(rows, -rows).p == pytest.approx([least] * 2, rel=1e-9)


@every("unit", [1e-140, 1e-30, 1e-13, 1e-11, 1.0, 1e6, 1e100])
def test_rank_correlations_do_not_depend_on_the_unit(unit):
    x, y = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]), np.arange(12.0)
    plain = ranks.spearman(x, y)
    assert ranks.spearman(x * unit, y) == ranks.spearman(y, x * unit) == plain
    assert exact.rank_p(x * unit, y) == exact.rank_p(x, y)
    assert exact.rank_p(x[:7] * unit, y[:7]) == exact.rank_p(x[:7], y[:7])
    assert exact.order_p(x[:7] * unit, y[:7]) == pytest.approx(exact.order_p(x[:7], y[:7]))


@every("size", [1e-9, 0.3, 1.0, 7e5])
def test_equal_values_that_differ_by_rounding_have_no_spread_in_any_unit(size):
    noisy = size * (1 + np.array([0, 1, 0, 2, 0, 1]) * 2.0**-52)
    assert len(set(noisy.tolist())) > 1
    assert ranks.spearman(noisy, np.arange(6.0)).status == ranks.NO_SPREAD
    assert exact.rank_p(noisy, np.arange(6.0)) is None
    assert exact.order_p(noisy, np.arange(6.0)) is None


# --- resamples --------------------------------------------------------------------------------------------------------
