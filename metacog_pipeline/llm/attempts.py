"""What the attempts of one call add up to, and what of them becomes its completion."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime

from metacog_pipeline.llm.types import Completion, Status

# Statuses of gateways that gave up on a model which may have answered, and billed, behind them.
MAYBE_BILLED_STATUSES = frozenset({408, 499, 502, 504, 520, 524})


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one attempt ended.

    ``cost`` in dollars, ``billed`` whether it was or may have been billed, ``retry_after`` the wait the provider asked
    for in seconds, ``first_byte_at`` when the answer began, on the event loop's clock.
    """

    completion: Completion
    cost: float | None
    billed: bool
    retry_after: float | None = None
    first_byte_at: float | None = None


def may_be_billed(status: int) -> bool:
    """Return whether an attempt that was answered with this HTTP status was or may have been billed."""
    return 200 <= status < 300 or status in MAYBE_BILLED_STATUSES


class Tally:
    """The attempts of one call."""

    __slots__ = ("_sent", "attempts", "billed", "cost", "last", "latency_first_s", "started", "started_at")

    def __init__(self) -> None:
        self.attempts = 0
        self.billed = 0
        self.cost: float | None = 0.0
        self.last: Completion | None = None
        self.latency_first_s: float | None = None
        self.started: float | None = None
        self.started_at: datetime | None = None
        self._sent = 0.0

    def send(self, now: float, wall: datetime) -> None:
        """Note that an attempt leaves."""
        self.attempts += 1
        self._sent = now
        if self.started is None:
            self.started, self.started_at = now, wall

    def add(self, attempt: Attempt) -> None:
        """Note how the attempt that left last has ended."""
        self.cost = None if attempt.cost is None or self.cost is None else self.cost + attempt.cost
        self.billed += attempt.billed
        came, before = attempt.completion, self.last
        if before is not None and came.status is Status.FAILED:
            if before.status is not Status.FAILED:
                return  # an empty answer is still the provider's answer; the second try brought none
            if before.text and not came.text:
                came = dataclasses.replace(came, text=before.text, reasoning_text=before.reasoning_text)
        self.last = came
        self.latency_first_s = None if attempt.first_byte_at is None else attempt.first_byte_at - self._sent

    def close(self, now: float) -> Completion:
        """Return the completion of the call."""
        assert self.last is not None, "a call that ends has had an attempt"
        return dataclasses.replace(
            self.last,
            cost_usd=self.cost,
            attempts=self.attempts,
            attempts_billed=self.billed,
            started_at=self.started_at,
            latency_s=0.0 if self.started is None else now - self.started,
            latency_first_s=self.latency_first_s,
        )
