"""The simulated provider in a thread, or in a process of its own that always gives the same answer: run this file."""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from tests.provider import FaultPlan, Respond, SimulatedProvider
from tests.provider.engine import STARTED


class _Server(ABC):
    """A running server: use it as a context manager, or call ``stop``, again if you like.

    ``url`` is the root: the base URL of an OpenAI-compatible model is ``url + "/v1"``, that of the other two is ``url``.
    """

    url = ""

    @abstractmethod
    def stop(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


class ServerThread(_Server):
    """The server in a thread with its own event loop, on a free port; ``provider`` is its description."""

    def __init__(self, respond: Respond, plan: FaultPlan | None = None, **provider: Any) -> None:
        self.provider = SimulatedProvider(respond, plan, **provider)
        self._failure: BaseException | None = None
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="simulated-provider", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        async def until_stopped() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            async with self.provider.running() as self.url:
                self._ready.set()
                await self._stop.wait()

        try:
            asyncio.run(until_stopped())
        except OSError as failure:
            self._failure = failure
        finally:
            self._ready.set()

    @property
    def stats(self) -> dict[str, int]:
        """The counters of ``SimulatedProvider.stats``."""
        return self.provider.stats()

    def stop(self) -> None:
        if self._thread.is_alive() and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)


class ServerProcess(_Server):
    """The server in a process of its own, answering a constant text: for measuring a client's own CPU.

    ``options`` are those of this file, for example ``["--latency", "0.2"]``.
    Raises ``RuntimeError`` when it does not start.
    """

    def __init__(self, options: Sequence[str] = ()) -> None:
        command = [sys.executable, __file__, *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline().strip()
        if not line.startswith(STARTED):
            self.stop()
            raise RuntimeError(f"the server did not start: {line!r}")
        self.url = line.removeprefix(STARTED)

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait(10)
        if self._process.stdout is not None:
            self._process.stdout.close()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A local provider that always gives the same answer.")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds per answer")
    parser.add_argument("--text", default='{"answer": "A", "confidence": 3}', help="the answer")
    parser.add_argument("--chunks", type=int, default=8, help="parts of a streamed answer")
    parser.add_argument("--gap", type=float, default=0.0, help="seconds between two parts")
    options = parser.parse_args()
    plan = FaultPlan(latency_s=options.latency, chunks=options.chunks, gap_s=options.gap)
    SimulatedProvider(lambda model, request: str(options.text), plan).serve()


if __name__ == "__main__":
    main()
