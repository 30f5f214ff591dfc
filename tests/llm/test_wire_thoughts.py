"""Log-probabilities are those of the answer: where a server lists the tokens of the thinking too, they are left out."""

import json

import pytest

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Completion
from metacog_pipeline.llm.wire import openai
from tests.tables import every

OWN = ModelSpec(name="m", provider="openai", model="x", base_url="http://127.0.0.1:9/v1")


def read(message: dict[str, object], said: list[str]) -> Completion:
    listed = [{"token": word, "logprob": -1, "top_logprobs": []} for word in said]
    choice = {"message": message, "finish_reason": "stop", "logprobs": {"content": listed}}
    return openai.ChatReply.read(OWN, 200, {}, json.dumps({"choices": [choice]}).encode(), None)


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
