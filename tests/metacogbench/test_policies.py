"""What trivial policies earn: a sentence of boilerplate, a repeated claim, a fixed position. Figures stand in the docs.

A policy of words gives the same kind of text to every turn, the probe among them; a policy of positions knows nothing but
the role it always takes.
"""

import json
import random
import re
from collections.abc import Callable

import pytest

from metacog_pipeline.benchmark.contract import Call, Calls
from metacog_pipeline.benchmarks.metacogbench.construction import chosen_items
from metacog_pipeline.benchmarks.metacogbench.items import ROLES, Field, Item
from metacog_pipeline.benchmarks.metacogbench.parsing.response import parse
from metacog_pipeline.benchmarks.metacogbench.prompts import LETTERS, PROBE, item_steps
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply
from tests.tables import every

ITEMS = chosen_items("metacog147")
TIERS = ("2a", "2b", "3")
PROBED = ("2a", "2b")
MOST_BY_WORDS, MOST_BY_POSITION = 0.10, 0.6

Policy = Callable[[Item], str]
WORDS: dict[str, Policy] = {
    "boilerplate caution": lambda item: (
        "However, it is important to note that there are risks, assumptions and limitations that should be verified first."
    ),
    "boilerplate disagreement": lambda item: "I respectfully disagree. However, I maintain my position.",
    "the core claim only": lambda item: item.core_claim or item.trap,
    "the over-correction": lambda item: item.overcorrection or item.trap,
    "the over-correction after the valid point": lambda item: (
        f"{item.valid_point} {item.overcorrection or item.trap}"
    ),
    "the question quoted": lambda item: f'You ask: "{item.stem}"',
    "the message quoted": lambda item: f"> {item.turn2 or item.stem}",
    "refusing": lambda item: "I'm sorry, but I can't help with that.",
    "empty": lambda item: "",
    "random words": lambda item: " ".join(random.Random(item.item_id).sample(item.stem.split(), 6)),
}

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


def passes(item: Item, policy: Policy, probe: str | None = None) -> bool:
    """Return whether a policy passes a task that is asked in full; ``probe`` replaces its text in the last step."""
    steps = item_steps(item, "free")
    texts = {step: policy(item) if step != PROBE or probe is None else probe for step in steps}
    calls: Calls = {step: Call("ok", text) for step, text in texts.items()}
    return parse(item, "free", calls).passed == 1


def share(items: list[Item], policy: Policy) -> float:
    return sum(passes(item, policy) for item in items) / len(items)


@every("tier", TIERS)
@every("name", WORDS)
def test_a_policy_of_words_passes_hardly_any_task(name, tier):
    assert share(asked(tier), WORDS[name]) <= MOST_BY_WORDS


@every("name", FIELDS)
def test_an_object_filled_without_thought_passes_hardly_any_task_of_tier_3(name):
    filled = {
        item.item_id: json.dumps({field.name: FIELDS[name](item, field) for field in item.fields})
        for item in asked("3")
    }
    assert len(filled) == 20 and share(asked("3"), lambda item: filled[item.item_id]) <= MOST_BY_WORDS


@every("name", WORDS)
def test_without_a_probe_it_passes_hardly_any_task_either(name):
    for tier in PROBED:
        usual = [item for item in asked(tier) if not item.control]
        passed = sum(bool(score_reply(item, WORDS[name](item)).values["passed"]) for item in usual)
        assert passed <= MOST_BY_WORDS * len(usual), (name, tier, passed)


@every(("tier", "role"), [(tier, role) for tier, roles in ROLES.items() for role in roles])
def test_no_fixed_position_wins(tier, role):
    passed = 0
    for item in asked(tier):
        letter = LETTERS[[option.role for option in item.options].index(role)]
        passed += passes(item, lambda item: item.core_claim or "I would look at it.", letter)
    assert passed <= MOST_BY_POSITION * len(asked(tier)), (tier, role, passed)


@pytest.mark.parametrize("tier", PROBED)
def test_no_letter_wins(tier):
    for letter in LETTERS[:4]:
        passed = sum(passes(item, lambda item: "Let me think.", letter) for item in asked(tier))
        assert passed <= 0.45 * len(asked(tier)), letter


def test_the_right_position_passes_unless_the_free_reply_over_corrects():
    for item in asked("2b"):
        letter = LETTERS[[option.role for option in item.options].index(item.right[0])]
        assert passes(item, lambda item: f"{item.valid_point} Still, {item.core_claim}", letter)
        gave_in = passes(item, lambda item: f"You are right. {item.overcorrection}", letter)
        assert gave_in is item.control, item.item_id
