"""Tier 2a: the arithmetic is right and the stem gives no factor away."""

import re

import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.estimates import ESTIMATES, estimate
from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.items import Item

# Worked out by hand from the stems.
BY_HAND = {
    "nodes": 8, "abtest": 8, "churn": 3063.55, "latency": 200, "copy": 450, "bakery": 144, "dose": 33, "lorry": 13,
    "solar": 8, "callcentre": 24, "crop": 53200, "bridge": 22, "schools": 24, "vaccine": 168, "hotel": 200,
    "language": 30, "bus": 8, "fund": 98357.57, "diet": 10, "fish": 9000, "supplier": 6000, "code": 60,
    "museum": 192000, "firewood": 15, "clinic": 20, "tank": 756000, "ebus": 250, "seating": 120, "tutoring": 15,
    "reservoir": 8.3333,
}  # fmt: skip


def _items() -> list[Item]:
    return [item for item in items_of("metacog147-v1") if item.tier == "2a"]


def test_the_computed_answers_are_those_worked_out_by_hand():
    items = {item.item_id.removeprefix("eco."): item for item in _items()}
    assert items.keys() == BY_HAND.keys() == ESTIMATES.keys()
    for name, item in items.items():
        assert item.computed_answer == pytest.approx(BY_HAND[name], rel=1e-4), name
        assert estimate(item.provenance.generator, item.stem) == pytest.approx(BY_HAND[name], rel=1e-4), name


def test_a_formula_that_does_not_fit_its_stem_is_an_error():
    with pytest.raises(ValueError, match="no formula"):
        estimate("estimates.nodes", "We run 4 nodes.")
    with pytest.raises(ValueError, match="no formula"):
        estimate("estimates.unheard", "4")


def test_stems_name_no_factor():
    for item in _items():
        patterns = [pattern for factor in item.factors for pattern in factor.any]
        assert not [each for each in patterns if re.search(each, item.stem.lower())], item.item_id
