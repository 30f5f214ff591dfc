"""Yes/no tables: the clip, the information of a yes, the graded yes."""

import numpy as np
import pytest
from scipy.special import ndtri

from metacog_pipeline.stats.yes_no import CLIP, clipped_dprime, relative_information


def test_with_no_false_alarm_the_clip_makes_the_number_whatever_the_sample():
    few, many = clipped_dprime([5, 5000], [0, 0], [10, 10_000], [3, 3000])
    assert few == many == pytest.approx(-ndtri(CLIP))


def test_one_side_without_items_is_no_number():
    assert np.isnan(clipped_dprime([1, 0], [0, 1], [2, 0], [0, 2])).all()


def test_a_yes_that_is_always_right_tells_everything_and_a_constant_one_nothing():
    told = relative_information([4, 4, 0, 4], [0, 6, 0, 0], [4, 4, 4, 4], [6, 6, 6, 0])
    assert told == pytest.approx([1.0, 0.0, 0.0, 0.0])
    assert np.isnan(relative_information([0], [0], [0], [0]))[0]
