"""One call read: what was answered, whether it is right, and how a call that brought no answer ends."""

import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.signaldetection.prompts import CONDITIONS
from metacog_pipeline.benchmarks.signaldetection.read import read_response
from metacog_pipeline.llm.spec import ObserverSpec
from tests.signaldetection.scored import bound


def test_answer_is_read_and_compared_with_the_label(items):
    for item in items[:10]:
        for said in (0, 1):
            call = Call("ok", f'{{"decision":"{said}","confidence":3}}')
            found = read_response(item, {"answer": call}, 5)
            assert (found.response, found.confidence, found.status) == (said, 3, "ok")
            assert found.correct == int(said == item.stimulus) and found.stimulus == item.stimulus


@pytest.mark.parametrize(
    ("call", "status", "response", "said"),
    [
        (None, "not_run", None, "not asked"),
        (Call("ok", "It could be either."), "answer_unparsed", None, "no decision"),
        (Call("ok", ""), "answer_unparsed", None, "no decision"),
        (Call("ok", "0 or 1"), "answer_unparsed", None, "more than one decision"),
        (Call("ok", '{"decision":"1"}'), "confidence_unparsed", 1, "no confidence"),
        (Call("ok", '{"decision":"1","confidence":7}'), "confidence_unparsed", 1, "outside the scale"),
        (Call("ok", "I'm sorry, but I can't help with that."), "refused", None, "declines"),
        (Call("refused", ""), "refused", None, "refusal"),
        (Call("truncated", '{"decision":"1","confidence":4}'), "too_long", None, "max_tokens"),
        (Call("failed", "", error="HTTP 500"), "transport_error", None, "HTTP 500"),
    ],
)
def test_every_ending_has_its_status_and_reason(call, status, response, said, items):
    found = read_response(items[0], {} if call is None else {"answer": call}, 5)
    assert (found.status, found.response, found.confidence) == (status, response, None)
    assert said in (found.reason or "")
    assert (found.correct is None) == (response is None)


def test_risk_conditions_miss_no_confidence(items):
    for text in ('{"decision":"0"}', '{"decision":"0","confidence":3}'):
        found = bound().parse(items[0], "risk_s1", {"answer": Call("ok", text)})
        assert (found.status, found.response, found.confidence, found.reason) == ("ok", 0, None, None)


def test_simulated_answers_to_every_condition_are_read(items, answered):
    found = answered(items, ObserverSpec(), conditions=CONDITIONS)
    assert set(found["status"]) == {"ok"} and set(found["source"]) == {"simulated"}
    assert set(found["task"]) == {"A", "B", "C"}
    assert (found["correct"].cast(bool) == (found["response"] == found["stimulus"])).all()
    rated = found.filter(pl.col("condition") == "confidence")
    assert rated["confidence"].null_count() == 0
    assert found.filter(pl.col("condition") != "confidence")["confidence"].null_count() == 3 * len(items)
    harmonised = bound().harmonise(found)
    assert harmonised["confidence"].to_list() == (0.5 + (rated["confidence"] - 1) / 8).to_list()
