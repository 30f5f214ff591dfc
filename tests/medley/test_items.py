"""An instance from the published files' objects: whole, or a line that says what is wrong."""

from dataclasses import replace

import pytest

from metacog_pipeline.benchmarks.medley.items import (
    Analyst,
    analyst_label,
    anonymised,
    instance_from_published,
)
from metacog_pipeline.errors import SourceError


def test_everything_that_decides_asking_or_scoring_decides_the_hash(instance):
    changed = [
        instance.changed(vignette="another case"),
        instance.changed(claims=instance.claims[:4]),
        instance.changed(analysts=instance.analysts[::-1]),
        instance.changed(verified_wrong=frozenset({"C1"})),
        instance.changed(known_answer=None),
        instance.changed(consensus=replace(instance.consensus, claim_confidences={"C1": 0.2})),
        instance.changed(selected_models=("m",)),
    ]
    assert len({instance.item_hash, *(other.item_hash for other in changed)}) == len(changed) + 1
    assert instance.changed(position=7).item_hash == instance.item_hash


def test_equal_instances_are_one_key(make_instance):
    assert make_instance() == make_instance()
    assert len({make_instance(), make_instance(), make_instance(verified_wrong=["C1"])}) == 2


def test_anonymous_analysts_keep_their_order_and_words(instance):
    hidden = anonymised(instance)
    assert [analyst.model_id for analyst in hidden.analysts] == [f"Analyst {x}" for x in "ABCD"]
    assert [a.response for a in hidden.analysts] == [a.response for a in instance.analysts]
    assert (analyst_label(25), analyst_label(26)) == ("Analyst Z", "Analyst 27")


def test_an_analyst_reply_that_is_an_array_or_nothing_is_still_an_analyst(published):
    given = published(
        ensemble_outputs=[
            {"model_id": "a", "response": [{"claim_id": "C1"}]},
            {"model_id": "b", "response": None},
        ]
    )
    analysts = instance_from_published(given).analysts
    assert analysts == (Analyst("a", {"claim_level_assessments": [{"claim_id": "C1"}]}), Analyst("b", {}))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"instance_id": None}, "instance_id is missing"),
        ({"key_claims": {}}, "key_claims is dict"),
        ({"key_claims": [3]}, "not a JSON object"),
        ({"key_claims": [{"claim_id": "C1"}, {"claim_id": "C1"}]}, "stands twice"),
        ({"key_claims": [{"claim_id": "C1", "jsd_score": float("nan")}]}, "jsd_score"),
        ({"key_claims": [{"claim_id": "C1", "majority_strength": 10**400}]}, "majority_strength"),
        ({"key_claims": [{"claim_id": "C1", "majority_strength": True}]}, "majority_strength"),
        ({"ensemble_outputs": "x"}, "ensemble_outputs is str"),
        ({"ensemble_outputs": [{"response": {}}]}, "model_id is missing"),
        ({"vignette": 3}, "vignette is int"),
    ],
)
def test_a_broken_object_is_one_line_that_names_the_part(published, changes, says):
    with pytest.raises(SourceError, match=says):
        instance_from_published(published(**changes))


@pytest.mark.parametrize(
    "more",
    [
        {"consensus": []},
        {"consensus": {"claim_confidences": [1]}},
        {"known_answer": {"correct_answer": "x"}},
        {"verified_wrong": [1]},
        {"selected_models": [None]},
    ],
)
def test_a_broken_companion_is_one_line(published, more):
    with pytest.raises(SourceError, match="PUMP_001"):
        instance_from_published(published(), **more)


def test_an_instance_without_analysts_or_consensus_can_be_read(published):
    bare = instance_from_published(published(ensemble_outputs=None))
    assert bare.analysts == () and bare.consensus.claim_confidences == {}
    assert bare.claims[0].n_rated == 9
