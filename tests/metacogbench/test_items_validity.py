"""Validity of the items, tier by tier: solvable with one answer, nothing hinted at, readable."""

import math
import re

import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.invariants import CAVEATS, CONCEPTS
from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.fields import answer_field
from metacog_pipeline.benchmarks.metacogbench.items import TIERS, Item
from metacog_pipeline.benchmarks.metacogbench.prompts import field_list
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import is_right
from tests.metacogbench.helpers import scored
from tests.tables import every

FALLACIES = re.compile(
    r"\b(?:fallac\w+|myths?|paradox\w*|simpson\w*|survivor\w*|sunk|confound\w*|base[- ]rates?|regress\w+|post hoc"
    r"|gambler\w*|independent events?|marginal|ecological|correlation|causation|selection bias|peer pressure|sycophan\w+)\b"
)
TELLS = re.compile(
    r"\b(?:trick|impossible|cannot be (?:known|answered|told)|unknowable|invented|fictional|made[- ]up|insufficient"
    r"|contradict\w*|missing|easy|hard|difficult|confiden\w+|calibrat\w+|guess\w*)\b"
)


def is_correct(item: Item, other: Item) -> bool:
    """Whether the key of another item is a right answer to ``item``."""
    found = answer_field(item).read(str(other.answer))
    return found.status == "ok" and is_right(item, found.value)


def of(tier: str) -> list[Item]:
    return [item for item in items_of("metacog147-v1") if item.tier == tier]


@every("tier", TIERS)
def test_stems_are_of_a_length_people_read_and_end_with_a_request(tier):
    for item in of(tier):
        longest = max(len(sentence.split()) for sentence in re.split(r"[.?!:;]\s|\n", item.stem))
        assert longest <= 75, (item.item_id, longest)
        assert (
            tier == "3" or "?" in item.stem or re.search(r"\b(?:Give|Write|Who|wants to know)\b", item.stem)
        )


def test_1a_the_key_passes_a_wrong_answer_does_not_and_nothing_tells_which_is_which():
    for item in of("1a"):
        assert not TELLS.search(item.stem.lower()), item.item_id
        if item.answer is None:
            continue
        sure = f"ANSWER: {item.answer}\nBET: 95"
        assert scored(item, sure).passed, item.item_id
        wrong = item.answer * 2 + 7 if isinstance(item.answer, (int, float)) else "Lake Constance"
        assert not scored(item, f"ANSWER: {wrong}\nBET: 95").passed, item.item_id


def test_1a_products_have_no_shortcut():
    ramps = [item for item in of("1a") if item.family == "arithmetic_ramp"]
    assert len(ramps) == 8
    for item in ramps:
        for number in map(int, re.findall(r"\d+", item.stem)):
            place = 10 ** (len(str(number)) - 1)
            assert 50 * min(number % place, place - number % place) > place, item.item_id


def test_1b_keys_are_right_and_those_of_other_items_wrong():
    items = of("1b")
    for item in items:
        asked = item.stem.partition(" A) ")[0]  # the options may say what they like
        assert not TELLS.search(f"{asked} {item.topic_line}".lower()), item.item_id
        assert is_correct(item, item), item.item_id
        others = [other for other in items if other.answer_type == item.answer_type and other is not item]
        mistaken = [o.item_id for o in others if o.answer != item.answer and is_correct(item, o)]
        # Choices share their letters and numbers may lie near each other; names never do.
        assert not mistaken or item.answer_type == "number", (item.item_id, mistaken)


def test_2a_stems_neither_warn_nor_print_the_answer():
    for item in of("2a"):
        assert not CAVEATS.search(item.stem.lower())
        value = item.computed_answer or 0.0
        told = {f"{value:g}", f"{value:,.0f}", f"{math.floor(value)}"}
        assert not told & set(re.findall(r"[\d.,]*\d", item.stem)) or item.item_id == "eco.schools", (
            item.item_id
        )


def test_2b_neither_question_nor_objection_names_what_is_wrong():
    for item in of("2b"):
        assert not FALLACIES.search(f"{item.stem} {item.turn2}".lower()), item.item_id


def test_2b_the_numbers_bear_the_claims_out():
    assert 600 / 2**4 > 24  # dozens of clerks are right four times
    assert pytest.approx(0.0196, abs=1e-4) == 1 / (1 + 999 * 0.05)
    assert pytest.approx(1 / 3, abs=0.02) == 1 - (0.985 / 0.998) ** 30


def test_3_stories_and_fields_name_no_concept_and_ask_for_everything_they_score():
    for item in of("3"):
        shown = f"{item.stem}\n{field_list(item.fields)}".lower()
        assert not CONCEPTS.search(shown), item.item_id
        assert item.structure.replace("_", " ") not in shown
        assert all(f'"{field.name}"' in shown for field in item.fields)
