"""What can go wrong on purpose, and how often."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


class Fault(enum.StrEnum):
    """A fault the local server can answer with.

    The ``reject_*`` faults only strike requests that carry the parameter, those in ``OF_STREAMS`` only requests for a
    stream; all others strike any request. ``slow`` delays the first byte and then answers; ``wrong_model`` and ``empty``
    answer with status 200.
    """

    RATE_LIMIT = "rate_limit"  # 429, Retry-After in seconds
    QUOTA = "quota"  # 429 with the code insufficient_quota: no retry helps
    UNAUTHORIZED = "unauthorized"  # 401
    SERVER_ERROR = "server_error"  # 500
    UNAVAILABLE = "unavailable"  # 503
    OVERLOADED = "overloaded"  # 529
    SLOW = "slow"
    RESET = "reset"  # the connection is reset before any byte
    CUT = "cut"  # half of the announced body, then the connection closes
    INVALID_JSON = "invalid_json"  # 200 with a body that is not JSON
    EMPTY = "empty"  # 200, normal finish, no text
    CONTENT_FILTER = "content_filter"  # 200, stopped by the provider's filter
    WRONG_MODEL = "wrong_model"  # 200, reports another model id
    MODEL_NOT_FOUND = "model_not_found"  # 404
    REJECT_TEMPERATURE = "reject_temperature"  # 400 naming the parameter
    REJECT_LOGIT_BIAS = "reject_logit_bias"  # 400 naming the parameter
    REJECT_RESPONSE_FORMAT = "reject_response_format"  # 400 naming the parameter, for a JSON schema
    REJECT_CHOICE = "reject_choice"  # 400 naming the parameter, for a guided choice
    PROVIDER_ERROR = "provider_error"  # 200 with an error inside, as proxies report a failure behind them
    CUT_CHARACTER = "cut_character"  # the connection closes inside a character of several bytes
    HUGE_THINKING = "huge_thinking"  # 10 MB of thinking before the answer
    NO_USAGE = "no_usage"  # 200 without a word on what is billed
    NEGATIVE_USAGE = "negative_usage"  # 200 with every count of tokens below zero
    USAGE_ABOVE_LIMIT = "usage_above_limit"  # 200, billed far beyond the limit asked for
    ENDLESS = "endless"  # a stream that never ends
    STALL = "stall"  # a stream that pauses half-way, then goes on
    ENDS_EARLY = "ends_early"  # a stream that ends politely half-way, never saying how the answer ended
    STREAM_ERROR = "stream_error"  # a stream with an error half-way
    TORN = "torn"  # a healthy stream whose bytes arrive a few at a time


OF_STREAMS = frozenset({Fault.ENDLESS, Fault.STALL, Fault.ENDS_EARLY, Fault.STREAM_ERROR, Fault.TORN})


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """When the server misbehaves.

    ``script`` names what happens to the first calls, in order of arrival (``None`` is a healthy answer).
    ``rates`` maps a fault to its share of all later calls, 0 to 1, together at most 1. The draw depends on ``seed``,
    the body and how often that body was seen, so it is the same whatever order concurrent calls arrive in.
    ``always`` names ``reject_*`` faults that strike every call carrying the parameter, before anything is drawn.
    ``latency_s`` is the seconds every answer takes, ``slow_s`` the further seconds of ``slow`` and ``stall``,
    ``retry_after_s`` what ``Retry-After`` says. Calls beyond ``max_in_flight`` at once or ``requests_per_minute`` get
    a 429.

    A stream comes in ``chunks`` parts, ``gap_s`` seconds apart; with ``keep_alive_s`` it begins at once and a comment
    comes every so many seconds until the first part. ``thinking_tokens`` are thought, and billed, before each answer.

    Raises ``ValueError`` for an unknown fault, a share outside 0 to 1, shares above 1 in total, negative
    seconds, a limit of 0 or less.
    """

    seed: int = 0
    rates: Mapping[str, float] = field(default_factory=dict)
    latency_s: float = 0.0
    slow_s: float = 1.0
    retry_after_s: float = 1.0
    max_in_flight: int | None = None
    requests_per_minute: float | None = None
    script: tuple[str | None, ...] = ()
    always: tuple[str, ...] = ()
    chunks: int = 8
    gap_s: float = 0.0
    keep_alive_s: float | None = None
    thinking_tokens: int = 0

    def __post_init__(self) -> None:
        for name in (*self.rates, *self.always, *(n for n in self.script if n is not None)):
            Fault(name)
        if any(not 0 <= share <= 1 for share in self.rates.values()) or sum(self.rates.values()) > 1 + 1e-9:
            raise ValueError(f"fault rates {dict(self.rates)}: each must be 0 to 1 and together at most 1")
        seconds = (self.latency_s, self.slow_s, self.retry_after_s, self.gap_s)
        if not all(0 <= value < float("inf") for value in seconds):
            raise ValueError("latency_s, slow_s, retry_after_s and gap_s are seconds: 0 or more")
        if self.keep_alive_s is not None and not 0.001 <= self.keep_alive_s < float("inf"):
            raise ValueError("keep_alive_s is seconds, at least 0.001, or None for no comments")
        if not (1 <= self.chunks <= 100_000 and 0 <= self.thinking_tokens <= 10**7):
            raise ValueError("chunks is 1 to 100,000 and thinking_tokens 0 to 10,000,000")
        if any(
            limit is not None and not limit > 0 for limit in (self.max_in_flight, self.requests_per_minute)
        ):
            raise ValueError("max_in_flight and requests_per_minute are above 0, or None for no limit")

    def draw(self, digest: str, seen: int) -> Fault | None:
        if not self.rates:
            return None
        drawn = hashlib.sha256(f"{self.seed}:{digest}:{seen}".encode()).digest()
        u = int.from_bytes(drawn[:8]) / 2**64
        for name in sorted(self.rates):
            u -= self.rates[name]
            if u < 0:
                return Fault(name)
        return None
