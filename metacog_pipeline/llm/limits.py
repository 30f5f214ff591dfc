"""How many tokens a call asks for: those of the answer, and room to think where the provider counts both as one.

Every wire format sends what `token_limit` says and the budget bounds a call by it, so the two cannot differ.
"""

from __future__ import annotations

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest

LEAST_OF_RESPONSES = 16  # OpenAI Responses refuses a smaller limit


def uses_responses(spec: ModelSpec, known: Capabilities) -> bool:
    """Whether ``spec`` is asked through OpenAI Responses: because it says so, or because chat was refused."""
    return spec.api == "responses" or (spec.api == "auto" and known.api == "responses")


def token_limit(spec: ModelSpec, request: ChatRequest, known: Capabilities) -> int | None:
    """Return the limit on generated tokens that a call is sent with; ``None`` where the request has none."""
    limit = request.sampling.max_tokens
    if limit is None:
        return None
    limit += known.thinking_room(spec)
    if known.context:  # more than all the server has is refused outright
        limit = min(limit, known.context)
    return max(limit, LEAST_OF_RESPONSES) if uses_responses(spec, known) else limit
