"""Short answers are read by their roles: rewrites change no verdict, labelled batches agree, any text is read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmark.answers.reading import LONGEST, AnswerKey, read_stated
from metacog_pipeline.benchmarks.metacogbench.construction.shipped import shipped_items
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply
from tests.benchmark.answer_rewrites import SAID, WORDS

DATA = Path(__file__).parent / "data"
ITEMS = {item.item_id: item for item in shipped_items() if item.tier in ("1a", "1b")}
ANSWERED = [item for item in ITEMS.values() if item.answer_type != "none"]
KAPPA = {
    "answers_apart": 0.9,
    "answers_apart_2": 0.9,
    "answers_tuned": 0.95,
    "answers_fresh_1": 0.9,
    "answers_fresh_2": 0.9,
    "answers_fresh_3": 0.9,
}


def kappa(table: Counter[tuple[object, object]]) -> float:
    n = sum(table.values())
    first, second = Counter[object](), Counter[object]()
    for (a, b), count in table.items():
        first[a] += count
        second[b] += count
    same = sum(count for (a, b), count in table.items() if a == b) / n
    chance = sum(first[value] * second[value] for value in first) / n**2
    return (same - chance) / (1 - chance)


@pytest.mark.parametrize("name", KAPPA)
def test_a_labelled_batch_is_read_as_labelled(name: str) -> None:
    right, passed = Counter[tuple[object, object]](), Counter[tuple[object, object]]()
    for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        found = score_reply(ITEMS[row["item_id"]], row["response"]).values
        if ITEMS[row["item_id"]].answer_type != "none":
            said = None if found["ambiguous"] else int(found["correct"])
            right[row["correct"], said] += 1
        if "passed" in row:
            passed[row["passed"], int(found["passed"])] += 1
    assert sum(right.values()) > 100 and kappa(right) >= KAPPA[name], right
    assert kappa(passed) >= 0.85, passed


def stated(item: Item) -> list[tuple[str, bool]]:
    """Return ways to write the key and a wrong answer of an item."""
    assert item.answer is not None
    if item.answer_type != "number":
        wrong = ("ABCD"["ABCD".index(str(item.answer)) - 1],) if item.answer_type == "choice" else item.reject
        return [(str(item.answer), True), *((each, False) for each in wrong)]
    assert isinstance(item.answer, int | float)
    made = [(str(item.answer), True), (f"{item.answer:,}", True), (str(item.answer * 2 + 7), False)]
    for value, right in ((item.answer, True), (item.answer * 2 + 7, False)):
        if isinstance(value, int) and value < 10**6:
            made += [(spelled(value), right) for spelled in WORDS.values()]
    return made


@pytest.mark.parametrize("way", SAID)
def test_no_rewriting_changes_a_verdict(way: str) -> None:
    for item in ANSWERED[::2]:
        key = AnswerKey.of(item)
        for answer, right in stated(item):
            text = SAID[way](answer, item.unit)
            assert read_stated(text, key).correct is right, (item.item_id, text, read_stated(text, key))


@pytest.mark.parametrize(
    ("item_id", "answer"),
    [
        ("bet.ramp.1.2x2", "2470 bolts (95 × 26)"),
        ("predict.freezing", "32 °F (0 °C)"),
        ("predict.freezing", "0 °C"),
        ("predict.census", "31,275 (as of 2010)"),
        ("predict.syllogism", "some weavers own a bell"),
        ("predict.syllogism", "the second option"),
        ("bet.temporal.twin.1", "1932-03-19"),
        ("predict.litres", "3.1 kilolitres"),
        ("predict.dice", "16.67 %"),
        ("predict.knights_2", "Ada is a knight, Ben is a knave"),
    ],
)
def test_units_brackets_dates_and_options_are_read(item_id: str, answer: str) -> None:
    assert read_stated(answer, AnswerKey.of(ITEMS[item_id])).correct is True


@pytest.mark.parametrize(
    ("item_id", "answer"),
    [
        ("bet.ramp.1.2x2", "2470 or 2570"),
        ("predict.capital", "Ottawa or Toronto"),
        ("predict.syllogism", "A and B"),
        ("predict.bayes", "0.462"),
        ("bet.gradient.hard", "between 5,000 and 8,000 m³/s"),
    ],
)
def test_two_answers_of_equal_standing_are_ambiguous_and_right_is_not_guessed(
    item_id: str, answer: str
) -> None:
    found = score_reply(ITEMS[item_id], f"PRE_CONFIDENCE: 80\nANSWER: {answer}\nPOST_CONFIDENCE: 80\nBET: 80")
    assert found.values["ambiguous"] and found.values["correct"] is False
    assert found.status == "answer_ambiguous" and found.reason


PIECES = st.sampled_from(
    [
        "(",
        ")",
        "[",
        "]",
        "=",
        "×",
        "+",
        "-",
        "/",
        "or",
        "not",
        "7",
        "1932",
        "2010",
        "°F",
        "5%",
        "wait,",
        "so",
        "一百",
        "일곱",
        "siete",
        "\\boxed{",
        "}",
        "**",
        "<think>",
        "</think>",
        "A)",
        "B",
        ".",
        ";",
        "\n",
        ",",
        "±",
        "to",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=120), st.lists(PIECES, max_size=30).map(" ".join)))
def test_any_text_is_read(text: str) -> None:
    for item in ANSWERED[::6]:
        key = AnswerKey.of(item)
        for labelled in (True, False):
            assert read_stated(text, key, labelled=labelled).correct in (True, False, None)


@pytest.mark.parametrize(
    "unit",
    ["(", "[]{}()", "= 5 ", "1+", "so ", "wait 5 ", "Ottawa or Toronto ", "A) b ", "一百", "\x00", "٣ "],
)
def test_of_a_long_text_both_ends_are_read(unit: str) -> None:
    text = unit * (3 * LONGEST // len(unit))
    for item_id in ("predict.melting", "predict.capital", "predict.syllogism", "predict.knights_4"):
        found = read_stated(text, AnswerKey.of(ITEMS[item_id]))
        assert found.correct in (True, False, None)
