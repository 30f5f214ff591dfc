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
import enum
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
    "none": 1.0,
    "minimal": 1.0,
    "low": 1.0,
    "medium": 3.0,
    "high": 5.0,
    "xhigh": 10.0,
    "max": 10.0,
}
DEFAULT_EFFORT = "medium"  # what providers take where none is asked for
STREAM_TOTAL_FACTOR = 4.0  # a whole stream may take so many times what its first byte may
FINISH_GRACE_S = 2.0  # what may follow the provider's word that the reply is whole
COUNT_GRACE_S = 10.0  # where the count of tokens has not come by then: without it the most is charged


class Phase(enum.Enum):
    """Which timeout is running."""

    FIRST_BYTE = "first byte"
    GAP = "gap"
    TOTAL = "total"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The timeouts of one call, in seconds. ``silence`` is the gap allowed until the answer's first word."""

    first_byte: float
    silence: float
    gap: float
    total: float


def timeouts_of(spec: ModelSpec, known: Capabilities = NOTHING_KNOWN, *, streamed: bool = False) -> Timeouts:
    """Return the timeouts of a call to ``spec``, as far as it says nothing itself from ``timeout_s`` and effort."""
    if spec.effort is None and known.reasons is False:
        factor = 1.0
    else:
        factor = EFFORT_FACTORS.get(spec.effort or DEFAULT_EFFORT, EFFORT_FACTORS[DEFAULT_EFFORT])
    first = spec.first_byte_timeout_s or spec.timeout_s * factor
    gap = spec.gap_timeout_s or spec.timeout_s
    silence = spec.gap_timeout_s or max(first, gap)
    whole = first * STREAM_TOTAL_FACTOR if streamed else CONNECT_TIMEOUT_S + WRITE_TIMEOUT_S + first
    return Timeouts(first, silence, gap, spec.total_timeout_s or whole)


class Deadline:
    """The one timer of an attempt, moved on as the reply comes. Use as a context manager: it raises `TimeoutError`.

    Moving it on only notes the new time: the timer looks at it when the old one is reached, so that a stream of many
    pieces does not set as many timers. ``begun`` tells then whether the answer's first word has come.
    """

    __slots__ = ("_at", "_begun", "_gap", "_limits", "_loop", "_timeout", "_timer", "_total_at", "phase")

    def __init__(self, limits: Timeouts, begun: Callable[[], bool]) -> None:
        self._limits = limits
        self._begun = begun
        self._loop = asyncio.get_running_loop()
        self._timeout = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None
        self._gap = limits.gap
        self._total_at = self._loop.time() + limits.total
        self._at = self._total_at
        self.phase = Phase.FIRST_BYTE

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._move(self._limits.first_byte, Phase.FIRST_BYTE)
        self._timer = self._loop.call_at(self._at, self._look)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    @property
    def expired(self) -> bool:
        """Whether this timer, and not one below it, ended the attempt."""
        return self._timeout.expired()

    def came(self) -> None:
        """Note a piece of the reply."""
        self._gap = self._limits.gap
        self._move(self._gap, Phase.GAP)
        if self._timer is not None and self._at < self._timer.when():
            self._rearm()

    def finished(self, *, counted: bool) -> None:
        """Note that the reply is whole but for what may follow, and whether its tokens have been ``counted``."""
        grace = FINISH_GRACE_S if counted else COUNT_GRACE_S
        if self.phase is not Phase.FINISHED or self._at > self._loop.time() + grace:
            self._total_at = min(self._total_at, self._loop.time() + grace)
            self._at, self.phase = self._total_at, Phase.FINISHED
            self._rearm()

    def missed(self) -> str:
        """Return which timeout ran out, its value, and the key that raises it."""
        limits = self._limits
        match self.phase:
            case Phase.FIRST_BYTE:
                return (
                    f"no first byte within {limits.first_byte:g} s: raise first_byte_timeout_s or timeout_s"
                )
            case Phase.GAP:
                return f"nothing more came for {self._gap:g} s: raise gap_timeout_s"
            case _:
                return f"the total of {limits.total:g} s is over: raise total_timeout_s"

    def _move(self, seconds: float, phase: Phase) -> None:
        at = self._loop.time() + seconds
        if at >= self._total_at:
            at, phase = self._total_at, Phase.TOTAL
        self._at, self.phase = at, phase

    def _rearm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._at, self._look)

    def _look(self) -> None:
        now = self._loop.time()
        silence = self._limits.silence
        if now >= self._at and self.phase is Phase.GAP and self._gap < silence and not self._begun():
            self._move(silence - self._gap, Phase.GAP)
            self._gap = silence
        if now < self._at:
            self._timer = self._loop.call_at(self._at, self._look)
        else:
            self._timeout.reschedule(self._at)
