"""Do two measures order respondents alike: known correlations are recovered, noise is taken out, few are said to be few."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from metacog_pipeline.stats import convergence


def rank_correlation(x, y, n_boot, seed):
    return convergence.rank_correlations((x, y), [(0, 1)], n_boot, seed)[0]


def disattenuated(x, y, error_x, error_y, n_boot, seed):
    return convergence.disattenuated_each((x, y), (error_x, error_y), [(0, 1)], n_boot, seed)[0]


def test_rank_correlation_is_that_of_scipy():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 40))
    found = rank_correlation(x, y, 200, 1)
    assert found.value == pytest.approx(spearmanr(x, y).statistic)
    assert found.low < found.value < found.high and found.status == "ok" and found.n == 40


def test_noise_lowers_the_plain_correlation_and_not_the_corrected_one():
    rng = np.random.default_rng(2)
    truth = rng.normal(size=1500)
    x, y = truth + rng.normal(0, 0.8, 1500), truth + rng.normal(0, 0.6, 1500)
    plain = rank_correlation(x, y, 50, 1).value
    corrected = disattenuated(x, y, np.full(1500, 0.8), np.full(1500, 0.6), 50, 1)
    assert plain < 0.75 and corrected.value == pytest.approx(1.0, abs=0.04)
    assert convergence.reliability(x, np.full(1500, 0.8)) == pytest.approx(1 / 1.64, abs=0.03)


def test_many_pairs_have_the_numbers_of_each_pair_alone():
    rng = np.random.default_rng(4)
    values = [*rng.normal(size=(3, 12)), np.round(rng.normal(size=12)), np.ones(12)]
    noise = [*rng.uniform(0.1, 0.5, (4, 12)), np.zeros(12)]
    pairs = [*combinations(range(5), 2)]
    alone = [
        (
            rank_correlation(values[i], values[j], 100, 1),
            disattenuated(values[i], values[j], noise[i], noise[j], 100, 1),
        )
        for i, j in pairs
    ]
    ranked = convergence.rank_correlations(values, pairs, 100, 1)
    corrected = convergence.disattenuated_each(values, noise, pairs, 100, 1)
    assert [*zip(ranked, corrected, strict=True)] == alone


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([1, 2, 3], [1, 2, 3], "too few respondents: 3"),
        ([], [], "too few respondents: 0"),
        ([1, 1, 1, 1], [1, 2, 3, 4], convergence.CONSTANT),
    ],
)
def test_what_has_no_correlation_says_why(x, y, words):
    for found in (rank_correlation(x, y, 20, 1), disattenuated(x, y, x, y, 20, 1)):
        assert found.value is None and words in found.status


def test_measures_that_are_all_noise_have_no_corrected_correlation():
    found = disattenuated([1, 2, 3, 4], [4, 1, 3, 2], [9] * 4, [9] * 4, 50, 1)
    assert found.value is None and found.status == convergence.UNRELIABLE
    assert (
        convergence.reliability([1, 2, 3], [9, 9, 9]) == 0.0
        and convergence.reliability([1, 1], [0, 0]) is None
    )
