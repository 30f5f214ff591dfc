from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2

from metacog_pipeline.stats import paired

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


@pytest.mark.parametrize("differ", [12, 13])
def test_cochrans_q_counts_every_way_up_to_twelve_items_that_differ(differ):
    first = np.array([1] * (differ - 2) + [0] * 2 + [1] * 5)
    second = np.array([0] * (differ - 2) + [1] * 2 + [1] * 5)
    test = paired.mcnemar(differ - 2, 2)
    expected = test.p_exact if differ == 12 else chi2.sf(test.chi2, 1)
    assert paired.cochran_q(np.column_stack([first, second])).p == pytest.approx(expected, rel=1e-12)


@given(pairs)
def test_cochrans_q_of_two_models_is_mcnemars_chi_square(rows):
    q, m = paired.cochran_q(np.array(rows)), paired.mcnemar(rows.count((1, 0)), rows.count((0, 1)))
    assert q.q == pytest.approx(m.chi2)
    differ = m.first_only + m.second_only
    assert q.p == pytest.approx(m.p_exact if differ <= 12 else chi2.sf(m.chi2, 1))
    assert (q.status == "ok") == (m.status == "ok")


def test_degenerate_comparisons_say_why():
    assert paired.mcnemar(0, 0).status == "no items"
    assert paired.mcnemar(0, 0, 5).status == "no item on which they differ"
    assert paired.cochran_q(np.zeros((0, 3), dtype=int)).status == "no items"
    assert paired.cochran_q(np.ones((4, 1), dtype=int)).status == "fewer than two models"
    assert paired.cochran_q(np.ones((4, 3), dtype=int)).status == "no item on which they differ"


@pytest.mark.parametrize("b", [1, 4, 30])
def test_mid_p_of_an_even_split_takes_half_of_the_middle_outcome_off(b):
    assert paired.mcnemar(b, b).p_mid == pytest.approx(1 - comb(2 * b, b) / 2 ** (2 * b + 1))
