"""Simulated respondents: reproducible, obedient to constraints, and with the parameters they were given."""

import json

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.benchmarks.metamedqa.prompts import (
    ANSWER_OBJECT,
    Wording,
    confidence_messages,
    first_messages,
)
from metacog_pipeline.benchmarks.metamedqa.read import read_reply
from metacog_pipeline.benchmarks.metamedqa.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Message, OneOf, Sampling, TokenBias
from tests.metamedqa.engine import score


def request(
    item: Item, wording: Wording, seed: int = 1, condition: str = "baseline", **more: object
) -> ChatRequest:
    return ChatRequest(first_messages(item, condition, wording), Sampling(seed=seed), **more)  # type: ignore[arg-type]


def measured(observations: pl.DataFrame) -> dict[str, tuple[float, float, float]]:
    rows = score(observations, seed=0).select("measure", "estimate", "low", "high").iter_rows()
    return {name: tuple(values) for name, *values in rows}


def test_step_constraints_and_step_names_do_not_change_the_mind(items, wording):
    respond = SimulatedRespondent(items, ObserverSpec())
    for item in items[:40]:
        text = read_reply(respond(request(item, wording)), item.options)
        obj = json.loads(respond(request(item, wording, constraint=ANSWER_OBJECT)))
        assert list(obj) == ["answer", "confidence"] and obj == {
            "answer": text["answer"].value,
            "confidence": text["confidence"].value,
        }
        letter = respond(request(item, wording, constraint=OneOf(tuple("ABCDEF"))))
        assert letter == text["answer"].value
        second = confidence_messages(first_messages(item, "baseline", wording), letter, wording)
        for constraint in (OneOf(("1", "2", "3", "4", "5")), TokenBias(((1, 100),))):
            rating = respond(ChatRequest(second, Sampling(seed=1), constraint, "confidence"))
            assert rating == str(int(text["confidence"].value))


def test_any_choice_is_obeyed(items, wording):
    respond = SimulatedRespondent(items, ObserverSpec(untidiness=1, refusal=1))
    assert respond(request(items[0], wording, constraint=OneOf(("yes", "no")))) == "yes"


def test_unknown_question_is_answered_f_without_confidence(items):
    respond = SimulatedRespondent(items, ObserverSpec(accuracy=1))
    for text in ("What is this?", "Q\nA. x\nB. y\nC. z\nD. w\nE. e\nF. f", ""):
        assert respond(ChatRequest((Message("user", text),), Sampling())) == "Answer: F\nConfidence: 1"
    assert respond(ChatRequest((), Sampling())) == "Answer: F\nConfidence: 1"


@pytest.mark.parametrize("accuracy", [0.0, 0.3, 0.7, 1.0])
def test_accuracy_awareness_and_refusals_are_recovered(accuracy, many_items, answered):
    observer = ObserverSpec(accuracy=accuracy, missing_awareness=0.4, unknown_awareness=0.2, seed=3)
    found = measured(answered(many_items, observer))
    # Five standard errors: the observer is one draw.
    truth = {"accuracy_answerable": accuracy, "missing_answer_recall": 0.4, "unknown_recall": 0.2}
    for measure, true in truth.items():
        value, low, high = found[measure]
        assert abs(value - true) <= 2.5 * (high - low) / 2 + 1e-9, measure


def test_metacognition_orders_auroc_from_blind_to_perfect(many_items, answered):
    areas = []
    for m in (0.0, 0.5, 1.0):
        observer = ObserverSpec(
            accuracy=0.6, metacognition=m, overconfidence=0.0, missing_awareness=0.6, unknown_awareness=0.6
        )
        areas.append(measured(answered(many_items, observer))["auroc2"][0])
    assert abs(areas[0] - 0.5) < 0.06
    assert areas[0] + 0.1 < areas[1] < areas[2] - 0.1
    assert areas[2] > 0.95


def test_overconfidence_raises_ratings_up_to_always_sure(many_items, answered):
    means = [
        measured(answered(many_items, ObserverSpec(accuracy=0.5, overconfidence=o)))["mean_confidence"][0]
        for o in (0.0, 0.5, 1.0)
    ]
    assert means[0] < means[1] < means[2] == 5.0


def test_warning_in_the_system_message_is_heeded_where_it_applies(many_items, answered):
    observer = ObserverSpec(warning_response=0.8, missing_awareness=0.2, unknown_awareness=0.1)
    by_condition = {
        name: measured(answered(many_items, observer, conditions=(name,)))
        for name in ("baseline", "role-warn", "role-explicit-unknown", "role-full")
    }
    recall = {name: found["unknown_recall"][0] for name, found in by_condition.items()}
    missing = {name: found["missing_answer_recall"][0] for name, found in by_condition.items()}
    assert recall["role-explicit-unknown"] > recall["baseline"] + 0.3
    assert recall["role-full"] > recall["baseline"] + 0.3
    assert abs(recall["role-warn"] - recall["baseline"]) < 0.15
    assert missing["role-full"] > missing["baseline"] + 0.3
    assert abs(missing["role-explicit-unknown"] - missing["baseline"]) < 0.15


def test_sloppy_and_refusing_observers_leave_unread_answers_but_no_invented_ones(many_items, answered):
    tidy = answered(many_items, ObserverSpec())
    sloppy = answered(many_items, ObserverSpec(untidiness=1.0))
    statuses = set(sloppy["status"].unique())
    assert statuses == {"ok", "answer_unparsed", "confidence_unparsed"}
    both = tidy.join(sloppy, on="item_id").filter(pl.col("answer_right").is_not_null())
    assert both.height > 500 and (both["answer"] == both["answer_right"]).all()
    refusing = answered(many_items, ObserverSpec(refusal=1.0))
    assert refusing["answer"].null_count() == refusing.height
