"""No number on a board hangs on the last bit of a sum."""

import numpy as np
import pytest

from metacog_pipeline.benchmarks.medley.judging.suite import Bias, worst
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.pca import pca
from metacog_pipeline.stats.ties import largest

SMALL, LARGE = 0.012962962962962968, 0.012962962962962987  # one on paper, two in their last bits


def bias(judge: str, form: str, value: float | None) -> Bias:
    return Bias(judge, form, Estimate(value, None, None, 30, "m"))


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


@pytest.mark.parametrize(("up", "down"), [(SMALL, LARGE), (LARGE, SMALL), (SMALL, SMALL)])
def test_of_two_equal_biases_of_judges_the_rise_is_shown_whatever_their_last_bits_are(up, down):
    found = [bias("judge-one", "language", -down), bias("judge-three", "self_praise", up)]
    for each in (found, found[::-1]):
        chosen = worst(each)
        assert chosen is not None and (chosen.judge, chosen.form) == ("judge-three", "self_praise")


def test_the_worst_bias_is_the_largest_one_and_none_where_nothing_is_known():
    found = [bias("a", "self_praise", 0.1), bias("b", "language", -0.2), bias("c", "padding", None)]
    chosen = worst(found)
    assert chosen is not None and chosen.judge == "b"
    assert worst([bias("c", "padding", None)]) is None


def test_the_sign_of_a_principal_component_does_not_hang_on_the_last_bit_of_equal_loadings():
    """Two columns that mirror each other load equally: the first one decides, and is positive."""
    x = np.arange(8.0)
    for table in (np.column_stack([x, -x]), np.column_stack([x, -x * (1 + 1e-15)])):
        assert pca(table).loadings[0, 0] > 0
