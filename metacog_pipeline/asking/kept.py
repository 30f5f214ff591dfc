"""What of a task is answered already, found out without asking, and in which answer mode it is to be asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from metacog_pipeline.asking.asking import Profile, Session, identified
from metacog_pipeline.asking.types import Answer, Ask, CallOptions, Task
from metacog_pipeline.llm.halt import NotSent
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Message


def _nowhere(identity: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Kept:
    """The answers of one model and run: ``find`` gives one by its identity, ``under_way`` says whether a batch has it."""

    spec: ModelSpec
    run: int
    seed: int
    find: Callable[[str], Answer | None]
    under_way: Callable[[str], bool] = _nowhere

    def way(self, task: Task, profile: Profile, modes: Sequence[str]) -> Profile:
        """Return the profile under which ``task`` is asked: ``profile``, as a rule.

        A task that is answered in full in a better mode of ``modes``, or has its answer in a batch, stays in that mode. The
        provider took it once and refuses it today, and nothing answered is asked twice because of that.
        """
        better = _better(profile, modes)
        return (
            next((each for each in (profile, *better) if self._holds(task, each)), profile)
            if better
            else profile
        )

    def whole(self, task: Task, profile: Profile, modes: Sequence[str]) -> Profile | None:
        """Return the profile under which every call of ``task`` is answered; None where one is not."""
        only = replace(self, under_way=_nowhere)
        return next((each for each in (profile, *_better(profile, modes)) if only._holds(task, each)), None)

    def _holds(self, task: Task, profile: Profile) -> bool:
        try:
            finish(task, _KeptAsker(self, profile), profile.mode)
        except _UnderWay:
            return True
        except NotSent:
            return False
        return True


def kept_of(session: Session) -> Kept:
    """Return what is kept of the partition a session works on."""

    def find(identity: str) -> Answer | None:
        found = session.store.find(identity)
        return None if found is None else Answer(found.status, found.text, found.logprobs)

    under_way = _nowhere if session.lane is None else session.lane.holds
    return Kept(session.spec, session.run, session.seed, find, under_way)


def _better(profile: Profile, modes: Sequence[str]) -> list[Profile]:
    """Return ``profile`` in the modes that come before its own, best first."""
    known = modes.index(profile.mode) if profile.mode in modes else 0
    return [replace(profile, mode=mode) for mode in modes[:known]]


class _UnderWay(NotSent):
    """A batch has the answer."""


@dataclass(frozen=True, slots=True)
class _KeptAsker:
    kept: Kept
    profile: Profile

    async def __call__(
        self, step: str, messages: Sequence[Message], **options: Unpack[CallOptions]
    ) -> Answer:
        """Return the kept answer; raises `NotSent` at the first call that has none."""
        kept = self.kept
        identity, _ = identified(
            kept.spec, self.profile, kept.seed, kept.run, step, messages, options, self._has
        )
        if (found := kept.find(identity)) is not None:
            return found
        raise _UnderWay if kept.under_way(identity) else NotSent

    def _has(self, identity: str) -> bool:
        return self.kept.find(identity) is not None or self.kept.under_way(identity)


def finish(task: Task, asker: Ask, mode: str) -> None:
    """Drive a protocol to its end without an event loop: an asker that asks nobody never waits."""
    steps = task.run(asker, mode).__await__()
    try:
        while True:
            next(steps)
    except StopIteration:
        return
