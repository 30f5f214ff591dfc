"""Replies → objects → confidences → rows; judges' replies → grades. Total: any text can be read."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, STEPS
from metacog_pipeline.benchmarks.medley.judging.grades import CRITERIA, parse_judgement
from metacog_pipeline.benchmarks.medley.records import claim_confidence, parse_reply
from metacog_pipeline.scoring.schemas import response_schema
from tests.medley.bound import call
from tests.medley.bound import read as observe
from tests.tables import every

PIECES = [*"{}[],:1", '"a"', "null", '"x', "```", "json", "\n", "<think>", "</think>", "é"]


def grades(**given):
    return json.dumps({**dict.fromkeys(CRITERIA, 2), **given})


def test_a_judge_may_think_first_unless_the_reference_reads():
    assert parse_judgement("<think>{}</think>" + grades()).non_default == 30
    assert parse_judgement("<think>hm</think>" + grades(), reference=True).non_default == 30
    assert parse_judgement("```json\n" + grades() + "\n```").non_default == 30


def claim(value, **more):
    return {"claim_level_assessments": [{"claim_id": "C1", "confidence": value, **more}]}


def test_a_text_is_looked_for_only_where_there_is_one():
    reply = claim("low", claim_text="The Pump is broken")
    assert claim_confidence(reply, "C9", "pump") == 0.35
    assert claim_confidence(reply, "C9", "yes, the pump is broken indeed") == 0.35
    assert claim_confidence(reply, "C9", "filter") is None
    assert claim_confidence(reply, "C9", "") is None
    assert claim_confidence(claim("low"), "C9", "filter") == 0.35  # no text is contained in any


def read(instance, calls, conditions=("normal",), **more):
    frame = pl.DataFrame(calls, infer_schema_length=None)
    found = observe([instance], frame, conditions=conditions, **more)
    assert found.schema == response_schema(Medley)
    return found


def only(instance, calls, **more):
    return read(instance, calls, **more).row(0, named=True)


@pytest.fixture(scope="module")
def said(reply):
    """The three replies of a model that changes C1 privately and C1 and C3 in the end."""
    return {
        "step_a": json.dumps(reply(["high", "low", "very_low", "moderate", None], overall_confidence="low")),
        "b_private": json.dumps(reply(["moderate", "low", "very_low", "moderate", None])),
        "b_social": json.dumps(reply(["very_high", "low", "high", "moderate", 0.4])),
    }


def answers(said, **more):
    return [call(step, said[step], minute=place, **more) for place, step in enumerate(STEPS)]


def test_confidences_are_numbers_of_the_reference_map(instance, said):
    row = only(instance, answers(said))
    assert (row["status"], row["failed_step"], row["reason"]) == ("ok", None, None)
    assert [row[f"a_{c.lower()}"] for c in CLAIM_IDS] == [0.80, 0.35, 0.15, 0.55, None]
    assert [row[f"p_{c.lower()}"] for c in CLAIM_IDS] == [0.55, 0.35, 0.15, 0.55, None]
    assert [row[f"s_{c.lower()}"] for c in CLAIM_IDS] == [0.95, 0.35, 0.80, 0.55, 0.4]
    assert row["overall_confidence"] == 0.35
    assert (row["cost_usd"], row["latency_s"]) == (1.5, 6.0)
    assert (row["input_tokens"], row["output_tokens"]) == (300, 30)
    assert row["answer_ids"][-1] == "b_social-2"
    assert (row["domain"], row["is_known_answer"]) == ("troubleshooting", True)
    assert (row["mode"], row["source"]) == ("text", "measured")


@every("step", STEPS)
@every(
    ("text", "reason"),
    [
        ("", "the reply is empty"),
        ("I would rather not say.", "the reply holds no JSON object"),
        ("[[[[", "the reply holds no JSON object"),
        ("3", "the reply holds no JSON object"),
        ("{}", "the reply rates none of C1 to C5"),
        ('{"claim_level_assessments": [{"claim_id": "C9", "confidence": "high"}]}', "the reply rates none"),
    ],
)
def test_a_step_that_cannot_be_read_is_named(instance, said, step, text, reason):
    row = only(instance, answers({**said, step: text}))
    assert (row["status"], row["failed_step"]) == ("answer_unparsed", step)
    assert row["reason"].startswith(reason)
    assert all((row[f"status_{one}"] == "ok") == (one != step) for one in STEPS)
    assert json.loads(row[f"reply_{step}"]).get("_raw", text) == text


@pytest.mark.parametrize(
    ("status", "expected"), [("failed", "transport_error"), ("truncated", "too_long"), ("refused", "refused")]
)
def test_how_a_call_ended_is_told_apart(instance, said, status, expected):
    calls = answers(said)
    calls[1] |= {"status": status, "error_code": "down" if status == "failed" else None}
    row = only(instance, calls)
    assert (row["status"], row["failed_step"], row["status_b_social"]) == (expected, "b_private", "ok")
    assert row["reply_b_private"] is None and row["p_c1"] is None


@given(
    text=st.text(max_size=80)
    | st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=14).map("".join)
)
@settings(max_examples=200)
def test_any_text_gives_a_row_and_grades(plain, text):
    row = only(plain, [call(step, text, minute=place) for place, step in enumerate(STEPS)])
    assert row["status"] in ("ok", "answer_unparsed") and isinstance(parse_reply(f"\ud800{text}"), dict)
    for reference in (True, False):
        assert set(parse_judgement(text, reference=reference).criteria) == set(CRITERIA)


@pytest.fixture(scope="module")
def plain(make_instance):
    return make_instance()
