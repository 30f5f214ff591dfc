"""Wire formats as pure functions: a request becomes one HTTP call, an HTTP answer becomes a ``Completion``."""

from metacog_pipeline.llm.spec import Provider
from metacog_pipeline.llm.wire import anthropic, gemini, openai
from metacog_pipeline.llm.wire.address import base_url, is_official, key_of, key_variable
from metacog_pipeline.llm.wire.errors import redacted
from metacog_pipeline.llm.wire.types import HttpCall, UnsupportedConstraint, Wire

__all__ = [
    "HttpCall",
    "UnsupportedConstraint",
    "Wire",
    "base_url",
    "is_official",
    "key_of",
    "key_variable",
    "redacted",
    "wire_for",
]


def wire_for(provider: Provider) -> Wire:
    """Return the wire format of ``provider``. Raises ``ValueError`` for one that answers without HTTP."""
    match provider:
        case "openai":
            return openai.WIRE
        case "anthropic":
            return anthropic.WIRE
        case "gemini":
            return gemini.WIRE
        case "transformers" | "replay" | "simulated":
            raise ValueError(f"provider {provider!r} answers in this process and has no wire format")
