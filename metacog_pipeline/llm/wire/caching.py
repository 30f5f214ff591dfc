"""Which part of a prompt later calls will share, told from the request alone.

A provider's prompt cache pays where calls begin with the same long text. Two kinds do: calls under one long system
prompt, and the steps of one conversation, each of which repeats all turns before it. A conversation with two answers in it
has shown that it goes on, or begins with examples: the turns up to its last answer are what the next step repeats, or every
other question shares. With one answer it most often ends there, and writing what nobody reads costs a quarter more.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.costs import LEAST_CACHED_TOKENS, estimate_tokens
from metacog_pipeline.llm.types import ChatRequest

ANSWERS_OF_A_SERIES = 2  # in a conversation that is expected to go on


@dataclass(frozen=True, slots=True)
class SharedPrefix:
    """``system``: the system prompt is worth a cache entry; ``turn``: so is all up to this turn, counted without it."""

    system: bool = False
    turn: int | None = None


def shared_prefix(request: ChatRequest) -> SharedPrefix:
    """Return which parts of ``request`` are long enough to be cached and likely to come again."""
    size = sum(estimate_tokens(m.content) for m in request.messages if m.role == "system")
    system = size >= LEAST_CACHED_TOKENS
    last, answers = None, 0
    for place, message in enumerate(request.turns):
        size += estimate_tokens(message.content)
        if message.role == "assistant" and message.content.strip():
            answers += 1
            if answers >= ANSWERS_OF_A_SERIES and size >= LEAST_CACHED_TOKENS:
                last = place
    return SharedPrefix(system, last)


def conversation_key(request: ChatRequest) -> str | None:
    """Return a name that all steps of one long conversation share, for providers that route calls by one.

    ``None`` for short prompts, and under a long system prompt: calls that share it are routed together by the provider
    itself, and a name for each conversation would part them.
    """
    begun = [m for m in request.messages if m.role == "system"]
    if sum(estimate_tokens(m.content) for m in begun) >= LEAST_CACHED_TOKENS:
        return None
    begun += [m for m in request.messages if m.role == "user"][:1]
    if sum(estimate_tokens(m.content) for m in begun) < LEAST_CACHED_TOKENS:
        return None
    text = canonical_json([[m.role, m.content] for m in begun])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
