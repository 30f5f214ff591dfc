"""Mann and Whitney's test agrees with scipy's, and its effect size with counting pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from metacog_pipeline.stats.ranksum import EMPTY, NO_SPREAD, mann_whitney

TIED = st.lists(st.integers(0, 6), min_size=1, max_size=30)
DIFFERENT = st.lists(st.floats(-9, 9, allow_subnormal=False), min_size=2, max_size=24, unique=True)


@settings(max_examples=50, deadline=None)
@given(TIED, TIED)
def test_with_ties_it_is_the_normal_test_of_scipy(first, second):
    found = mann_whitney(first, second)
    pairs = np.sign(np.subtract.outer(first, second))
    assert found.r == pytest.approx(pairs.mean(), abs=1e-12)
    if found.status == NO_SPREAD:
        assert len({*first, *second}) == 1 and found.p is None
        return
    theirs = mannwhitneyu(first, second, method="asymptotic")
    assert found.u == pytest.approx(theirs.statistic)
    if "exact" not in found.method:
        assert found.p == pytest.approx(theirs.pvalue, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(DIFFERENT, st.data())
def test_without_ties_small_samples_are_exact(values, data):
    n = data.draw(st.integers(1, len(values) - 1))
    found = mann_whitney(values[:n], values[n:])
    exact = min(n, len(values) - n) <= 8
    assert ("exact" in found.method) == exact
    theirs = mannwhitneyu(values[:n], values[n:], method="exact" if exact else "asymptotic")
    assert found.p == pytest.approx(theirs.pvalue, abs=1e-12) and found.u == theirs.statistic


def test_what_cannot_be_compared_says_why():
    assert (mann_whitney([], [1]).status, mann_whitney([np.nan], [1]).p) == (EMPTY, None)
    assert mann_whitney([2, 2], [2]).status == NO_SPREAD and mann_whitney([2, 2], [2]).r == 0
    for wrong in ([[1.0]], [np.inf]):
        with pytest.raises(ValueError, match="first"):
            mann_whitney(wrong, [1.0])
