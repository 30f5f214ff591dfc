"""The loop over the tasks of a partition: find out how the model can be asked, then ask every task with several workers.

A fixed number of workers take tasks in order, so memory does not grow with the number of items. A partition stops early on
a spent budget, a provider that rejects every call or cannot be reached, replies that are billed and cannot be used, or many
failures in a row. Whatever was answered until then is kept, and the next session asks only for the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus

from metacog_pipeline.asking.dry_run import DryRun, in_no_batch
from metacog_pipeline.asking.negotiation import (
    OPTIONS,
    Negotiation,
    Refused,
    decisive,
    may_be_an_option,
    named_option,
    negotiate,
)
from metacog_pipeline.asking.states import (
    Profile,
    Progress,
    SessionResult,
    StepFailed,
    mostly_unusable,
)
from metacog_pipeline.asking.step import Session, StepAsker
from metacog_pipeline.asking.types import Task
from metacog_pipeline.asking.unusable import HOW_TO_REASK
from metacog_pipeline.errors import BudgetError, ProviderError, StoreError, one_line
from metacog_pipeline.llm.batch import parking
from metacog_pipeline.llm.halt import NotSent
from metacog_pipeline.llm.spec import IN_PROCESS
from metacog_pipeline.llm.types import Completion, ErrorKind

PROBED_TASKS = 3  # one odd item must not decide that a provider cannot be asked at all
UNNAMED_IN_A_ROW = 3  # refusals in a known way that name nothing, after which another is looked for
STOP_AFTER_FAILURES_IN_A_ROW = 50  # a provider that is down should not be asked a thousand times
FORBIDDEN_IN_A_ROW = 3  # refusals (403) without a reason, between answers: of these items, or of the key now
UNAVAILABLE = frozenset({503, 529})
UNAVAILABLE_S = 60.0  # of a service that reports it: it has nothing to do with the task
FAILURE_SHOWN = 160  # characters of a failure in a line about something else
SPARE_SHARE = 10  # one worker more for this many calls at once


def workers(max_concurrency: int) -> int:
    """Return how many tasks are under way at once: a few wait for the disk while the others keep every call busy."""
    return max_concurrency + max_concurrency // SPARE_SHARE


async def query_tasks(
    pool: WorkerPool, modes: Sequence[str], *, known: Profile | None = None
) -> SessionResult:
    """Ask every task; a model over HTTP has at most ``spec.max_concurrency`` calls under way."""
    profile = known if known is not None and known.mode in modes else await _first_profile(pool, modes)
    pool.stop_if_unusable()
    if profile is not None:
        profile = await pool.work(profile, modes)
    if pool.stopped is not None:
        start = Negotiation(pool.session.spec, modes, pool.session.learnt.known)
        await pool.count_answered(profile or start.way.profile, modes)
    pool.session.learnt.save()
    return pool.outcome(profile)


async def _first_profile(pool: WorkerPool, modes: Sequence[str]) -> Profile | None:
    """Return how the model can be asked, by trying the first tasks; None where it cannot, and the pool is stopped then."""
    negotiation = Negotiation(pool.session.spec, modes, pool.session.learnt.known)
    tried = pool.tasks[:PROBED_TASKS]
    negotiation.more = len(tried) > 1
    for task in tried:
        try:
            return await _negotiated(pool, task, negotiation)
        except StepFailed as error:
            decided = error.decided if isinstance(error, Refused) else error.fatal
            if decided or pool.nobody_there(error) or task is tried[-1]:
                pool.failed += 1
                pool.stop(str(error))
        except (BudgetError, ProviderError) as error:
            pool.stop(str(error), error.exit_code)
        except NotSent:
            return None
        if pool.stopped is not None:
            return None
    return None


async def _negotiated(pool: WorkerPool, task: Task, negotiation: Negotiation) -> Profile:
    """Return how ``task`` is asked. Where a batch of an earlier session has its answer, that is waited for."""
    while True:
        try:
            with parking.online():
                return await _settled(pool.session, task, negotiation)
        except parking.Parked:
            if not await pool.next_batch():
                raise NotSent from None


async def _settled(session: Session, task: Task, negotiation: Negotiation) -> Profile:
    """Return the profile under which ``task`` goes through. The calls that succeed on the way are ordinary answers."""
    return await negotiate(
        negotiation, session.learnt, lambda profile: ask_task(session, task, profile, negotiation.modes)
    )


async def ask_task(session: Session, task: Task, profile: Profile, modes: Sequence[str]) -> bool:
    """Ask ``task`` as `DryRun.profile_for` finds; return whether its replies give something to read."""
    profile = _kept(session).profile_for(task, profile, modes)
    asker = StepAsker(session, profile, task.item_id, task.item_hash, task.condition)
    await task.run(asker, profile.mode)
    return not asker.gave_nothing


def _kept(session: Session) -> DryRun:
    """Return a dry run over what the session has kept."""
    under_way = in_no_batch if session.queue is None else session.queue.holds
    return DryRun(session.spec, session.run, session.seed, session.find, under_way)


class Asked:
    """How the tasks of a session are asked: under one profile, until the provider takes an option no more.

    Then another is negotiated, once: at the first refusal that names an option or would stop the session, and after
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
            readable = await ask_task(session, task, self.profile, self._modes)
        except StepFailed as error:
            refusal = error.completion
            if not may_be_an_option(refusal) or not await self._renegotiated(session, task, refusal, changes):
                raise
            return await ask_task(session, task, self.profile, self._modes)
        self._unnamed_in_a_row = 0
        return readable

    async def _renegotiated(self, session: Session, task: Task, refusal: Completion, changes: int) -> bool:
        """Find another way to ask ``task``; return False where there is none to be looked for."""
        async with self._lock:
            if changes != self._changes:  # found meanwhile, by another worker
                return True
            self._unnamed_in_a_row += 1
            named, known = named_option(refusal), session.learnt.known
            for_all = named in OPTIONS or refusal.error_kind is ErrorKind.FATAL
            if self._tried or not (for_all or self._unnamed_in_a_row >= UNNAMED_IN_A_ROW):
                return False
            self._tried = True
            negotiation = Negotiation(session.spec, self._modes, known, self.profile)
            negotiation.refused(refusal)
            with parking.online():
                self.profile = await _settled(session, task, negotiation)
            self._changes += 1
            return True


class WorkerPool:
    """The workers of one partition and what they share."""

    def __init__(
        self,
        session: Session,
        tasks: Sequence[Task],
        on_progress: Callable[[Progress], None] | None,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        self.session = session
        self.tasks = tasks
        self.on_progress = on_progress
        self.on_stop = on_stop
        self.answered = 0
        self.failed = 0
        self.unusable = 0
        self.failures_in_a_row = 0
        self.last_failure: str | None = None
        self.last_answer_at = float("-inf")  # on the event loop's clock
        self.interrupted = False
        self.stopped_at = 0.0  # when it was interrupted
        self.stopped: str | None = None
        self.exit_code = 0
        self._finished: set[Task] = set()  # tasks that were answered or failed
        self._pending: list[tuple[str, Task]] = []  # tasks whose answers are in batches

    async def work(self, profile: Profile, modes: Sequence[str] = ()) -> Profile:
        """Ask every task with as many workers as the model allows; return the profile of the last ones.

        It is ``profile``, unless the provider takes an option no more: then one of ``modes`` is found once again.
        """
        asked = Asked(profile, tuple(modes) or (profile.mode,))
        tasks = iter(self.tasks)
        try:
            if self.session.spec.provider not in IN_PROCESS:
                # One by one until something can be read: no more is paid for than shows that nothing can.
                with parking.online():
                    await self._worker(tasks, asked, until_readable=True)
            await self._pass(tasks, asked)
            while self._pending and self.stopped is None and await self.next_batch():
                await self._pass(iter(self._ready()), asked)
        except* StoreError as failures:
            raise failures.exceptions[0] from None
        return asked.profile

    async def _pass(self, tasks: Iterator[Task], asked: Asked) -> None:
        """Ask ``tasks``; those whose answers are in batches are pending afterwards."""
        submits = self.session.queue is not None and self.session.queue.submits
        at_once = parking.TASKS_AT_ONCE if submits else workers(self.session.spec.max_concurrency)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(self.tasks))):
                group.create_task(self._worker(tasks, asked))

    async def _worker(self, tasks: Iterator[Task], asked: Asked, *, until_readable: bool = False) -> None:
        """Ask one task after another."""
        for task in tasks:
            if self.stopped is not None:
                return
            readable = False
            try:
                readable = await asked.run(self.session, task)
                self._answer(task, readable)
                self.failures_in_a_row = 0
                self.last_answer_at = asyncio.get_running_loop().time()
            except StepFailed as error:
                self._failure(task, error)
            except (BudgetError, ProviderError) as error:
                return self.stop(str(error), error.exit_code)
            except parking.Parked as parked:
                self._pending.append((parked.answer, task))
                continue
            except NotSent:
                return self.stop_if_unusable()
            self.stop_if_unusable()
            if self.on_progress is not None:
                self.on_progress(Progress(self.answered + self.failed, len(self.tasks), self.session.tally))
            if until_readable and readable:
                return

    async def next_batch(self) -> bool:
        """Wait until a batch brings answers to pending tasks; False where there is nothing to go on with."""
        assert self.session.queue is not None, "only batches leave tasks pending"
        try:
            return await self.session.queue.next()
        except (BudgetError, ProviderError) as error:
            self.stop(str(error), error.exit_code)
        except NotSent:
            pass
        return False

    def _ready(self) -> list[Task]:
        """Return the pending tasks that can go on; the others stay pending."""
        batches, pending = self.session.queue, self._pending
        assert batches is not None, "only batches leave tasks pending"
        self._pending = [each for each in pending if not batches.there(each[0])]
        return [task for answer, task in pending if batches.there(answer)]

    def _answer(self, task: Task, readable: bool) -> None:
        self._finished.add(task)
        self.answered += 1
        self.unusable += not readable

    async def count_answered(self, profile: Profile, modes: Sequence[str]) -> None:
        """Count the tasks that nobody took any more and that are answered in full already; nothing is asked."""
        kept = _kept(self.session)
        for task in self.tasks:
            if task in self._finished:
                continue
            await asyncio.sleep(0)  # a second interrupt is heard
            if (found := kept.answered_under(task, profile, modes)) is not None:
                self._answer(task, await ask_task(self.session, task, found, modes))

    def stop(self, reason: str, exit_code: int = ProviderError.exit_code) -> None:
        """Take no new task and give up calls not sent yet; the first reason given is the one reported."""
        if self.stopped is None:
            self.stopped = reason or "the provider gave no answer"
            self.exit_code = exit_code
            if self.on_stop is not None:
                self.on_stop()

    def stop_if_unusable(self) -> None:
        """Stop where replies are billed and cannot be used."""
        if self.session.watch.stop is not None:
            self.stop(self.session.watch.stop)

    def _failure(self, task: Task, error: StepFailed) -> None:
        self._finished.add(task)
        self.failed += 1
        self.failures_in_a_row += 1
        self.last_failure = one_line(str(error), FAILURE_SHOWN)
        many = self.failures_in_a_row >= STOP_AFTER_FAILURES_IN_A_ROW
        decided = isinstance(error, Refused) and error.decided and not self.answered
        for_all = error.fatal and not self._is_about_the_item(error)
        if many or decided or for_all or self.nobody_there(error):
            self.stop(str(error))

    def _is_about_the_item(self, error: StepFailed) -> bool:
        """Whether a call was forbidden for what it asks, as it seems: others were answered, and no code blames the key.

        xAI refuses a question that violates its guidelines like that.
        """
        forbidden = error.completion.http_status == HTTPStatus.FORBIDDEN and not decisive(error.completion)
        return forbidden and self.answered > 0 and self.failures_in_a_row < FORBIDDEN_IN_A_ROW

    def nobody_there(self, error: StepFailed) -> bool:
        """Whether the call found no connection, only refusals for rate, or for long a service that was unavailable, and no
        task was answered meanwhile: it has nothing to do with the task, and the next one would wait as long for nothing."""
        # Loads HTTP, which was used if a call failed.
        from metacog_pipeline.llm.transport import NO_CONNECTION

        failed = error.completion
        away = failed.http_status in UNAVAILABLE and failed.latency_s >= UNAVAILABLE_S
        if not (away or failed.error_kind is ErrorKind.RATE_LIMIT or failed.error_code == NO_CONNECTION):
            return False
        return self.last_answer_at <= asyncio.get_running_loop().time() - failed.latency_s

    def outcome(self, profile: Profile | None) -> SessionResult:
        """Return how far the pool has come."""
        batches = self.session.queue
        if batches is not None and batches.problems:
            self.stop("; ".join(batches.problems))
        return SessionResult(
            tasks=len(self.tasks),
            answered=self.answered,
            failed=self.failed,
            profile=profile,
            tally=self.session.tally,
            stopped=self.stopped,
            exit_code=self.exit_code,
            unusable=self.unusable,
            too_few_usable=self._too_few_usable(),
            waiting=0 if batches is None else batches.waiting,
            last_failure=self.last_failure,
        )

    def _too_few_usable(self) -> str | None:
        """Return why the answers cannot make a partition complete, None where they can."""
        simulated = self.session.spec.provider == "simulated"  # such observers say nothing on purpose
        if simulated or not mostly_unusable(self.answered, self.unusable):
            return None
        advice = self.session.watch.advice
        why = f"; the last {advice}" if advice is not None else ""
        return f"{self.unusable} of {self.answered} items have no usable answer{why}; {HOW_TO_REASK}"
