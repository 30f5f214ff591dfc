"""How long a call may keep silent: four timeouts, each with a key of the model's row.

::

    connect      CONNECT_TIMEOUT_S         a server that takes longer is not there
    first byte   first_byte_timeout_s      from sending until an answer begins; grows with the effort asked for
    gap          gap_timeout_s             between two pieces of it; keep-alive comments count as pieces
    total        total_timeout_s           for all of it, so that a stream that never ends does end

A model that thinks may begin its stream and then think in silence: until the first word of the answer a gap may be as
long as the first byte may take, unless ``gap_timeout_s`` is set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec

CONNECT_TIMEOUT_S = 10.0  # name, TCP and TLS
WRITE_TIMEOUT_S = 30.0
# How many times timeout_s the first byte may take. Providers think for minutes where much effort is asked for.
EFFORT_FACTORS: Mapping[str, float] = {
    **dict.fromkeys(("none", "minimal", "low"), 1.0),
    **{"medium": 3.0, "high": 5.0, "xhigh": 10.0, "max": 10.0},
}
DEFAULT_EFFORT = "medium"  # what providers take where none is asked for
STREAM_TOTAL_FACTOR = 4.0  # a whole stream may take so many times what its first byte may
FINISH_GRACE_S = 2.0  # what may follow the provider's word that the reply is whole
COUNT_GRACE_S = 10.0  # where the count of tokens has not come by then: without it the most is charged


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The timeouts of one call, in seconds. ``silence`` is the gap allowed until the answer's first word."""

    first_byte: float
    silence: float
    gap: float
    total: float


def timeouts_of(spec: ModelSpec, known: Capabilities = NOTHING_KNOWN, *, streamed: bool = False) -> Timeouts:
    """Return the timeouts of a call to ``spec``, as far as it says nothing itself from ``timeout_s`` and effort."""
    usual = 1.0 if spec.effort is None and known.reasons is False else EFFORT_FACTORS[DEFAULT_EFFORT]
    factor = EFFORT_FACTORS.get(spec.effort or "", usual)
    first = spec.first_byte_timeout_s or spec.timeout_s * factor
    gap = spec.gap_timeout_s or spec.timeout_s
    silence = spec.gap_timeout_s or max(first, gap)
    whole = first * STREAM_TOTAL_FACTOR if streamed else CONNECT_TIMEOUT_S + WRITE_TIMEOUT_S + first
    return Timeouts(first, silence, gap, spec.total_timeout_s or whole)


class Deadline:
    """The one timer of an attempt, moved on as the reply comes. Use as a context manager: it raises `TimeoutError`.

    ``begun`` tells whether the answer's first word has come.
    """

    def __init__(self, limits: Timeouts, begun: Callable[[], bool]) -> None:
        self._limits = limits
        self._begun = begun
        self._loop = asyncio.get_running_loop()
        self._timeout = asyncio.timeout(None)
        self._total_at = self._loop.time() + limits.total
        self._finished_at: float | None = None
        self._gap = limits.silence
        self._missed = (
            f"no first byte within {limits.first_byte:g} s: raise first_byte_timeout_s or timeout_s"
        )

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._move(self._limits.first_byte, self._missed)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._timeout.__aexit__(kind, error, trace)

    @property
    def expired(self) -> bool:
        """Whether this timer, and not one below it, ended the attempt."""
        return self._timeout.expired()

    def came(self) -> None:
        """Note a piece of the reply."""
        self._finished_at = None
        if self._gap > self._limits.gap and self._begun():
            self._gap = self._limits.gap
        self._move(self._gap, f"nothing more came for {self._gap:g} s: raise gap_timeout_s")

    def finished(self, *, counted: bool) -> None:
        """Note that the reply is whole but for what may follow, and whether its tokens have been ``counted``."""
        now = self._loop.time()
        if self._finished_at is None:
            self._finished_at = now
        grace = FINISH_GRACE_S if counted else COUNT_GRACE_S
        self._timeout.reschedule(min(self._total_at, self._finished_at + grace))

    def missed(self) -> str:
        """Return which timeout ran out, its value, and the key that raises it."""
        return self._missed

    def _move(self, seconds: float, missed: str) -> None:
        at = self._loop.time() + seconds
        if at >= self._total_at:
            at, missed = (
                self._total_at,
                f"the total of {self._limits.total:g} s is over: raise total_timeout_s",
            )
        self._missed = missed
        self._timeout.reschedule(at)
