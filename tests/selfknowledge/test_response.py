"""From replies to the row of an item and condition."""

import math

import pytest

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.selfknowledge import SelfKnowledge
from metacog_pipeline.benchmarks.selfknowledge.read import Response, read_response
from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.transcripts.lines import encode_logprobs
from tests.selfknowledge.conftest import CAPITAL
from tests.tables import every


def one(
    condition: str = "dual", rule: str = "inclusion", yes_no: str = "default", **said: str | Call
) -> Response:
    """Return the row of what was said in each step."""
    calls = {step: each if isinstance(each, Call) else Call("ok", each) for step, each in said.items()}
    return read_response(CAPITAL, condition, calls, rule=rule, yes_no=yes_no, wording="w")  # type: ignore[arg-type]


def test_a_right_answer_and_a_yes():
    listed = (("Yes", math.log(0.8)), ("No", math.log(0.2)))
    meta = Call("ok", "Yes", logprobs_json=encode_logprobs((TokenLogprob("Yes", math.log(0.8), listed),)))
    assert one(direct="Paris.", meta=meta) == Response(
        "all", "en", "1", "france", 1, "Paris.", "Yes", correct=1, correct_inclusion=1, yes=1, yes_reference=1,
        confidence=pytest.approx(0.8), status="ok", truncated=0, meta_truncated=0, matching="inclusion", yes_no="default",
        wording="w",
    )  # fmt: skip


@every(
    ("rule", "said", "correct"),
    [("inclusion", "Parisian", 1), ("token_boundary", "Parisian", 0), ("exact_match", "It is Paris", 0)],
)
def test_the_rule_of_the_study_decides_what_is_right(rule, said, correct):
    row = one(direct=said, meta="No. I am no Bayesian: eyes", rule=rule)
    assert (row.correct, row.correct_inclusion, row.yes, row.yes_reference) == (correct, 1, 0, 1)


@every(("rule", "yes", "status"), [("default", None, "meta_invalid"), ("reference", 1, "ok")])
def test_the_rule_of_the_study_decides_what_a_yes_is(rule, yes, status):
    row = one(direct="Lyon", meta="Yes and no", yes_no=rule)
    assert (row.yes, row.status, row.correct, row.yes_reference) == (yes, status, 0, 1)
    assert (row.reason is None) == (status == "ok")


@every(
    ("said", "right", "withheld", "published"),
    [
        ("Paris", 1, 0, 0), ("I don’t know", 0, 1, 0), ("I don't know, Paris", 1, 1, 1), ("Lyon", 0, 0, 0),
        (Call("refused", ""), 0, 1, 0),
    ],
)  # fmt: skip
def test_leave_to_abstain_is_read_from_one_reply(said, right, withheld, published):
    row = one("idk", idk=said)
    assert (row.correct, row.abstained) == (right, withheld)
    assert row.yes_reference is row.confidence is row.meta_output is None
    assert one("idk", idk=said, yes_no="reference").abstained == published


@every(
    ("calls", "status", "correct", "yes", "said"),
    [
        ([], "not_run", None, None, "not asked yet"),
        ([("direct", "Paris", "ok")], "not_run", 1, None, "meta: not asked yet"),
        ([("direct", "", "failed")], "transport_error", None, None, "direct: boom"),
        ([("direct", "Paris", "ok"), ("meta", "", "failed")], "transport_error", 1, None, "meta: boom"),
        ([("direct", "Paris", "truncated"), ("meta", "Yes", "ok")], "too_long", None, 1, "direct: cut"),
        ([("direct", "Paris\nQuestion: Wh", "truncated"), ("meta", "Yes", "ok")], "ok", 1, 1, None),
        ([("direct", "", "truncated"), ("meta", "Yes", "ok")], "too_long", None, 1, "direct: cut"),
        (
            [("direct", "<think>Paris", "truncated"), ("meta", "Yes", "ok")], "too_long", None, 1, "direct: cut",
        ),
        ([("direct", "Paris", "ok"), ("meta", "<think>Yes", "truncated")], "too_long", 1, None, "meta: cut"),
        ([("direct", "Paris", "ok"), ("meta", "Well it", "truncated")], "too_long", 1, None, "meta: cut"),
        ([("direct", "Paris", "ok"), ("meta", "<think>Yes", "ok")], "too_long", 1, None, "meta: cut"),
        ([("direct", "Paris", "ok"), ("meta", "", "ok")], "meta_invalid", 1, None, "no yes or no can be read"),
        ([("direct", "Paris", "ok"), ("meta", "Yes and no", "ok")], "meta_invalid", 1, None, "more than one"),
        ([("direct", "I can't help with that.", "ok"), ("meta", "Yes", "ok")], "refused", 0, 1, "declines"),
        ([("direct", "Paris", "ok"), ("meta", "Hm", "ok"), ("meta_again", "No", "ok")], "ok", 1, 0, None),
        ([("direct", "", "ok"), ("meta", "Yes", "ok")], "ok", 0, 1, None),
        ([("direct", "", "refused"), ("meta", "Yes", "ok")], "refused", 0, 1, "direct: the provider"),
        ([("direct", "Paris", "ok"), ("meta", "", "refused")], "refused", 1, 0, "meta: the provider"),
    ],
)  # fmt: skip
def test_every_end_of_a_call_has_its_status(calls, status, correct, yes, said):
    row = one(**{step: Call(ended, text, error="boom") for step, text, ended in calls})
    assert (row.status, row.correct, row.yes) == (status, correct, yes)
    assert row.reason is None if said is None else said in row.reason
    if status in SelfKnowledge.unanswered:
        assert row.correct is None or row.yes is None
