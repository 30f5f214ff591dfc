"""Ways to run the server: inside an event loop, or blocking."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
from collections.abc import AsyncIterator, Callable

from aiohttp import web

from tests.provider.app import SimulatedProvider

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
