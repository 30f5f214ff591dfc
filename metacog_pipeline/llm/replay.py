"""A model whose answers were collected elsewhere and imported: it can be scored, never asked."""

from __future__ import annotations

from datetime import UTC, datetime

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Status


class ReplayModel:
    """A `ChatModel` that answers nothing: what is not in the store is not known."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec

    async def complete(self, request: ChatRequest) -> Completion:
        """Return a ``failed``, ``fatal`` completion."""
        return Completion(
            Status.FAILED,
            cost_usd=0.0,
            attempts=0,
            started_at=datetime.now(UTC),
            error_kind=ErrorKind.FATAL,
            error_code="replay_never_asks",
            error_message=(
                f"model {self.spec.name} replays imported answers and never asks: import the missing answer with "
                "`metacog import`"
            ),
        )

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""
