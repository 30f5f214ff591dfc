"""What a partition would cost, before a cent is spent: the real protocols run against the store alone."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Unpack

from metacog_pipeline.asking.session import Partition, batches_of
from metacog_pipeline.asking.states import Profile
from metacog_pipeline.asking.step import Kept, finish, identified
from metacog_pipeline.asking.types import Answer, CallOptions, Task
from metacog_pipeline.llm.costs import BYTES_PER_TOKEN, LEAST_CACHED_TOKENS, estimate_tokens
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Message, Status
from metacog_pipeline.llm.wire import caching
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import standing_answers

CACHE_BLOCK = 128 * BYTES_PER_TOKEN  # bytes: providers compare prompts block by block
LONGEST_START = 16_384 * BYTES_PER_TOKEN  # bytes of a prompt that are compared: no instructions are longer
LONGEST_QUOTED = 20_000  # tokens of an answer not given yet, where a later prompt quotes it
Stored = Mapping[str, tuple[str, str]]  # answer identity -> status, text


@dataclass(slots=True)
class CostEstimate:
    """Calls and tokens of one partition. ``tokens_out`` is the most the answers may take, thinking left out. ``in_batches``
    counts the calls that batches under way have: they are paid for, and not asked again.

    ``sends`` counts the calls the tokens belong to. Of ``tokens_in``, ``tokens_repeated`` stand at the start of a prompt
    whose start an earlier call sent already, and ``tokens_new`` are the others of prompts long enough for a prompt cache.
    """

    calls: int = 0
    answered: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    sends: int = 0
    tokens_repeated: int = 0
    tokens_new: int = 0
    in_batches: int = 0

    @property
    def to_ask(self) -> int:
        """Calls that are neither answered yet nor in a batch."""
        return self.calls - self.answered - self.in_batches

    def add(self, other: CostEstimate) -> None:
        """Add another partition's figures."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(slots=True)
class PromptCache:
    """What a provider's prompt cache could hold: the starts of all prompts so far, in blocks."""

    starts: set[bytes] = field(default_factory=set)

    def take(self, messages: Sequence[Message]) -> tuple[int, int]:
        """Return how many tokens of a prompt were sent before as the start of another, and how many are new to the cache.

        Both are 0 where the start in common, or the prompt, is too short to be kept.
        """
        text = "".join(f"{each.role}\0{each.content}\0" for each in messages).encode(errors="surrogatepass")
        total, running, found = len(text) // BYTES_PER_TOKEN, hashlib.blake2b(digest_size=16), 0
        for place in range(0, min(len(text), LONGEST_START) - CACHE_BLOCK + 1, CACHE_BLOCK):
            running.update(text[place : place + CACHE_BLOCK])
            if (mark := running.digest()) in self.starts:
                found = place + CACHE_BLOCK
            self.starts.add(mark)
        repeated = found // BYTES_PER_TOKEN if found >= LEAST_CACHED_TOKENS * BYTES_PER_TOKEN else 0
        return repeated, (total - repeated if total >= LEAST_CACHED_TOKENS else 0)

    def take_marked(self, request: ChatRequest) -> tuple[int, int]:
        """Return the same for a provider that keeps only the starts that are marked (Anthropic)."""
        repeated = longest = 0
        for start, tokens in caching.marked_starts(request):
            mark = hashlib.blake2b(start.encode(errors="surrogatepass"), digest_size=16).digest()
            longest = max(longest, tokens)
            if mark in self.starts:
                repeated = max(repeated, tokens)
            self.starts.add(mark)
        return repeated, longest - repeated


@dataclass(slots=True)
class DryAsker:
    """Answers from what is stored and counts the rest; one for all tasks of a partition.

    To a call that nobody has answered it gives an answer as long as the call may get, so that later prompts that quote
    it are worded and counted. A call that several tasks make alike is counted once.
    """

    spec: ModelSpec
    run: int
    seed: int
    profile: Profile
    stored: Stored
    under_way: Collection[str] = ()
    estimate: CostEstimate = field(default_factory=CostEstimate)
    identities: set[str] = field(default_factory=set)
    unanswered: bool = False
    waits: bool = False
    cache: PromptCache = field(default_factory=PromptCache)

    async def __call__(
        self, step: str, messages: Sequence[Message], **options: Unpack[CallOptions]
    ) -> Answer:
        """Return a stored answer, or count the call and return blank text of the length it may have."""
        identity, request = identified(
            self.spec, self.profile, self.seed, self.run, step, messages, options, self._has
        )
        first_time = identity not in self.identities
        self.identities.add(identity)
        self.estimate.calls += first_time
        if (found := self.stored.get(identity)) is not None:
            self.estimate.answered += first_time
            status, text = found
            return Answer(Status(status), text)
        self.unanswered = True
        tokens_out = request.sampling.max_tokens or self.spec.max_tokens
        if identity in self.under_way:
            self.waits = True
            self.estimate.in_batches += first_time
        elif first_time:
            self.estimate.sends += 1
            self.estimate.tokens_in += sum(estimate_tokens(message.content) for message in messages)
            self.estimate.tokens_out += tokens_out
            marks = self.spec.provider == "anthropic"
            repeated, new = self.cache.take_marked(request) if marks else self.cache.take(messages)
            self.estimate.tokens_repeated += repeated
            self.estimate.tokens_new += new
        return Answer(Status.OK, _blank(identity, min(tokens_out, LONGEST_QUOTED)))

    def _has(self, identity: str) -> bool:
        return identity in self.stored or identity in self.under_way

    def go_through(self, task: Task, modes: Sequence[str]) -> None:
        """Word every call of a task, in the mode it is asked in."""
        self.unanswered = self.waits = False
        settled, kept = (
            self.profile,
            Kept(self.spec, self.run, self.seed, self._found, self.under_way.__contains__),
        )
        self.profile = kept.profile_for(task, settled, modes)
        finish(task, self, self.profile.mode)
        self.profile = settled

    def _found(self, identity: str) -> Answer | None:
        found = self.stored.get(identity)
        return None if found is None else Answer(Status(found[0]), found[1])


def _blank(identity: str, tokens: int) -> str:
    """Return blanks that say nothing, unlike for every call, about ``tokens`` long."""
    bits = format(int(identity, 16), "b").translate({ord("0"): " ", ord("1"): "\t"})
    return bits.ljust(BYTES_PER_TOKEN * tokens)


def estimate_partition(
    spec: ModelSpec,
    run: int,
    seed: int,
    profile: Profile,
    tasks: Sequence[Task],
    stored: Stored,
    *,
    modes: Sequence[str] = (),
    under_way: Collection[str] = (),
    whole: bool = False,
) -> CostEstimate:
    """Return what asking ``tasks`` would take, given what is ``stored`` by answer identity.

    Protocols run to their end, whatever is not answered. ``modes`` are those of the benchmark, best first;
    ``under_way`` the identities of calls that batches have.

    With ``whole`` each task counts as one call however often it may
    have to be asked again; tokens, and with them dollars, are those of all calls it can come to.
    """
    asker = DryAsker(spec, run, seed, profile, stored, under_way)
    answered = waiting = 0
    for task in tasks:
        asker.go_through(task, modes)
        answered += not asker.unanswered
        waiting += asker.waits
    if not whole:
        return asker.estimate
    return replace(asker.estimate, calls=len(tasks), answered=answered, in_batches=waiting)


def identities(
    partition: Partition,
    profile: Profile,
    modes: Sequence[str],
    tasks: Sequence[Task],
    stored: Stored | None = None,
) -> set[str]:
    """Return the identities of every call the tasks take now, as far as the stored answers let them be worded.

    Those of calls that would quote an answer nobody has given yet are among them; no stored answer has one of these.
    """
    known = stored_answers(partition.folder) if stored is None else stored
    asker = DryAsker(partition.spec, partition.run, partition.seed, profile, known)
    for task in tasks:
        asker.go_through(task, modes)
    return asker.identities


def stored_answers(folder: PartitionFolder) -> dict[str, tuple[str, str]]:
    """Return what was answered in a partition, read without opening it for writing."""
    return {record.answer_id: (record.status, record.text) for record in standing_answers(folder)}


def under_way(partition: Partition) -> frozenset[str]:
    """Return the identities of the calls that were submitted in a batch whose results are not fetched yet."""
    found = batches_of(partition.study.home, partition.spec, partition.folder)
    sent = [each for each in found if each.record.state in ("submitting", "submitted")]
    return frozenset(answer for each in sent for answer, _ in each.answers())
