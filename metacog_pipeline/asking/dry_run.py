"""Dry run: a task driven through the kept answers alone. No model is asked; missing answers are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self, Unpack

import polars as pl

from metacog_pipeline.asking.states import Profile
from metacog_pipeline.asking.step import identified
from metacog_pipeline.asking.types import Answer, CallOptions, Task
from metacog_pipeline.llm.costs import BYTES_PER_TOKEN, estimate_tokens
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Message, Status
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import answers_table, standing_answers

if TYPE_CHECKING:
    from metacog_pipeline.asking.session import Partition

# tokens of an answer not given yet, where a later prompt quotes it
LONGEST_QUOTED = 20_000


def in_no_batch(identity: str) -> bool:
    """No batch has any call."""
    return False


def stored_answers(folder: PartitionFolder) -> Mapping[str, Answer]:
    """Return what was answered in a partition, by answer identity, without opening it for writing."""
    return {each.answer_id: Answer(Status(each.status), each.text) for each in standing_answers(folder)}


@dataclass(slots=True)
class DryRun:
    """An `Ask` over kept answers: ``find`` gives one by its identity, ``under_way`` says whether a batch has the call."""

    spec: ModelSpec
    run: int
    seed: int
    # A call without an answer is given blanks as long as its answer may get, so that later
    # prompts that quote it are worded and counted.
    find: Callable[[str], Answer | None]
    under_way: Callable[[str], bool] = in_no_batch
    profile: Profile = field(default_factory=lambda: Profile("text"))
    # Calls, those answered, those in batches, and of all others the most tokens, thinking left out. A call
    # that several tasks make alike is counted once.
    counts: Counter[str] = field(default_factory=Counter)
    # of every call
    identities: set[str] = field(default_factory=set)
    # the task under way makes a call without a kept answer
    lacks: bool = False
    # or one that a batch has; the calls after it cannot be worded yet
    waits: bool = False

    @classmethod
    def of(
        cls, partition: Partition, spec: ModelSpec, under_way: Callable[[str], bool] = in_no_batch
    ) -> Self:
        """Return a dry run over the answers of ``spec``, its model or a judge of it, that a partition holds."""
        return cls(spec, partition.run, partition.seed, stored_answers(partition.folder).get, under_way)

    async def __call__(
        self, step: str, messages: Sequence[Message], **options: Unpack[CallOptions]
    ) -> Answer:
        """Return a kept answer, or count the call."""
        identity, request = identified(
            self.spec, self.profile, self.seed, self.run, step, messages, options, self._has
        )
        new, kept = identity not in self.identities, self.find(identity)
        self.identities.add(identity)
        self.counts["calls"] += new
        if kept is not None:
            self.counts["answered"] += new
            return kept
        tokens_out = request.sampling.max_tokens or self.spec.max_tokens
        if self.under_way(identity):
            self.waits = True
            self.counts["in_batches"] += new
        else:
            self.lacks |= not self.waits
            if new:
                tokens_in = sum(estimate_tokens(message.content) for message in messages)
                self.counts.update(tokens_in=tokens_in, tokens_out=tokens_out)
        return Answer(Status.OK, _blank(identity, min(tokens_out, LONGEST_QUOTED)))

    def through(self, tasks: Sequence[Task], profile: Profile, modes: Sequence[str] = ()) -> Self:
        """Make every call of ``tasks``, each under the profile it is asked under, and return itself."""
        for task in tasks:
            self.go_through(task, self.profile_for(task, profile, modes))
        return self

    def go_through(self, task: Task, profile: Profile) -> None:
        """Make every call of ``task``, without an event loop: nothing here is ever waited for."""
        self.profile, self.lacks, self.waits = profile, False, False
        steps = task.run(self, profile.mode).__await__()
        try:
            while True:
                next(steps)
        except StopIteration:
            return

    def profile_for(self, task: Task, profile: Profile, modes: Sequence[str]) -> Profile:
        """Return the profile ``task`` is asked under: ``profile``, unless it was answered in a better one of ``modes``."""
        # The provider took the better mode once and refuses it today: nothing answered is asked twice because of it.
        return self._holding(task, profile, modes) or profile if _better(profile, modes) else profile

    def answered_under(self, task: Task, profile: Profile, modes: Sequence[str]) -> Profile | None:
        """Return the profile under which every call of ``task`` is answered; None where one is not."""
        return replace(self, under_way=in_no_batch)._holding(task, profile, modes)

    def _holding(self, task: Task, profile: Profile, modes: Sequence[str]) -> Profile | None:
        for each in (profile, *_better(profile, modes)):
            trial = DryRun(self.spec, self.run, self.seed, self.find, self.under_way)
            trial.go_through(task, each)
            if not trial.lacks:
                return each
        return None

    def _has(self, identity: str) -> bool:
        return self.find(identity) is not None or self.under_way(identity)


def current_answers(
    partition: Partition, modes: Sequence[str], tasks: Callable[[], Sequence[Task]]
) -> pl.DataFrame:
    """Return a partition's transcripts without superseded answers and without those to questions worded otherwise now."""
    frame = pl.DataFrame(pl.from_arrow(answers_table(partition.folder))).filter(~pl.col("superseded"))
    profile = partition.known_profile()
    if profile is None or profile.mode == "import":
        return frame
    answered = frame.filter(pl.col("status") != "failed").group_by("item_id", "condition")
    two_modes = bool((answered.agg(pl.col("mode").n_unique())["mode"] > 1).any())
    # A complete partition has marked superseded answers itself, unless a task has answers in two modes. One
    # that stopped early still holds old answers of items it did not reach, which nothing marks.
    if partition.manifest().get("state") == "complete" and not two_modes:
        return frame
    now = DryRun.of(partition, partition.spec).through(tasks(), profile, modes).identities
    return frame.filter(pl.col("answer_id").is_in(now))


def _better(profile: Profile, modes: Sequence[str]) -> list[Profile]:
    known = modes.index(profile.mode) if profile.mode in modes else 0
    return [replace(profile, mode=mode) for mode in modes[:known]]


def _blank(identity: str, tokens: int) -> str:
    """Return blanks that say nothing, unlike for every call, about ``tokens`` long."""
    bits = format(int(identity, 16), "b").translate({ord("0"): " ", ord("1"): "\t"})
    return bits.ljust(BYTES_PER_TOKEN * tokens)
