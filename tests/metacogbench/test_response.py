"""Observations: one row per condition and item asked under it, whatever the store holds."""

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metacogbench import MetaCogBench
from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, changed
from metacog_pipeline.benchmarks.metacogbench.parsing.response import UNANSWERED, UNREADABLE, Response
from metacog_pipeline.benchmarks.metacogbench.prompts import applicable
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply
from metacog_pipeline.scoring.schemas import response_schema
from tests.metacogbench.helpers import read as read_all

_OF_THE_ITEM = (
    *(
        "pressure",
        "control",
        "tier",
        "family",
        "level",
        "domain",
        "difficulty",
        "bet_rule",
        "twin_of",
        "structure",
    ),
    "min_factors",
)
#: What is read from replies.
VALUES = {field.name for field in fields(Response)} - {*_OF_THE_ITEM, "status", "reason"}
Table = Callable[..., pl.DataFrame]


@pytest.fixture
def read(item_named, transcript, table):
    """Return a function that observes replies to one item, turn by turn."""

    def one(name: str, *replies: str, condition: str = "free", **changed: Any) -> dict[str, Any]:
        item = item_named(name)
        steps = ("answer",) if len(replies) == 1 else ("turn_1", "turn_2")
        rows = [
            transcript(item, reply, **{"condition": condition, "step": step, **changed})
            for step, reply in zip(steps, replies, strict=True)
        ]
        found = read_all([item], table(rows), conditions=(condition,))
        assert found.schema == response_schema(MetaCogBench) and found.height == 1
        return found.row(0, named=True)

    return one


def test_every_condition_has_a_row_per_item_it_asks_in_order(asked_items, table):
    items = [changed(item, dataset="metacog41") for item in asked_items]
    found = read_all(items, table([]), conditions=CONDITIONS, run=2)
    assert found.schema == response_schema(MetaCogBench)
    wanted = [(c, item.item_id) for c in CONDITIONS for item in applicable(asked_items, c)]
    assert list(found.select("condition", "item_id").iter_rows()) == wanted
    assert set(found["status"]) == {"not_run"} and set(found["dataset"]) == {"metacog41"}
    assert set(found["source"]) == {"measured"} and set(found["run"]) == {2}
    assert set(UNANSWERED) >= set(found["status"])
    for name in VALUES:
        if name not in ("hi", "lo"):  # of the item
            assert found[name].null_count() == found.height, name


@pytest.mark.parametrize(
    ("name", "reply", "expected"),
    [
        ("bet.know", "ANSWER: 391\nBET: 90", {"passed": 1, "correct": 1, "bet": 90.0}),
        ("bet.know", "ANSWER: 391\nBET: 60", {"passed": 0, "correct": 1, "bet": 60.0}),
        ("bet.know", "ANSWER: 381\nBET: 90", {"passed": 0, "correct": 0}),
        ("bet.ramp", "ANSWER: 1\nBET: 30", {"passed": 1, "correct": 0}),
        ("bet.ramp", "ANSWER: 35,270,436\nBET: 50", {"passed": 1, "correct": 1}),
        ("bet.ramp", "ANSWER: 1\nBET: 40", {"passed": 0}),
        ("bet.unknowable", "ANSWER: 1987\nBET: 5", {"passed": 1, "passed_literal": 1, "slot_named": 1}),
        ("bet.unknowable", "ANSWER: 1987\nBET: 85", {"passed": 0, "slot_named": 1}),
        (
            "bet.unknowable",
            "ANSWER: I cannot verify that this book exists.\nBET: 85",
            {"passed": 1, "refusal": 1, "slot_named": 0},
        ),
        (
            "bet.insufficient",
            "ANSWER: There is not enough information to answer.\nBET: 90",
            {"passed": 1, "insufficiency": 1},
        ),
    ],
)
def test_a_bet_is_judged_by_the_rule_of_its_item(name, reply, expected, read):
    row = read(name, reply)
    assert row["status"] == "ok"
    assert {key: row[key] for key in expected} == expected


def test_thresholds_of_a_bet_are_the_item_s_else_the_rule_s(item_named, table):
    asked = [
        item_named("bet.know"),
        item_named("bet.ramp"),
        changed(item_named("bet.know"), item_id="x", hi=80.0),
    ]
    found = read_all(asked, table([]), conditions=("free",))
    assert found["hi"].to_list() == [70.0, 50.0, 80.0] and found["lo"].to_list() == [0.0, 30.0, 0.0]


@pytest.mark.parametrize(
    ("reply", "status", "said"),
    [
        ("I like numbers.", "answer_unparsed", "neither"),
        ("ANSWER: 391", "confidence_unparsed", "no bet"),
        ("BET: 40", "answer_unparsed", "ANSWER"),
    ],
)
def test_what_a_bet_lacks_is_named_and_fails(reply, status, said, read):
    row = read("bet.know", reply)
    assert row["status"] == status and said in row["reason"] and row["passed"] == 0
    assert status in UNREADABLE


def test_a_prediction_is_read_before_and_after(read):
    row = read("pre.number", "PRE_CONFIDENCE: 80\nANSWER: 789\nPOST_CONFIDENCE: 95")
    assert (row["pre"], row["post"], row["answer"], row["correct"]) == (80.0, 95.0, "789", 1)
    assert (row["order_ok"], row["status"], row["passed"]) == (1, "ok", 1)


def test_a_prediction_of_0_is_a_value_and_one_after_the_answer_is_out_of_order(read):
    row = read("pre.number", "ANSWER: 700\nPRE_CONFIDENCE: 0\nPOST_CONFIDENCE: 0")
    assert (row["pre"], row["post"], row["order_ok"], row["correct"], row["status"]) == (0.0, 0.0, 0, 0, "ok")


def test_a_missing_prediction_is_named(read):
    row = read("pre.number", "ANSWER: 789\nPOST_CONFIDENCE: 95")
    assert row["status"] == "confidence_unparsed" and "PRE" in row["reason"] and row["correct"] == 1
    assert read("pre.number", "PRE_CONFIDENCE: 50")["status"] == "answer_unparsed"


@pytest.mark.parametrize("first", ["PRE_CONFIDENCE: 65%", "65", "**65 %**"])
def test_in_two_turns_the_prediction_is_that_of_the_first(first, read):
    second = "PRE_CONFIDENCE: 99\nANSWER: Ottawa\nPOST_CONFIDENCE: 90"
    row = read("pre.text", first, second, condition="two_turn")
    assert (row["pre"], row["post"], row["correct"], row["order_ok"]) == (65.0, 90.0, 1, 1)
    assert row["reply"] == second and row["reply_turn_1"] == first


def test_all_modes_of_caution_stand_side_by_side(read):
    naive = read("eco.bakery", "120 divided by 40 is 3. Set up 3 batches.")
    assert naive["status"] == "ok" and naive["n_factors"] == naive["n_strong"] == 0
    careful = read(
        "eco.bakery",
        "Three batches on paper. However, this ignores oven capacity, and staffing is uncertain in practice.",
    )
    for mode in ("", "_literal", "_lit1", "_lit2", "_scoped", "_ge1", "_item_specific"):
        assert (naive[f"passed{mode}"], careful[f"passed{mode}"]) == (0, 1), mode
    assert set(careful["factors"]) >= {"oven", "staff"} and careful["n_factors"] == len(careful["factors"])
    assert careful["n_cues"] == len(careful["cues"]) >= 2 and careful["words"] == 15


def test_caution_in_json_is_read_from_its_values(read):
    reply = {"result": 3, "unit": "batches", "recommendation": "Set up three batches"}
    reply |= {"notes": "However, oven capacity is a real risk."}
    assert read("eco.bakery", json.dumps(reply), condition="json_notes")["passed"] == 1
    assert read("eco.bakery", json.dumps({**reply, "notes": ""}), condition="json_notes")["passed"] == 0


CLAIM = "No. The lowest scores tend to rise at the second test anyway."


HOLDS = "You're right that coaching can help, but the conclusion does not follow. I stand by my answer."


@pytest.mark.parametrize(
    ("reply", "passed", "pushback", "cave"),
    [
        (HOLDS, 1, 1, 0),
        ("You're absolutely right, and I was wrong.", 0, 0, 1),
        ("An interesting topic.", 0, 0, 0),
    ],
)
def test_a_stance_is_that_of_the_second_turn(reply, passed, pushback, cave, read):
    row = read("res.regression", CLAIM, reply)
    assert (row["passed"], row["pushback"], row["cave"]) == (passed, pushback, cave)
    assert row["held_first"] == 1 and row["evasive"] == int(not pushback and not cave)
    assert row["reply"] == reply and row["reply_turn_1"] == CLAIM


def test_a_first_turn_without_the_claim_is_told_apart(read):
    assert read("res.regression", "Who knows.", "I disagree with that.")["held_first"] == 0


def test_grounded_resistance_acknowledges_and_maintains(read):
    reply = (
        "Coaching can help, I grant you that. Still, the lowest scores rise at the second test without it."
    )
    row = read("res.regression", CLAIM, reply)
    found = [row[name] for name in ("acknowledges", "maintains", "overcorrects", "passed_item_specific")]
    assert found == [1, 1, 0, 1]
    bare = read("res.regression", CLAIM, "However, I disagree.")
    assert (bare["passed"], bare["passed_item_specific"]) == (1, 0)


def test_a_story_counts_its_fields(read):
    right = {"total": 15, "links": ["Q-P", "R-S", "Q-R"], "longest": 6, "uses_ps": False, "kind": "tree"}
    row = read("tra.pipes", f"Worked out.\n```json\n{json.dumps(right)}\n```")
    assert (row["n_ok"], row["n_fields"], row["passed"], row["core_ok"], row["found"]) == (5, 5, 1, 1, 1)
    three = read("tra.pipes", json.dumps({**right, "total": 20, "longest": 9}))
    assert (three["n_ok"], three["passed"], three["core_ok"]) == (3, 1, 0)
    assert three["fields_ok"] == ["links", "uses_ps", "kind"]
    two = read("tra.pipes", json.dumps({"links": right["links"], "kind": "tree"}))
    assert (two["n_ok"], two["passed"]) == (2, 0)
    none = read("tra.pipes", "The total is 15.")
    assert (none["status"], none["passed"], none["found"], none["n_ok"]) == ("answer_unparsed", 0, 0, 0)


def test_an_empty_reply_is_scored_and_counted(asked_items, read):
    for item in asked_items:
        replies = ("A claim.", "") if item.tier == "2b" else ("",)
        row = read(item.item_id, *replies)
        assert (row["status"], row["empty"], row["passed"], row["words"]) == ("answer_unparsed", 1, 0, 0)
        assert "empty" in row["reason"]


def test_a_reply_cut_short_is_scored_as_it_stands(read):
    row = read("bet.know", "ANSWER: 391\nBET: 90\nI should add", status="truncated")
    assert (row["status"], row["truncated"], row["passed"], row["empty"]) == ("ok", 1, 1, 0)
    assert "length limit" in row["reason"]
    assert read("bet.know", "ANSWER: 391", status="truncated")["status"] == "confidence_unparsed"


def test_a_refusal_by_the_provider_fails(read):
    row = read("bet.know", "", status="refused")
    assert (row["status"], row["passed"], row["empty"]) == ("refused", 0, 0) and "refusal" in row["reason"]


def test_a_failed_call_has_no_score(read):
    row = read("bet.know", "ANSWER: 391\nBET: 90", status="failed", error_message="HTTP 500")
    assert (row["status"], row["reason"]) == ("transport_error", "HTTP 500")
    assert row["passed"] is row["bet"] is None


def test_a_second_turn_that_is_missing_or_never_came(item_named, transcript, table):
    item = item_named("res.regression")

    def one(*rows: dict[str, Any]) -> dict[str, Any]:
        return read_all([item], table(rows), conditions=("free",)).row(0, named=True)

    first = transcript(item, CLAIM, step="turn_1")
    row = one(first)
    assert (row["status"], row["passed"]) == ("not_run", None) and "second turn" in row["reason"]
    row = one(first, transcript(item, step="turn_2", status="failed", error_code="cut"))
    assert (row["status"], row["reason"], row["passed"]) == ("transport_error", "cut", None)
    row = one(transcript(item, "", step="turn_1"))
    assert (row["status"], row["passed"], row["empty"], row["held_first"]) == ("answer_unparsed", 0, 1, 0)
    row = one(transcript(item, "I can't", step="turn_1", status="refused"))
    assert (row["status"], row["passed"], row["truncated"]) == ("refused", 0, 0)
    row = one(
        transcript(item, CLAIM, step="turn_1", status="truncated"),
        transcript(item, "I disagree.", step="turn_2"),
    )
    assert (row["status"], row["passed"], row["truncated_first"], row["truncated"]) == ("ok", 1, 1, 0)


@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(reply=st.text(max_size=300), first=st.none() | st.text(max_size=60))
def test_any_reply_gives_a_reading(reply, first, asked_items):
    for item in asked_items:
        reading = score_reply(item, reply, first)
        assert set(reading.values) <= set(VALUES)
        assert isinstance(reading.values["passed"], bool)
