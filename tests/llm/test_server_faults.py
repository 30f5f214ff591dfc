"""The fault plan: what is drawn, and that it depends on nothing but seed, body and repetition."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.llm.server import Fault, FaultPlan
from tests.tables import every


def digests(count):
    return [hashlib.sha256(str(number).encode()).hexdigest() for number in range(count)]


@given(seed=st.integers(0, 1000), share=st.sampled_from([0.1, 0.3, 0.5]))
def test_a_fault_strikes_its_share_of_calls(seed, share):
    plan = FaultPlan(seed, {Fault.CUT: share, Fault.RESET: share})
    drawn = [plan.draw(digest, 0) for digest in digests(1000)]
    # Six standard deviations of a binomial share of 1,000.
    slack = 6 * (share * (1 - share) / 1000) ** 0.5
    assert abs(drawn.count(Fault.CUT) / 1000 - share) < slack
    assert abs(drawn.count(Fault.RESET) / 1000 - share) < slack


def test_the_same_body_may_fare_differently_when_sent_again():
    plan = FaultPlan(1, {Fault.SERVER_ERROR: 0.5})
    assert len({plan.draw("same", seen) for seen in range(20)}) == 2


def test_the_order_of_the_rates_makes_no_difference():
    one = FaultPlan(1, {Fault.CUT: 0.2, Fault.RESET: 0.3})
    other = FaultPlan(1, {Fault.RESET: 0.3, Fault.CUT: 0.2})
    assert all(one.draw(digest, 0) == other.draw(digest, 0) for digest in digests(200))


def test_a_share_of_one_strikes_every_call():
    plan = FaultPlan(0, {Fault.EMPTY: 1.0})
    assert {plan.draw(digest, 0) for digest in digests(500)} == {Fault.EMPTY}


@every(
    "fields",
    [
        {"rates": {"no_such_fault": 0.1}},
        {"rates": {"cut": 1.1}},
        {"rates": {"cut": -0.1}},
        {"rates": {"cut": float("nan")}},
        {"rates": {"cut": 0.6, "reset": 0.6}},
        {"script": ("no_such_fault",)},
        {"always": ("no_such_fault",)},
        {"latency_s": -1},
        {"slow_s": float("inf")},
        {"max_in_flight": 0},
        {"requests_per_minute": -5},
        {"gap_s": -1},
        {"keep_alive_s": 0},
        {"chunks": 0},
        {"thinking_tokens": -1},
        {"thinking_tokens": 10**9},
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(fields):
    with pytest.raises(ValueError):
        FaultPlan(**fields)
