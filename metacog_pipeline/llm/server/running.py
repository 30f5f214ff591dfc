"""Ways to run the server: inside an event loop, blocking, in a thread, in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import TracebackType

from aiohttp import web

from metacog_pipeline.llm.server.app import Respond, SimulatedProvider
from metacog_pipeline.llm.server.faults import FaultPlan

LOOPBACK = "127.0.0.1"
STARTED = "listening on "  # what the blocking server prints before its address
print_at_once = functools.partial(print, flush=True)  # a reader behind a pipe waits for the address


@contextlib.asynccontextmanager
async def running(provider: SimulatedProvider, host: str = LOOPBACK, port: int = 0) -> AsyncIterator[str]:
    """Serve ``provider`` inside the current event loop and yield its root address, such as ``http://127.0.0.1:8123``.

    Port 0 takes a free one. Raises ``OSError`` when the address cannot be bound.
    """
    runner = web.AppRunner(provider.app(), access_log=None, shutdown_timeout=0.2, handle_signals=False)
    await runner.setup()
    try:
        # The backlog covers a load test that opens hundreds of connections in one burst.
        await web.TCPSite(runner, host, port, backlog=2048).start()
        chosen = runner.addresses[0][1]
        yield f"http://{host}:{chosen}"
    finally:
        await runner.cleanup()
        provider.close()


def serve(
    provider: SimulatedProvider,
    host: str = LOOPBACK,
    port: int = 0,
    announce: Callable[[str], None] = print_at_once,
) -> None:
    """Serve until interrupted (Ctrl-C or SIGTERM); ``announce`` gets ``listening on <address>`` once it is up.

    Raises ``OSError`` when the address cannot be bound.
    """

    async def until_stopped() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with running(provider, host, port) as url:
            announce(f"{STARTED}{url}")
            await stop.wait()

    asyncio.run(until_stopped())


class ServerThread:
    """The server in a thread with its own event loop, on a free loopback port.

    ``url`` is the root: the base URL of an OpenAI-compatible model is ``url + "/v1"``, that of the other two is
    ``url``. Use it as a context manager, or call ``stop``.
    """

    def __init__(
        self,
        respond: Respond,
        plan: FaultPlan | None = None,
        *,
        models: tuple[str, ...] = (),
        log: Path | None = None,
        port: int = 0,
        profile: str | None = None,
        key: str | None = None,
    ) -> None:
        self.provider = SimulatedProvider(respond, plan, models=models, log=log, profile=profile, key=key)
        self.url = ""
        self._failure: BaseException | None = None
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(
            target=self._run, args=(port,), name="simulated-provider", daemon=True
        )
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def _run(self, port: int) -> None:
        async def until_stopped() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            async with running(self.provider, port=port) as self.url:
                self._ready.set()
                await self._stop.wait()

        try:
            asyncio.run(until_stopped())
        except OSError as failure:
            self._failure = failure
        finally:
            self._ready.set()

    @property
    def stats(self) -> dict[str, object]:
        """The counters of ``SimulatedProvider.stats``."""
        return self.provider.stats()

    def stop(self) -> None:
        """Stop serving; calling it again does nothing."""
        if self._thread.is_alive() and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)

    def __enter__(self) -> ServerThread:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class ServerProcess:
    """The server in a process of its own, answering a constant text: for measuring a client's own CPU.

    ``options`` are those of ``python -m metacog_pipeline.llm.server``, for example ``["--latency", "0.2"]``.
    Raises ``RuntimeError`` when it does not start.
    """

    def __init__(self, options: Sequence[str] = ()) -> None:
        command = [sys.executable, "-m", "metacog_pipeline.llm.server", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line.startswith(STARTED):
            self.stop()
            raise RuntimeError(f"the server did not start: {line!r}")
        self.url = line.removeprefix(STARTED)

    def stop(self) -> None:
        """End the process; calling it again does nothing."""
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait(10)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
