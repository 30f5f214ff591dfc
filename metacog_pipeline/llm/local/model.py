"""A model in this process with the face of one behind HTTP: single calls in, batches through the device."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm.local.generation import answer_batch
from metacog_pipeline.llm.local.loading import Loaded, load
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, failed

GATHER_S = 0.005  # how long the first call of a batch waits for others; a forward pass takes longer


class LocalModel:
    """A `ChatModel` over a folder. Calls that wait together are answered together, ``spec.batch_size`` at a time.

    For one event loop; generation runs in a thread, so that answers are written to disk meanwhile. Raises
    ProviderError as `load` does.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self._loaded: Loaded = load(spec)
        self._waiting: list[tuple[ChatRequest, asyncio.Future[Completion]]] = []
        self._turn: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"LocalModel({self.spec.name!r})"

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``; a device that fails gives a ``failed`` completion."""
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))
        if self._turn is None or self._turn.done():
            self._turn = asyncio.ensure_future(self._work())
        return await answer

    async def close(self) -> None:
        """Wait for the batch under way."""
        if self._turn is not None and not self._turn.done():
            with contextlib.suppress(asyncio.CancelledError):
                await self._turn

    async def _work(self) -> None:
        await asyncio.sleep(GATHER_S)
        while self._waiting:
            # Alike in length together, so that short answers do not wait for long ones.
            self._waiting.sort(key=lambda each: each[0].sampling.max_tokens or 0)
            batch = self._waiting[: self.spec.batch_size]
            del self._waiting[: self.spec.batch_size]
            try:
                requests = [request for request, _ in batch]
                done = await asyncio.to_thread(answer_batch, self._loaded, requests)
            except Exception as error:  # out of memory, a broken device
                said = one_line(f"model {self.spec.name}: {type(error).__name__}: {error}")[:500]
                now = datetime.now(UTC)
                failure = failed(ErrorKind.TRANSIENT, "local_failure", said, cost_usd=0.0, started_at=now)
                done = [failure] * len(batch)
            for (_, answer), completion in zip(batch, done, strict=True):
                if not answer.done():
                    answer.set_result(completion)
            # Who was answered asks the next step before the next batch is formed.
            await asyncio.sleep(GATHER_S)
