"""Requests and tokens a minute, held by token buckets.

A model with such limits admits one call at a time, in order of asking: the call waits for its share, takes it, and
only then waits for a slot. So a slow model never sits on slots that another model of the same account could use, and
shares taken earlier never pile up into a burst.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

REQUEST_BURST_SHARE = 1 / 600  # of a minute's requests that may go at once: a tenth of a second's worth
TOKEN_BURST_SHARE = 1 / 60  # of a minute's tokens that may go at once: a second's worth
_MINUTE_S = 60.0

T = TypeVar("T")


class Bucket:
    """A bucket that fills steadily up to ``capacity`` at ``per_second`` and may be overdrawn by one taker."""

    def __init__(self, capacity: float, per_second: float) -> None:
        self.capacity = capacity
        self.per_second = per_second
        self._level = capacity
        self._at: float | None = None

    def wait_s(self, amount: float, now: float) -> float:
        """Return the seconds until ``amount`` may be taken; more than ``capacity`` needs only a full bucket."""
        self._fill(now)
        # The tolerance is that of binary fractions: without it a wait of 1e-17 s is slept for again and again.
        missing = min(amount, self.capacity) - self._level
        return missing / self.per_second if missing > 1e-9 * self.capacity else 0.0

    def take(self, amount: float) -> None:
        """Take ``amount``; the level may fall below zero, which later takers wait out."""
        self._level -= amount

    def give_back(self, amount: float) -> None:
        """Return what was taken too much; a negative amount takes more."""
        self._level = min(self.capacity, self._level + amount)

    def _fill(self, now: float) -> None:
        if self._at is not None:
            self._level = min(self.capacity, self._level + (now - self._at) * self.per_second)
        self._at = now


def request_bucket(per_minute: float) -> Bucket:
    """Return a bucket that lets at most ``per_minute`` requests start in any 60 s."""
    capacity = max(1.0, per_minute * REQUEST_BURST_SHARE)
    return Bucket(capacity, (per_minute - capacity + 1.0) / _MINUTE_S)


def token_bucket(per_minute: float) -> Bucket:
    """Return a bucket that lets at most ``per_minute`` tokens, and one call more, start in any 60 s."""
    capacity = per_minute * TOKEN_BURST_SHARE
    return Bucket(capacity, (per_minute - capacity) / _MINUTE_S)


class Rates:
    """The limits a minute of one model; either may be absent."""

    def __init__(
        self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._requests = None if requests_per_minute is None else request_bucket(requests_per_minute)
        self._tokens = None if tokens_per_minute is None else token_bucket(tokens_per_minute)
        self._turn = asyncio.Lock()

    async def admit(self, tokens: float, acquire: Callable[[], Awaitable[T]]) -> T:
        """Wait for the share of one call of about ``tokens`` tokens, then for ``acquire``; return what that gives."""
        if self._requests is None and self._tokens is None:
            return await acquire()
        async with self._turn:
            loop = asyncio.get_running_loop()
            while (wait := self._wait_s(tokens, loop.time())) > 0.0:
                await asyncio.sleep(wait)
            if self._requests is not None:
                self._requests.take(1.0)
            if self._tokens is not None:
                self._tokens.take(tokens)
            return await acquire()

    def charge(self, reserved: float, used: float) -> None:
        """Replace the ``reserved`` tokens of an admitted call by those it ``used``."""
        if self._tokens is not None:
            self._tokens.give_back(reserved - used)

    def _wait_s(self, tokens: float, now: float) -> float:
        requests = 0.0 if self._requests is None else self._requests.wait_s(1.0, now)
        return requests if self._tokens is None else max(requests, self._tokens.wait_s(tokens, now))
