"""What a partition would cost, before a cent is spent: a dry run of its tasks, and the price of what is left to ask."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from metacog_pipeline.asking.dry_run import CostEstimate, DryRun
from metacog_pipeline.asking.session import Partition, batches_of
from metacog_pipeline.asking.states import Profile
from metacog_pipeline.asking.types import Answer, Task
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.costs import batch_price_factor, usage_cost
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.llm.types import Status, Usage
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import standing_answers

Stored = Mapping[str, Answer]  # by answer identity


def stored_answers(folder: PartitionFolder) -> Stored:
    """Return what was answered in a partition, read without opening it for writing."""
    return {
        record.answer_id: Answer(Status(record.status), record.text) for record in standing_answers(folder)
    }


def under_way(partition: Partition, spec: ModelSpec | None = None) -> frozenset[str]:
    """Return the identities of the calls to ``spec`` that were submitted in a batch whose results are not fetched yet."""
    found = batches_of(partition.study.home, spec or partition.spec, partition.folder)
    sent = [each for each in found if each.record.state in ("submitting", "submitted")]
    return frozenset(answer for each in sent for answer, _ in each.answers())


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
    """Return what asking ``tasks`` would take, given what is ``stored`` and what batches have ``under_way``.

    With ``whole`` each task counts as one call however often it may have to be asked again; tokens are those of all calls
    it can come to.
    """
    dry = DryRun(spec, run, seed, stored.get, under_way.__contains__)
    answered = waiting = 0
    for task in tasks:
        dry.go_through(task, dry.profile_for(task, profile, modes))
        answered += not (dry.lacks or dry.waits)
        waiting += dry.waits
    if not whole:
        return dry.estimate
    return replace(dry.estimate, calls=len(tasks), answered=answered, in_batches=waiting)


def left_to_ask(
    partition: Partition,
    spec: ModelSpec,
    tasks: Sequence[Task],
    modes: Sequence[str],
    profile: Profile | None,
    *,
    whole: bool = True,
) -> CostEstimate:
    """Return what ``partition`` lacks of the answers of ``spec``, its model or a judge of it, to ``tasks``."""
    return estimate_partition(
        spec,
        partition.run,
        partition.seed,
        profile or Profile(modes[0]),
        tasks,
        stored_answers(partition.folder),
        modes=modes,
        under_way=under_way(partition, spec),
        whole=whole,
    )


def identities(
    partition: Partition,
    profile: Profile,
    modes: Sequence[str],
    tasks: Sequence[Task],
    spec: ModelSpec | None = None,
) -> set[str]:
    """Return the identities of every call the tasks take now, as far as the stored answers let them be worded.

    Those of calls that would quote an answer nobody has given yet are among them; no stored answer has one of these.
    """
    stored = stored_answers(partition.folder)
    dry = DryRun(spec or partition.spec, partition.run, partition.seed, stored.get)
    for task in tasks:
        dry.go_through(task, dry.profile_for(task, profile, modes))
    return dry.identities


# --- dollars ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Price:
    """Dollars of planned calls: with thinking as it was seen, and with as much of it as there is room for."""

    expected: float
    at_most: float


def thinking_at_most(spec: ModelSpec, known: Capabilities | None) -> int:
    """Return how many tokens may be thought before one answer."""
    if spec.provider in IN_PROCESS:
        return 0
    seen = known or NOTHING_KNOWN
    room = seen.thinking_room(spec)
    return room if seen.context is None else min(room, seen.context)


def thinking_expected(spec: ModelSpec, known: Capabilities | None) -> int:
    """Return how many tokens will be thought before one answer: the most that was seen, else what the study asks for."""
    room, seen = thinking_at_most(spec, known), known or NOTHING_KNOWN
    if seen.reasons is False:
        return 0
    if seen.reasoning_tokens is not None:
        return min(room, seen.reasoning_tokens)
    return room if seen.reasons or spec.thinking_tokens is not None else 0


def price(
    spec: ModelSpec, estimate: CostEstimate, known: Capabilities | None, *, batch: bool = False
) -> Price | None:
    """Return what the calls of ``estimate`` cost; ``None`` without a price, and where there seem to be no batches."""
    if batch and (
        spec.provider in IN_PROCESS or (spec.lane == "online" and batch_price_factor(spec) is None)
    ):
        return None
    if estimate.to_ask == 0:
        return Price(0.0, 0.0)
    tokens_in = estimate.tokens_in + estimate.sends * ((known or NOTHING_KNOWN).hidden_tokens or 0)

    def dollars(thought: int, billed_as_thought: int, written: int = 0) -> float | None:
        usage = Usage(tokens_in, estimate.tokens_out + thought, billed_as_thought, 0, written)
        return usage_cost(spec, usage, batch=batch)

    thought, most = (estimate.sends * each(spec, known) for each in (thinking_expected, thinking_at_most))
    likely = dollars(thought, thought)
    # Long prompts may be written to a cache each time, or never; thinking may cost less than text, or more.
    worst = [
        dollars(most, as_thought, written)
        for as_thought in (0, most)
        for written in (0, estimate.tokens_long)
    ]
    priced = [each for each in worst if each is not None]
    return None if likely is None or not priced else Price(likely, max(likely, *priced))
