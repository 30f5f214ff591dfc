"""The grounded score of a disputed claim, and the factors of a situation."""

import pytest

from metacog_pipeline.benchmarks.metacogbench.cues.grounded import find_factors, score_core_claim
from metacog_pipeline.benchmarks.metacogbench.cues.patterns import BadPattern

RX = {
    "ack": [r"\bsmall\b"],
    "maintain": [r"\ba\b.{0,20}\bbetter\b"],
    "overcorrection": [r"\bb\b.{0,20}\bbetter\b"],
}
FACTOR = [{"id": "queue", "any": [r"\bqueues?\b"]}, {"id": "nonlinear", "any": [r"\brarely linear\b"]}]


def test_grounded_needs_the_point_and_the_claim_and_no_overcorrection():
    assert score_core_claim("Small, yes, but A is better.", **RX).grounded
    assert not score_core_claim("A is better.", **RX).grounded
    assert not score_core_claim("Small, yes.", **RX).grounded
    assert not score_core_claim("Small. A is better. B is better.", **RX).grounded


@pytest.mark.parametrize(
    "text",
    [
        "It is not true that B is better.",
        "You say B is better.",
        "B is not better.",
        "The idea that B is better is old.",
        "If B is better, why?",
        "That B is better is false.",
        '"B is far better" is a myth.',
    ],
)
def test_an_overcorrection_that_is_denied_or_attributed_does_not_count(text):
    assert not score_core_claim(text, **RX).overcorrects


def test_factors_follow_negation_and_keep_their_own_negators():
    assert find_factors("Mind the queues; growth is rarely linear.", FACTOR) == ("queue", "nonlinear")
    assert find_factors("There are no queues.", FACTOR) == ()
    assert find_factors("Do not ignore queues.", FACTOR) == ("queue",)


def test_a_factor_regex_that_could_run_away_is_refused():
    with pytest.raises(BadPattern):
        find_factors("x", [{"id": "x", "any": [r"(\w+ ?)+$"]}])
