"""Rows of models: parameters of simulated observers under their new names, answers kept under the old ones."""

from typing import get_args, get_type_hints

import pytest
from pydantic import ValidationError

from metacog_pipeline.llm.spec import EFFORTS, ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.transcripts.identity import answer_id
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
NO_WORD = "not a word of provider"


@every(
    ("provider", "row", "said"),
    [
        ("openai", {"effort": "hgih"}, f'{NO_WORD} openai (did you mean "high"?); allowed: none, minimal, low, medium, '
         "high, xhigh, max"),
        ("anthropic", {"effort": "minimal"}, f"{NO_WORD} anthropic; allowed: low, medium, high, xhigh, max"),
        ("gemini", {"effort": "max"}, f"{NO_WORD} gemini; allowed: minimal, low, medium, high, xhigh"),
        ("openai", {"verbosity": "hihg"}, f'{NO_WORD} openai (did you mean "high"?); allowed: low, medium, high'),
        ("simulated", {"effort": "low"}, takes_none("simulated", "effort", THREE)),
        ("transformers", {"thinking_tokens": 5}, takes_none("transformers", "thinking_tokens", THREE)),
        ("replay", {"lane": "batch"}, takes_none("replay", "lane", THREE)),
        ("gemini", {"verbosity": "low"}, takes_none("gemini", "verbosity", "openai does")),
        ("anthropic", {"thinking_tokens": 1000},
         "provider anthropic takes no thinking (0) or at least 1,024 tokens of it"),
        ("gemini", {"effort": "low", "thinking_tokens": 100},
         "provider gemini takes effort or thinking_tokens, not both; remove one of them"),
    ],
)  # fmt: skip
def test_a_key_its_provider_does_not_take_is_refused_with_what_to_do(provider, row, said):
    assert wrong_with(provider=provider, **row) == f"{list(row)[-1]}: {said}"


@every("provider", ["openai", "anthropic", "gemini", "transformers", "replay", "simulated"])
def test_what_stands_for_nothing_is_taken_from_every_provider(provider):
    ModelSpec.model_validate({"name": "m", "provider": provider, "model": "x", "lane": "online"})


@pytest.mark.proof  # the clients take seconds to import
def test_the_words_of_effort_are_those_of_the_providers_own_clients():
    openai = pytest.importorskip("openai.types.shared_params.reasoning_effort")
    anthropic = pytest.importorskip("anthropic.types.output_config_param")
    genai = pytest.importorskip("google.genai.types")
    theirs = {
        "openai": set(get_args(get_args(openai.ReasoningEffort)[0])),
        "anthropic": set(get_args(get_args(get_type_hints(anthropic.OutputConfigParam)["effort"])[0])),
        "gemini": {level.value.lower() for level in genai.ThinkingLevel if "UNSPECIFIED" not in level.value},
    }
    assert {name: set(words) for name, words in EFFORTS.items()} == theirs
