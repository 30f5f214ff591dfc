"""Which calls may leave now: so many at once, so many a minute, in order of asking; none once a run is halted."""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

# within what a new account is allowed; six doublings reach 640
INITIAL_LIMIT = 10
SLOW_START_FACTOR = 2
# five rounds win back one cut, so a limit near the ceiling is seldom refused
GROWTH_SHARE = 0.05
# a refusal comes just above the allowed rate, so halving would waste most of it
SHRINK_FACTOR = 0.8
# below this share in use, a clean round does not test the limit
GROWTH_UTILISATION = 0.8
# refusals of calls that were sent before the cut arrive within it
COOLDOWN_S = 15.0
# refusals in a row, no answer between, after which nothing is sent until the wait is over
PAUSE_AFTER = 5
MINUTE_S = 60.0

T = TypeVar("T")


class CallResult(enum.Enum):
    """What a finished call says about rate."""

    CLEAN = "clean"  # answered
    LIMITED = "limited"  # refused for rate
    # anything else: server errors, dead connections, cancelled before sending
    SILENT = "silent"


# Finds by trying how many calls an account takes: doubles after every clean round until the first refusal
# for rate, then grows slowly and falls once per episode of refusals. A round is as many good answers as the
# limit allows calls, counted only while most of the limit is in use, because an idle limit proves nothing.
# Server errors say nothing about rate and never shrink the limit.
class Limiter:
    """The adaptive limit of one account. One event loop only."""

    def __init__(self, ceiling: int = 100, *, start: int = INITIAL_LIMIT) -> None:
        # may be raised, when another model of the account may use more
        self.ceiling = max(1, ceiling)
        self.limit = max(1, min(start, self.ceiling))
        self.in_use = 0
        self.episodes = 0
        self._slow_start = True
        self._clean = 0
        self._refused_in_row = 0
        self._cooldown_until = self._paused_until = float("-inf")
        self._turn = asyncio.Lock()
        self._released = asyncio.Event()

    async def acquire(self) -> int:
        """Wait for leave to have one call under way, in order of asking; `release` takes what is returned."""
        async with self._turn:
            now = asyncio.get_running_loop().time
            while (paused := self._paused_until > now()) or self.in_use >= self.limit:
                self._released.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(self._paused_until if paused else None):
                        await self._released.wait()
            self.in_use += 1
            return self.episodes

    def release(self, episode: int, outcome: CallResult, retry_after: float | None = None) -> None:
        """Note how a call went; ``retry_after`` is the wait asked for, in seconds."""
        now = asyncio.get_running_loop().time()
        if outcome is CallResult.CLEAN:
            self._note_clean(episode, now)
        elif outcome is CallResult.LIMITED:
            self._note_limited(episode, now, retry_after or 0.0)
        self.in_use -= 1
        self._released.set()

    def _note_clean(self, episode: int, now: float) -> None:
        self._refused_in_row = 0
        if episode != self.episodes or now < self._cooldown_until:
            return
        if self.in_use < GROWTH_UTILISATION * self.limit:
            return
        self._clean += 1
        if self._clean < self.limit:
            return
        self._clean = 0
        gain = self.limit * (SLOW_START_FACTOR - 1) if self._slow_start else int(self.limit * GROWTH_SHARE)
        self.limit = min(self.ceiling, self.limit + max(1, gain))

    def _note_limited(self, episode: int, now: float, retry_after: float) -> None:
        self._clean = 0
        self._slow_start = False
        if episode == self.episodes and now >= self._cooldown_until:
            self.limit = max(1, int(self.limit * SHRINK_FACTOR))
            self.episodes += 1
            self._cooldown_until = now + max(COOLDOWN_S, retry_after)
        elif episode < self.episodes:
            # Only calls sent before the cut may prolong the cooldown: were those sent within it to do so too,
            # a limit far above what the account allows would never be cut again.
            self._cooldown_until = max(self._cooldown_until, now + retry_after)
        self._refused_in_row += 1
        if self._refused_in_row >= PAUSE_AFTER:
            self._paused_until = max(self._paused_until, now + retry_after)


class Rate:
    """The requests a minute of one model, kept by spacing its calls; None: as many as the account takes."""

    def __init__(self, per_minute: float | None = None) -> None:
        self._spacing = 0.0 if per_minute is None else MINUTE_S / per_minute
        self._next_at = 0.0  # on the event loop's clock
        self._turn = asyncio.Lock()

    async def admit(self, acquire: Callable[[], Awaitable[T]]) -> T:
        """Wait for the time of one call, then for ``acquire``; return what that gives."""
        if not self._spacing:
            return await acquire()
        async with self._turn:
            now = asyncio.get_running_loop().time
            while (wait := self._next_at - now()) > 0:
                await asyncio.sleep(wait)
            # The slot of the account comes after the wait: so a slow model never sits on slots that another
            # could use, and shares of the minute never pile up into a burst.
            given = await acquire()
            self._next_at = now() + self._spacing
            return given


class NotSent(Exception):
    """The call was given up before it was sent. Engine-internal."""


class Halt:
    """A switch that, once thrown, lets no further call leave. One event loop only."""

    def __init__(self) -> None:
        self.thrown = asyncio.Event()
        self._waiting: set[asyncio.Task[Any]] = set()
        self._parts: list[Halt] = []

    def part(self) -> Halt:
        """Return a switch that is thrown with this one and can be thrown alone, for one model of several."""
        part = Halt()
        self._parts.append(part)
        if self.thrown.is_set():
            part.throw()
        return part

    def throw(self) -> None:
        """Give up every call that waits to be sent, and every later one."""
        if self.thrown.is_set():
            return
        self.thrown.set()
        for part in self._parts:
            part.throw()
        # Calls that wait have cost nothing and may have to wait for minutes, so they are given up at once;
        # calls on their way are finished, because they are paid for.
        for task in self._waiting:
            task.cancel()

    @contextlib.contextmanager
    def unsent(self) -> Iterator[Callable[[], None]]:
        """Mark what is awaited inside as waiting, until what is yielded is called: it raises `NotSent` at a throw."""
        if self.thrown.is_set():
            raise NotSent
        task = asyncio.current_task()
        assert task is not None, "calls are made in tasks"
        self._waiting.add(task)
        try:
            yield lambda: self._waiting.discard(task)
        except asyncio.CancelledError:
            if self.thrown.is_set() and task in self._waiting and task.uncancel() == 0:
                raise NotSent from None
            raise
        finally:
            self._waiting.discard(task)
