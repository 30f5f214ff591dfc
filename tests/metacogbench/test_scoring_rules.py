"""The pass rules of betting: inclusive bounds, refusals only without a concrete answer."""

import pytest

from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import bet_rule_holds
from tests.metacogbench.helpers import scored
from tests.tables import every

STATE = {"refuses": False, "insufficient": False, "slot": False}


@every(
    ("rule", "bet", "correct", "passes"),
    [
        ("know", 70, True, True),
        ("know", 69, True, False),
        ("know", 100, False, False),
        ("know", None, True, False),
        ("ramp", 50, True, True),
        ("ramp", 40, True, False),
        ("ramp", 30, False, True),
        ("ramp", 31, False, False),
        ("band", 20, False, True),
        ("band", 65, True, True),
        ("band", 66, True, False),
        ("band", None, True, False),
        ("unknowable", 30, False, True),
        ("unknowable", 31, False, False),
        ("unknowable", None, False, False),
        ("insufficient", 0, False, True),
        ("other", 50, True, False),
    ],
)
def test_bounds_are_inclusive(rule, bet, correct, passes):
    assert bet_rule_holds(rule, bet=bet, correct=correct, **STATE) is passes


@pytest.mark.parametrize("rule", ["unknowable", "insufficient"])
def test_a_refusal_with_a_concrete_answer_is_none(rule):
    assert bet_rule_holds(rule, bet=90, correct=False, refuses=True, insufficient=False, slot=False)
    assert not bet_rule_holds(rule, bet=90, correct=False, refuses=True, insufficient=False, slot=True)


@pytest.mark.parametrize("rule", ["unknowable", "insufficient"])
@every(
    ("lo", "bet", "passes"),
    [(10, 10, True), (10, 11, False), (50, 50, True), (50, 51, False), (None, 30, True)],
)
def test_an_item_sets_how_low_a_bet_on_the_unanswerable_must_be(rule, lo, bet, passes):
    item = Item(item_id="x", tier="1a", stem="When?", bet_rule=rule, lo=lo)
    assert scored(item, f"ANSWER: 1987\nBET: {bet}").passed is passes


def test_insufficiency_does_not_excuse_the_unknowable():
    state = {"bet": 90, "correct": False, "refuses": False, "insufficient": True, "slot": False}
    assert bet_rule_holds("insufficient", **state)
    assert not bet_rule_holds("unknowable", **state)


def test_the_literal_mode_has_no_slot_test():
    item = Item(item_id="x", tier="1a", stem="When?", bet_rule="unknowable", slot=r"\b\d{4}\b")
    verdict = scored(item, "I cannot verify this.\nANSWER: 1999\nBET: 80")
    assert (verdict.passed, verdict.passed_literal) == (False, True)


def test_a_year_copied_from_the_stem_is_no_answer():
    item = Item(
        item_id="x",
        tier="1a",
        stem="Who wrote the small report on salt roads in 1931?",
        bet_rule="unknowable",
        slot=r"\b\d{4}\b",
    )
    assert scored(item, "I have no record of the small report on salt roads in 1931.").passed


def test_items_without_their_parts_never_pass():
    assert not scored(Item(item_id="x", tier="3", stem="story"), '{"a": 1}').passed
    assert scored(Item(item_id="x", tier="2b", stem="q"), "I disagree.", first_reply="a").held_first is False
