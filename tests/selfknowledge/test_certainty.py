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


def token(text: str, chance: float = 0.9, **top: float) -> TokenLogprob:
    """Return a token of a chance; ``_yes`` lists the word behind a space."""
    listed = tuple((name.replace("_", " "), math.log(each)) for name, each in top.items())
    return TokenLogprob(text, math.log(chance), listed)


def kept_with(text: str, logprobs: str | None, language: str = "en") -> float | None:
    calls = {"meta": Call("ok", text, logprobs_json=logprobs)}
    reading = read_step(calls, "meta", [Known()])
    return certainty(said_with(calls, "meta", reading, "answer"), known(reading), language)


def found(*tokens: TokenLogprob, language: str = "en") -> float | None:
    return kept_with("".join(each.token for each in tokens), encode_logprobs(tokens), language)


@given(st.floats(-60, 0), st.floats(-60, 0))
@settings(max_examples=60)
def test_it_is_the_sigmoid_of_the_difference(yes, no):
    said = TokenLogprob("Yes" if yes >= no else "No", max(yes, no), (("Yes", yes), ("No", no)))
    assert found(said) == pytest.approx(1 / (1 + math.exp(no - yes)), abs=1e-12)


YES = token("Yes", 0.8, Yes=0.8, No=0.2)


@every(
    ("tokens", "language", "wanted"),
    [
        # spellings of one word are added up
        ((token("Yes", 0.3, Yes=0.3, _yes=0.3, No=0.2),), "en", 0.75),
        # a word that is not listed has the most it can have
        ((token("Yes", 0.9, Yes=0.9, Maybe=0.04),), "en", 0.9 / 0.94),
        ((token("Yes"),), "en", 0.9),
        ((token("No", 0.9, No=0.9),), "en", 0.1),
        # marks and thoughts before the reply are passed over
        ((token("“"), token(" **"), YES), "en", 0.8),
        ((token("<think>"), token("No", 0.9, No=0.9), token("</think>"), token("\n"), YES), "en", 0.8),
        ((token("<think>"), token("Yes", 0.9, Yes=0.9)), "en", None),
        # only the token that says it counts
        ((token("Well", Yes=0.9), token(", "), token("No", 0.9, No=0.9, Yes=0.1)), "en", 0.1),
        ((token("Paris", 0.9, Yes=0.3, No=0.1),), "en", None),
        ((token("I", Yes=0.9), token(" am"), token(" not"), token(" sure")), "en", None),
        # words in pieces are known by their beginning
        ((token("아니", 0.75, 아니=0.75, 예=0.25), token("요")), "ko", 0.25),
        ((token("S", 0.6, S=0.6, No=0.4), token("í")), "es", 0.6),
        ((token("S", 0.6), token("orry")), "es", None),
    ],
)  # fmt: skip
def test_only_the_token_that_says_yes_or_no_counts_with_all_its_spellings(tokens, language, wanted):
    assert found(*tokens, language=language) == (None if wanted is None else pytest.approx(wanted))


@every("kept", [None, "", "[", "{}", "[[1]]", "null", '[["Yes", "x", []]]'])
def test_nothing_kept_is_nothing_known(kept):
    assert kept_with("Yes", kept) is None
