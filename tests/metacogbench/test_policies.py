"""What fixed policies earn: a position that is always taken, a letter, an object filled without thought.

A policy of positions knows nothing but the role it always takes. Figures stand in the docs.
"""

import json
import re
from collections.abc import Callable

import pytest

from metacog_pipeline.benchmark.contract import Call, Calls
from metacog_pipeline.benchmarks.metacogbench.construction import chosen_items
from metacog_pipeline.benchmarks.metacogbench.items import ROLES, Field, Item
from metacog_pipeline.benchmarks.metacogbench.prompts import LETTERS, PROBE, item_steps
from metacog_pipeline.benchmarks.metacogbench.response import parse
from tests.tables import every

ITEMS = chosen_items("metacog147")
MOST_BY_WORDS, MOST_BY_POSITION = 0.10, 0.6

FIELDS: dict[str, Callable[[Item, Field], object]] = {
    "nothing in every field": lambda item, field: None,
    "zero or the first option in every field": lambda item, field: (field.options or (0,))[0],
    "one or every option in every field": lambda item, field: list(field.options) or 1,
    "the first number of the story": lambda item, field: (
        field.options[:1] or (re.findall(r"\d+", item.stem) or ["0"])[0]
    ),
    "the name of the field": lambda item, field: field.name,
}


def asked(tier: str) -> list[Item]:
    return [item for item in ITEMS if item.tier == tier]


def passes(item: Item, text: str, probe: str = "") -> bool:
    calls: Calls = {step: Call("ok", probe if step == PROBE else text) for step in item_steps(item, "free")}
    return parse(item, "free", calls).passed == 1


@every("text", ["", "I'm sorry, but I can't help with that.", "However, it depends.", "Refuse to choose"])
@every("tier", ["2a", "2b", "3"])
def test_what_takes_no_position_passes_no_task(text, tier):
    assert not [item.item_id for item in asked(tier) if passes(item, text, text)]


@every("name", FIELDS)
def test_an_object_filled_without_thought_passes_hardly_any_task_of_tier_3(name):
    filled = [
        passes(item, json.dumps({field.name: FIELDS[name](item, field) for field in item.fields}))
        for item in asked("3")
    ]
    assert len(filled) == 20 and sum(filled) <= MOST_BY_WORDS * 20


@every(("tier", "role"), [(tier, role) for tier, roles in ROLES.items() for role in roles])
def test_no_fixed_position_wins(tier, role):
    passed = 0
    for item in asked(tier):
        letter = LETTERS[[option.role for option in item.options].index(role)]
        passed += passes(item, item.core_claim or "I would look at it.", letter)
    assert passed <= MOST_BY_POSITION * len(asked(tier)), (tier, role, passed)


@pytest.mark.parametrize("tier", ["2a", "2b"])
def test_no_letter_wins(tier):
    for letter in LETTERS[:4]:
        passed = sum(passes(item, "Let me think.", letter) for item in asked(tier))
        assert passed <= 0.45 * len(asked(tier)), letter


def test_the_right_position_passes_whatever_the_free_reply_says():
    for item in (*asked("2a"), *asked("2b")):
        letter = LETTERS[[option.role for option in item.options].index(item.right[0])]
        assert passes(item, item.overcorrection or item.trap, letter)
