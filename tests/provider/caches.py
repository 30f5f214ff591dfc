"""A provider's prompt cache: which tokens of a prompt were there before, and which are written to it.

``automatic`` caches, as OpenAI's and Gemini's are, find the longest beginning that any earlier prompt of the model had, in
steps. ``marked`` ones, as Anthropic's is, keep only what a call marks, and find only what was marked before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from metacog_pipeline.llm.types import Completion, Message
from tests.provider import dialects

Kind = Literal["automatic", "marked"]
LEAST_TOKENS = 1024  # shorter beginnings are not cached
STEP_CHARACTERS = 512  # 128 tokens
MOST_KEPT = 1_000_000  # beginnings: a server that runs for days forgets all at once


@dataclass(slots=True)
class PromptCache:
    """The beginnings of all prompts so far."""

    kind: Kind
    _seen: set[bytes] = field(default_factory=set)

    def billed(self, asked: dialects.Asked, completion: Completion) -> Completion:
        """Return ``completion`` with the tokens read from the cache and written to it, and remember the prompt."""
        if completion.usage.cached_tokens is not None:
            return completion
        starts = list(self._starts(asked))
        read = max((tokens for key, tokens in starts if key in self._seen), default=0)
        written = max((tokens for _, tokens in starts), default=0) - read if self.kind == "marked" else 0
        if len(self._seen) > MOST_KEPT:
            self._seen.clear()
        self._seen.update(key for key, _ in starts)
        usage = replace(completion.usage, cached_tokens=read, cache_write_tokens=max(0, written))
        return replace(completion, usage=usage)

    def _starts(self, asked: dialects.Asked) -> Iterator[tuple[bytes, int]]:
        """Yield every beginning that may be kept or found: its digest and its tokens."""
        messages = asked.request.messages
        if self.kind == "marked":
            for count in asked.marks:
                tokens = sum(dialects.token_count(message.content) for message in messages[:count])
                if tokens >= LEAST_TOKENS:
                    yield _digest(asked.model, messages[:count]).digest(), tokens
            return
        digest = _digest(asked.model, ())
        text = "".join(_worded(message) for message in messages)
        for end in range(STEP_CHARACTERS, len(text) + 1, STEP_CHARACTERS):
            digest.update(text[end - STEP_CHARACTERS : end].encode("utf-8", "surrogatepass"))
            tokens = dialects.token_count(text[:end])
            if tokens >= LEAST_TOKENS:
                yield digest.copy().digest(), min(tokens, dialects.prompt_tokens(asked.request))


def _digest(model: str, messages: tuple[Message, ...]) -> hashlib._Hash:
    digest = hashlib.sha256(model.encode("utf-8", "surrogatepass"))
    for message in messages:
        digest.update(_worded(message).encode("utf-8", "surrogatepass"))
    return digest


def _worded(message: Message) -> str:
    return f"\x1e{message.role}\x1f{message.content}"
