import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from metacog_pipeline.stats import coverage
from metacog_pipeline.stats.auroc import (
    auroc,
    auroc_from_patterns,
    auroc_statistic,
)
from metacog_pipeline.stats.resampling import Patterns, patterns_of
from metacog_pipeline.stats.resampling import patterns as resample

answers = st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=4, max_size=60)
tables = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=6).map(np.array)


def auroc_from_counts(table):
    flat = np.ravel(table)
    return auroc_from_patterns(Patterns(np.eye(len(flat), dtype=int), flat))


def delong_by_hand(confidence, correct):
    right, wrong = confidence[correct], confidence[~correct]
    wins = (right[:, None] > wrong) + 0.5 * (right[:, None] == wrong)
    variance = wins.mean(1).var(ddof=1) / len(right) + wins.mean(0).var(ddof=1) / len(wrong)
    return wins.mean(), math.sqrt(variance)


@given(answers)
def test_value_and_standard_error_are_delongs(rows):
    confidence, correct = (np.array(column) for column in zip(*rows, strict=True))
    assume(2 <= correct.sum() <= len(correct) - 2 and len(set(confidence.tolist())) > 1)
    estimate = auroc(confidence, correct)
    value, sem = delong_by_hand(confidence, correct)
    assert estimate.value == pytest.approx(value)
    assert estimate.value == pytest.approx(
        mannwhitneyu(confidence[correct], confidence[~correct]).statistic / (correct.sum() * (~correct).sum())
    )
    if estimate.sem is not None:
        assert estimate.sem == pytest.approx(sem, abs=1e-9)
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


@given(tables)
def test_counts_arrays_and_resample_statistic_agree(table):
    levels, outcomes = np.indices(table.shape)
    estimate = auroc_from_counts(table)
    arrays = auroc(np.repeat(levels.ravel(), table.ravel()), np.repeat(outcomes.ravel(), table.ravel()))
    assert (estimate.value, estimate.status, estimate.n) == (
        pytest.approx(arrays.value),
        arrays.status,
        arrays.n,
    )
    if estimate.value is not None:
        assert auroc_statistic(table.reshape(1, -1).astype(float))[0] == pytest.approx(estimate.value)


def test_the_clustered_standard_error_is_that_of_resampled_items():
    rng = np.random.default_rng(11)
    easy = np.repeat(rng.random(400), 3)
    correct = (rng.random(1200) < easy).astype(int)
    level = np.clip(np.round(1 + 4 * (0.6 * easy + 0.4 * rng.random(1200))), 1, 5).astype(int)
    items = np.repeat(np.arange(400), 3)
    patterns = patterns_of(items, 2 * (level - 1) + correct, 10)
    estimate = auroc_from_patterns(patterns)
    assert estimate.method == "scaled score, clustered"
    draws = auroc_statistic(resample(patterns, 3000, 1))
    assert estimate.sem == pytest.approx(draws.std(), rel=0.06)
    assert estimate.sem == pytest.approx(auroc(level, correct, items).sem)


@pytest.mark.parametrize(
    ("table", "status"),
    [
        ([[0, 0], [0, 0]], "no items"),
        ([[0, 3], [0, 4]], "all correct"),
        ([[3, 0], [4, 0]], "all wrong"),
        ([[0, 0], [4, 5]], "one confidence level"),
    ],
)
def test_where_there_is_no_area_the_status_says_why(table, status):
    estimate = auroc_from_counts(table)
    assert (estimate.value, estimate.low, estimate.status) == (None, None, status)


def test_one_wrong_answer_or_perfect_separation_has_an_interval_but_no_standard_error():
    lone = auroc_from_counts([[3, 0], [0, 1], [2, 0]])
    assert (lone.value, lone.sem, lone.status) == (pytest.approx(0.6), None, "ok")
    assert lone.low < 0.2 and lone.high > 0.9
    perfect = auroc_from_counts([[5, 0], [0, 5]])
    assert (perfect.value, perfect.high, perfect.sem, perfect.status) == (1.0, 1.0, None, "ok")
    assert 0.5 < perfect.low < 0.9


def test_areas_of_two_levels_are_marked_until_their_coverage_is_good():
    stated, right = [0.95] * 60 + [0.8] * 40, [1] * 55 + [0] * 5 + [1] * 25 + [0] * 15
    two, more = auroc(stated, right), auroc([*stated[:-1], 0.7], right)
    assert (two.method, more.method) == ("scaled score, two levels", "scaled score")
    assert auroc(stated * 2, right * 2, list(range(100)) * 2).method == "scaled score, two levels, clustered"
    few = coverage.low_n
    assert few("auroc2", two.method, two.value, two.low, two.n, 20) is True
    assert few("auroc2", more.method, more.value, more.low, more.n, 20) is False
    assert few("auroc2", two.method, two.value, two.low, 2000, coverage.LEAST_OF_TWO_LEVELS) is False
