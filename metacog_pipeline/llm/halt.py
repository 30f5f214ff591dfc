"""Giving up calls that have not left yet, when nothing more is to be sent.

A run that is interrupted, or whose provider refuses every call, has calls that wait: for their share of the minute,
for a slot of the account, for dollars that others have set aside, for the end of a pause. They have cost nothing and
may have to wait for minutes, so they are given up at once; calls on their way are finished, because they are paid for.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any


class NotSent(Exception):
    """The call was given up before it was sent. Engine-internal."""


class Halt:
    """A switch that, once thrown, lets no further call leave. One event loop only."""

    def __init__(self) -> None:
        self._thrown = False
        self._waiting: set[asyncio.Task[Any]] = set()
        self._parts: list[Halt] = []

    def part(self) -> Halt:
        """Return a switch that is thrown with this one and can be thrown alone, for one model of several."""
        part = Halt()
        part._thrown = self._thrown
        self._parts.append(part)
        return part

    def thrown(self) -> bool:
        """Return whether the switch has been thrown."""
        return self._thrown

    def throw(self) -> None:
        """Give up every call that waits to be sent, and every later one. Throwing twice is harmless."""
        if self._thrown:
            return
        self._thrown = True
        for part in self._parts:
            part.throw()
        for task in self._waiting:
            task.cancel()

    @contextlib.contextmanager
    def unsent(self) -> Iterator[Callable[[], None]]:
        """Mark what is awaited inside as waiting, until what is yielded is called: it raises `NotSent` at a throw."""
        if self.thrown():
            raise NotSent
        task = asyncio.current_task()
        assert task is not None, "calls are made in tasks"
        self._waiting.add(task)
        try:
            yield lambda: self._waiting.discard(task)
        except asyncio.CancelledError:
            if self.thrown() and task in self._waiting and task.uncancel() == 0:
                raise NotSent from None
            raise
        finally:
            self._waiting.discard(task)
