from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2, ttest_rel

from metacog_pipeline.stats import paired


def paired_difference(first, second, n_boot, seed):
    """Of 0/1 outcomes ``(items,)`` or ``(items, runs)``."""
    counted = []
    for side in (first, second):
        table = np.atleast_2d(np.asarray(side, dtype=int).T).T
        counted += [table.sum(axis=1), np.full(len(table), table.shape[1])]
    return paired.paired_difference_from_counts(*counted, n_boot, seed)


pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=60)


@given(st.integers(0, 80), st.integers(0, 80))
def test_exact_mcnemar_is_the_binomial_test_and_mid_p_lies_below_it(b, c):
    result = paired.mcnemar(b, c)
    if b + c == 0:
        assert (result.p_exact, result.p_mid, result.chi2) == (None, None, None)
        return
    assert result.p_exact == pytest.approx(binomtest(b, b + c).pvalue)
    assert 0 < result.p_mid <= result.p_exact
    if b != c:
        assert result.p_mid == pytest.approx(result.p_exact - comb(b + c, b) / 2 ** (b + c))
    assert result.chi2 == pytest.approx((b - c) ** 2 / (b + c))
    assert result.p_chi2 == pytest.approx(chi2.sf(result.chi2, 1))


@given(pairs)
def test_swapping_the_models_mirrors_every_test(rows):
    a, b = zip(*rows, strict=True)
    one, other = paired.mcnemar_from_data(a, b), paired.mcnemar_from_data(b, a)
    assert (one.p_exact, one.p_mid, one.p_chi2) == (other.p_exact, other.p_mid, other.p_chi2)
    forward, backward = paired_difference(a, b, 200, 1), paired_difference(b, a, 200, 1)
    assert forward.difference.value == pytest.approx(-backward.difference.value)
    assert forward.p == pytest.approx(backward.p)


@given(pairs)
def test_cochrans_q_of_two_models_is_mcnemars_chi_square(rows):
    a, b = zip(*rows, strict=True)
    q, m = paired.cochran_q(np.array(rows)), paired.mcnemar_from_data(a, b)
    assert q.q == pytest.approx(m.chi2)
    differ = m.first_only + m.second_only
    assert q.p == pytest.approx(m.p_exact if differ <= 12 else m.p_chi2)
    assert (q.status == "ok") == (m.status == "ok")


def test_cochrans_q_worked_by_hand():
    table = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0]])
    result = paired.cochran_q(table)
    # C = 5, 3, 1; T = 9; R = 2, 1, 3, 1, 0, 2: 2 (3 * 35 - 81) / (27 - 19)
    assert result.q == pytest.approx(6.0)
    # Of 3^4 ways to place the answers to the four items that differ, 3 * 2 give totals of 4, 2 and 0.
    assert (result.df, result.p) == (2, pytest.approx(6 / 81))


@given(pairs)
def test_p_over_single_runs_is_the_paired_t_test(rows):
    a, b = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    result = paired_difference(a, b, 100, 1)
    if result.status == "ok":
        assert result.p == pytest.approx(ttest_rel(a, b).pvalue)
        assert result.difference.value == pytest.approx((a - b).mean())


@given(pairs, st.integers(2, 4))
@settings(max_examples=50)
def test_runs_that_repeat_an_item_alike_add_nothing(rows, runs):
    a, b = (np.array(column, dtype=int) for column in zip(*rows, strict=True))
    once = paired_difference(a, b, 100, 1)
    again = paired_difference(np.tile(a[:, None], runs), b, 100, 1)
    assert again.difference.value == pytest.approx(once.difference.value)
    assert again.difference.sem == pytest.approx(once.difference.sem)
    assert again.p == pytest.approx(once.p)


def test_bootstrap_interval_and_p_tell_a_real_difference_from_none():
    rng = np.random.default_rng(1)
    hard = rng.random(1000)
    better, worse = (rng.random(1000) < hard + 0.1), (rng.random(1000) < hard)
    apart = paired_difference(better, worse, 2000, 3)
    assert apart.difference.low > 0 and apart.p < 0.01 and apart.p_bootstrap < 0.01
    alike = paired_difference(rng.random(1000) < hard, worse, 2000, 3)
    assert alike.difference.low < 0 < alike.difference.high
    assert alike.p == pytest.approx(alike.p_bootstrap, abs=0.05)


def test_the_same_seed_gives_the_same_interval_in_any_order_of_items():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (200, 3)), rng.integers(0, 2, (200, 2))
    order = rng.permutation(200)
    assert paired_difference(a, b, 500, 9) == paired_difference(a[order], b[order], 500, 9)


def test_items_only_one_model_answered_are_left_out():
    full = paired_difference([1, 0, 1], [0, 0, 1], 50, 1)
    ragged = paired.paired_difference_from_counts(
        [1, 0, 1, 1], [1, 1, 1, 1], [0, 0, 1, 0], [1, 1, 1, 0], 50, 1
    )
    assert ragged == full


def test_degenerate_comparisons_say_why():
    assert paired_difference([], [], 10, 1).status == "no items"
    lone = paired_difference([1], [0], 10, 1)
    assert (lone.difference.value, lone.difference.low, lone.p, lone.status) == (
        1.0,
        None,
        None,
        "single item",
    )
    same = paired_difference([1, 0, 1], [1, 0, 1], 10, 1)
    assert (same.difference.value, same.p, same.status) == (0.0, 1.0, "the same difference on every item")
    always = paired_difference([1, 1, 1], [0, 0, 0], 10, 1)
    assert (always.difference.value, always.p) == (1.0, None)
    assert paired.mcnemar(0, 0).status == "no items"
    assert paired.mcnemar(0, 0, 5).status == "no item on which they differ"
    assert paired.cochran_q(np.zeros((0, 3), dtype=int)).status == "no items"
    assert paired.cochran_q(np.ones((4, 1), dtype=int)).status == "fewer than two models"
    assert paired.cochran_q(np.ones((4, 3), dtype=int)).status == "no item on which they differ"
