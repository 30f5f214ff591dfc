"""What a wire format produces and the one way it can decline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion


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


class UnsupportedConstraint(ValueError):
    """The provider has no field for this constraint; the caller may ask again with a weaker one."""


Build = Callable[[ModelSpec, ChatRequest, str | None], HttpCall]
Read = Callable[[ModelSpec, int, Mapping[str, str], bytes, str | None], Completion]


@dataclass(frozen=True, slots=True)
class Wire:
    """A provider's wire format as two pure functions.

    ``build(spec, request, key)`` encodes a call; raises ``UnsupportedConstraint``.
    ``read(spec, status_code, headers, body, key)`` decodes the final answer to it and never raises; ``key`` is only
    used to strike it out of what the provider said.
    """

    build: Build
    read: Read
