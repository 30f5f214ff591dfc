"""Do two measures order respondents alike: known correlations are recovered, few are reported as few."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from metacog_pipeline.stats import convergence


def rank_correlation(x, y, n_boot, seed):
    return convergence.rank_correlations((x, y), [(0, 1)], n_boot, seed)[0]


def test_rank_correlation_is_that_of_scipy():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 40))
    found = rank_correlation(x, y, 200, 1)
    assert found.value == pytest.approx(spearmanr(x, y).statistic)
    assert found.low < found.value < found.high and found.status == "ok" and found.n == 40


def test_many_pairs_have_the_numbers_of_each_pair_alone():
    rng = np.random.default_rng(4)
    values = [*rng.normal(size=(3, 12)), np.round(rng.normal(size=12)), np.ones(12)]
    pairs = [*combinations(range(5), 2)]
    alone = [rank_correlation(values[i], values[j], 100, 1) for i, j in pairs]
    assert convergence.rank_correlations(values, pairs, 100, 1) == alone


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([1, 2, 3], [1, 2, 3], "too few respondents: 3"),
        ([], [], "too few respondents: 0"),
        ([1, 1, 1, 1], [1, 2, 3, 4], convergence.CONSTANT),
    ],
)
def test_what_has_no_correlation_says_why(x, y, words):
    found = rank_correlation(x, y, 20, 1)
    assert found.value is None and words in found.status
