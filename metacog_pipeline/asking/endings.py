"""Signals that end a run: at the first the calls in flight finish, because they are paid for; a second gives them up."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Protocol

from metacog_pipeline.asking.variables import WATCH_PARENT

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ONE_PRESS_S = 1.0  # signals so close are one wish: a service manager signals each of its processes
PARENT_WATCHED_EVERY_S = 1.0
INTERRUPTED = threading.Event()  # set on the first signal, so that a caller with many partitions stops too


class Stoppable(Protocol):
    """What takes no new work after `stop`."""

    interrupted: bool
    stopped_at: float

    def stop(self, reason: str) -> None:
        """Take no new work."""


def heard() -> list[signal.Signals]:
    """Return the signals that end a run: not that of a closed terminal where the run ignores it (nohup)."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [each for each in ENDINGS if not (ignored and each is signal.SIGHUP)]


@contextlib.contextmanager
def stopping_gently(loop: Stoppable) -> Iterator[None]:
    """On the first signal take no new task and let calls in flight finish.

    So it goes, too, when the command that started this process is gone: nobody could stop it any more.
    """
    events = asyncio.get_running_loop()
    watch = asyncio.ensure_future(parent_gone()) if os.environ.get(WATCH_PARENT) else None
    if watch is not None:
        watch.add_done_callback(lambda done: None if done.cancelled() else _stop(loop))
    handled: list[signal.Signals] = []
    for number in heard():
        with contextlib.suppress(RuntimeError, ValueError):  # only the main thread may set handlers
            events.add_signal_handler(number, interrupt, loop, number)
            handled.append(number)
    try:
        yield
    finally:
        if watch is not None:
            watch.cancel()
        for number in handled:
            events.remove_signal_handler(number)


async def parent_gone() -> None:
    """Return once the process that started this one has ended."""
    parent = os.getppid()
    while os.getppid() == parent:
        await asyncio.sleep(PARENT_WATCHED_EVERY_S)


def interrupt(loop: Stoppable, number: signal.Signals) -> None:
    """Stop ``loop``; at a second wish raise the signal again, now without a handler."""
    if loop.interrupted and time.monotonic() - loop.stopped_at > ONE_PRESS_S:
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.raise_signal(number)
    _stop(loop)


def _stop(loop: Stoppable) -> None:
    if not loop.interrupted:
        loop.interrupted, loop.stopped_at = True, time.monotonic()
    INTERRUPTED.set()
    loop.stop("interrupted; calls in flight were finished and kept")
