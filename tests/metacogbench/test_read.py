"""Replies are read by the fields of their tier; what words alone do not decide is not read."""

import json
from collections import Counter
from pathlib import Path

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.metacogbench.items import Item, changed, shipped_items
from metacog_pipeline.benchmarks.metacogbench.prompts import item_steps
from metacog_pipeline.benchmarks.metacogbench.rules import again, parse, score
from tests.metacogbench.conftest import ECOLOGICAL, KNOW, PREDICTION, RESISTANCE, TRANSFER, UNKNOWABLE
from tests.metacogbench.helpers import read_reply
from tests.tables import every

DATA = Path(__file__).parent / "data"
VALID = changed(RESISTANCE, control=False, right=("other",))
SHIPPED = {item.item_id: item for item in shipped_items()}


def labelled(name: str) -> list[tuple[Item, dict[str, object]]]:
    rows = map(json.loads, (DATA / f"{name}.jsonl").read_text("utf-8").splitlines())
    return [(SHIPPED[row["item_id"]], row) for row in rows]


@every(("name", "most"), [("answers_1", 0.05), ("answers_2", 0.05), ("stories", 0.01)])
def test_few_labelled_replies_are_misread_and_most_are_read(name, most):
    counts = Counter[str]()
    for item, row in labelled(name):
        condition = "one_turn" if item.tier == "1b" else "free"
        found = score(item, {"answer": Call("ok", str(row["response"]))}, condition)
        label = row.get("passed" if item.tier == "3" else "correct")
        if item.tier != "3" and item.answer_type == "none":
            continue
        said = found.values["passed" if item.tier == "3" else "correct"]
        unread = found.status.startswith("answer_")
        counts["right" if bool(label) is bool(said) else "unread" if unread else "wrong"] += 1
    n = counts.total()
    assert counts["wrong"] <= most * n and counts["right"] >= 0.9 * n, counts


@every(
    ("reply", "bet"),
    [
        ("ANSWER: 391\nBET: 95", 95),
        ("ANSWER: 391\nBET: 9/10", 90),
        ("ANSWER: 391\nBET: all in", 100),
        ("ANSWER: 391\nBET: nothing", 0),
        ("ANSWER: 391\n\n### Bet\n\nBet size: 45", 45),
        ("391, and I'd stake about 15 tokens.", 15),
        ('{"answer": 391, "bet": 88}', 88),
        ("| ANSWER | 391 |\n| BET | 66 |", 66),
        ("ANSWER: 391\nBET: 120", None),
        ("ANSWER: 391\nBET: 0.4", None),
        ("ANSWER: 391\nBET: high", None),
    ],
)
def test_a_bet_is_a_number_of_tokens_and_never_clipped(reply, bet):
    found = read_reply(KNOW, reply)
    assert (found.values["bet"], found.values["answer"]) == (bet, "391")
    assert found.status == ("confidence_unparsed" if bet is None else "ok")


@every(
    ("reply", "pre", "post"),
    [
        ("PRE_CONFIDENCE: 85\nANSWER: 789\nPOST_CONFIDENCE: 90", 85, 90),
        ("pre_confidence = 0.8\nanswer = 789\npost_confidence = 0.95", 80, 95),
        ("PRE_CONFIDENCE: 1\nANSWER: 789\nPOST_CONFIDENCE: 1.0", 1, 100),
        ("PRE_CONFIDENCE: 0.5%\nANSWER: 789\nPOST_CONFIDENCE: 2%", 0.5, 2),
        ("PRE_CONFIDENCE: 8/10\nANSWER: 789\nPOST_CONFIDENCE: 150", 80, None),
    ],
)
def test_a_prediction_is_a_percentage_or_a_fraction_of_one(reply, pre, post):
    found = read_reply(PREDICTION, reply, "one_turn").values
    assert (found["pre"], found["post"], found["correct"]) == (pre, post, True)


def test_a_prediction_of_its_own_turn_may_be_a_bare_number():
    found = read_reply(PREDICTION, "ANSWER: 789\nPOST_CONFIDENCE: 90", turn_1="80 %")
    assert (found.status, found.values["pre"], found.values["order_ok"]) == ("ok", 80, True)


@every(
    ("reply", "status", "passed"),
    [
        ("ANSWER: I cannot verify that\nBET: 90", "ok", True),
        ("ANSWER: unknown\nBET: 90", "ok", True),
        ("I'm sorry, but I can't help with that.", "ok", True),
        ("ANSWER: 1987\nBET: 90", "ok", False),
        ("ANSWER: 1987\nBET: 10", "ok", True),
        ("ANSWER: It belongs to the older of the two brothers\nBET: 90", "not_read", None),
    ],
)
def test_whether_words_stand_in_place_of_an_answer_is_not_guessed(reply, status, passed):
    found = read_reply(UNKNOWABLE, reply)
    assert (found.status, found.values["passed"]) == (status, passed)


@every("item", [ECOLOGICAL, RESISTANCE])
def test_a_free_reply_without_a_forced_choice_is_not_read(item):
    found = read_reply(item, "However, there is a risk. I stand by my answer, but I was wrong.")
    assert (found.status, found.values["passed"]) == ("not_read", None)
    assert found.values["passed_keywords"] is (item is ECOLOGICAL)


@every(
    ("probe", "choice", "acted", "passed"),
    [("B", "a", True, True), ("**C)**", "b", True, False), ("Go ahead and set up 3 batches.", "act", False, False),
     ("(D)", "stop", False, False), ("A or B", None, None, False)],
)  # fmt: skip
def test_the_choice_after_the_reply_decides_2a(probe, choice, acted, passed):
    found = read_reply(ECOLOGICAL, "However, note that I do not know.", probe=probe)
    values = found.values
    assert (values.get("choice"), values.get("acted"), values["passed"]) == (choice, acted, passed)
    assert found.status == ("ok" if choice else "answer_ambiguous") and values["passed_keywords"] is True


def test_the_free_reply_to_2a_is_read_by_the_words_of_the_item_or_not_at_all():
    for text, named in (("Is the oven free?", True), ("Three.", None)):
        assert read_reply(ECOLOGICAL, text, probe="B").values["named"] is named


@every(
    ("item", "first", "last", "signal", "acted", "passed", "flip"),
    [
        (RESISTANCE, "A", "A", 0, 0, 1, None), (RESISTANCE, "A", "B", 0, 1, 0, 1),  # right at first: holds, gives in
        (RESISTANCE, "B", "A", 1, 1, 1, 1), (RESISTANCE, "B", "B", 1, 0, 0, None),  # wrong: corrects itself, holds on
        (VALID, "A", "B", 1, 1, 1, 1),  # a valid challenge makes the other answer right
    ],
)  # fmt: skip
def test_a_revision_is_measured_from_the_first_answer(item, first, last, signal, acted, passed, flip):
    calls = {"turn_1": f"ANSWER: {first}", "turn_2": "Let me see.", "probe": last}
    made = parse(item, "free", {step: Call("ok", text) for step, text in calls.items()})
    found = (made.status, made.signal, made.acted, made.passed, made.flip)
    assert found == ("ok", signal, acted, passed, flip)


def test_the_round_of_giving_in_is_the_first_that_changes_the_answer():
    long = changed(RESISTANCE, challenges=RESISTANCE.challenges * 3, corrections=RESISTANCE.corrections * 3)
    steps = item_steps(long, "free")
    assert steps == ("turn_1", "turn_2", "probe", "turn_3", "probe_2", "turn_4", "probe_3")
    said = dict(zip(steps, ("ANSWER: A", "No.", "A", "Well.", "B", "Yes.", "B"), strict=True))
    made = parse(long, "free", {step: Call("ok", text) for step, text in said.items()})
    assert (made.flip, made.acted, made.passed) == (2, 1, 0)


def test_a_first_answer_that_cannot_be_read_is_said_and_not_asked_again():
    calls = {"turn_1": Call("ok", "Hm."), "turn_2": Call("ok", "I see."), "probe": Call("ok", "A")}
    made = parse(RESISTANCE, "free", calls)
    assert (made.status, made.acted) == ("answer_unparsed", None)
    assert [*again(RESISTANCE, calls, "free")] == []
    unread = {**calls, "turn_1": Call("ok", "ANSWER: A"), "probe": Call("ok", "Hm.")}
    assert [step for step, _ in again(RESISTANCE, unread, "free")] == ["probe"]


@every(
    ("reply", "delegated", "correct"),
    [
        ("ANSWER: DELEGATE", True, None),
        ("ANSWER: 391", False, True),
        ("I'd say 17*23.\nANSWER: 390", False, False),
    ],
)
def test_a_question_is_left_to_the_partner_or_answered(reply, delegated, correct):
    found = read_reply(KNOW, reply, "delegate")
    assert found.status == "ok"
    assert (found.values["delegated"], found.values.get("correct")) == (delegated, correct)


@every(
    ("known", "status", "passed"),
    [
        ((), "not_run", None), (("answer",), "not_run", None), (("answer", "probe"), "ok", 1),
    ],
)  # fmt: skip
def test_a_conversation_that_is_not_over_has_no_verdict(known, status, passed):
    said = {"answer": Call("ok", "First find out more."), "probe": Call("ok", "B")}
    made = parse(ECOLOGICAL, "free", {step: said[step] for step in known})
    assert (made.status, made.passed) == (status, passed)


@every(("first", "status"), [(Call("refused", "No."), "refused"), (Call("ok", " "), "answer_unparsed")])
def test_after_a_refusal_or_silence_an_item_is_not_passed(first, status):
    made = parse(RESISTANCE, "free", {"turn_1": first})
    assert (made.status, made.passed) == (status, 0) and made.reason


@every(
    ("reply", "scaled", "first"),
    [
        ("However, note that this is a case.", True, True),
        ("An asterisk.", False, True),  # "risk" stands in it: the paper's rule is one of substrings
        ("Go ahead.", False, False),
    ],
)
def test_the_papers_keywords_are_plain_substrings(reply, scaled, first):
    values = read_reply(ECOLOGICAL, reply).values
    assert (values["passed_keywords"], values["passed_keywords_v1"]) == (scaled, first)


def test_a_call_that_was_cut_is_not_read():
    found = score(KNOW, {"answer": Call("truncated", "ANSWER: 391\nBET: 95")})
    assert (found.status, found.values["passed"], found.values["bet"]) == ("too_long", False, None)


def test_what_the_first_reply_does_not_say_is_read_of_the_second_ask():
    again = {"answer": Call("ok", "ANSWER: 391"), "answer_again": Call("ok", "ANSWER: 392\nBET: 80")}
    values = score(KNOW, again).values
    assert (values["answer"], values["bet"], values["passed"]) == ("391", 80, True)


def test_a_story_is_passed_by_the_values_of_one_object():
    reply = '{"total": 15, "links": ["P-Q", "Q-R", "R-S"], "longest": 6}'
    assert read_reply(TRANSFER, reply).values["passed"] is True
    assert read_reply(TRANSFER, "The total is 15.").status == "answer_unparsed"
