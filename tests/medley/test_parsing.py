"""Replies → objects, and judges' replies → grades: total, whatever the text."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley.grades import CRITERIA, JUDGE_DIMENSIONS, parse_judgement
from metacog_pipeline.benchmarks.medley.read import is_error, parse_reply
from tests.tables import every

REPLY = {"assessment": "x", "claim_level_assessments": [{"claim_id": "C1", "confidence": "high"}]}
TEXT = json.dumps(REPLY)
PIECES = [*"{}[],:1", '"a"', "null", '"x', "```", "json", "\n", "<think>", "</think>", "é", "\ud800"]


@every(
    "text",
    [
        TEXT, f"  {TEXT}\n", f"```json\n{TEXT}\n```", f"```\n{TEXT}```", f"Sure: {TEXT} Done.",
        f"<think>{{}} [1</think>{TEXT}", f"<think>a</think><think>b</think>\n```json\n{TEXT}\n```", f"{TEXT}<think>open",
        f"```python\nx = 1\n```\n{TEXT}",
    ],
)  # fmt: skip
def test_the_same_object_in_many_wrappings(text):
    assert parse_reply(text) == REPLY


def test_an_array_is_a_list_of_claims():
    assert parse_reply("[1, 2]") == parse_reply("```[1, 2]```") == {"claim_level_assessments": [1, 2]}


@every(
    "text",
    ["", "  ", "<think>never closed " + TEXT, "no json", '"a"', "3", "null", "true", "{}}{", "```{```"],
)
def test_what_is_no_object_is_an_error_that_keeps_the_text(text):
    assert parse_reply(text) == {"_parse_error": True, "_raw": text}
    assert is_error(parse_reply(text))


def test_a_cut_reply_keeps_its_whole_pieces():
    cut = '{"assessment": "x", "claim_level_assessments": [{"claim_id": "C1"}, {"claim_id": "C2", "conf'
    assert parse_reply(cut) == {"assessment": "x", "claim_level_assessments": [{"claim_id": "C1"}]}
    assert is_error(parse_reply('{"assessment": "cut in the mid'))


def test_the_last_of_equal_keys_counts():
    assert parse_reply('{"a": 1, "a": 2}') == {"a": 2}


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=14).map("".join))
def test_any_text_gives_an_object(text):
    found = parse_reply(text)
    assert isinstance(found, dict)
    assert found.get("_raw") == text if is_error(found) and "_raw" in found else True
    for reference in (True, False):
        judgement = parse_judgement(text, reference=reference)
        assert set(judgement.criteria) == set(CRITERIA)


HOSTILE = {
    "brackets": "[" * 5_000_000,
    "braces": '{"a":' * 2_000_000,
    "open thoughts": "<think>" * 1_400_000,
    "thoughts before": "</think>" * 1_000_000 + TEXT,
    "fences": "```" * 3_000_000,
    "commas": "{" + "," * 10_000_000,
    "a huge number": '{"a": ' + "9" * 1_000_000 + "}",
    "a long text": json.dumps({"assessment": "word " * 2_000_000}),
    "blanks": " " * 10_000_000,
    "surrogates": '{"assessment": "\ud800\udfff' + "\ud800" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_ten_megabytes_of_anything_are_read_in_linear_time(name):
    start = time.process_time()
    found = parse_reply(HOSTILE[name])
    parse_judgement(HOSTILE[name])
    assert isinstance(found, dict)
    assert time.process_time() - start < 120


def grades(**given):
    return json.dumps({**dict.fromkeys(CRITERIA, 2), **given})


def test_a_grade_outside_the_offered_set_is_unscored_not_guessed():
    text = grades(a1=4, a2=-1, a3="3", s1=1.5, s2=None, s3=True, g1=0, g2=3.0)
    found = parse_judgement(text)
    assert found.unscored == ("a1", "a2", "a3", "s1", "s2", "s3")
    assert found.criteria["g1"] == 0 and found.criteria["g2"] == 3
    assert found.dimensions["attribution_depth"] is None
    assert found.dimensions["logical_grounding"] == pytest.approx((0 + 3 + 2) / 9)


def test_a_dimension_is_the_mean_of_what_is_scored():
    assert parse_judgement(grades(a1="?", a2=3, a3=0)).dimensions["attribution_depth"] == pytest.approx(0.5)


def test_the_reference_reads_anything_else_as_one():
    found = parse_judgement(
        grades(a1=4, a2=-1, a3="3", s1=1.5, s2=0.5, s3=True, g1=False, g2=float("nan")), reference=True
    )
    names = ("a1", "a2", "a3", "s1", "s2", "s3", "g1", "g2")
    assert [found.criteria[name] for name in names] == [1, 1, 1, 2, 0, 1, 0, 1]
    assert found.unscored == () and parse_judgement("nothing", reference=True).tells_little


def test_a_judge_may_think_first_unless_the_reference_reads():
    assert parse_judgement("<think>{}</think>" + grades()).non_default == 30
    assert parse_judgement("<think>hm</think>" + grades(), reference=True).non_default == 30
    assert parse_judgement("```json\n" + grades() + "\n```").unscored == ()


def test_a_judge_that_says_nothing_scores_nothing():
    found = parse_judgement("I would rather not.")
    assert set(found.dimensions) == set(JUDGE_DIMENSIONS) and set(found.dimensions.values()) == {None}
    assert found.tells_little and len(found.unscored) == 30
