"""When a failed attempt is tried again, and after how long, by its `ErrorKind`."""

from __future__ import annotations

import contextlib
import email.utils
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from metacog_pipeline.llm.types import ErrorKind

# waits are lengthened by up to a tenth, so that waiting calls do not return as one
RETRY_AFTER_SPREAD = 0.1


@dataclass(frozen=True)
class RetryPolicy:
    """The thresholds of retrying; times in seconds."""

    # waits of 15.5 s together on average, 31 s at most: a restart, not an outage
    transient_attempts: int = 6
    # sends that may have been billed and brought no answer, the first included
    billed_attempts: int = 2
    backoff_base_s: float = 1.0
    backoff_cap_s: float = 30.0
    # an account that refuses for a quarter of an hour is not available
    rate_limit_total_s: float = 900.0
    # who asks for hours is asked again all the same, then given up
    retry_after_cap_s: float = 300.0


# A refusal for rate is waited out for a bounded time, a transient failure tried a bounded number of times.
# Unsupported and fatal ones never: the same call would fail the same way. An answer is paid for twice at most.
class Retries:
    """What has gone wrong with one call so far, and what to do next."""

    def __init__(self, policy: RetryPolicy, rng: random.Random) -> None:
        self._policy = policy
        self._rng = rng
        self._transient = self._billed = self._limited = 0
        self._since: float | None = None  # the first failure

    def pause(
        self, kind: ErrorKind | None, retry_after: float | None, now: float, *, billed: bool = False
    ) -> float | None:
        """Return the seconds to wait before the next attempt, or ``None`` to give up; ``now`` is a monotonic clock."""
        self._billed += billed
        if billed and self._billed >= self._policy.billed_attempts:
            return None
        self._since = now if self._since is None else self._since
        asked = None if retry_after is None else min(retry_after, self._policy.retry_after_cap_s)
        if asked is not None:
            asked *= 1.0 + self._rng.uniform(0.0, RETRY_AFTER_SPREAD)
        if kind is ErrorKind.RATE_LIMIT:
            self._limited += 1
            # Asked to wait no time, or until a moment that has passed, and refused again: back off all the same.
            wait = max(asked or 0.0, self._backoff(self._limited - (asked is not None)))
        elif kind is ErrorKind.TRANSIENT and self._transient + 1 < self._policy.transient_attempts:
            self._transient += 1
            wait = max(asked or 0.0, self._backoff(self._transient))
            if asked is None:
                return wait
        else:
            return None
        # All the time that a provider may ask for is bounded.
        return wait if now + wait - self._since < self._policy.rate_limit_total_s else None

    def _backoff(self, failures: int) -> float:
        if failures < 1:
            return 0.0
        top = min(self._policy.backoff_cap_s, self._policy.backoff_base_s * 2.0 ** min(failures - 1, 30))
        return self._rng.uniform(0.0, top)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds asked for in ``retry-after-ms`` or ``Retry-After``, also as a date; ``None`` where none are."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with contextlib.suppress(ValueError):
            if math.isfinite(asked := float(headers.get(name, "")) / unit):
                return max(0.0, asked)
    with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
        when = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, ((when if when.tzinfo else when.replace(tzinfo=UTC)) - now).total_seconds())
    return None
