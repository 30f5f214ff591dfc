"""From replies to observations."""

import math
from typing import Any

import pytest

from metacog_pipeline.benchmark.contract import schema_of
from metacog_pipeline.benchmarks.selfknowledge import SelfKnowledge
from metacog_pipeline.benchmarks.selfknowledge.read import Response
from metacog_pipeline.llm.types import TokenLogprob


def one(
    bench: Any, *calls: dict[str, Any], condition: str = "dual", item: Any = None, **how: Any
) -> dict[str, Any]:
    """Return the row of one item."""
    frame = bench.transcripts(*calls) if calls else bench.transcripts(bench.call("direct", item=bench.PLAIN))
    found = bench.observe([item or bench.CAPITAL], frame, conditions=[condition], **how)
    assert set(schema_of(Response)) < set(found.columns) and found.height == 1
    return found.row(0, named=True)


def test_a_right_answer_and_a_yes(bench):
    listed = (("Yes", math.log(0.8)), ("No", math.log(0.2)))
    meta = bench.call("meta", "Yes", logprobs=(TokenLogprob("Yes", math.log(0.8), listed),), after=1)
    row = one(bench, bench.call("direct", "Paris."), meta)
    flags = ("correct", "correct_inclusion", "yes", "yes_reference")
    assert [row[name] for name in flags] == [1] * 4
    assert row["confidence"] == pytest.approx(0.8)
    assert (row["status"], row["reason"], row["abstained"]) == ("ok", None, None)
    assert (row["output"], row["meta_output"], row["answerable"]) == ("Paris.", "Yes", 1)
    assert (row["latency_s"], row["cost_usd"], row["input_tokens"], row["output_tokens"]) == (2.0, 1.0, 20, 4)
    assert (row["matching"], row["yes_no"], row["source"]) == ("inclusion", "default", "measured")
    assert len(row["wording"]) == 64
    told = ("language", "question_id", "event_id", "split")
    assert [row[name] for name in told] == ["en", "1", "france", "all"]
    assert len(set(row["answer_ids"])) == 2


def test_a_wrong_answer_and_a_no(bench):
    row = one(bench, bench.call("direct", "Parisian"), bench.call("meta", "No. I am no Bayesian: eyes"))
    assert (row["correct"], row["yes"], row["yes_reference"]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("rule", "yes", "status"), [("default", None, "meta_invalid"), ("reference", 1, "ok")]
)
def test_the_rule_of_the_study_decides_what_a_yes_is(bench, rule, yes, status):
    row = one(bench, bench.call("direct", "Lyon"), bench.call("meta", "Yes and no"), yes_no=rule)
    assert (row["yes"], row["status"], row["yes_no"]) == (yes, status, rule)
    assert (row["correct"], row["yes_reference"]) == (0, 1)
    assert (row["reason"] is None) == (status == "ok")


def test_the_rule_of_the_study_decides_what_is_right(bench):
    calls = bench.call("direct", "Parisian"), bench.call("meta", "Yes")
    assert one(bench, *calls)["correct"] == 1
    assert one(bench, *calls, rule="token_boundary")["correct"] == 0
    assert one(bench, *calls, rule="exact_match")["matching"] == "exact_match"


def test_leave_to_abstain_is_read_from_one_reply(bench):
    said = (("Paris", 1, 0), ("I don’t know", 0, 1), ("I don't know, Paris", 1, 1), ("Lyon", 0, 0))
    for text, right, withheld in said:
        row = one(bench, bench.call("idk", text, condition="idk"), condition="idk")
        assert (row["correct"], row["abstained"], row["status"]) == (right, withheld, "ok")
        empty = ("yes_reference", "confidence", "meta_output")
        assert [row[name] for name in empty] == [None] * 3
    curly = bench.call("idk", "I don’t know", condition="idk")
    assert one(bench, curly, condition="idk", yes_no="reference")["abstained"] == 0


@pytest.mark.parametrize(
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
def test_every_end_of_a_call_has_its_status(bench, calls, status, correct, yes, said):
    made = [
        bench.call(step, text, status=ended, error_message="boom" if ended == "failed" else None)
        for step, text, ended in calls
    ]
    row = one(bench, *made)
    assert (row["status"], row["correct"], row["yes"]) == (status, correct, yes)
    assert row["reason"] is None if said is None else said in row["reason"]
    if status in SelfKnowledge.unanswered:
        assert row["correct"] is None or row["yes"] is None


def test_a_refusal_under_idk_withholds_the_answer(bench):
    refusal = bench.call("idk", "", condition="idk", status="refused")
    assert one(bench, refusal, condition="idk")["abstained"] == 1
    assert one(bench, refusal, condition="idk", yes_no="reference")["abstained"] == 0
