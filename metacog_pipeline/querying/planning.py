"""What a partition would cost, before a cent is spent: the real protocols run against the store alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metacog_pipeline.llm.costs import estimate_tokens
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Constraint, Message, Status
from metacog_pipeline.querying.asking import Profile, sampling_for
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.querying.types import Answer, Task
from metacog_pipeline.transcripts.identity import answer_id
from metacog_pipeline.transcripts.store import kept_records

Stored = Mapping[str, tuple[str, str]]  # answer identity -> status, text


@dataclass(slots=True)
class Estimate:
    """Calls, tokens and dollars of one partition. Output tokens and dollars are upper bounds."""

    calls: int = 0
    answered: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def to_ask(self) -> int:
        """Calls that are not answered yet."""
        return self.calls - self.answered

    def add(self, other: Estimate) -> None:
        """Add another partition's figures."""
        self.calls += other.calls
        self.answered += other.answered
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out

    def dollars(self, spec: ModelSpec) -> float | None:
        """Return the most the calls still to make can cost; ``None`` when the model has no price."""
        if spec.free or self.to_ask == 0:
            return 0.0
        if spec.price_in is None or spec.price_out is None:
            return None
        return (self.tokens_in * spec.price_in + self.tokens_out * spec.price_out) / 1e6


class _NotAnswered(Exception):
    """The protocol has reached a step nobody has answered; later prompts cannot be worded yet."""


@dataclass(slots=True)
class DryAsker:
    """Answers from what is stored and counts the rest."""

    spec: ModelSpec
    run: int
    seed: int
    profile: Profile
    stored: Stored
    estimate: Estimate
    asked: int = 0
    identities: set[str] = field(default_factory=set)
    last_tokens: int = 0

    async def __call__(
        self,
        step: str,
        messages: Sequence[Message],
        *,
        constraint: Constraint | None = None,
        max_tokens: int | None = None,
        top_logprobs: int | None = None,
    ) -> Answer:
        """Return a stored answer, or count the call and stop the protocol."""
        sampling = sampling_for(self.spec, self.profile, self.seed, max_tokens, top_logprobs)
        request = ChatRequest(tuple(messages), sampling, constraint, step, self.run)
        self.asked += 1
        self.estimate.calls += 1
        identity = answer_id(self.spec, request)
        self.identities.add(identity)
        if (found := self.stored.get(identity)) is not None:
            self.estimate.answered += 1
            status, text = found
            return Answer(Status(status), text)
        self.last_tokens = sum(estimate_tokens(message.content) for message in messages)
        self._count(sampling.max_tokens or self.spec.max_tokens)
        raise _NotAnswered

    def count_rest(self, steps: int) -> None:
        """Count the steps that follow an unanswered one as if their prompts were as long."""
        for _ in range(self.asked, steps):
            self.estimate.calls += 1
            self._count(self.spec.max_tokens)

    def _count(self, tokens_out: int) -> None:
        self.estimate.tokens_in += self.last_tokens
        self.estimate.tokens_out += tokens_out


def estimate_partition(
    spec: ModelSpec,
    run: int,
    seed: int,
    profile: Profile,
    tasks: Sequence[Task],
    stored: Stored,
    steps: Callable[[str], Sequence[str]],
) -> Estimate:
    """Return what asking ``tasks`` would take, given what is ``stored`` by answer identity."""
    estimate = Estimate()
    expected = len(steps(profile.mode))
    for task in tasks:
        asker = DryAsker(spec, run, seed, profile, stored, estimate)
        try:
            _finish(task, asker, profile.mode)
        except _NotAnswered:
            asker.count_rest(expected)
    return estimate


def identities(partition: Partition, profile: Profile, tasks: Sequence[Task]) -> set[str]:
    """Return the identities of every call the tasks take now, as far as the stored answers let them be worded."""
    stored = stored_answers(partition.folder)
    found: set[str] = set()
    for task in tasks:
        asker = DryAsker(partition.spec, partition.run, partition.seed, profile, stored, Estimate())
        asker.identities = found
        with contextlib.suppress(_NotAnswered):
            _finish(task, asker, profile.mode)
    return found


def stored_answers(folder: Path) -> dict[str, tuple[str, str]]:
    """Return what was answered in a partition, read without opening it for writing."""
    answers: dict[str, tuple[str, str]] = {}
    for record in kept_records(folder):
        if record.status != Status.FAILED:
            answers.setdefault(record.answer_id, (record.status, record.text))
    return answers


def _finish(task: Task, asker: DryAsker, mode: str) -> None:
    """Drive a protocol to its end without an event loop: a dry asker never waits."""
    steps = task.run(asker, mode).__await__()
    try:
        while True:
            next(steps)
    except StopIteration:
        return
