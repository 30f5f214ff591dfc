"""No p is below what all arrangements of the values could give, and where there are few it is the share of them."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, rankdata

from metacog_pipeline.stats import exact, paired, ranks
from metacog_pipeline.stats.ranksum import mann_whitney
from tests.tables import every

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
@settings(max_examples=60, deadline=None)
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
