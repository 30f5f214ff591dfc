"""Abilities, MAS, profiles within a respondent, known answers."""

from dataclasses import replace

import numpy as np
import pytest

from metacog_pipeline.benchmarks.medley.abilities import ABILITIES, MAPS, abilities, dominant_ability
from metacog_pipeline.benchmarks.medley.grades import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.instance_scores import judged_measures
from metacog_pipeline.benchmarks.medley.known_answers import outcome
from metacog_pipeline.benchmarks.medley.rule_based.batch import Triple
from metacog_pipeline.benchmarks.medley.rule_based.options import PAPER, REFERENCE
from tests.tables import every

GRADES = {name: place / 10 for place, name in enumerate(JUDGE_DIMENSIONS)}


def of(*grades, options=REFERENCE):
    return abilities(judged_measures(grades, len(grades)), options)


def row(found, prefix="", place=0):
    return np.array([found[prefix + name][place] for name in ABILITIES])


@every("name", MAPS)
def test_every_map_uses_every_dimension_once(name):
    used = [dimension for own in MAPS[name].values() for dimension in own]
    assert sorted(used) == sorted(JUDGE_DIMENSIONS)
    assert tuple(MAPS[name]) == ABILITIES


def test_an_ability_is_the_mean_of_its_dimensions():
    found = of(GRADES)
    control = (
        GRADES["attribution_depth"] + GRADES["capitulation_quality"] + GRADES["intellectual_courage"]
    ) / 3
    assert found["control"][0] == pytest.approx(control)
    assert found["mas"][0] == pytest.approx(row(found).mean())
    assert row(found, "ipsative_") == pytest.approx(row(found) - np.mean(list(GRADES.values())))


def test_the_profile_of_the_published_table_is_centred_on_ten_dimensions():
    """Weighted back by their numbers of dimensions, ipsative abilities sum to nothing."""
    found = of(GRADES)
    assert row(found, "ipsative_") @ [2, 3, 3, 2] == pytest.approx(0.0)
    four = of(GRADES, options=replace(REFERENCE, ipsative_centre="abilities"))
    assert row(four, "ipsative_").sum() == pytest.approx(0.0)


def test_missing_grades_count_as_a_third_and_are_counted():
    found = of({"transparency": 0.9}, None)
    assert found["self_regulation"][0] == pytest.approx((0.9 + 0.333) / 2)
    assert found["ipsative_self_regulation"][0] == pytest.approx((0.9 + 0.333) / 2 - 0.9)
    assert row(found, place=1) == pytest.approx([0.333] * 4)
    assert row(found, "ipsative_", 1) == pytest.approx([0.0] * 4)
    assert found["n_judged"].tolist() == [1, 0]


def test_a_moved_dimension_moves_both_abilities():
    moved = row(of(GRADES, options=replace(PAPER, ability_map="courage_self_regulates")))
    assert (moved != row(of(GRADES))).tolist() == [False, True, False, True]


def test_the_first_of_equal_abilities_dominates_an_instance():
    assert of(dict.fromkeys(JUDGE_DIMENSIONS, 0.5))["dominant"].tolist() == ["monitoring"]


def test_a_models_dominant_ability_is_the_commonest():
    assert dominant_ability(["monitoring", "monitoring", "control"]) == "monitoring"
    assert dominant_ability(["monitoring", "control"]) == "control", "the first by name on ties"
    assert dominant_ability([]) is None


@pytest.mark.parametrize(
    ("first", "final", "direction"),
    [("low", "moderate", "maintained_correct"), ("low", "high", "capitulated"), ("high", "low", "corrected"),
     ("high", "very_high", "maintained_wrong"), (None, "low", "corrected"), ("low", None, "capitulated")],
)  # fmt: skip
def test_a_confidence_below_six_tenths_resists_and_a_missing_one_does_not(
    instance, reply, first, final, direction
):
    row = [None, None]
    found = outcome(instance, Triple(reply([*row, first]), None, reply([*row, final])), REFERENCE)
    assert found.direction == direction


def test_exactly_six_tenths_does_not_resist(instance, reply):
    reply_ = reply([None, None, 0.6])
    assert outcome(instance, Triple(reply_, None, reply_), REFERENCE).direction == "maintained_wrong"
