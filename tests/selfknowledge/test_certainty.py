"""How sure a yes is, from token log-probabilities."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.selfknowledge.measures import certainty
from metacog_pipeline.benchmarks.selfknowledge.read import Known, known
from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.reading.calls import Call, read_step, said_with
from metacog_pipeline.transcripts.lines import encode_logprobs
from tests.tables import every

LOG = st.floats(-60, 0)


def token(text: str, logprob: float = -0.1, **top: float) -> TokenLogprob:
    return TokenLogprob(text, logprob, tuple(top.items()))


def found(*tokens: TokenLogprob, language: str = "en") -> float | None:
    return kept_with("".join(each.token for each in tokens), encode_logprobs(tokens), language)


def kept_with(text: str, logprobs: str | None, language: str = "en") -> float | None:
    calls = {"meta": Call("ok", text, logprobs_json=logprobs)}
    reading = read_step(calls, "meta", [Known()])
    return certainty(said_with(calls, "meta", reading, "answer"), known(reading), language)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


@given(LOG, LOG)
@settings(max_examples=150)
def test_it_is_the_sigmoid_of_the_difference(yes, no):
    said, logprob = ("Yes", yes) if yes >= no else ("No", no)
    value = found(token(said, logprob, Yes=yes, No=no))
    assert value == pytest.approx(sigmoid(yes - no), abs=1e-12)


def test_spellings_of_one_word_are_added_up():
    both = found(
        TokenLogprob(
            "Yes", math.log(0.3), (("Yes", math.log(0.3)), (" yes", math.log(0.3)), ("No", math.log(0.2)))
        )
    )
    assert both == pytest.approx(0.6 / 0.8)


def test_a_word_that_is_not_listed_has_the_most_it_can_have():
    top = (("Yes", math.log(0.9)), ("Maybe", math.log(0.04)))
    assert found(TokenLogprob("Yes", math.log(0.9), top)) == pytest.approx(0.9 / 0.94)
    assert found(TokenLogprob("Yes", math.log(0.9))) == pytest.approx(0.9)  # only the chosen token is known
    assert found(TokenLogprob("No", math.log(0.9), (("No", math.log(0.9)),))) == pytest.approx(0.1)


def test_marks_and_thoughts_before_the_reply_are_passed_over():
    yes = token("Yes", math.log(0.8), Yes=math.log(0.8), No=math.log(0.2))
    assert found(token("“"), token(" **"), yes) == pytest.approx(0.8)
    assert found(
        token("<think>"), token("No", -0.1, No=-0.1), token("</think>"), token("\n"), yes
    ) == pytest.approx(0.8)
    assert found(token("<think>"), token("Yes", -0.1, Yes=-0.1)) is None


def test_only_the_token_that_says_it_counts():
    said = token("No", math.log(0.9), No=math.log(0.9), Yes=math.log(0.1))
    assert found(token("Well", Yes=-0.1), token(", "), said) == pytest.approx(0.1)
    assert found(token("Paris", -0.1, Yes=math.log(0.3), No=math.log(0.1))) is None
    assert found(token("I", Yes=-0.1), token(" am"), token(" not"), token(" sure")) is None


def test_words_in_pieces_are_known_by_their_beginning():
    top = (("아니", math.log(0.75)), ("예", math.log(0.25)))
    assert found(TokenLogprob("아니", math.log(0.75), top), token("요"), language="ko") == pytest.approx(0.25)
    top = (("S", math.log(0.6)), ("No", math.log(0.4)))
    assert found(TokenLogprob("S", math.log(0.6), top), token("í"), language="es") == pytest.approx(0.6)
    assert found(TokenLogprob("S", math.log(0.6), ()), token("orry"), language="es") is None


@every("kept", [None, "", "[", "{}", "[[1]]", "null", '[["Yes", "x", []]]'])
def test_nothing_kept_is_nothing_known(kept):
    assert kept_with("Yes", kept) is None
