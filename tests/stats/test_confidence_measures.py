"""Risk against coverage, held against every order of tied answers; calibration in the large."""

from itertools import pairwise, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.stats.confidence_measures import (
    aurc_statistic,
    excess_aurc_statistic,
    in_the_large,
    of_trials,
    trials,
)
from tests.tables import every


def selective(*answers, **drawn):
    return SimpleNamespace(**of_trials(trials(*answers, **drawn), probability=False))


FEW = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=6)


def table(rows, levels=5):
    return np.bincount([2 * level + right for level, right in rows], minlength=2 * levels).astype(float)[None]


def orders(rows):
    """Yield whether each answer is wrong, surest first, in every order that the confidences allow."""
    for order in permutations(rows):
        if all(a[0] >= b[0] for a, b in pairwise(order)):
            yield np.array([1 - right for _, right in order])


@given(FEW)
@settings(max_examples=30, deadline=None)
def test_the_area_is_the_mean_over_every_order_of_tied_answers(rows):
    risks = [np.cumsum(wrong) / np.arange(1, len(rows) + 1) for wrong in orders(rows)]
    assert aurc_statistic(table(rows, 3))[0] == pytest.approx(np.mean(risks), abs=1e-12)
    best = np.sort([1 - right for _, right in rows])
    least = (np.cumsum(best) / np.arange(1, len(rows) + 1)).mean()
    assert excess_aurc_statistic(table(rows, 3))[0] == pytest.approx(np.mean(risks) - least, abs=1e-12)


def test_a_model_that_is_sure_of_the_right_answers_alone_has_no_excess_and_no_interval():
    found = selective([5, 4, 3, 2, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0, 0, 0, 0], stream=1)
    assert (found.excess_aurc.value, found.excess_aurc.low) == (0.0, None)
    assert found.excess_aurc.status == "few correct: 4"
    perfect = selective(np.repeat([2, 1], 10), np.repeat([1, 0], 10), stream=1)
    assert (perfect.excess_aurc.value, perfect.excess_aurc.status) == (0.0, "perfect separation")


@every(
    ("confidence", "correct", "status"),
    [
        ([], [], "no items"),
        ([1, 2, 3], [1, 1, 1], "all correct"),
        ([1, 2, 3], [0, 0, 0], "all wrong"),
        ([2, 2, 2], [0, 1, 0], "one confidence level"),
        ([0.5], [1], "all correct"),
    ],
)
def test_without_an_order_to_judge_there_is_a_reason_and_no_number(confidence, correct, status):
    found = selective(confidence, correct, stream=1, n_draws=20)
    for each in (found.aurc, found.excess_aurc):
        assert (each.value, each.low, each.status) == (None, None, status)


ROWS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 1)), min_size=1, max_size=60)


def counted(rows, **more):
    level, right = zip(*rows, strict=True)
    return trials(np.array(level) / 10, right, stream=1, n_draws=50, **more)


@given(ROWS)
@settings(max_examples=30, deadline=None)
def test_calibration_in_the_large_is_mean_confidence_minus_accuracy_inside_its_interval(rows):
    found = in_the_large(counted(rows))
    level, right = map(np.array, zip(*rows, strict=True))
    assert found.value == pytest.approx(level.mean() / 10 - right.mean())
    if len(rows) == 1:
        assert (found.low, found.status) == (None, "single item")
        return
    assert -1 <= found.low <= found.value + 1e-12 and found.value - 1e-12 <= found.high <= 1
    assert found.high > found.low
