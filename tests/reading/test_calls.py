"""A second ask adds what the first reply does not say, and nothing else; a cut reply is read only where it was whole."""

import pytest

from metacog_pipeline.reading.calls import Call, ended, read_step
from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import Confidence, Letter
from metacog_pipeline.reading.reader import read

LETTER = Letter({"A": "red", "B": "green", "C": "blue"})


@pytest.mark.parametrize(
    ("first", "again", "status", "value"),
    [
        ("Answer: B", "Answer: C", "ok", "B"),
        ("Hm.", "Answer: C", "ok", "C"),
        ("I'm sorry, but I can't help with that.", "Answer: C", "refused", None),
    ],
)
def test_a_second_ask_replaces_no_answer_and_no_refusal(first, again, status, value):
    calls = {"answer": Call("ok", first), "answer_again": Call("ok", again)}
    found = read_step(calls, "answer", [LETTER])
    assert (found.status, found["answer"].value) == (status, value)


def test_a_reply_that_a_limit_cut_is_too_long_unless_one_token_was_asked_for():
    assert ended(Call("truncated", "B", mode="text")) == (
        "too_long",
        "cut by the length limit; raise max_tokens",
    )
    assert ended(Call("truncated", "B", mode="logit_bias")) is None


@pytest.mark.parametrize(
    ("reply", "answer", "confidence"),
    [
        ("Answer: B\nConfidence: 80%\nAnswer: B\nConfidence: 80%", "ok", "ok"),
        ("Answer: B\nConfidence: 80%\nAnswer: B\nConfidence: 20%", "ok", "ambiguous"),
        ("Answer: B\nConfidence: 80%\nAnswer: A or C", "ambiguous", "ambiguous"),
    ],
)
def test_what_a_reply_says_twice_in_two_ways_is_ambiguous(reply, answer, confidence):
    found = read(Envelope.of(reply), [LETTER, Confidence(0, 100)])
    assert (found.status, found["confidence"].status) == (answer, confidence)
