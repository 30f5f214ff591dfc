"""What a reply to a question says under each way to elicit confidence, and whether it is right."""

import math

import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.questions import prompts, read
from metacog_pipeline.benchmarks.questions.benchmark import on_one_scale
from metacog_pipeline.interchange.question import Question as Item
from metacog_pipeline.interchange.question_rows import question_of
from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.transcripts.lines import encode_logprobs
from tests.tables import every


def item(**columns):
    return Item(**question_of({"question": "Which?", **columns}, "own"), position=0)


CHOICE = item(question="Which metal is liquid?", options=["Iron", "Mercury", "Zinc", "Lead"], answer="B")
NUMBER = item(question="How many legs have twelve spiders?", answer="96", kind="numeric")
TEXT = item(question="What is the capital of Peru?", answer="Lima", kind="short_answer")
ITEMS = {"choice": CHOICE, "number": NUMBER, "text": TEXT}


def said(asked, condition, *texts, samples=5, **more):
    names = prompts.steps(condition, samples)
    calls = {name: Call("ok", text, **more) for name, text in zip(names, texts, strict=False)}
    return read.read(asked, condition, calls, samples)


# --- answers ----------------------------------------------------------------------------------------------------------
@every(
    ("reply", "letter"),
    [
        ("<answer>B</answer>", "B"), ("Answer: B) Mercury", "B"), ("**Final answer:** (B)", "B"), ("Mercury", "B"),
        ('{"reasoning": "of four", "final_answer": "B", "confidence": 80}', "B"), ("Answer:\n\nB", "B"),
        ("{'answer': 'B'}", "B"), ("정답: B", "B"), ("答案：B", "B"), ("Respuesta final: B", "B"),
        ("<think>Answer: A</think>Answer: B", "B"), ("<B>", "B"), ("The answer is <B>.", "B"), ("\\boxed{\\text{B}}", "B"),
        ("So: **Mercury**. Iron and lead are solid.", "B"), ("Option 2", None), ("A or B", None), ("Both A and B", None),
        ("Answer: B\n\nQuestion: And which is a gas?\nAnswer: C", "B"), ("Answer: B<|im_end|>\nAnswer: C", "B"),
        ("Answer: A\n\nWait, let me reconsider. Answer: B", "B"), ("Answer: E", None), ("I cannot tell.", None),
        ("", None),
    ],
)  # fmt: skip
def test_an_option_is_read_by_letter_or_text_and_never_guessed(reply, letter):
    found = said(CHOICE, "answer_only", reply)
    assert (found.said, found.status) == (letter, "ok" if letter else "answer_unparsed")


@every(
    ("row", "reply"),
    [
        ({"answer": "1/6", "kind": "number"}, "Answer: $\\frac{1}{6}$"), ({"answer": "3/8", "kind": "number"}, "0.375"),
        ({"answer": "½"}, "Answer: 0.5"), ({"answer": 96}, "Answer: ninety-six"), ({"answer": 1200}, "1,200"),
        ({"answer": "50%"}, "It is 50 percent."), ({"answer": "50%"}, "Answer: 0.5"), ({"answer": 0.25}, "Answer: 25%"),
        ({"answer": 1500, "unit": "m"}, "Answer: 1.5 km"), ({"answer": 14.29, "tolerance": 0.01}, "Answer: 14.3"),
        ({"question": "How many minutes is it?", "answer": 120}, "Answer: 2 hours"),
        ({"question": "What is the speed of light in m/s?", "answer": 299792458}, "Answer: 299,792.458 km/s"),
        ({"answer": 72}, "48/2 = <<48/2=24>>24 and 48 + 24 = 72.\n#### 72"), ({"answer": "-40"}, "Answer: −40"),
        ({"answer": "9 November 1989"}, "Answer: 9.11.1989"), ({"answer": "May 5, 1990"}, "1990-05-05"),
        ({"answers": ["Lisbon", "Lisboa"]}, "It is **Lisboa**."), ({"answer": "García Márquez"}, "Garcia Marquez"),
        ({"answer": True}, "Yes"), ({"answer": False}, "Answer: B"), ({"answer": "Na+"}, "Answer: Na+"),
        ({"answer": "Paris", "reject": ["Paris, Texas"]}, "Answer: Paris"),
    ],
)  # fmt: skip
def test_what_is_right_may_be_written_in_another_way(row, reply):
    assert said(item(**row), "answer_only", reply).correct == 1


@every(
    ("row", "reply"),
    [
        ({"answer": "50"}, "0.5"), ({"answer": 0.2}, "20"), ({"answer": 96}, "between 90 and 96"), ({"answer": "x"}, "y"),
        ({"answer": "Paris", "reject": ["Paris, Texas"]}, "Answer: Paris, Texas"), ({"answer": 96}, "dozens"),
        ({"answer": "May 5, 1990"}, "May 6, 1990"), ({"answer": "Canberra"}, "Sydney, not Canberra"),
    ],
)  # fmt: skip
def test_another_answer_is_wrong(row, reply):
    assert said(item(**row), "answer_only", reply).correct == 0


# --- stated confidence ------------------------------------------------------------------------------------------------
SURE = [
    ("Confidence: 80%", 0.8), ("**Confidence:** 80 %", 0.8), ("Confidence: 8/10", 0.8), ("Confidence: 8 out of 10", 0.8),
    ("Confidence: 85 (out of 100)", 0.85), ("Confidence: 0,8", 0.8), ("Confidence: 87,5 %", 0.875),
    ("Confidence: 0.5%", 0.005), ("Confidence: 0.85", 0.85), ("Confidence: ninety", 0.9), ("置信度：80%", 0.8),
    ("Konfidenz: 80 %", 0.8), ("확신도: 80%", 0.8), ("Confidence (0-100): 80", 0.8), ("Confidence: 10/10", 1.0),
    ("I'm 80% confident.", 0.8), ("<confidence>80</confidence>", 0.8), ("Confidence: 120", None),
    ("Confidence: -5", None), ("Confidence: 80-90", None), ("Confidence: high", None), ("", None),
]  # fmt: skip


@every(("line", "share"), SURE)
def test_a_confidence_is_a_share_of_what_it_says_it_is_out_of(line, share):
    found = said(CHOICE, "verbal_percent", f"Answer: B\n{line}")
    assert found.correct == 1 and found.confidence == (share if share is None else pytest.approx(share))
    assert found.status == ("ok" if share is not None else "confidence_unparsed")


def logged(*numbers):
    found = [said(CHOICE, "verbal_percent", f"Answer: B\nConfidence: {each}") for each in numbers]
    frame = pl.DataFrame(
        {"stated": [each.stated for each in found], "confidence": [each.confidence for each in found]}
    )
    return on_one_scale(frame)["confidence"].to_list()


@every(
    ("numbers", "shares"),
    [
        (("0.85", "1", "0", "1.0"), [0.85, 1.0, 0.0, 1.0]), (("85", "1", "0.7"), [0.85, 0.01, 0.7]),
        (("1", "0"), [0.01, 0.0]), (("85%", "0.7", "1"), [0.85, 0.7, 1.0]), (("1%", "0.7"), [0.01, 0.7]),
    ],
)  # fmt: skip
def test_a_bare_1_is_certainty_where_all_other_numbers_of_the_log_are_shares(numbers, shares):
    assert logged(*numbers) == pytest.approx(shares)


# --- log-probabilities ------------------------------------------------------------------------------------------------
def tokens(*told):
    return encode_logprobs(
        tuple(
            TokenLogprob(text, math.log(p), tuple((t, math.log(q)) for t, q in top)) for text, p, top in told
        )
    )


@every(
    ("logs", "chance"),
    [(tokens(("B", 0.41, ())), 0.41), (None, None), ("[[1]]", None), (tokens(("Q", 0.9, ())), None)],
)
def test_without_alternatives_it_is_the_tokens_own_and_without_tokens_there_is_none(logs, chance):
    found = said(CHOICE, "choice_logprob", "B", logprobs_json=logs)
    assert found.confidence == (chance if chance is None else pytest.approx(chance))
    assert chance is not None or found.reason == "the provider gave no log-probability of the answer"


# --- second calls -----------------------------------------------------------------------------------------------------
def second(condition, text, **more):
    return read.read(
        CHOICE, condition, {"answer": Call("ok", "Answer: B"), condition: Call("ok", text, **more)}, 5
    )


@every(
    ("text", "sure"),
    [("Yes", 1.0), ("yes.", 1.0), ("**Yes**", 1.0), ('{"answer": "yes"}', 1.0), ("No, it isn't.", 0.0), ("no", 0.0),
     ("yes or no", None), ("perhaps", None)],
)  # fmt: skip
def test_whether_an_answer_is_true_is_a_yes_or_a_no(text, sure):
    assert second("p_true", text).confidence == sure


def test_the_chance_of_a_no_is_how_unsure_a_reply_is():
    assert second(
        "p_true", "No", logprobs_json=tokens(("No", 0.8, [("No", 0.8), ("Yes", 0.2)]))
    ).confidence == pytest.approx(0.2)
    assert second(
        "p_true", "Yes", logprobs_json=tokens(("Yes", 0.7, [("Yes", 0.7), (" yes", 0.2)]))
    ).confidence == pytest.approx(0.9)


@every(
    "text",
    ["unknown", "**Answer:** Unknown", '{"answer": "unknown"}', "I'd rather not answer.", "I don't know.", "no idea, sorry",
     "Not sure.", "N/A", "Skip", "I cannot help with that.", "<think>Answer: B</think>Answer: unknown"],
)  # fmt: skip
@every("kind", ITEMS)
def test_an_answer_is_withheld_where_it_begins_by_saying_so(kind, text):
    found = said(ITEMS[kind], "abstain_allowed", text)
    assert (found.said, found.correct, found.confidence, found.kept) == (None, None, 0.0, 0)


@every(
    ("kind", "text"),
    [("choice", "Answer: B"), ("choice", "B, but I'm not sure"), ("number", "96"), ("text", "Lima")],
)
def test_who_answers_withholds_nothing(kind, text):
    found = said(ITEMS[kind], "abstain_allowed", text)
    assert (found.correct, found.confidence, found.kept) == (1, 1.0, 1)


def test_an_option_that_says_unknown_is_an_answer():
    asked = item(
        question="Which melts first?", options=["Iron", "Not enough information", "Zinc"], answer="B"
    )
    assert said(asked, "abstain_allowed", "Answer: Not enough information").said == "B"


# --- samples ----------------------------------------------------------------------------------------------------------
def test_samples_agree_by_the_reader_that_decides_what_is_right():
    metres = item(question="How many metres?", answer=1500, unit="m")
    texts = ("Answer: 1500", "Answer: 1.5 km", "Answer: 1,500 m", "Answer: 7", "")
    assert said(metres, "self_consistency", *texts).confidence == 0.6
    assert said(metres, "self_consistency", *texts).correct == 1
    assert said(metres, "self_consistency", *texts[:4]).status == "not_run"
    assert said(metres, "self_consistency", *[""] * 5).status == "answer_unparsed"
    assert said(metres, "self_consistency", *texts[:1] * 5).confidence == 1.0
    day = item(question="On which day?", answer="May 5, 1990")
    days = [
        f"Answer: {each}"
        for each in ("May 5, 1990", "5 May 1990", "1990-05-05", "6 May 1990", "June 1, 1990")
    ]
    assert said(day, "self_consistency", *days).confidence == 0.6


# --- calls ------------------------------------------------------------------------------------------------------------
@every(
    ("call", "status", "correct"),
    [
        (Call("truncated", "The answer could be B"), "too_long", None), (Call("refused", ""), "refused", 0),
        (Call("failed", "", error="HTTP 500"), "transport_error", None),
        (Call("ok", "I'm sorry, I can't help."), "refused", 0),
        (Call("ok", "B", mode="unscored: it calls a tool"), "not_scored", None),
        (Call("ok", "<think>B is"), "too_long", None),
        (Call("ok", "x" * 300_000), "answer_unparsed", 0),
    ],
)  # fmt: skip
def test_a_call_without_a_whole_reply_is_never_read(call, status, correct):
    found = read.read(CHOICE, "verbal_percent", {"answer": call}, 5)
    assert (found.status, found.said, found.correct) == (status, None, correct)


def test_what_is_graded_is_right_as_the_log_says():
    graded = item(kind="graded")
    assert said(graded, "answer_only", "A long essay.", mode="graded: 1").correct == 1
    assert said(graded, "answer_only", "A long essay.", mode="graded: ?").status == "not_scored"
