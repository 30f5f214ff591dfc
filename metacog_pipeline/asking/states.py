"""States of a call, of a task and of a partition, and what a session counts while it goes through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from metacog_pipeline.llm import types
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.transcripts.schema import Source

# complete: every task is answered, and at least half of the answers give something to read. incomplete: calls failed,
# or too few answers can be used; the next session asks the rest. waiting: batches are pending. failed: stopped early.
# Any state may follow any but complete, which only a change of what is asked ends: the fingerprint no longer fits.
State = Literal["complete", "incomplete", "failed", "missing", "waiting"]
# model id reported by the local simulated provider
SIMULATED_PREFIX = "simulated/"
#: What to do, by HTTP status.
HINTS = {
    401: "check the key and the name in api_key_env",
    402: "check the account's credit",
    403: "check what the key may do",
    404: "check model and base_url",
    429: "wait, or set requests_per_minute to what the account allows",
}
UNAVAILABLE = (503, 529)
# some providers say so with another status
KEY_CODES = ("api_key_invalid", "invalid_api_key")


# Refused and truncated calls were billed: they are answers, kept for ever and never asked again. A failed
# call is kept as a failure, never scored, and asked again by the next session.
class StepFailed(Exception):
    """A step got no answer; later steps of the item cannot be worded. Engine-internal."""

    def __init__(self, completion: types.Completion) -> None:
        status, said = completion.http_status or 0, completion.error_message or ""
        hint = HINTS.get(401 if (completion.error_code or "").lower() in KEY_CODES else status)
        what_to_do = f"; {hint}" if hint else ""
        super().__init__(f"{said} (HTTP {status}{what_to_do})" if status >= 400 else said)
        self.completion = completion

    @property
    def fatal(self) -> bool:
        """Whether every further call to this model would fail the same way."""
        return self.completion.error_kind is types.ErrorKind.FATAL

    @property
    def provider_away(self) -> bool:
        """Whether no call got through for all the patience of one: no connection, or refused for rate or load."""
        failed = self.completion
        unsent = failed.error_kind is types.ErrorKind.RATE_LIMIT or failed.error_code == types.NO_CONNECTION
        return unsent or failed.http_status in UNAVAILABLE


@dataclass(frozen=True, slots=True)
class Profile:
    """How a model is asked in one partition: the answer mode, and parameters it was found to refuse."""

    mode: str
    dropped: frozenset[str] = frozenset()


@dataclass(slots=True)
class Tally:
    """Running totals of one partition's session. ``current``: identities of the answers that its tasks take now."""

    calls: int = 0
    reused: int = 0
    cost_usd: float = 0.0
    simulated: bool = False
    current: set[str] = field(default_factory=set)

    def count(self, completion: types.Completion) -> None:
        """Add one finished call."""
        self.simulated |= (completion.model_reported or "").startswith(SIMULATED_PREFIX)
        self.calls += 1
        self.cost_usd += completion.cost_usd or 0.0

    def add(self, other: Tally) -> None:
        """Add what another session counted."""
        self.calls += other.calls
        self.reused += other.reused
        self.cost_usd += other.cost_usd
        self.simulated |= other.simulated
        self.current |= other.current


#: Called after every task with those that are done, all of them, and the dollars of this session.
OnProgress = Callable[[int, int, float], None] | None


@dataclass(slots=True)
class SessionResult:
    """How far a session on a partition is, and in the end how it went."""

    tasks: int
    answered: int
    failed: int
    profile: Profile | None
    tally: Tally
    # Why it ended early, and what a command that did nothing else ends with then.
    stopped: str | None = None
    exit_code: int = 0
    # Answered tasks that give nothing to read, and whether they are too many.
    unusable: int = 0
    too_few_usable: str | None = None
    waiting: int = 0
    # The provider's message.
    last_failure: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every task has its answers, and enough of them can be used."""
        return self.missing is None

    @property
    def missing(self) -> str | None:
        """Which answers are missing, in one line; None when complete."""
        if self.answered < self.tasks:
            why = f"; the last failure: {self.last_failure}" if self.last_failure else ""
            return f"{self.tasks - self.answered} of {self.tasks} items have no answer yet{why}"
        return self.too_few_usable

    @property
    def state(self) -> tuple[State, str | None]:
        """The state it leaves its partition in, and the line that says why that is not complete."""
        if self.stopped:
            return "failed", self.stopped
        if self.waiting:
            return "waiting", f"{self.waiting} batches are under way; run again when they have ended"
        return ("complete", None) if self.complete else ("incomplete", self.missing)


def source_of(spec: ModelSpec, model_reported: str | None = None) -> Source:
    """Return how answers of ``spec`` are labelled; simulated ones never pass as measured."""
    if spec.provider == "simulated" or (model_reported or "").startswith(SIMULATED_PREFIX):
        return "simulated"
    return "imported" if spec.provider == "replay" else "measured"
