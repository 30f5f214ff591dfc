"""Where a server's context is known, a call asks for what its prompt leaves of it, thinking before answer."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm import costs
from metacog_pipeline.llm.capabilities import MODEST_THINKING_TOKENS, NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, Sampling
from metacog_pipeline.llm.wire import openai
from tests.tables import every

OWN = ModelSpec(
    name="m", provider="openai", model="x", base_url="http://127.0.0.1:9/v1", price_in=1, price_out=1
)
SCHEMA = JsonObject("n", '{"type": "object", "properties": {"a": {"type": "string"}}}')
KNOWN = Capabilities(server="vllm", context=4096)


def request(text: str, answer: int | None = 64, held: bool = True) -> ChatRequest:
    return ChatRequest((Message("user", text),), Sampling(max_tokens=answer), SCHEMA if held else None)


def sent(asked: ChatRequest, known: Capabilities = KNOWN, **fields: object) -> int:
    body = json.loads(openai.build(OWN.model_copy(update=fields), asked, None, known).body)
    return int(body["max_tokens"])


@given(
    text=st.text(max_size=3000),
    answer=st.integers(1, 20_000),
    context=st.sampled_from([2048, 4096, 8192, 32_768]),
)
@settings(max_examples=200, deadline=None)
def test_prompt_and_limit_fit_the_context_wherever_the_bound_of_the_prompt_leaves_room(text, answer, context):
    asked, known = request(text, answer), replace(KNOWN, context=context)
    limit, bound = sent(asked, known), costs.input_token_bound(OWN, asked)
    assert limit >= 1
    assert limit <= answer + known.thinking_room(OWN)
    if limit > answer:  # room to think is only what is sure to be there
        assert limit + bound <= context
    if limit + bound > context:
        assert limit <= max(64, (context - costs.estimate_input_tokens(asked)) // 2)


@every(
    ("text", "answer", "context", "limit"),
    [
        ("q" * 400, 4096, 4096, 4096 - 400 - 80),
        ("q" * 400, 64, 4096, 4096 - 400 - 80),
        ("q" * 3000, 64, 4096, 4096 - 3000 - 80),
        (
            "q" * 4000,
            64,
            4096,
            64,
        ),  # a short answer is asked for all the same: the bound is far above most prompts
        ("q" * 12_000, 64, 4096, 64),
        ("q" * 40_000, 64, 4096, 64),  # and the server says whether the prompt itself fits
        ("q" * 6000, 10_000, 8192, (8192 - 1504) // 2),
        ("q" * 400, 10_000, 131_072, 25_360),
        ("q" * 400, 10_000, 16_384, 16_384 - 480),
    ],
)
def test_a_call_asks_for_what_its_prompt_leaves(text, answer, context, limit):
    assert sent(request(text, answer, held=False), replace(KNOWN, context=context)) == limit


def test_where_no_context_is_known_nothing_is_taken_off():
    assert sent(request("q" * 9000, 10_000), NOTHING_KNOWN) == 25_360


def test_the_budget_bounds_a_call_by_the_limit_that_is_sent():
    for text in ("q", "q" * 3000, "q" * 20_000):
        asked = request(text)
        assert costs.output_token_bound(OWN, asked, KNOWN) == sent(asked)


@pytest.mark.parametrize(
    ("context", "room"), [(None, MODEST_THINKING_TOKENS), (4096, 1024), (131_072, 4096), (3, 4096)]
)
def test_modest_room_is_a_part_of_a_small_context(context, room):
    known = Capabilities(context=context, refused=frozenset({"ample_room"}))
    assert known.thinking_room(OWN) == room


def test_room_that_the_study_asks_for_is_cut_to_the_context_too():
    assert sent(request("q" * 400, 64, held=False), thinking_tokens=9000) == 4096 - 480
    assert sent(request("q" * 400, 64, held=False), thinking_tokens=100) == 164
