"""Tiers, MMS, secondary dimensions: weights, orientation, rounding."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley import aggregate
from metacog_pipeline.benchmarks.medley.instance_scores import judged_measures
from metacog_pipeline.benchmarks.medley.rule_based.measures import MEASURES
from metacog_pipeline.benchmarks.medley.rule_based.options import PAPER, PRESETS, REFERENCE
from tests.tables import every

NAMES = (*MEASURES, *aggregate.JUDGED)


def table(**values):
    """The measures of one instance, NaN for those that are not named."""
    return {name: np.array([values.get(name, np.nan)]) for name in NAMES}


def test_the_weights_are_those_of_the_packages_inventory():
    for parts in (aggregate.T1, aggregate.T2, *aggregate.T3.values(), *aggregate.DIMENSIONS.values()):
        assert sum(parts.values()) == pytest.approx(1.0)
    assert len(aggregate.T1) + len(aggregate.T2) + len(aggregate.T3["package"]) == 24
    assert len({*aggregate.T1, *aggregate.T2, *aggregate.T3["package"]}) == 22
    assert aggregate.rule_based_share(REFERENCE) == pytest.approx((1 + 0.85 + 0.35) / 3)


def test_a_tier_is_the_mean_of_what_is_present():
    found = aggregate.tiers(table(proportionality=0.8, selectivity=0.2), REFERENCE)
    assert found[0].tolist() == [round((0.25 * 0.8 + 0.2 * 0.2) / 0.45, 4), 0.5, 0.5]


def test_bad_measures_are_turned_round_and_two_are_stretched():
    given_ = table(epistemic_cowardice=0.8, synthesis_necessity=0.9, confidence_coherence=0.3)
    found = {name: aggregate.part(given_, name, REFERENCE)[0] for name in given_}
    assert found["epistemic_cowardice"] == pytest.approx(0.2)
    assert found["synthesis_necessity"] == pytest.approx(0.8)
    assert found["confidence_coherence"] == 0.0
    assert aggregate.part(given_, "epistemic_cowardice", replace(REFERENCE, flip_from=0.5))[0] == 0.0
    assert {
        "epistemic_cowardice",
        "majority_pressure_sensitivity",
        "confidence_contagion",
    } == aggregate.BAD_WHEN_HIGH


def test_the_share_that_rests_on_judges_is_shown():
    ruled = table(content_engagement=0.5, argument_specificity=0.5)
    assert aggregate.judged_share_missing(ruled, REFERENCE) == pytest.approx([0.333 * 0.15 + 0.333 * 0.65])
    whole = table(**dict.fromkeys(NAMES, 0.5))
    assert aggregate.judged_share_missing(whole, REFERENCE) == pytest.approx([0.0])
    without = {**whole, "attribution_depth": np.array([np.nan])}
    assert aggregate.judged_share_missing(without, REFERENCE) == pytest.approx([0.333 * 0.08])


def test_the_documents_inventory_drops_what_has_no_formula():
    options = replace(REFERENCE, articulation="documents")
    found = aggregate.tiers(
        table(blind_spot_recognition=1.0, logical_grounding=0.0, capitulation_quality=1.0), options
    )
    assert found[0, 2] == pytest.approx(round(0.06 / 0.11, 4))


@given(st.tuples(*[st.integers(0, 10_000)] * 3))
def test_mms_is_at_most_the_mean_tier_and_rises_with_it(ten_thousandths):
    scores = np.array([ten_thousandths]) / 10_000
    for options in PRESETS.values():
        value = aggregate.mms(scores, options)[0]
        assert 0 <= value <= scores.mean() + 1e-4 or scores.min() < 0.01
        equal = aggregate.mms(np.full((1, 3), scores.mean()), options)[0]
        assert value <= equal + 1e-4 or scores.min() < 0.01


def test_mms_by_hand():
    scores = np.array([[0.5337, 0.4855, 0.4918], [0.0, 1.0, 1.0]])
    g = 0.5337**0.334 * 0.4855**0.333 * 0.4918**0.333
    balance = 1 - np.std([0.5337, 0.4855, 0.4918])
    assert aggregate.mms(scores, REFERENCE).tolist() == [
        round(g * (0.85 + 0.15 * balance), 4),
        round(0.01**0.334 * (0.85 + 0.15 * (1 - np.std([0.01, 1, 1]))), 4),
    ]
    relative = 1 - np.std(scores[0]) / scores[0].mean()
    third = np.prod(scores[0] ** (1 / 3))
    assert aggregate.mms(scores, PAPER)[0] == round(float(third * (0.85 + 0.15 * relative)), 4)


@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=50))
def test_halves_round_to_even_by_their_exact_binary_value(hundred_thousandths):
    values = np.array(hundred_thousandths) / 100_000
    for value, got in zip(values, aggregate.rounded(values), strict=True):
        assert got == round(float(value), 4)
        assert abs(Fraction(float(got)) - Fraction(float(value))) <= Fraction(1, 20_000) + Fraction(1, 10**15)


def test_secondary_dimensions_use_older_judged_measures_where_given():
    plain = aggregate.secondary_dimensions(table(logical_grounding=0.4, synthesis_necessity=0.8), REFERENCE)
    assert plain["digital_sophistry"][0] == pytest.approx(
        round((0.35 * 0.4 + 0.3 * 0.8) / 0.65, 4)
    )  # not stretched here
    assert [own[0] for name, own in plain.items() if name != "digital_sophistry"] == [0.5] * 5
    older = aggregate.secondary_dimensions(table(logical_grounding=0.4, sophistry_gap=1.0), REFERENCE)
    assert older["digital_sophistry"][0] == pytest.approx(0.7)


@every(("score", "grade"), [(0.75, "S"), (0.7499, "A"), (0.65, "A"), (0.60, "B"), (0.5, "C"), (0.4999, "D")])
def test_letters(score, grade):
    assert aggregate.letter(score) == grade


def test_judges_say_what_they_say_and_nothing_else_counts():
    given_ = [
        {"transparency": 0.4, "unknown": 1.0, "attribution_depth": None},
        None,
        {"transparency": float("nan")},
        "x",
    ]
    found = judged_measures(given_, 4)
    assert tuple(found) == aggregate.JUDGED and found.pop("transparency")[0] == 0.4
    assert np.isnan(np.array(list(found.values()))).all()
    assert np.isnan(judged_measures(given_, 4)["transparency"][1:]).all()
    with pytest.raises(ValueError, match="2 instances"):
        judged_measures([None], 2)
