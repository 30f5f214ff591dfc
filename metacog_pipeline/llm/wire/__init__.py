"""Wire formats as pure functions: a request becomes one HTTP call, an HTTP answer becomes a ``Completion``."""

from metacog_pipeline.llm.spec import Provider, base_url, key_of, key_variable
from metacog_pipeline.llm.wire import anthropic, gemini, openai
from metacog_pipeline.llm.wire.errors import redacted
from metacog_pipeline.llm.wire.types import HttpCall, UnsupportedConstraint, Wire

__all__ = [
    "HttpCall",
    "UnsupportedConstraint",
    "Wire",
    "base_url",
    "key_of",
    "key_variable",
    "redacted",
    "wire_for",
]

_WIRES = {"openai": openai.WIRE, "anthropic": anthropic.WIRE, "gemini": gemini.WIRE}


def wire_for(provider: Provider) -> Wire:
    """Return the wire format of ``provider``. Raises ``ValueError`` for one that answers without HTTP."""
    if provider not in _WIRES:
        raise ValueError(f"provider {provider!r} answers in this process and has no wire format")
    return _WIRES[provider]
