"""Models that ask nobody: a respondent inside this process, and answers that were collected elsewhere."""

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


class SimulatedModel:
    """A `ChatModel` that answers with ``respond(request)``; usage is estimated from the texts, cost is zero.

    ``respond`` returns the text, or a ``Completion`` where it wants to refuse, stop early or give log-probabilities. It
    runs in the event loop, so it should take well under a millisecond.
    """

    def __init__(self, spec: ModelSpec, respond: Respond) -> None:
        self.spec = spec
        self._respond = respond

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``. A respondent that raises gives a ``failed``, ``fatal`` completion."""
        started_at = datetime.now(UTC)
        await asyncio.sleep(0)  # as with a real model, others get their turn between question and answer
        try:
            said = self._respond(request)
        except Exception as error:
            said = one_line(f"simulated respondent of {self.spec.name}: {type(error).__name__}: {error}")
            more = {"cost_usd": 0.0, "started_at": started_at}
            return failed(ErrorKind.FATAL, "respondent_failed", said, **more)
        completion = (
            said if isinstance(said, Completion) else Completion(Status.OK, said, finish_reason="stop")
        )
        return replace(
            completion,
            model_reported=self.spec.model or self.spec.name,
            usage=Usage(estimate_input_tokens(request), estimate_tokens(completion.text)),
            cost_usd=0.0,
            started_at=started_at,
        )

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


class ReplayModel:
    """A `ChatModel` that answers nothing: what is not in the store is not known."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec

    async def complete(self, request: ChatRequest) -> Completion:
        """Return a ``failed``, ``fatal`` completion."""
        message = (
            f"model {self.spec.name} replays imported answers and never asks: import the missing answer with "
            "`metacog import`"
        )
        more = {"cost_usd": 0.0, "attempts": 0, "started_at": datetime.now(UTC)}
        return failed(ErrorKind.FATAL, "replay_never_asks", message, **more)

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""
