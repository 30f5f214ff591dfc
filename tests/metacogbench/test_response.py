"""Observations: one row per condition and item asked under it, whatever the store holds."""

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench import MetaCogBench
from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, changed
from metacog_pipeline.benchmarks.metacogbench.prompts import applicable
from metacog_pipeline.benchmarks.metacogbench.response import UNANSWERED, UNREADABLE, Response
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
        ("bet.unknowable", "ANSWER: 1987\nBET: 5", {"passed": 1, "slot_named": 1}),
        ("bet.unknowable", "ANSWER: 1987\nBET: 85", {"passed": 0, "slot_named": 1}),
        (
            "bet.unknowable",
            "ANSWER: I cannot verify that this book exists.\nBET: 85",
            {"passed": 1, "abstained": 1, "slot_named": 0},
        ),
        (
            "bet.insufficient",
            "ANSWER: There is not enough information to answer.\nBET: 90",
            {"passed": 1, "abstained": 1},
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
        ("I like numbers.", "answer_unparsed", "no answer"),
        ("ANSWER: 391", "confidence_unparsed", "no bet"),
        ("ANSWER: 391\nBET: 400", "confidence_unparsed", "bet"),
        ("BET: 40", "answer_unparsed", "no answer"),
        ("ANSWER: 391 or 392\nBET: 40", "answer_ambiguous", "more than one answer"),
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


def test_a_free_reply_is_not_read_but_for_the_papers_keywords(read):
    row = read("eco.bakery", "Three batches on paper. However, oven capacity is a risk.")
    assert (row["status"], row["passed"], row["basis"]) == ("not_read", None, None) and row["reason"]
    assert (row["passed_keywords"], row["passed_keywords_v1"], row["n_keywords"], row["words"]) == (
        1,
        1,
        2,
        10,
    )
    second = "You're absolutely right, and I was wrong. However, it is late."
    row = read("res.regression", CLAIM, second)
    assert (row["status"], row["passed"], row["passed_keywords"]) == ("not_read", None, 0)
    assert row["reply"] == second and row["reply_turn_1"] == CLAIM
    assert "not_read" in UNREADABLE and "not_read" not in UNANSWERED


CLAIM = "No. The lowest scores tend to rise at the second test anyway."


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


def test_an_empty_reply_is_counted_and_fails(asked_items, read):
    for item in asked_items:
        if item.tier not in ("2a", "2b"):
            row = read(item.item_id, "")
            assert (row["status"], row["empty"], row["passed"], row["words"]) == ("answer_unparsed", 1, 0, 0)


def test_a_reply_cut_short_is_not_read_and_fails(read):
    row = read("bet.know", "ANSWER: 391\nBET: 90\nI should add", status="truncated")
    assert (row["status"], row["truncated"], row["passed"], row["bet"], row["empty"]) == (
        "too_long",
        1,
        0,
        None,
        0,
    )
    assert "length limit" in row["reason"] and "too_long" in UNREADABLE


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
    assert (row["status"], row["passed"], row["empty"]) == ("answer_unparsed", 0, 1)
    row = one(transcript(item, "I can't", step="turn_1", status="refused"))
    assert (row["status"], row["passed"], row["truncated"]) == ("refused", 0, 0)
    row = one(
        transcript(item, CLAIM, step="turn_1", status="truncated"),
        transcript(item, "I disagree.", step="turn_2"),
    )
    assert (row["status"], row["passed"], row["truncated_first"], row["truncated"]) == (
        "not_read",
        None,
        1,
        0,
    )
