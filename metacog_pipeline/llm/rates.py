"""Requests and tokens a minute, kept by spacing: each call moves the time of the next one by its share of the minute.

A model with such limits admits one call at a time, in order of asking: the call waits for its time, and only then for a
slot. So a slow model never sits on slots that another model of the same account could use, and shares never pile up into a
burst.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

MINUTE_S = 60.0

T = TypeVar("T")


class Rates:
    """The limits a minute of one model; either may be absent."""

    def __init__(
        self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._limited = requests_per_minute is not None or tokens_per_minute is not None
        self._per_request = 0.0 if requests_per_minute is None else MINUTE_S / requests_per_minute
        self._per_token = 0.0 if tokens_per_minute is None else MINUTE_S / tokens_per_minute
        self._requests_at = self._tokens_at = 0.0  # when the next call may start, on the event loop's clock
        self._turn = asyncio.Lock()

    async def admit(self, tokens: float, acquire: Callable[[], Awaitable[T]]) -> T:
        """Wait for the share of one call of about ``tokens`` tokens, then for ``acquire``; return what that gives."""
        if not self._limited:
            return await acquire()
        async with self._turn:
            now = asyncio.get_running_loop().time
            while (wait := max(self._requests_at, self._tokens_at) - now()) > 0:
                await asyncio.sleep(wait)
            given = await acquire()
            self._requests_at = now() + self._per_request
            self._tokens_at = now() + tokens * self._per_token
            return given

    def charge(self, reserved: float, used: float) -> None:
        """Replace the ``reserved`` tokens of an admitted call by those it ``used``."""
        self._tokens_at += (used - reserved) * self._per_token
