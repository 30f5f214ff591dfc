"""Signals that end a run: at the first the calls in flight finish, because they are paid for; a second gives them up."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

# Variables that one process of a command sets for the next: how a run asks.
# set by a command that waits for this process and alone could stop it
WATCH_PARENT = "METACOG_WATCH_PARENT"
# set by `metacog run --reask unusable`
REASK, UNUSABLE = "METACOG_REASK", "unusable"
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# signals so close are one wish: a service manager signals each of its processes
ONE_PRESS_S = 1.0
PARENT_WATCHED_EVERY_S = 1.0
# set on the first signal, so that a caller with many partitions stops too
INTERRUPTED = threading.Event()


def heard() -> list[signal.Signals]:
    """Return the signals that end a run: not that of a closed terminal where the run ignores it (nohup)."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [each for each in ENDINGS if not (ignored and each is signal.SIGHUP)]


@contextlib.contextmanager
def stopping_gently(stop: Callable[[str], None]) -> Iterator[None]:
    """Call ``stop`` on the first signal, and where the command that started this process is gone."""
    events, stopped_at = asyncio.get_running_loop(), float("inf")

    def interrupt() -> None:
        nonlocal stopped_at
        stopped_at = min(stopped_at, time.monotonic())
        INTERRUPTED.set()
        stop("interrupted; calls in flight were finished and kept")

    def signalled(number: signal.Signals) -> None:
        if time.monotonic() - stopped_at > ONE_PRESS_S:
            events.remove_signal_handler(number)
            signal.raise_signal(number)
        interrupt()

    async def watch_parent() -> None:
        parent = os.getppid()
        while os.getppid() == parent:
            await asyncio.sleep(PARENT_WATCHED_EVERY_S)
        interrupt()

    watch = asyncio.ensure_future(watch_parent()) if os.environ.get(WATCH_PARENT) else None
    for number in heard():
        # only the main thread may set handlers
        with contextlib.suppress(RuntimeError, ValueError):
            events.add_signal_handler(number, signalled, number)
    try:
        yield
    finally:
        if watch is not None:
            watch.cancel()
        for number in heard():
            events.remove_signal_handler(number)
