"""Models without a provider: a simulated respondent in this process, and replayed answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm.costs import estimate_input_tokens, estimate_tokens
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Status, Usage, failed

Respond = Callable[[ChatRequest], str | Completion]


class _InProcess:
    """What needs no connection."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


class SimulatedModel(_InProcess):
    """A `ChatModel` that answers with ``respond(request)``; usage is estimated from the texts, cost is zero."""

    def __init__(self, spec: ModelSpec, respond: Respond) -> None:
        super().__init__(spec)
        self._respond = respond

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``."""
        now = datetime.now(UTC)
        # as with a real model, others get their turn between question and answer
        await asyncio.sleep(0)
        try:
            # A completion where it refuses, stops early or gives log-probabilities. It runs in the event
            # loop, so it should take well under a millisecond.
            said = self._respond(request)
        except Exception as error:
            why = one_line(f"simulated respondent of {self.spec.name}: {type(error).__name__}: {error}")
            return failed(ErrorKind.FATAL, "respondent_failed", why, cost_usd=0.0, started_at=now)
        if isinstance(said, str):
            said = Completion(Status.OK, said, finish_reason="stop")
        usage = Usage(estimate_input_tokens(request), estimate_tokens(said.text))
        name = self.spec.model or self.spec.name
        return replace(said, model_reported=name, usage=usage, cost_usd=0.0, started_at=now)


class ReplayModel(_InProcess):
    """A `ChatModel` that answers nothing: what is not in the store is not known."""

    async def complete(self, request: ChatRequest) -> Completion:
        """Return a ``failed``, ``fatal`` completion."""
        advice = "import the missing answer with `metacog import`"
        said = f"model {self.spec.name} replays imported answers and never asks: {advice}"
        now = datetime.now(UTC)
        return failed(ErrorKind.FATAL, "replay_never_asks", said, cost_usd=0.0, attempts=0, started_at=now)
