"""How many calls to one account may be under way at once, found by trying.

The limit starts small and doubles after every clean round until the first refusal for rate; from then on it grows
by 5 % a round and falls to 80 % once per episode of refusals. A *round* is as many good answers as the limit allows
calls, counted only while at least 80 % of the limit is in use, because an idle limit proves nothing. An *episode* is
a first refusal, the refusals of every call sent before the limit fell, and all that follow within the cooldown.
Server errors say nothing about rate and never shrink the limit.

Waiting is a queue of futures: first come, first served, no polling, constant work per call.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque

INITIAL_LIMIT = 10  # within what a new account is allowed; six doublings reach 640
SLOW_START_FACTOR = 2
GROWTH_SHARE = 0.05  # five rounds win back one cut, so a limit near the ceiling is seldom refused
SHRINK_FACTOR = 0.8  # a refusal comes just above the allowed rate, so halving would waste most of it
GROWTH_UTILISATION = 0.8  # below this share in use, a clean round does not test the limit
COOLDOWN_S = 15.0  # refusals of calls that were sent before the cut arrive within it
# Refusals in a row, with no answer between, after which nothing is sent until the wait is over.
PAUSE_AFTER = 5


class CallResult(enum.Enum):
    """What a finished call says about rate."""

    CLEAN = "clean"  # answered
    LIMITED = "limited"  # refused for rate
    SILENT = "silent"  # anything else: server errors, dead connections, cancelled before sending


class Slot:
    """Leave to have one call under way. ``episode`` is the number of cuts made before it was given."""

    __slots__ = ("episode",)

    def __init__(self, episode: int) -> None:
        self.episode = episode


class Limiter:
    """The adaptive limit of one account. One event loop only."""

    def __init__(self, ceiling: int = 100, *, start: int = INITIAL_LIMIT) -> None:
        self.ceiling = max(1, ceiling)
        self.limit = max(1, min(start, self.ceiling))
        self.in_use = 0
        self.episodes = 0
        self._slow_start = True
        self._clean = 0
        self._cooldown_until = float("-inf")
        self._refused_in_row = 0
        self._paused_until = float("-inf")
        self._waiting: deque[asyncio.Future[Slot]] = deque()

    def raise_ceiling(self, ceiling: int) -> None:
        """Let the limit grow up to ``ceiling``, when another model of the account may use more."""
        self.ceiling = max(self.ceiling, ceiling)

    async def acquire(self) -> Slot:
        """Wait for a slot, in order of asking. Give it back with ``release``."""
        loop = asyncio.get_running_loop()
        if not self._waiting and self._free(loop):
            self.in_use += 1
            return Slot(self.episodes)
        future: asyncio.Future[Slot] = loop.create_future()
        self._waiting.append(future)
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled():  # given in the moment of being cancelled: pass it on
                self.in_use -= 1
            self._hand_out(loop)  # steps over the places of those who gave up
            raise

    def release(self, slot: Slot, outcome: CallResult, retry_after: float | None = None) -> None:
        """Give ``slot`` back and say how the call went; ``retry_after`` is the wait asked for, in seconds."""
        loop = asyncio.get_running_loop()
        if outcome is CallResult.CLEAN:
            self._note_clean(slot, loop.time())
        elif outcome is CallResult.LIMITED:
            self._note_limited(slot, loop, retry_after or 0.0)
        self.in_use -= 1
        self._hand_out(loop)

    def _note_clean(self, slot: Slot, now: float) -> None:
        self._refused_in_row = 0
        if slot.episode != self.episodes or now < self._cooldown_until:
            return
        if self.in_use < GROWTH_UTILISATION * self.limit:
            return
        self._clean += 1
        if self._clean < self.limit:
            return
        self._clean = 0
        gain = self.limit * (SLOW_START_FACTOR - 1) if self._slow_start else int(self.limit * GROWTH_SHARE)
        self.limit = min(self.ceiling, self.limit + max(1, gain))

    def _note_limited(self, slot: Slot, loop: asyncio.AbstractEventLoop, retry_after: float) -> None:
        now = loop.time()
        self._clean = 0
        self._slow_start = False
        if slot.episode == self.episodes and now >= self._cooldown_until:
            self.limit = max(1, int(self.limit * SHRINK_FACTOR))
            self.episodes += 1
            self._cooldown_until = now + max(COOLDOWN_S, retry_after)
        elif slot.episode < self.episodes:
            # Only calls sent before the cut may prolong the cooldown: were those sent within it to do so too,
            # a limit far above what the account allows would never be cut again.
            self._cooldown_until = max(self._cooldown_until, now + retry_after)
        self._refused_in_row += 1
        if self._refused_in_row >= PAUSE_AFTER and retry_after > 0:
            self._pause(loop, now + retry_after)

    def _pause(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        if until > self._paused_until:
            self._paused_until = until
            loop.call_at(until, self._hand_out, loop)

    def _free(self, loop: asyncio.AbstractEventLoop) -> bool:
        return self.in_use < self.limit and loop.time() >= self._paused_until

    def _hand_out(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._free(loop):
            future = self._waiting.popleft()
            if not future.done():
                self.in_use += 1
                future.set_result(Slot(self.episodes))
