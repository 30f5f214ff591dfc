"""Find out, once per model, which options its provider takes and how it lets answers be constrained.

A refusal (400, 401, 403, 404, 422) of a call that carried options is answered by dropping what was named, then all options,
then the constraint. Only the bare call decides that a key, a model or an address is wrong. What the study asks for by name
(effort, thinking_tokens, verbosity, api, answer_mode, extra_body) is never dropped: the line that ends it names the key.

The calls that succeed on the way are ordinary answers, kept like any other; those refused cost nothing. At most
``MOST_CALLS`` are refused, whatever the provider says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from metacog_pipeline.asking.asking import Profile, Session, StepAsker, StepFailed
from metacog_pipeline.asking.kept import kept_of
from metacog_pipeline.asking.options import ALL_ROOM, DELIVERY, OPTIONS, may_be_an_option, named_option
from metacog_pipeline.asking.search import Search, Way
from metacog_pipeline.asking.types import Task
from metacog_pipeline.llm import types
from metacog_pipeline.llm.batch import parking

UNNAMED_IN_A_ROW = 3  # refusals in a known way that name nothing, after which another is looked for


async def negotiate(
    session: Session,
    task: Task,
    search: Search,
    start: Way | None = None,
    refusal: types.Completion | None = None,
) -> Profile:
    """Return the profile under which ``task`` goes through; what was found out is kept.

    ``search``: knows the modes, and how many calls were refused already. ``start``: the way to begin with, by what is
    known where not given. ``refusal``: how ``start`` was refused, where it was tried already. Raises ``StepFailed`` if
    the call fails for another reason than what it carried; `Refused` if no way is left.
    """
    way = start or search.begin()
    try:
        while True:
            if refusal is not None:
                way = search.next(way, refusal)
            session.learnt.attempt(way.known)
            try:
                await ask_task(session, task, way.profile, search.modes)
            except StepFailed as error:
                if not may_be_an_option(error.completion):
                    raise
                refusal = error.completion
            else:
                break
        if search.doubted:
            way = await _whole(session, task, search, way)
    except BaseException:
        session.learnt.attempt(None)
        raise
    learnt, known = session.learnt.known, search.found(way).known  # its replies have taught more meanwhile
    session.learnt.keep_found(
        replace(
            learnt,
            api=known.api,
            limit_field=known.limit_field,
            refused=learnt.refused | known.refused | way.profile.dropped,
            refused_modes=learnt.refused_modes | search.refused_modes,
        )
    )
    return way.profile


async def _whole(session: Session, task: Task, search: Search, bare: Way) -> Way:
    """Return the first way of all where ``task`` goes through in it: the question before was refused for itself."""
    way = search.first()
    session.learnt.attempt(way.known)
    try:
        await ask_task(session, task, way.profile, search.modes)
    except StepFailed as error:
        if not may_be_an_option(error.completion):
            raise
        return bare
    return way


class Asked:
    """How the tasks of a session are asked: under one profile, until the provider takes an option no more.

    Then another way is looked for, once: at the first refusal that names an option or would stop the session, and after
    several in a row otherwise, because one odd question may be refused for itself.
    """

    def __init__(self, profile: Profile, modes: Sequence[str]) -> None:
        self.profile = profile
        self._modes = tuple(modes)
        self._lock = asyncio.Lock()
        self._changes = 0
        self._tried = False
        self._unnamed_in_a_row = 0

    async def run(self, session: Session, task: Task) -> bool:
        """Ask ``task``; return whether its replies give something to read. Raises as `negotiate`."""
        changes = self._changes
        try:
            said = await ask_task(session, task, self.profile, self._modes)
        except StepFailed as error:
            if not may_be_an_option(error.completion):
                raise
            if not await self._otherwise(session, task, error.completion, changes):
                raise
            return await ask_task(session, task, self.profile, self._modes)
        self._unnamed_in_a_row = 0
        return said

    async def _otherwise(self, session: Session, task: Task, refusal: types.Completion, changes: int) -> bool:
        """Find another way to ask ``task``; return False where there is none to be looked for."""
        async with self._lock:
            if changes != self._changes:  # found meanwhile, by another worker
                return True
            self._unnamed_in_a_row += 1
            known = named_option(refusal) in OPTIONS.values() or refusal.error_kind is types.ErrorKind.FATAL
            room = session.learnt.known.refused >= DELIVERY - ALL_ROOM  # given back on trial
            if self._tried or not (known or room or self._unnamed_in_a_row >= UNNAMED_IN_A_ROW):
                return False
            self._tried = True
            search = Search(session.spec, self._modes, session.learnt.known)
            search.room_refused = named_option(refusal) is None
            start = Way(self.profile, session.learnt.known)
            with parking.online():
                self.profile = await negotiate(session, task, search, start, refusal)
            self._changes += 1
            return True


async def ask_task(session: Session, task: Task, profile: Profile, modes: Sequence[str]) -> bool:
    """Ask ``task`` as `Kept.way` says; return whether its replies give something to read."""
    way = kept_of(session).way(task, profile, modes)
    asker = StepAsker(session, way, task.item_id, task.item_hash, task.condition)
    await task.run(asker, way.mode)
    return not asker.gave_nothing
