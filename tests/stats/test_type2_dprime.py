import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from metacog_pipeline.stats.type2_dprime import type2_dprime

tables = st.tuples(*[st.integers(0, 30)] * 4)  # yes·correct, no·correct, yes·wrong, no·wrong


def of(kinds, *options):
    yes_right, no_right, yes_wrong, no_wrong = kinds
    return type2_dprime(yes_right, yes_wrong, yes_right + no_right, yes_wrong + no_wrong, *options)


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


@given(tables)
def test_joint_false_answer_rates_are_shares_of_all_items(kinds):
    result = of(kinds, "none", False)
    if sum(kinds):
        assert result.yfr[0] == pytest.approx(kinds[2] / sum(kinds))
        assert result.nfr[0] == pytest.approx(kinds[1] / sum(kinds))
        assert result.estimate("yfr").n == sum(kinds)


def test_corrections_change_the_rates_and_nothing_else():
    plain, half = type2_dprime(10, 0, 10, 10), type2_dprime(10, 0, 10, 10, "half")
    assert plain.status[0] == "infinite" and math.isinf(plain.d[0])
    assert half.d[0] == pytest.approx(2 * norm.ppf(0.95))
    assert half.raw_alignment[0] == plain.raw_alignment[0] == 1
