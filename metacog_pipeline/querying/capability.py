"""Find out, once per partition, how a provider lets answers be constrained.

The answer modes form a ladder; the first that works on the partition's first task is used for all of it and recorded.
A parameter the provider names as unwelcome (``temperature`` for some reasoning models) is dropped and recorded. The
calls that succeed on the way are ordinary answers, kept like any other; those refused cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from metacog_pipeline.llm.types import ErrorKind
from metacog_pipeline.querying.asking import Profile, Session, StepAsker, StepFailed
from metacog_pipeline.querying.types import Task

DROPPABLE = {
    "temperature": "temperature",
    "seed": "seed",
    "logprobs": "top_logprobs",
    "top_logprobs": "top_logprobs",
}
# Tried in turn on each mode when a provider refuses without naming the parameter.
BLIND_DROPS: tuple[frozenset[str], ...] = (
    frozenset(),
    frozenset({"top_logprobs"}),
    frozenset({"top_logprobs", "seed"}),
    frozenset({"top_logprobs", "seed", "temperature"}),
)


async def negotiate(session: Session, task: Task, modes: Sequence[str]) -> Profile:
    """Return the first profile under which ``task`` goes through."""
    last: StepFailed | None = None
    for mode in modes:
        untried = [Profile(mode, dropped) for dropped in BLIND_DROPS]
        while untried:
            profile = untried.pop(0)
            try:
                await task.run(
                    StepAsker(session, profile, task.item_id, task.item_hash, task.condition), mode
                )
                return profile
            except StepFailed as error:
                if error.completion.error_kind is not ErrorKind.UNSUPPORTED:
                    raise
                last = error
                blamed = error.completion.error_param
            if blamed is not None:
                dropped = profile.dropped | {DROPPABLE.get(blamed, blamed)}
                # A blamed parameter that cannot be dropped is the constraint itself: on to the next mode.
                untried = (
                    [Profile(mode, dropped)] if blamed in DROPPABLE and dropped != profile.dropped else []
                )
    assert last is not None, "modes must not be empty"
    raise last
