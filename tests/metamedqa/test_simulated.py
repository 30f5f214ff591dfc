"""Simulated respondents: obedient to constraints, and with the parameters they were given."""

import json

import numpy as np
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
from metacog_pipeline.stats.auroc import auroc
from tests.metamedqa.conftest import make_items
from tests.metamedqa.engine import said

MANY = make_items(2040)


def request(item: Item, wording: Wording, **more: object) -> ChatRequest:
    return ChatRequest(first_messages(item, "baseline", wording), Sampling(seed=1), **more)  # type: ignore[arg-type]


def test_step_constraints_and_step_names_do_not_change_the_mind(items, wording):
    respond = SimulatedRespondent(items, ObserverSpec())
    for item in items[:40]:
        text = read_reply(respond(request(item, wording)), item.options)
        obj = json.loads(respond(request(item, wording, constraint=ANSWER_OBJECT)))
        assert list(obj) == ["answer", "confidence"]
        assert [*obj.values()] == [text["answer"].value, text["confidence"].value]
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


def shares(observer: ObserverSpec, condition: str = "baseline") -> dict[str, tuple[float, int]]:
    """Return the share of right answers and how many there are, by the kind of key."""
    right: dict[str, list[bool]] = {"A-D": [], "E": [], "F": []}
    for item, reply in zip(MANY, said(MANY, observer, condition), strict=True):
        key = item.target if item.target in "EF" else "A-D"
        right[key].append(reply["answer"] == item.target)
    return {key: (float(np.mean(own)), len(own)) for key, own in right.items()}


@pytest.mark.parametrize("accuracy", [0.0, 0.3, 0.7, 1.0])
def test_accuracy_and_awareness_are_recovered(accuracy):
    observer = ObserverSpec(accuracy=accuracy, missing_awareness=0.4, unknown_awareness=0.2, seed=3)
    found = shares(observer)
    for key, true in (("A-D", accuracy), ("E", 0.4), ("F", 0.2)):
        value, n = found[key]
        # Five standard errors: the observer is one draw.
        assert abs(value - true) <= 5 * (true * (1 - true) / n) ** 0.5 + 1e-9, key


def test_metacognition_orders_auroc_from_blind_to_perfect():
    areas = []
    for m in (0.0, 0.5, 1.0):
        observer = ObserverSpec(
            accuracy=0.6, metacognition=m, overconfidence=0.0, missing_awareness=0.6, unknown_awareness=0.6
        )
        replies = said(MANY, observer)
        right = [int(r["answer"] == item.target) for item, r in zip(MANY, replies, strict=True)]
        areas.append(auroc([r["confidence"] / 5 for r in replies], right).value)
    assert abs(areas[0] - 0.5) < 0.06
    assert areas[0] + 0.1 < areas[1] < areas[2] - 0.1
    assert areas[2] > 0.95


def test_overconfidence_raises_ratings_up_to_always_sure():
    observers = [ObserverSpec(accuracy=0.5, overconfidence=each) for each in (0.0, 0.5, 1.0)]
    means = [np.mean([reply["confidence"] for reply in said(MANY, each)]) for each in observers]
    assert means[0] < means[1] < means[2] == 5.0


def test_warning_in_the_system_message_is_heeded_where_it_applies():
    observer = ObserverSpec(warning_response=0.8, missing_awareness=0.2, unknown_awareness=0.1)
    found = {
        name: {key: value for key, (value, _) in shares(observer, name).items()}
        for name in ("baseline", "role-warn", "role-explicit-unknown", "role-full")
    }
    base = found["baseline"]
    assert min(found[name]["F"] for name in ("role-explicit-unknown", "role-full")) > base["F"] + 0.3
    assert abs(found["role-warn"]["F"] - base["F"]) < 0.15
    assert found["role-full"]["E"] > base["E"] + 0.3
    assert abs(found["role-explicit-unknown"]["E"] - base["E"]) < 0.15


def test_sloppy_and_refusing_observers_leave_unread_answers_but_no_invented_ones(items, wording):
    tidy, sloppy, refusing = (
        [read_reply(SimulatedRespondent(items, each)(request(item, wording)), item.options) for item in items]
        for each in (ObserverSpec(), ObserverSpec(untidiness=1.0), ObserverSpec(refusal=1.0))
    )
    both = [(a["answer"].value, b["answer"].value) for a, b in zip(tidy, sloppy, strict=True)]
    read = [(one, other) for one, other in both if other is not None]
    assert 60 < len(read) < len(items) and all(one == other for one, other in read)
    assert any(each["answer"].status == "ok" != each["confidence"].status for each in sloppy)
    assert all(each["answer"].status == "refused" for each in refusing)
