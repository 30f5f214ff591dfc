"""What a wire format produces and the one way it can decline."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.costs import believed
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion
from metacog_pipeline.llm.wire.errors import SECRET_LENGTH, STRUCK_OUT, struck_out
from metacog_pipeline.llm.wire.streams import EventAssembler


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One POST, encoded once so that a retry sends the same bytes.

    The key stands in ``headers`` only, and neither headers nor body are part of the ``repr``, so that a call can be
    logged.
    """

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    method: str = "POST"
    streamed: bool = False


class UnsupportedConstraint(ValueError):
    """The provider has no field for this constraint; the caller may ask again with a weaker one."""


Assembler = EventAssembler
Build = Callable[[ModelSpec, ChatRequest, str | None, Capabilities], HttpCall]
Decode = Callable[[int, Mapping[str, str], bytes], Completion]


@dataclass(frozen=True, slots=True)
class Wire:
    """A provider's wire format as pure functions.

    ``build(spec, request, key, known)`` encodes a call as far as ``known`` says it is accepted; raises
    ``UnsupportedConstraint``. ``decode(status_code, headers, body)`` says what the final answer to it is, for `read`.
    ``assembler`` makes what puts a streamed reply together; ``None`` where the wire cannot stream.
    """

    build: Build
    decode: Decode
    assembler: Callable[[], Any] | None = None

    def read(
        self,
        spec: ModelSpec,
        status_code: int,
        headers: Mapping[str, str],
        body: bytes,
        key: str | None = None,
    ) -> Completion:
        """Decode the final answer to a call. Never raises; the completion's status says how it ended.

        A count of tokens that cannot be is left out, as if the provider had not named it.
        What is shown of it holds no part of ``key``; the reply's body is with it where it is to be kept.
        """
        completion = self.decode(status_code, headers, body)
        said = bool(completion.text or completion.reasoning_text)
        if (usage := believed(completion.usage, said=said)) is not completion.usage:
            completion = dataclasses.replace(completion, usage=usage)
        if spec.keep_raw:
            secret = key.encode() if key is not None and len(key) >= SECRET_LENGTH else b""
            raw = body.replace(secret, STRUCK_OUT.encode()) if secret else body
            completion = dataclasses.replace(completion, raw=raw)
        return struck_out(completion, key)
