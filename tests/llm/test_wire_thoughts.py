"""Log-probabilities are those of the answer: where a server lists the tokens of the thinking too, they are left out."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Completion, TokenLogprob
from metacog_pipeline.llm.wire import openai
from metacog_pipeline.llm.wire.openai import tokens_of_answer
from tests.tables import every

OWN = ModelSpec(name="m", provider="openai", model="x", base_url="http://127.0.0.1:9/v1")
words = st.text('abAB \n{"1é', min_size=1, max_size=4)


def tokens(*said: str) -> tuple[TokenLogprob, ...]:
    return tuple(TokenLogprob(word, -float(place)) for place, word in enumerate(said))


def read(message: dict[str, object], said: list[str]) -> Completion:
    listed = [{"token": word, "logprob": -1, "top_logprobs": []} for word in said]
    choice = {"message": message, "finish_reason": "stop", "logprobs": {"content": listed}}
    return openai.WIRE.read(OWN, 200, {}, json.dumps({"choices": [choice]}).encode(), None)


@given(st.lists(words, max_size=8), st.lists(words, min_size=1, max_size=8))
def test_the_tokens_of_the_answer_are_found_behind_any_thinking(thought, answer):
    text = "".join(answer)
    found = tokens_of_answer(tokens(*thought, "</think>", *answer, "<|end|>"), text)
    said = "".join(token.token for token in found)
    assert found == () if not text.strip() else said.strip() == (text + "<|end|>").strip()


@given(st.lists(words, max_size=12), words)
def test_only_whole_tails_of_the_tokens_are_returned(said, text):
    every = tokens(*said)
    found = tokens_of_answer(every, text)
    assert every[len(every) - len(found) :] == found


@every(
    ("said", "text", "kept"),
    [
        (["A", " is", "</think>", "\n\n", "A", "<|end|>"], "A", ["A", "<|end|>"]),
        (["B", "</think>", " A", "<|IM_END|>"], "A", [" A", "<|IM_END|>"]),
        (["No", "<|channel|>", "final", "N", "o"], "No", ["N", "o"]),
        (["A", "<|end|>"], "A", ["A", "<|end|>"]),
        (["x", "</think>", "�", "�", "!"], "é!", ["�", "�", "!"]),
        (["x", "�", "�", "!"], "é!", []),
        (["A", " B"], "", []),
        (["B"], "The B", ["B"]),
        ([], "A", []),
    ],
)
def test_where_the_answer_begins_is_told_by_its_text_or_by_the_end_of_the_thought(said, text, kept):
    completion = read({"content": text, "reasoning": "a thought"}, said)
    assert [token.token for token in completion.logprobs] == kept
    assert (completion.text, completion.reasoning_text) == (text, "a thought")


@pytest.mark.parametrize("message", [{"content": "A"}, {"content": "<think>B</think>A"}, {"content": None}])
def test_without_a_field_of_its_own_for_the_thinking_every_token_is_kept(message):
    said = ["<think>", "B", "</think>", "A", "<|end|>"]
    assert [token.token for token in read(message, said).logprobs] == said


def test_a_long_thought_is_searched_in_linear_time():
    every = tokens(*(["a", " "] * 100_000), "</think>", "b")
    assert [token.token for token in tokens_of_answer(every, "b")] == ["b"]
    assert tokens_of_answer(every, "a" * 50) == every[-1:]
    assert math.isclose(every[-1].logprob, -200_001)
