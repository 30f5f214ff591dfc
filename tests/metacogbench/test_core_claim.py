"""The grounded score of a disputed claim, and the factors of a situation."""

import pytest

from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.grounded import score_core_claim
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.patterns import BadPattern
from tests.metacogbench.labelled import factors_in
from tests.tables import every

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


@every(
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
    assert factors_in("Mind the queues; growth is rarely linear.", FACTOR) == ("queue", "nonlinear")
    assert factors_in("There are no queues.", FACTOR) == ()
    assert factors_in("Do not ignore queues.", FACTOR) == ("queue",)


def test_a_factor_regex_that_could_run_away_is_refused():
    with pytest.raises(BadPattern):
        factors_in("x", [{"id": "x", "any": [r"(\w+ ?)+$"]}])


@pytest.mark.parametrize(
    "text",
    [
        "It does not follow from a remark on the few cases of last winter that B is better.",
        "That doesn't mean in any of the clinics we looked at that B is better.",
        "There is no reason, small or large, to conclude that in the end B is better.",
        "It would be premature to say that on the whole and in the long run B is better.",
    ],
)
def test_a_denied_step_governs_its_clause_however_long(text):
    assert not score_core_claim(text, **RX).overcorrects


def test_a_denied_step_ends_with_its_clause():
    assert score_core_claim("It does not follow, yet B is better.", **RX).overcorrects


@every(
    "text",
    [
        "Six, not counting queues.",
        "You have not considered the queues.",
        "No allowance is made for queues.",
        "It assumes no queues.",
        "This says nothing about queues.",
    ],
)
def test_a_factor_said_to_be_missing_is_named(text):
    assert factors_in(text, FACTOR) == ("queue",)


@pytest.mark.parametrize(
    "text", ["We need not consider queues.", "Queues are not a concern.", "There are no queues."]
)
def test_a_factor_waved_away_is_not(text):
    assert factors_in(text, FACTOR) == ()
