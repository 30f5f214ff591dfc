"""Yes/no tables: d'type2 and its companions, the clip, the information of a yes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import norm

from metacog_pipeline.stats.yes_no import CLIP, clipped_dprime, relative_information, type2_dprime

tables = st.tuples(*[st.integers(0, 30)] * 4)  # yes·correct, no·correct, yes·wrong, no·wrong


def of(kinds):
    yes_right, no_right, yes_wrong, no_wrong = kinds
    return type2_dprime(yes_right, yes_wrong, yes_right + no_right, yes_wrong + no_wrong)


@given(tables)
def test_every_measure_is_what_its_name_says_or_has_a_status(kinds):
    yes_right, no_right, yes_wrong, no_wrong = kinds
    n = sum(kinds)
    result = of(kinds)
    shares = {
        "hit_rate": (yes_right, yes_right + no_right),
        "false_alarm_rate": (yes_wrong, yes_wrong + no_wrong),
        "raw_alignment": (yes_right + no_wrong, n),
        "accuracy": (yes_right + no_right, n),
        "yes_ratio": (yes_right + yes_wrong, n),
        "yfr": (yes_wrong, yes_right + yes_wrong),
        "nfr": (no_right, no_right + no_wrong),
    }
    for name, (some, all_) in shares.items():
        estimate = result.estimate(name)
        assert estimate.n == all_
        if all_:
            assert estimate.value == pytest.approx(some / all_)
            assert estimate.low <= estimate.value <= estimate.high
        else:
            assert (estimate.value, estimate.status) == (None, "no items")
    d = result.estimate("d")
    if all(kinds):
        expected = norm.ppf(shares["hit_rate"][0] / shares["hit_rate"][1]) - norm.ppf(
            shares["false_alarm_rate"][0] / shares["false_alarm_rate"][1]
        )
        assert (d.value, d.status) == (pytest.approx(expected, abs=1e-9), "ok")
        assert d.low <= d.value <= d.high
    else:
        assert d.status != "ok"


def test_corrections_change_the_rates_and_nothing_else():
    plain, half = type2_dprime(10, 0, 10, 10), type2_dprime(10, 0, 10, 10, "half")
    assert plain.status[0] == "infinite" and math.isinf(plain.d[0])
    assert half.d[0] == pytest.approx(2 * norm.ppf(0.95))
    assert half.raw_alignment[0] == plain.raw_alignment[0] == 1


def test_with_no_false_alarm_the_clip_makes_the_number_whatever_the_sample():
    few, many = clipped_dprime([5, 5000], [0, 0], [10, 10_000], [3, 3000])
    assert few == many == pytest.approx(-ndtri(CLIP))


def test_one_side_without_items_is_no_number():
    assert np.isnan(clipped_dprime([1, 0], [0, 1], [2, 0], [0, 2])).all()


def test_a_yes_that_is_always_right_tells_everything_and_a_constant_one_nothing():
    told = relative_information([4, 4, 0, 4], [0, 6, 0, 0], [4, 4, 4, 4], [6, 6, 6, 0])
    assert told == pytest.approx([1.0, 0.0, 0.0, 0.0])
    assert np.isnan(relative_information([0], [0], [0], [0]))[0]
