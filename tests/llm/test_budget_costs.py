from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm import costs
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, OneOf, Sampling, Usage
from tests.llm.replies import charged
from tests.tables import every

NEVER_REASONS = Capabilities(reasons=False)
DEAR = {"price_cached_in": 0.5, "price_cache_write": 4, "price_reasoning": 20, "batch_factor": 0.4}


def spec(**fields: Any) -> ModelSpec:
    usual = {"name": "m", "provider": "openai", "price_in": 3, "price_out": 15}
    return ModelSpec.model_validate(usual | fields)


def request(text: str = "q", max_tokens: int | None = 50, **fields: Any) -> ChatRequest:
    return ChatRequest((Message("user", text),), Sampling(max_tokens=max_tokens), **fields)


@every(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 4, 2), ("\ud800", 1)])
def test_an_estimate_is_a_quarter_of_the_bytes_rounded_up(text, tokens):
    assert costs.estimate_tokens(text) == tokens


@given(text=st.text(max_size=200))
@settings(max_examples=100)
def test_no_text_has_more_tokens_than_its_bound(text):
    """The finest vocabulary has one token for each byte."""
    asked = request(text)
    finest = len(text.encode("utf-8", "surrogatepass"))
    assert costs.input_token_bound(spec(), asked) >= finest
    assert costs.input_token_bound(spec(), asked) >= costs.estimate_input_tokens(asked)


def test_schemas_options_and_the_extra_body_are_bounded_too():
    plain = costs.input_token_bound(spec(), request())
    schema = '{"type":"object"}' * 100
    assert costs.input_token_bound(spec(), request(constraint=JsonObject("n", schema))) >= plain + len(schema)
    assert costs.input_token_bound(spec(), request(constraint=OneOf(("option" * 100,)))) >= plain + 600
    assert costs.input_token_bound(spec(extra_body={"tools": ["t" * 500]}), request()) >= plain + 500


@every(
    ("extra", "bound"),
    [
        ({}, 50),
        ({"max_completion_tokens": 4000}, 4000),
        ({"max_tokens": 10}, 50),
        ({"n": 3}, 150),
        ({"generationConfig": {"maxOutputTokens": 900, "candidateCount": 2}}, 1800),
        ({"thinking": {"type": "enabled", "budget_tokens": 1000}}, 1050),
        ({"thinking": {"budget_tokens": 1000}, "thinkingConfig": {"thinkingBudget": 500}}, 1550),
        ({"stream": True, "n": None}, 50),
    ],
)
def test_what_the_extra_body_asks_for_raises_the_output_bound(extra, bound):
    assert costs.output_token_bound(spec(extra_body=extra), request(), NEVER_REASONS) == bound


def test_a_cost_needs_both_prices_or_none_to_pay():
    assert costs.worst_case_cost(spec(price_out=None), request()) is None
    assert costs.usage_cost(spec(price_out=None), Usage(5, 5)) is None
    assert not costs.priced(spec(price_in=None))
    free = spec(price_in=0, price_out=0)
    assert costs.worst_case_cost(free, request()) == costs.usage_cost(free, Usage(5, 5)) == 0
    assert costs.worst_case_cost(ModelSpec(name="s", provider="simulated"), request()) == 0
    assert free.free and not spec(price_in=0, price_out=0, price_reasoning=2).free


counts = st.none() | st.integers(-5, 3000)
usages = st.builds(Usage, counts, counts, counts, counts, counts)


def test_each_part_of_a_usage_has_its_price_in_dollars_per_million_tokens():
    usage = Usage(1000, 100, reasoning_tokens=60, cached_tokens=300, cache_write_tokens=200)
    dollars = (500 * 3 + 300 * 0.5 + 200 * 4 + 40 * 15 + 60 * 20) / 1e6
    assert costs.usage_cost(spec(**DEAR), usage) == pytest.approx(dollars)
    assert costs.usage_cost(spec(**DEAR), usage, batch=True) == pytest.approx(dollars * 0.4)
    # Parts without a price cost what the whole does, and writing to a cache a quarter more.
    assert costs.usage_cost(spec(), usage) == pytest.approx((800 * 3 + 200 * 3 * 1.25 + 100 * 15) / 1e6)


@every(
    ("fields", "factor"),
    [
        ({}, 0.5),
        ({"provider": "anthropic"}, 0.5),
        ({"provider": "gemini"}, 0.5),
        ({"base_url": "https://api.openai.com/v1/"}, 0.5),
        ({"base_url": "http://127.0.0.1:1/v1"}, None),
        ({"base_url": "http://127.0.0.1:1/v1", "batch_factor": 0.7}, 0.7),
        ({"batch_factor": 1}, 1),
    ],
)
def test_a_batch_costs_half_at_an_official_address_unless_the_study_says_otherwise(fields, factor):
    asked = spec(**fields)
    assert costs.batch_price_factor(asked) == factor
    assert costs.usage_cost(asked, Usage(10, 10), batch=True) == pytest.approx(180e-6 * (factor or 1))


@given(usage=usages, long=st.booleans(), batch=st.booleans())
@settings(max_examples=200)
def test_no_usage_within_the_bounds_costs_more_than_the_worst_case(usage, long, batch):
    """Whatever parts a provider names, missing, negative and larger than the whole included."""
    model = spec(**DEAR, thinking_tokens=3000)
    asked = request("x" * (3000 if long else 2000), max_tokens=1)
    billed = charged(model, asked, usage, batch=batch)
    worst = costs.worst_case_cost(model, asked, batch=batch)
    assert billed is not None
    assert worst is not None
    if (usage.input_tokens or 0) <= 2000 and (usage.output_tokens or 0) <= 3001:
        assert 0 <= billed <= worst + 1e-12


@given(text=st.integers(0, costs.LEAST_CACHED_TOKENS))
@settings(max_examples=30)
def test_a_prompt_that_is_too_short_to_be_cached_is_bounded_at_the_plain_price(text):
    asked = request("x" * text)
    bound = costs.input_token_bound(spec(), asked)
    worst = costs.worst_case_cost(spec(), asked, NEVER_REASONS)
    price = 3 if bound < costs.LEAST_CACHED_TOKENS else 3 * 1.25
    assert worst == pytest.approx((bound * price + 50 * 15) / 1e6)


def test_room_to_think_is_part_of_the_output_bound_and_a_request_without_limit_takes_the_models():
    assert costs.output_token_bound(spec(thinking_tokens=0), request()) == 50
    assert costs.output_token_bound(spec(thinking_tokens=700), request()) == 750
    assert costs.output_token_bound(spec(), request()) == 50 + NOTHING_KNOWN.thinking_room(spec())
    seen = Capabilities(reasons=True, reasoning_tokens=9000)
    assert costs.output_token_bound(spec(), request(), seen) == 36_050
    assert costs.output_token_bound(spec(max_tokens=77), request(max_tokens=None), NEVER_REASONS) == 77


def test_a_bound_counts_bytes_and_the_shortest_cached_prompt_has_the_dearest_price():
    one, two = (costs.input_token_bound(spec(), request(text)) for text in ("e" * 50, "é" * 50))
    assert two - one == 50
    shortest = request("x" * (costs.LEAST_CACHED_TOKENS - costs.input_token_bound(spec(), request(""))))
    assert costs.input_token_bound(spec(), shortest) == costs.LEAST_CACHED_TOKENS
    worst = costs.worst_case_cost(spec(), shortest, NEVER_REASONS)
    assert worst == pytest.approx((costs.LEAST_CACHED_TOKENS * 3 * 1.25 + 50 * 15) / 1e6)
