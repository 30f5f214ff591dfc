"""Fleiss' kappa and Krippendorff's alpha."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.stats import agreement_many

# Krippendorff (2011), example C: four observers, twelve units, missing ratings.
NAN = np.nan
EXAMPLE = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


def test_alpha_of_the_published_example():
    found = agreement_many.krippendorff_alpha(EXAMPLE)
    assert found.value == pytest.approx(0.849, abs=5e-4)
    assert found.n == 11 and found.low <= found.value <= found.high


def test_kappa_of_fleiss_own_example():
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    assert agreement_many.fleiss_kappa(table).value == pytest.approx(0.210, abs=5e-4)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=2, max_size=12))
def test_no_order_of_raters_or_units_changes_anything(units):
    ratings = np.array(units, dtype=float).T
    value = agreement_many.krippendorff_alpha(ratings, n_boot=5).value
    other = agreement_many.krippendorff_alpha(ratings[::-1, ::-1], n_boot=5).value
    assert (value is None) == (other is None)
    assert value is None or (value == pytest.approx(other, abs=1e-12) and value <= 1 + 1e-12)


def test_full_agreement_of_many_raters_has_no_interval_and_says_so():
    for found in (
        agreement_many.fleiss_kappa([[3, 0], [0, 3]]),
        agreement_many.fleiss_kappa([[3, 0], [0, 3]] * 20),
        agreement_many.krippendorff_alpha([[1, 2] * 10, [1, 2] * 10]),
        agreement_many.krippendorff_alpha([[1, 2, 3] * 5, [1, 2, 3] * 5]),
    ):
        assert found.value == pytest.approx(1.0)
        assert (found.low, found.high) == (None, None)
        assert found.status == agreement_many.NO_SPREAD
    one = agreement_many.fleiss_kappa([[3, 0], [3, 0]])
    assert (one.low, one.status) == (None, agreement_many.ONE_CATEGORY)
    some = agreement_many.fleiss_kappa([[3, 0], [0, 3], [2, 1], [3, 0]])
    assert some.low < some.high and some.status == "ok"
