"""The pass rules: inclusive bounds of a bet, an answer or its absence, the fields of a story."""

import pytest

from metacog_pipeline.benchmarks.metacogbench.items import Field, Item
from metacog_pipeline.benchmarks.metacogbench.rules import bet_rule_holds, fields_right, is_right
from tests.metacogbench.helpers import scored
from tests.tables import every


def item(rule: str, **more: object) -> Item:
    return Item(item_id="x", tier="1a", stem="When?", bet_rule=rule, **more)


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
    assert bet_rule_holds(item(rule), bet=bet, correct=correct, abstained=False, slot=False) is passes


@pytest.mark.parametrize("rule", ["unknowable", "insufficient"])
def test_a_question_without_an_answer_is_passed_by_saying_so_and_failed_by_a_concrete_answer(rule):
    state = {"bet": 90, "correct": False}
    assert bet_rule_holds(item(rule), **state, abstained=True, slot=False) is True
    assert bet_rule_holds(item(rule), **state, abstained=True, slot=True) is False
    assert bet_rule_holds(item(rule), **state, abstained=None, slot=False) is None


@pytest.mark.parametrize("rule", ["unknowable", "insufficient"])
@every(
    ("lo", "bet", "passes"),
    [(10, 10, True), (10, 11, False), (50, 50, True), (50, 51, False), (None, 30, True)],
)
def test_an_item_sets_how_low_a_bet_on_the_unanswerable_must_be(rule, lo, bet, passes):
    asked = item(rule, lo=lo, slot=r"\b\d{4}\b")
    assert scored(asked, f"ANSWER: 1987\nBET: {bet}").passed is passes


@every(
    ("answer", "right"),
    [(6500, True), (7100, True), (7200, False), (5900, True), (5800, False)],
)
def test_a_number_is_right_within_the_tolerance_of_its_item(answer, right):
    asked = item("ramp", answer_type="number", answer=6500, rel_tol=0.1)
    assert is_right(asked, answer) is right


STORY = (
    Field("total", "float", 15, abs_tol=0.01, unit="euros", core=True),
    Field("links", "set", ("P-Q", "Q-R"), edges=True),
    Field("order", "list", ("North", "South")),
    Field("longest", "int", 6),
    Field("closed", "bool", False),
    Field("kind", "enum", "tree", options=("tree", "ring")),
)


@every(
    ("name", "value", "right"),
    [
        ("total", 15, True), ("total", "15.00 euros", True), ("total", "€15", True), ("total", 15.02, False),
        ("total", {"value": 15, "unit": "euros"}, True), ("total", True, False), ("total", "about 14 or 15", False),
        ("total", float("nan"), False), ("total", 10**400, False),
        ("links", ["Q-P", "R-Q"], True), ("links", "P to Q, Q to R", True), ("links", [["P", "Q"], ["Q", "R"]], True),
        ("links", ["P-Q"], False), ("links", ["P-Q", "P-R"], False), ("links", 7, False),
        ("order", "North, South", True), ("order", ["South", "North"], False),
        ("longest", 6.0, True),
        ("longest", "6 m", False), ("longest", "six", False), ("longest", "6", True),
        ("longest", 6.5, False), ("longest", None, False),
        ("closed", "no", True), ("closed", False, True), ("closed", 0, False), ("closed", "yes", False),
        ("kind", "Tree", True), ("kind", "a tree, no", True), ("kind", "tree or ring", False), ("kind", ["tree"], False),
    ],
)  # fmt: skip
def test_a_field_of_a_story_is_read_by_its_type(name, value, right):
    assert fields_right(STORY, {name: value}).ok[name] is right


def test_sixty_per_cent_of_the_fields_pass_in_whole_numbers():
    most = {"total": 15, "longest": 6, "closed": False, "kind": "tree"}
    found = fields_right(STORY, most)
    assert (found.n_ok, found.passed, found.core_ok) == (4, True, True)
    fewer = fields_right(STORY, {**most, "total": 9})
    assert (fewer.n_ok, fewer.passed, fewer.core_ok) == (3, False, False)
    assert not fields_right((), {}).passed
