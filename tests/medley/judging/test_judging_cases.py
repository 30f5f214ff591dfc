"""From observations to what is judged."""

import json

import polars as pl
import pytest
from hypothesis import given

from metacog_pipeline.benchmarks.medley.judging.cases import (
    ANSWER_CHARACTERS,
    VIGNETTE_CHARACTERS,
    cases,
    condensed,
)
from metacog_pipeline.benchmarks.medley.read import parse_reply
from tests.medley.any_json import JSON


@pytest.fixture
def observed(reply):
    def build(*rows):
        first, final = reply(["high"] * 5, ["Because A."]), reply(["low"] * 5, ["Because B."])
        made = [
            {
                "item_id": item,
                "condition": condition,
                "source": "measured",
                "status_step_a": "ok",
                "status_b_social": "ok",
                "reply_step_a": json.dumps(first),
                "reply_b_social": json.dumps(final),
                **changes,
            }
            for item, condition, changes in rows
        ]
        return pl.DataFrame(made, infer_schema_length=None)

    return build


def test_one_case_per_observation_in_their_order(debate, observed):
    items = [debate(1), debate(2)]
    frame = observed(("PUMP_002", "normal", {}), ("PUMP_001", "normal", {}), ("PUMP_001", "adversarial", {}))
    found = cases(items, frame)
    assert [(c.item_id, c.condition) for c in found] == [
        ("PUMP_002", "normal"),
        ("PUMP_001", "normal"),
        ("PUMP_001", "adversarial"),
    ]
    assert found[0].first == "C1: Because A. (conf: high)"
    assert found[0].final == "C1: Because B. (conf: low)"
    assert cases(items[:1], frame)[0].item_id == "PUMP_001"


@pytest.mark.parametrize("step", ["step_a", "b_social"])
@pytest.mark.parametrize("status", ["answer_unparsed", "refused", "too_long", "transport_error", "not_run"])
def test_where_an_answer_is_missing_there_is_nothing_to_judge_and_it_says_why(debate, observed, step, status):
    frame = observed(("PUMP_001", "normal", {f"status_{step}": status, f"reply_{step}": None}))
    (found,) = cases([debate(1)], frame)
    assert found.unjudged == f"{step} is {status}"
    assert found.first == found.final == ""


def test_the_judge_reads_the_beginning_of_the_case(make_instance, observed):
    item = make_instance(vignette="x" * 600)
    (found,) = cases([item], observed(("PUMP_001", "normal", {})))
    assert found.vignette == "x" * VIGNETTE_CHARACTERS


def test_a_reply_is_condensed_to_one_line_per_claim_with_reasons(reply):
    text = condensed(reply(["high", "low", None, 0.7], ["One.\nTwo.", "", "x", "Three."], "In all.\n\nYes."))
    assert text == "Overall: In all. Yes.\nC1: One. Two. (conf: high)\nC4: Three. (conf: 0.7)"


def test_the_other_name_of_the_assessment_counts_too():
    assert condensed({"assessment": " ", "overall_assessment": "So."}) == "Overall: So."


def test_an_unreadable_reply_is_shown_as_it_is():
    raw = "I think\nC1 holds."
    assert condensed(parse_reply(raw)) == raw


@given(JSON)
def test_any_reply_is_condensed_to_at_most_five_thousand_characters(value):
    assert len(condensed(value)) <= ANSWER_CHARACTERS
    nested = {"claim_level_assessments": [{"claim_id": value, "confidence": value, "reasoning": "r"}, value]}
    text = condensed(nested)
    assert "(conf: " in text
    assert text.count("\n") <= 1
