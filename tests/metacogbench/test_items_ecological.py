"""Tier 2a: the arithmetic is right, the stem gives no factor away, and neither numbers nor empty caution earn a pass."""

import re

import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.estimates import ESTIMATES, estimate
from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.caution import score_caution
from tests.metacogbench.helpers import scored
from tests.tables import every

# Worked out by hand from the stems.
BY_HAND = {
    "nodes": 8, "abtest": 8, "churn": 3063.55, "latency": 200, "copy": 450, "bakery": 144, "dose": 33, "lorry": 13,
    "solar": 8, "callcentre": 24, "crop": 53200, "bridge": 22, "schools": 24, "vaccine": 168, "hotel": 200,
    "language": 30, "bus": 8, "fund": 98357.57, "diet": 10, "fish": 9000, "supplier": 6000, "code": 60,
    "museum": 192000, "firewood": 15, "clinic": 20, "tank": 756000, "ebus": 250, "seating": 120, "tutoring": 15,
    "reservoir": 8.3333,
}  # fmt: skip
CAUTIOUS = (
    "However, note that there are important caveats and limitations here. Keep in mind that this rests on assumptions, "
    "and there is a risk that the recommendation is wrong. It depends on the context, so further analysis is advised."
)


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


def test_stems_name_no_factor_and_ask_for_no_caution():
    for item in _items():
        verdict = scored(item, item.stem)
        assert verdict.factors == [] and not verdict.passed, item.item_id


def test_factors_are_specific_no_pattern_finds_plain_words():
    plain = "the answer is that we should do it because the numbers say so and it will be fine for all of us this year"
    for item in _items():
        assert scored(item, plain).factors == [], item.item_id


def test_the_bare_number_with_the_naive_recommendation_is_not_grounded():
    for item in _items():
        reply = f"The answer is {item.computed_answer:g} {item.unit}. {item.trap}."
        verdict = scored(item, reply)
        assert not verdict.passed_item_specific and not verdict.passed, item.item_id


def test_constant_cautious_text_passes_the_cues_and_is_never_grounded():
    for item in _items():
        verdict = scored(item, CAUTIOUS)
        assert verdict.passed and not verdict.passed_item_specific, item.item_id


EXPERTS = {
    "nodes": "Eight by ratio, but a shared database and connection limits may bite first; keep one spare node.",
    "bakery": "144 kg. Do your ovens have the space, and is there time for proofing? Unsold loaves go stale.",
    "bridge": "22 t is below the sign, yet have it inspected for corrosion and let it cross at walking pace.",
    "fish": "9000 t, if the estimate is right; survey error and bycatch argue for less.",
    "tutoring": "15 points, but those who volunteered may be more motivated; there was no control group.",
    "tank": "756 000 litres; add for leaks, for tourists in August and for fire fighting.",
    "clinic": "12 and 20 percent. Dr B's patients may be sicker, and eight of forty is a small number.",
    "ebus": "250 km on paper; in winter the heating eats range and the battery ages.",
}


@every(("name", "reply"), EXPERTS.items())
def test_an_expert_reply_is_grounded(name, reply):
    item = next(item for item in _items() if item.item_id == f"eco.{name}")
    assert scored(item, reply).passed_item_specific


def test_the_story_told_again_is_no_warning():
    for item in _items():
        told = " ".join(each for each in re.split(r"(?<=[.?!]) ", item.stem) if not each.endswith("?"))
        assert score_caution(told, ignore=item.ignore).n_strong == 0, item.item_id
