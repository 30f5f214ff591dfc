"""Yes/no tables: the clip, the information of a yes, the graded yes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from metacog_pipeline.stats.yes_no import CLIP, clipped_dprime, graded_yes, relative_information


def test_with_no_false_alarm_the_clip_makes_the_number_whatever_the_sample():
    few, many = clipped_dprime([5, 5000], [0, 0], [10, 10_000], [3, 3000])
    assert few == many == pytest.approx(-ndtri(CLIP))


def test_one_side_without_items_is_no_number():
    assert np.isnan(clipped_dprime([1, 0], [0, 1], [2, 0], [0, 2])).all()


def test_a_yes_that_is_always_right_tells_everything_and_a_constant_one_nothing():
    told = relative_information([4, 4, 0, 4], [0, 6, 0, 0], [4, 4, 4, 4], [6, 6, 6, 0])
    assert told == pytest.approx([1.0, 0.0, 0.0, 0.0])
    assert np.isnan(relative_information([0], [0], [0], [0]))[0]


def test_the_graded_yes_does_not_overflow():
    assert graded_yes([0.0, 900.0, -900.0], [0.0, -900.0, 900.0]) == pytest.approx([0.5, 1.0, 0.0])


@settings(max_examples=100)
@given(st.lists(st.floats(-30, 30), min_size=1, max_size=20), st.floats(-30, 30))
def test_the_graded_yes_knows_the_difference_only(logits, shift):
    zero = [0.0] * len(logits)
    moved = graded_yes([each + shift for each in logits], [shift] * len(logits))
    assert moved == pytest.approx(graded_yes(logits, zero), abs=1e-9)
    assert graded_yes(zero, logits) == pytest.approx(1 - graded_yes(logits, zero), abs=1e-12)
