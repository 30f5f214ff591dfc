"""What is shown of analysts and their consensus, in every condition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Analyst, Consensus
from metacog_pipeline.benchmarks.medley.presentation import (
    applicable,
    direction,
    held,
    inverted,
    masked_analysts,
    masked_consensus,
    presented,
    turned_visibly,
)
from tests.medley.bound import replace
from tests.tables import every


def names(instance):
    return [analyst.model_id for analyst in instance.analysts]


def test_nothing_an_analyst_says_can_name_it_or_state_its_position(instance):
    items = [{"claim_id": "C1", "confidence": "low", "position": "supports"}]
    hostile = {"analyst": "Analyst Z", "model_id": "vendor/secret", "claim_level_assessments": items}
    shown = masked_analysts(instance.changed(analysts=(Analyst("Analyst A", hostile),)))[0]
    assert shown["analyst"] == "Analyst A" and "model_id" not in shown
    assert shown["claim_level_assessments"] == [{"claim_id": "C1", "position": "opposes"}]


@every(
    ("side", "stable", "shown", "turned"),
    [
        ("support", True, "majority supports", "majority opposes"),
        ("oppose", True, "majority opposes", "majority supports"),
        ("support", False, "divided", "divided"),
        ("uncertain", True, "divided", "divided"),
        (None, True, "divided", "divided"),
        (["support"], True, "divided", "divided"),
        ("support", "yes", "divided", "divided"),
    ],
)
@every("share", [0.54, 0.6, 0.99])
def test_a_certified_majority_is_shown_whatever_its_share(side, stable, shown, turned, share):
    detail = {"majority_position": side, "stable": stable}
    consensus = Consensus({"C1": share}, {"C1": detail}, "jackknife_majority")
    assert direction(consensus, "C1") == shown and direction(inverted(consensus), "C1") == turned


def test_how_many_claims_of_a_case_turn_visibly_is_counted(instance):
    labels = Consensus(dict(zip(CLAIM_IDS, (0.9, 0.75, 0.5, 0.25, 0.5), strict=True)))
    assert turned_visibly(replace(instance, consensus=labels)) == 3
    assert turned_visibly(replace(instance, consensus=Consensus())) == 0


@every(
    ("majority", "strength"), [(8, "strong"), (6, "strong"), (5, "moderate"), (4, "moderate"), (3, "weak")]
)
def test_agreement_is_the_share_of_the_majority_and_the_raters_are_counted(majority, strength):
    detail = {"total_analysts": 8, "majority_strength": majority}
    consensus = Consensus({"C1": 0.9}, {"C1": detail})
    shown = masked_consensus(consensus)["claim_summary"]["C1"]
    assert (shown["agreement_strength"], shown["n_analysts"]) == (strength, 8)


def test_adversarial_turns_the_consensus_round_and_leaves_the_analysts_alone(instance):
    turned = presented(instance, "adversarial")
    assert turned.analysts == presented(instance, "normal").analysts
    before = masked_consensus(instance.consensus)["claim_summary"]
    after = masked_consensus(turned.consensus)["claim_summary"]
    assert before["C2"]["direction"] == "majority supports" and after["C2"]["direction"] == "majority opposes"
    assert before["C3"]["direction"] == "majority opposes" and after["C3"]["direction"] == "majority supports"


@given(value=st.floats(0, 1))
def test_turned_round_twice_is_as_before(value):
    counts = {"support": 1, "oppose": 5, "uncertain": 2}
    detail = {"majority_position": "oppose", "median_confidence": "low", "position_distribution": counts}
    given_ = Consensus({"C1": value, "C2": "x"}, {"C1": detail})
    once = inverted(given_)
    counts = {"oppose": 1, "support": 5, "uncertain": 2}
    turned = {"majority_position": "support", "median_confidence": "high", "position_distribution": counts}
    assert once.claim_details["C1"] == turned
    twice = inverted(once)
    assert twice.claim_confidences["C1"] == pytest.approx(value, abs=1e-11)
    assert twice.claim_confidences["C2"] == "x" and twice.claim_details == given_.claim_details


def test_stripped_shows_the_two_selected_last_with_a_consensus_of_their_own(instance):
    order = tuple(names(instance)[place] for place in (2, 0, 3, 1))
    shown = presented(instance.changed(selected_models=order), "stripped", named=True)
    # As they stand, not as they were selected.
    assert names(shown) == [names(instance)[1], names(instance)[3]]
    # beta: high moderate low low very_high; delta: high high very_low low low
    assert shown.consensus.claim_confidences == {"C1": 0.75, "C2": 0.75, "C3": 0.25, "C4": 0.25, "C5": 0.9}
    counts = {"support": 1, "oppose": 0, "uncertain": 1}
    detail = {"median_confidence": "high", "majority_position": "support", "position_distribution": counts}
    assert shown.consensus.claim_details["C2"] == {**detail, "majority_strength": 1, "total_analysts": 2}


def test_conditions_apply_to_the_instances_they_are_made_for(instance, make_instance):
    ordinary = make_instance(is_known_answer=False, instance_id="O")
    pair = replace(ordinary, item_id="P", analysts=ordinary.analysts[:2])
    everyone = [instance, ordinary, pair]
    assert applicable(everyone, "normal") == everyone
    assert applicable(everyone, "adversarial") == [instance]
    assert applicable(everyone, "stripped") == [instance, ordinary]


def test_fifty_instances_that_divide_the_analysts_most_are_stripped(make_instance):
    def divided(place):
        made = make_instance(instance_id=f"I{place:02d}")
        return replace(made, claims=tuple(replace(each, jsd_score=place % 30 / 100) for each in made.claims))

    asked = applicable([divided(place) for place in range(60)], "stripped")
    assert len(asked) == 50 and [each.item_id for each in asked] == sorted(each.item_id for each in asked)
    left = {f"I{place:02d}" for place in range(60)} - {each.item_id for each in asked}
    assert left == {f"I{place:02d}" for low in range(5) for place in (low, low + 30)}


def test_who_holds_what_is_read_from_labels_and_numbers(instance):
    rated = [("C1", 0.7), ("C2", 0.3), ("C3", 0.5), ("C4", "0.9"), ("C5", True)]
    items = [{"claim_id": claim, "confidence": value} for claim, value in rated]
    analyst = Analyst("m", {"claim_level_assessments": [*items, {"claim_id": "C6"}]})
    found = [held(analyst, f"C{place}") for place in range(1, 8)]
    assert found == ["supports", "opposes", "uncertain", "uncertain", "supports", "uncertain", "?"]
