"""An instance from the published files' objects: whole, or a line that says what is wrong."""

from dataclasses import replace

import pytest

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark.item_files import items_path, read_rows, write_rows
from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.benchmarks.medley.items import (
    Analyst,
    Instance,
    analyst_label,
    anonymised,
    instance_from_published,
)
from metacog_pipeline.errors import SourceError
from metacog_pipeline.study import load_study
from tests.medley.bound import Bound


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


def test_a_choice_of_version_0_1_is_read_and_one_of_other_instances_is_not(tmp_path, make_instance):
    text = '[study]\nname = "s"\nhome = "home"\n[[models]]\nname = "a"\nprovider = "simulated"\n[benchmarks.medley]\n'
    (tmp_path / "study.toml").write_text(f'{text}conditions = ["normal", "stripped"]\n')
    bench = Medley.of(load_study(tmp_path / "study.toml"))
    items = [make_instance(instance_id=f"I{place:02d}").changed(position=place) for place in range(51)]
    write_rows(items_path(bench.context.home, "medley"), items, Instance, "")
    later = bench.conditions()[-1]
    assert tasks.chosen_items(bench, later) is None and [name for name, _ in tasks.asked(bench)] == ["normal"]
    old = bench.context.home / "items" / "medley.stripped.txt"
    old.write_text("\n".join(["0" * 64, "I01", "I02"]))
    assert tasks.chosen_items(bench, later) is None
    old.write_text("\n".join([bench.items_digest, "I01", "I02"]))
    assert [len(asked) for _, asked in tasks.asked(bench)] == [51, 2]
    assert (
        bench.items == tuple(items) and read_rows(items_path(bench.context.home, "medley"), Instance) == items
    )


def test_fifty_instances_are_all_stripped_without_a_choice(make_instance):
    bench = Bound([make_instance()], conditions=("normal", "stripped"))
    assert [condition.after for condition in bench.conditions()] == [None, None]
