"""What is thought aloud is not the reply, in whatever marks it stands; every benchmark leaves it out."""

import pytest

from metacog_pipeline.benchmark.answers.reading import AnswerKey
from metacog_pipeline.benchmark.answers.stated import answer_of
from metacog_pipeline.benchmark.answers.text import without_reasoning
from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.benchmarks.medley.parsing import parse_reply
from metacog_pipeline.benchmarks.metamedqa.parsing import parse as parse_metamedqa
from metacog_pipeline.benchmarks.signaldetection.parsing import parse as parse_decision

FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>"
ANALYSIS = "<|channel|>analysis<|message|>"


@pytest.mark.parametrize(
    "reply",
    [
        "<think>Answer: B</think>Answer: C",
        "<Thinking>Answer: B</Thinking>\n\nAnswer: C",
        "<thought>Answer: B</thought>Answer: C",
        '<reasoning effort="high">Answer: B</reasoning>Answer: C',
        "Answer: B</think>Answer: C",
        "<think>Such a tag, <think>, opens it. Answer: B</think>Answer: C",
        "<think>One</think></think>Answer: C",
        "<think>One</think>Answer: C<think>Answer: B",
        "[THINK]Answer: B[/THINK]Answer: C",
        "◁think▷Answer: B◁/think▷Answer: C",
        "<|START_THINKING|>Answer: B<|END_THINKING|>Answer: C",
        "<|begin_of_thought|>Answer: B<|end_of_thought|>Answer: C",
        "<unused94>thought\nAnswer: B<unused95>Answer: C",
        "<seed:think>Answer: B</seed:think>Answer: C",
        f"{ANALYSIS}Answer: B{FINAL}Answer: C",
        f"{ANALYSIS}Answer: B{FINAL}Answer: C<|return|>",
        f"{ANALYSIS}Answer: B<|end|><|start|>assistant<|channel|>commentary to=functions.look <|constrain|>json<|message|>"
        f"{{}}<|call|>{FINAL}Answer: C",
    ],
)
def test_what_is_thought_aloud_is_left_out(reply):
    assert without_thinking(reply).strip() == without_reasoning(reply).strip() == "Answer: C"
    assert parse_metamedqa(reply).answer == "C"
    assert answer_of(reply, AnswerKey("choice", ("C",))).correct is True


@pytest.mark.parametrize(
    "reply", ["<think>Answer: B", "[THINK]Answer: B", "<unused94>thought Answer: B", f"{ANALYSIS}Answer: B"]
)
def test_a_thought_that_does_not_end_is_no_reply(reply):
    assert not without_thinking(reply).strip()
    assert parse_metamedqa(reply).status == "answer_unparsed"
    assert answer_of(reply, AnswerKey("choice", ("B",))).said is None


@pytest.mark.parametrize("reply", ["a < b", "[thinking] of it", "x <b>B</b>", "f(x)<|x|>", "<unused93>B"])
def test_what_looks_like_a_mark_stays(reply):
    assert without_thinking(reply) == reply


def test_the_final_channel_alone_is_read_as_json():
    inside = '{"decision": 0, "confidence": 3}'
    said = '{"decision": 1, "confidence": 4}'
    found = parse_decision(f"{ANALYSIS}maybe {inside}{FINAL}{said}")
    assert (found.decision, found.confidence) == (1, 4)
    assert parse_reply(f"{ANALYSIS}{inside}{FINAL}{said}") == {"decision": 1, "confidence": 4}


def test_the_rating_of_a_thought_is_not_the_rating():
    found = parse_metamedqa("<think>Confidence: 2 maybe</think>Answer: C")
    assert (found.answer, found.confidence) == ("C", None)
    found = parse_metamedqa(
        "<think>\nMy first guess for the answer is B.\n</think>\n**C**\n\n**Confidence:** 4"
    )
    assert (found.answer, found.confidence) == ("C", 4)


@pytest.mark.parametrize(
    "unit", ["<think>", "</think>", "[THINK]", "<|channel|>", ANALYSIS, "<", "<unused94>"]
)
def test_marks_without_end_are_read_in_linear_time(unit):
    assert len(without_thinking(unit * (200_000 // len(unit)))) <= 200_000
