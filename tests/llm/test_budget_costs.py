from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm.costs import (
    billed_cost,
    cost_of,
    estimate_input_tokens,
    estimate_tokens,
    input_token_bound,
    output_token_bound,
    priced,
    worst_case_cost,
)
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, OneOf, Sampling, Usage


def spec(**fields: Any) -> ModelSpec:
    return ModelSpec.model_validate(
        {"name": "m", "provider": "openai", "price_in": 3, "price_out": 15} | fields
    )


def request(text: str = "q", max_tokens: int | None = 50, **fields: Any) -> ChatRequest:
    return ChatRequest((Message("user", text),), Sampling(max_tokens=max_tokens), **fields)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 4, 2), ("\ud800", 1)]
)
def test_an_estimate_is_a_quarter_of_the_bytes_rounded_up(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_prices_are_dollars_per_million_tokens() -> None:
    assert cost_of(spec(), 1_000_000, 100_000) == pytest.approx(3 + 1.5)
    assert billed_cost(spec(), request(), Usage(1_000_000, 0)) == pytest.approx(3)


@given(text=st.text(max_size=200))
@settings(max_examples=100)
def test_no_text_has_more_tokens_than_its_bound(text: str) -> None:
    """The finest vocabulary has one token for each byte."""
    asked = request(text)
    finest = len(text.encode("utf-8", "surrogatepass"))
    assert input_token_bound(spec(), asked) >= finest
    assert input_token_bound(spec(), asked) >= estimate_input_tokens(asked)


def test_schemas_options_and_the_extra_body_are_bounded_too() -> None:
    plain = input_token_bound(spec(), request())
    schema = '{"type":"object"}' * 100
    assert input_token_bound(spec(), request(constraint=JsonObject("n", schema))) >= plain + len(schema)
    assert input_token_bound(spec(), request(constraint=OneOf(("option" * 100,)))) >= plain + 600
    assert input_token_bound(spec(extra_body={"tools": ["t" * 500]}), request()) >= plain + 500


@pytest.mark.parametrize(
    ("extra", "bound"),
    [
        ({}, 50),
        ({"max_completion_tokens": 4000}, 4000),
        ({"max_tokens": 10}, 50),
        ({"n": 3}, 150),
        ({"generationConfig": {"maxOutputTokens": 900, "candidateCount": 2}}, 1800),
        ({"thinking": {"type": "enabled", "budget_tokens": 1000}}, 1050),
        ({"stream": True, "n": None}, 50),
    ],
)
def test_what_the_extra_body_asks_for_raises_the_output_bound(extra: dict[str, Any], bound: int) -> None:
    assert output_token_bound(spec(extra_body=extra), request()) == bound


def test_a_request_without_limit_takes_the_models() -> None:
    assert output_token_bound(spec(max_tokens=77), request(max_tokens=None)) == 77


def test_a_cost_needs_both_prices_or_none_to_pay() -> None:
    assert worst_case_cost(spec(price_out=None), request()) is None
    assert not priced(spec(price_in=None))
    assert worst_case_cost(spec(price_in=0, price_out=0), request()) == 0
    assert worst_case_cost(ModelSpec(name="s", provider="simulated"), request()) == 0


@given(used=st.tuples(st.integers(0, 50), st.integers(0, 50)), text=st.text(min_size=50, max_size=80))
@settings(max_examples=50)
def test_usage_within_the_limits_never_costs_more_than_the_worst_case(
    used: tuple[int, int], text: str
) -> None:
    asked = request(text)
    real, worst = billed_cost(spec(), asked, Usage(*used)), worst_case_cost(spec(), asked)
    assert real is not None
    assert worst is not None
    assert real <= worst
