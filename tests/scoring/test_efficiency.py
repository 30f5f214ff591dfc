"""The M-ratio of a choice among m leaves as a number with an interval, or with the reason why not."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.scoring.efficiency import MEASURES, Choices, estimates
from tests.tables import every


def of(right, wrong, m=4, draws=None):
    right, wrong = np.atleast_2d(np.asarray(right, float)), np.atleast_2d(np.asarray(wrong, float))
    return estimates([Choices(right, wrong, np.atleast_1d(m), draws)])[0]


def test_an_ordinary_table_gives_numbers_with_intervals():
    found = of([4, 18, 26, 64, 126], [7, 8, 13, 15, 19])
    for name in MEASURES:
        assert found[name].status == "ok" and found[name].value is not None, name
    assert found["m_ratio_mafc"].low == pytest.approx(0.284, abs=2e-3)


@every(
    ("right", "wrong", "reason"),
    [
        ([0, 0, 0], [0, 0, 0], "no items"),
        ([5, 5, 5], [0, 0, 0], "all correct"),
        ([0, 0, 0], [5, 5, 5], "all wrong"),
        ([0, 0, 30], [0, 0, 10], "one confidence level"),
        ([5, 5, 5], [20, 20, 20], "at chance or below"),
        ([0, 0, 90], [6, 4, 0], "lower limit only: at least 1.7"),
        ([0, 0, 90], [2, 2, 0], "lower limit only"),
        ([10, 20, 60], [2, 1, 1], "fewer than five"),
        ([8, 6, 8], [22, 15, 9], "not clearly above chance"),
    ],
)
def test_what_is_no_ratio_says_why(right, wrong, reason):
    found = of(right, wrong)["m_ratio_mafc"]
    assert found.value is None and reason in found.status


def test_few_errors_keep_their_interval():
    found = of([10, 20, 60], [2, 1, 1])["m_ratio_mafc"]
    assert found.value is None and found.low is not None and found.low < 1


def test_no_known_alternatives_is_a_reason_of_its_own():
    (found,) = estimates([Choices(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0, dtype=int))])
    assert all("alternatives" in found[name].status for name in MEASURES)


COUNTS = st.lists(st.integers(0, 30), min_size=3, max_size=3)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
@settings(max_examples=15, deadline=None)
def test_any_counts_of_one_or_two_strata_end_in_a_number_or_a_reason(a, b, c, d):
    for found in (of(a, b), of([a, b], [c, d], [4, 6])):
        for name, estimate in found.items():
            assert (estimate.value is None) <= (estimate.status != "ok"), name
            assert estimate.value is None or math.isfinite(estimate.value)
