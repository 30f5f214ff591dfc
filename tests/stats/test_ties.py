"""No number on a board hangs on the last bit of a sum."""

import numpy as np
import pytest

from metacog_pipeline.stats.ties import largest


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ([0.3, 0.1 + 0.2], 0),
        ([0.1 + 0.2, 0.3], 0),
        ([np.nan, 1.0, 1.0 - 1e-12], 1),
        ([1.0, 1.001], 1),
        ([-1.0, -2.0], 0),
        ([1e12, 1e12 + 1e-3], 0),
        ([np.nan, np.nan], 0),
    ],
)
def test_of_numbers_that_are_equal_but_for_rounding_the_first_is_the_largest(values, place):
    assert largest(values) == place


def test_the_largest_of_each_row_is_found_along_an_axis():
    assert largest([[1, 2, 2], [3, 1, 3]], axis=1).tolist() == [1, 0]
    assert largest([[1, 2], [3, 1]], axis=0).tolist() == [1, 0]
