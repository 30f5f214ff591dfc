"""Criterion shifts on shared items: the paired test against the independent one, resampling and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from metacog_pipeline.stats.decisions import criterion_shift, paired_shift, shared_trials
from metacog_pipeline.stats.type1 import type1_from_table


def margins(table):
    """The two conditions' cells as if their trials were independent."""
    first, second = table.sum(axis=2), table.sum(axis=1)
    columns = zip(*((c[1, 1], c[1, 0], c[0, 1], c[0, 0]) for c in (first, second)), strict=True)
    return type1_from_table(*columns)


def observer(rng, n, correlation, c=(0.0, 0.3), d=1.5):
    """Trials of one observer under two criteria with evidence that correlates between conditions."""
    stimulus = rng.integers(0, 2, n)
    noise = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], n)
    evidence = noise + (d * (stimulus - 0.5))[:, None]
    return stimulus, evidence[:, 0] > c[0], evidence[:, 1] > c[1]


@given(st.integers(0, 10**6))
def test_with_uncorrelated_answers_it_is_the_independent_test(seed):
    rng = np.random.default_rng(seed)
    one, two = rng.uniform(0.1, 0.9, (2, 2))
    n = rng.integers(50, 500, 2)
    table = np.array(
        [[[(1 - a) * (1 - b), (1 - a) * b], [a * (1 - b), a * b]] for a, b in zip(one, two, strict=True)]
    )
    table = table * n[:, None, None]
    paired, cells = paired_shift(table), margins(table)
    independent = criterion_shift(cells, ["m"] * 2, ["S1", "S2"])
    for name in ("c", "d", "c_prime"):
        mine, other = getattr(paired, name), getattr(independent, name)
        np.testing.assert_allclose(mine.difference, other.difference, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mine.se, other.se, rtol=1e-7)
    np.testing.assert_allclose(paired.correlation_hits, 0, atol=1e-9)


def test_errors_agree_with_resampled_items_and_with_repeated_experiments():
    rng = np.random.default_rng(1)
    trials = shared_trials(*observer(rng, 3000, 0.7))
    found = paired_shift(trials, n_boot=4000, seed=2)
    errors = np.array([found.c.se[0], found.d.se[0], found.c_prime.se[0]])
    np.testing.assert_allclose(found.boot_se[0], errors, rtol=0.06)
    for k, family in enumerate((found.c, found.d, found.c_prime)):
        assert family.test.low[0] == pytest.approx(found.boot_low[0, k], abs=0.15 * family.se[0])
    tables = np.concatenate([shared_trials(*observer(rng, 3000, 0.7)).table for _ in range(800)])
    many = paired_shift(tables)
    np.testing.assert_allclose(many.c.difference.std(), many.c.se.mean(), rtol=0.08)
    np.testing.assert_allclose(many.d.difference.std(), many.d.se.mean(), rtol=0.08)
    np.testing.assert_allclose(many.c_prime.difference.std(), many.c_prime.se.mean(), rtol=0.08)
    covered = (many.c.test.low < 0.3) & (many.c.test.high > 0.3)
    assert 0.925 < covered.mean() < 0.975


def test_shared_items_sharpen_the_test():
    trials = shared_trials(*observer(np.random.default_rng(3), 4000, 0.8))
    paired = paired_shift(trials)
    independent = criterion_shift(margins(trials.table[0]), ["m"] * 2, ["S1", "S2"])
    assert paired.c.se[0] < 0.75 * independent.c.se[0]
    joint = multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]]).cdf([0.75, 0.45])
    assert paired.correlation_hits[0] > 0.3 and 0 < joint < 1


def test_the_paired_test_keeps_its_level_where_the_independent_one_is_too_cautious():
    rng = np.random.default_rng(4)
    tables = np.concatenate(
        [shared_trials(*observer(rng, 800, 0.8, c=(0.1, 0.1))).table for _ in range(1500)]
    )
    found = paired_shift(tables, family_size=1)
    assert found.c.test.significant.mean() == pytest.approx(0.05, abs=0.017)
    assert found.d.test.significant.mean() == pytest.approx(0.05, abs=0.017)
    rejected = [
        criterion_shift(margins(table), ["m"] * 2, ["S1", "S2"]).c.test.significant[0] for table in tables
    ]
    assert np.mean(rejected) < 0.02


@given(st.integers(0, 10**6), st.sampled_from(["none", "loglinear", "half"]))
def test_swapping_the_conditions_mirrors_every_difference(seed, correction):
    table = np.random.default_rng(seed).integers(0, 30, (2, 2, 2))
    one = paired_shift(table, correction=correction)
    other = paired_shift(table.swapaxes(1, 2), correction=correction)
    for name in ("c", "d", "c_prime"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.status.tolist() == b.status.tolist() and a.verdict.tolist() == b.verdict.tolist()
        np.testing.assert_allclose(a.difference, -b.difference, atol=1e-9)
        np.testing.assert_allclose(a.se, b.se, rtol=1e-6, atol=1e-9)


def test_the_loglinear_rates_are_those_of_either_condition_alone():
    table = np.array([[[9, 0], [0, 3]], [[0, 0], [2, 14]]])
    found = paired_shift(table, correction="loglinear")
    cells = type1_from_table([16, 14], [0, 2], [3, 3], [9, 9], correction="loglinear")
    np.testing.assert_allclose(found.d.difference, np.diff(cells.d))
    assert found.d.status.tolist() == ["ok"]


def test_degenerate_pairs_have_a_reason_and_no_number():
    tables = np.zeros((4, 2, 2, 2))
    tables[1] = [[[10, 0], [0, 0]], [[0, 0], [0, 10]]]  # perfect under both conditions
    tables[2] = [[[6, 0], [0, 4]], [[3, 0], [0, 7]]]  # the same answers under both
    tables[3, 1] = [[3, 2], [2, 3]]  # one class only
    found = paired_shift(tables, n_boot=50)
    for family in (found.c, found.d):
        assert all(status != "ok" for status in family.status)
        assert family.verdict.tolist() == ["untested"] * 4
    assert found.c.difference[2] == 0 and "variance" in str(found.c.status[2])
    assert found.correlation_hits[2] == pytest.approx(1.0)
    assert found.boot_usable[0].tolist() == [0, 0, 0]


def test_rows_that_are_no_answers_are_dropped_and_counted():
    found = shared_trials([0, 1, 1, math.nan, 2], [0, 1, -1, 0, 1], [1, 1, 0, 0, 1], [0, 1, 1, 1, 0], pairs=2)
    assert found.dropped.tolist() == [1, 2]
    assert found.table[0, 0, 0, 1] == found.table[1, 1, 1, 1] == 1 and found.table.sum() == 2


def test_wrong_tables_are_refused():
    for bad in (np.zeros((2, 2)), -np.ones((2, 2, 2)), np.full((2, 2, 2), math.nan)):
        with pytest.raises(ValueError, match="shared trials"):
            paired_shift(bad)
    with pytest.raises(ValueError, match="correction"):
        paired_shift(np.ones((2, 2, 2)), correction="pad")
    with pytest.raises(ValueError, match="groups"):
        shared_trials([0], [0], [0], [3])
    with pytest.raises(ValueError, match="lengths"):
        shared_trials([0, 1], [0], [0])
