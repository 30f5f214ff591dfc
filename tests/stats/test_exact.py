"""Exact tests of few models and few items: they agree with counting by hand and with scipy, and never say p = 0."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, permutation_test, rankdata

from metacog_pipeline.stats import exact
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
