"""What a wire format is: how a request becomes an HTTP call, and how a reply becomes a completion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.costs import believed
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion
from metacog_pipeline.llm.wire.errors import SECRET_LENGTH, STRUCK_OUT, struck_out
from metacog_pipeline.llm.wire.events import Reply


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One POST, encoded once so that a retry sends the same bytes; its ``repr`` can be logged."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    streamed: bool = False


class UnsupportedConstraint(ValueError):
    """The provider has no field for this constraint; the caller may ask again with a weaker one."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A provider's wire format: ``build`` encodes a call as far as it is known to be accepted, ``reply`` reads."""

    build: Callable[[ModelSpec, ChatRequest, str | None, Capabilities], HttpCall]  # or UnsupportedConstraint
    reply: type[Reply]

    def read(
        self,
        spec: ModelSpec,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        key: str | None = None,
        *,
        closed: bool = True,
    ) -> Completion:
        """Return what the final answer to a call says; ``closed`` is false where the connection broke. Never raises."""
        if key is not None and len(key) >= SECRET_LENGTH:  # shorter ones are placeholders
            # Before parsing, so that no field, no text and no shortened message can hold a part of the key.
            body = body.replace(key.encode(), STRUCK_OUT.encode())
        completion = self.reply.read(status, headers, body, closed=closed)
        said = bool(completion.text or completion.reasoning_text)
        if (usage := believed(completion.usage, said=said)) is not completion.usage:
            completion = replace(completion, usage=usage)
        return struck_out(completion, key)
