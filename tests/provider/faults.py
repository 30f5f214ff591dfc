"""What can go wrong on purpose, and how often."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


class Fault(enum.StrEnum):
    """What a call can be answered with; ``reject_*`` spares calls that it cannot strike."""

    RATE_LIMIT = "rate_limit"  # 429, Retry-After in seconds
    QUOTA = "quota"  # 429 that no retry helps
    UNAUTHORIZED = "unauthorized"
    SERVER_ERROR = "server_error"
    UNAVAILABLE = "unavailable"
    MODEL_NOT_FOUND = "model_not_found"
    PROVIDER_ERROR = "provider_error"  # 200 with an error inside, as proxies report a failure behind them
    REJECT_TEMPERATURE = "reject_temperature"  # 400 naming the parameter
    REJECT_RESPONSE_FORMAT = "reject_response_format"  # 400 naming the parameter, for a JSON schema
    SLOW = "slow"
    RESET = "reset"  # the connection is reset before any byte
    CUT = "cut"  # half of the announced body, then the connection closes
    INVALID_JSON = "invalid_json"  # 200 with a body that is not JSON
    EMPTY = "empty"  # 200, normal finish, no text
    WRONG_MODEL = "wrong_model"  # 200, reports another model id
    USAGE_ABOVE_LIMIT = "usage_above_limit"  # 200, billed far beyond the limit asked for


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """When the server misbehaves.

    ``script`` is what happens to the first calls, in order of arrival (``None``: a healthy answer). ``rates`` maps a fault
    to its share of all later calls; the draw depends on ``seed``, the body and how often that body was seen, so it is the
    same in whatever order concurrent calls arrive. ``always`` names ``reject_*`` faults that strike every call with the
    parameter. ``latency_s`` is what every answer takes, ``slow_s`` what ``slow`` takes longer.

    A stream comes in ``chunks`` parts, ``gap_s`` seconds apart. ``thinking_tokens`` are thought, and billed, before each
    answer.
    """

    seed: int = 0
    rates: Mapping[str, float] = field(default_factory=dict)
    latency_s: float = 0.0
    slow_s: float = 1.0
    retry_after_s: float = 1.0
    script: tuple[str | None, ...] = ()
    always: tuple[str, ...] = ()
    chunks: int = 8
    gap_s: float = 0.0
    thinking_tokens: int = 0

    def __post_init__(self) -> None:
        for name in (*self.rates, *self.always, *(n for n in self.script if n is not None)):
            Fault(name)

    def draw(self, digest: str, seen: int) -> Fault | None:
        drawn = hashlib.sha256(f"{self.seed}:{digest}:{seen}".encode()).digest()
        u = int.from_bytes(drawn[:8]) / 2**64
        for name in sorted(self.rates):
            u -= self.rates[name]
            if u < 0:
                return Fault(name)
        return None
