"""Rows of models: parameters of simulated observers under their new names, answers kept under the old ones."""

import pytest
from pydantic import ValidationError

from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.transcripts.schema import answer_id
from tests.tables import every

# Computed by version 0.1 from the same parameters.
KEPT = "751895610da63f46d21cb8d8c88671650359a69ff739e5b47cba97b75b25944c"


def test_answers_of_an_observer_are_found_under_the_names_of_version_0_1():
    observer = ObserverSpec(untidiness=0.3, warning_response=0.5, sycophancy=0.2)
    spec = ModelSpec(name="a", provider="simulated", observer=observer)
    request = ChatRequest((Message("user", "Who made it?"),), Sampling())
    assert answer_id(spec, request) == KEPT


def wrong_with(**fields: object) -> str:
    with pytest.raises(ValidationError) as refused:
        ModelSpec.model_validate({"name": "m", "model": "x", **fields})
    (problem,) = refused.value.errors()
    message = problem["msg"].removeprefix("Value error, ")
    assert "\n" not in message
    return f"{problem['loc'][-1]}: {message}"


def takes_none(provider: str, key: str, takers: str) -> str:
    return f"provider {provider} takes no {key} (only {takers}); remove the key"


THREE = "openai, anthropic and gemini do"


@every(
    ("provider", "row", "said"),
    [
        ("simulated", {"effort": "low"}, takes_none("simulated", "effort", THREE)),
        ("transformers", {"thinking_tokens": 5}, takes_none("transformers", "thinking_tokens", THREE)),
        ("replay", {"lane": "batch"}, takes_none("replay", "lane", THREE)),
        ("gemini", {"verbosity": "low"}, takes_none("gemini", "verbosity", "openai does")),
        ("anthropic", {"thinking_tokens": 1000},
         "provider anthropic takes no thinking (0) or at least 1,024 tokens of it"),
    ],
)  # fmt: skip
def test_a_key_its_provider_does_not_take_is_refused_with_what_to_do(provider, row, said):
    assert wrong_with(provider=provider, **row) == f"{list(row)[-1]}: {said}"


@every("provider", ["openai", "anthropic", "gemini", "transformers", "replay", "simulated"])
def test_what_stands_for_nothing_is_taken_from_every_provider(provider):
    ModelSpec.model_validate({"name": "m", "provider": provider, "model": "x", "lane": "online"})
