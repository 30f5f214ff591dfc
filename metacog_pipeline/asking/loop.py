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
from metacog_pipeline.asking.states import Profile, Progress, SessionResult, StepFailed, mostly_unusable
from metacog_pipeline.asking.step import Session, StepAsker
from metacog_pipeline.asking.types import Task
from metacog_pipeline.asking.unusable import HOW_TO_REASK
from metacog_pipeline.errors import BudgetError, ProviderError, StoreError, one_line
from metacog_pipeline.llm.batch import pending
from metacog_pipeline.llm.halt import NotSent
from metacog_pipeline.llm.spec import IN_PROCESS
from metacog_pipeline.llm.types import ErrorKind

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


class Loop:
    """One session's way through ``tasks``; a model over HTTP has at most ``spec.max_concurrency`` calls under way.

    ``modes``: answer modes to try, best first. ``known``: how the model was asked before. ``on_stop`` gives up calls that
    are not sent yet.
    """

    def __init__(
        self,
        session: Session,
        tasks: Sequence[Task],
        modes: Sequence[str],
        *,
        known: Profile | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        self.session, self.tasks, self.modes = session, tasks, tuple(modes)
        self.profile = known if known is not None and known.mode in self.modes else None
        self.on_progress, self.on_stop = on_progress, on_stop
        under_way = in_no_batch if session.queue is None else session.queue.holds
        self._kept = DryRun(session.spec, session.run, session.seed, session.find, under_way)
        self.answered = self.failed = self.unusable = self.exit_code = 0
        self.stopped: str | None = None
        self.interrupted, self.stopped_at = False, 0.0  # when it was interrupted
        self._failures_in_a_row = self._unnamed_in_a_row = 0
        self._last_failure: str | None = None
        self._last_answer_at = float("-inf")  # on the event loop's clock
        self._finished: set[Task] = set()  # answered or failed
        self._pending: list[tuple[str, Task]] = []  # answers are in batches
        self._negotiating = asyncio.Lock()
        self._renegotiated, self._changes = False, 0

    async def run(self) -> SessionResult:
        """Ask every task that is not answered yet; return how far that came."""
        if self.profile is None:
            self.profile = await self._first_profile()
        self._stop_if_unusable()
        if self.profile is not None:
            await self._ask_all()
        if self.stopped is not None:
            await self._count_answered()
        self.session.learnt.save()
        return self._result()

    def stop(self, reason: str, exit_code: int = ProviderError.exit_code) -> None:
        """Take no new task and give up calls not sent yet; the first reason given is the one reported."""
        if self.stopped is None:
            self.stopped = reason or "the provider gave no answer"
            self.exit_code = exit_code
            if self.on_stop is not None:
                self.on_stop()

    # --- how the model can be asked ---------------------------------------------------------------------------------
    async def _first_profile(self) -> Profile | None:
        """Return how the model can be asked, by trying the first tasks; None where it cannot, which stops the loop."""
        negotiation = Negotiation(self.session.spec, self.modes, self.session.learnt.known)
        tried = self.tasks[:PROBED_TASKS]
        negotiation.more = len(tried) > 1
        for task in tried:
            try:
                return await self._settled_in_time(task, negotiation)
            except StepFailed as error:
                decided = error.decided if isinstance(error, Refused) else error.fatal
                if decided or self._nobody_there(error) or task is tried[-1]:
                    self.failed += 1
                    self.stop(str(error))
                    return None
            except (BudgetError, ProviderError) as error:
                self.stop(str(error), error.exit_code)
                return None
            except NotSent:
                return None
        return None

    async def _settled(self, task: Task, negotiation: Negotiation) -> Profile:
        """Return the profile under which ``task`` goes through. The calls that succeed on the way are ordinary answers."""
        with pending.online():
            return await negotiate(negotiation, self.session.learnt, lambda profile: self._ask(task, profile))

    async def _settled_in_time(self, task: Task, negotiation: Negotiation) -> Profile:
        """Return the same; where a batch of an earlier session has an answer, that is waited for."""
        while True:
            try:
                return await self._settled(task, negotiation)
            except pending.Pending:
                if not await self._next_batch():
                    raise NotSent from None

    async def _ask(self, task: Task, profile: Profile) -> bool:
        """Ask ``task``; return whether its replies give something to read."""
        profile = self._kept.profile_for(task, profile, self.modes)
        asker = StepAsker(self.session, profile, task.item_id, task.item_hash, task.condition)
        await task.run(asker, profile.mode)
        return not asker.gave_nothing

    async def _ask_or_renegotiate(self, task: Task) -> bool:
        """Ask ``task`` under the profile of the session, and under another where the provider takes an option no more.

        Another is looked for once: at the first refusal that names an option or would stop the session, and after several
        in a row otherwise, because one odd question may be refused for itself.
        """
        assert self.profile is not None, "found before tasks are asked"
        changes = self._changes
        try:
            readable = await self._ask(task, self.profile)
        except StepFailed as error:
            if not may_be_an_option(error.completion):
                raise
            async with self._negotiating:
                if changes == self._changes:  # not found meanwhile, by another worker
                    await self._renegotiate(task, error)
            return await self._ask(task, self.profile)
        self._unnamed_in_a_row = 0
        return readable

    async def _renegotiate(self, task: Task, error: StepFailed) -> None:
        """Find another way to ask ``task``; raises ``error`` where there is none to be looked for."""
        refusal, known = error.completion, self.session.learnt.known
        self._unnamed_in_a_row += 1
        for_all = named_option(refusal) in OPTIONS or refusal.error_kind is ErrorKind.FATAL
        if self._renegotiated or not (for_all or self._unnamed_in_a_row >= UNNAMED_IN_A_ROW):
            raise error
        self._renegotiated = True
        negotiation = Negotiation(self.session.spec, self.modes, known, self.profile)
        negotiation.refused(refusal)
        self.profile = await self._settled(task, negotiation)
        self._changes += 1

    # --- asking -----------------------------------------------------------------------------------------------------
    async def _ask_all(self) -> None:
        tasks = iter(self.tasks)
        try:
            if self.session.spec.provider not in IN_PROCESS:
                # One by one until something can be read: no more is paid for than shows that nothing can.
                with pending.online():
                    await self._work(tasks, until_readable=True)
            await self._work_together(tasks)
            while self._pending and self.stopped is None and await self._next_batch():
                await self._work_together(iter(self._ready()))
        except* StoreError as failures:
            raise failures.exceptions[0] from None

    async def _work_together(self, tasks: Iterator[Task]) -> None:
        """Ask ``tasks`` with several workers; those whose answers are in batches are pending afterwards."""
        submits = self.session.queue is not None and self.session.queue.submits
        at_once = pending.TASKS_AT_ONCE if submits else workers(self.session.spec.max_concurrency)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(self.tasks))):
                group.create_task(self._work(tasks))

    async def _work(self, tasks: Iterator[Task], *, until_readable: bool = False) -> None:
        """Ask one task after another."""
        for task in tasks:
            if self.stopped is not None:
                return
            readable = False
            try:
                readable = await self._ask_or_renegotiate(task)
                self._note_answer(task, readable)
                self._failures_in_a_row = 0
                self._last_answer_at = asyncio.get_running_loop().time()
            except StepFailed as error:
                self._note_failure(task, error)
            except (BudgetError, ProviderError) as error:
                return self.stop(str(error), error.exit_code)
            except pending.Pending as waiting:
                self._pending.append((waiting.answer, task))
                continue
            except NotSent:
                return self._stop_if_unusable()
            self._stop_if_unusable()
            if self.on_progress is not None:
                done = self.answered + self.failed
                self.on_progress(Progress(done, len(self.tasks), self.session.tally))
            if until_readable and readable:
                return

    async def _next_batch(self) -> bool:
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

    # --- what became of it ------------------------------------------------------------------------------------------
    def _note_answer(self, task: Task, readable: bool) -> None:
        self._finished.add(task)
        self.answered += 1
        self.unusable += not readable

    def _note_failure(self, task: Task, error: StepFailed) -> None:
        self._finished.add(task)
        self.failed += 1
        self._failures_in_a_row += 1
        self._last_failure = one_line(str(error), FAILURE_SHOWN)
        many = self._failures_in_a_row >= STOP_AFTER_FAILURES_IN_A_ROW
        decided = isinstance(error, Refused) and error.decided and not self.answered
        for_all = error.fatal and not self._is_about_the_item(error)
        if many or decided or for_all or self._nobody_there(error):
            self.stop(str(error))

    def _is_about_the_item(self, error: StepFailed) -> bool:
        """Whether a call was forbidden for what it asks, as it seems: others were answered, and no code blames the key.

        xAI refuses a question that violates its guidelines like that.
        """
        forbidden = error.completion.http_status == HTTPStatus.FORBIDDEN and not decisive(error.completion)
        return forbidden and self.answered > 0 and self._failures_in_a_row < FORBIDDEN_IN_A_ROW

    def _nobody_there(self, error: StepFailed) -> bool:
        """Whether the call found no connection, only refusals for rate, or for long a service that was unavailable, and no
        task was answered meanwhile: it has nothing to do with the task, and the next one would wait as long for nothing."""
        from metacog_pipeline.llm.transport import (
            NO_CONNECTION,
        )  # loads HTTP, which was used if a call failed

        failed = error.completion
        away = failed.http_status in UNAVAILABLE and failed.latency_s >= UNAVAILABLE_S
        if not (away or failed.error_kind is ErrorKind.RATE_LIMIT or failed.error_code == NO_CONNECTION):
            return False
        return self._last_answer_at <= asyncio.get_running_loop().time() - failed.latency_s

    def _stop_if_unusable(self) -> None:
        if self.session.watch.stop is not None:
            self.stop(self.session.watch.stop)

    async def _count_answered(self) -> None:
        """Count the tasks that nobody took any more and that are answered in full already; nothing is asked."""
        start = Negotiation(self.session.spec, self.modes, self.session.learnt.known)
        profile = self.profile or start.profile
        for task in self.tasks:
            if task in self._finished:
                continue
            await asyncio.sleep(0)  # a second interrupt is heard
            if (found := self._kept.answered_under(task, profile, self.modes)) is not None:
                self._note_answer(task, await self._ask(task, found))

    def _result(self) -> SessionResult:
        batches, simulated = self.session.queue, self.session.spec.provider == "simulated"
        if batches is not None and batches.problems:
            self.stop("; ".join(batches.problems))
        too_few = None  # simulated observers say nothing on purpose
        if not simulated and mostly_unusable(self.answered, self.unusable):
            advice = self.session.watch.advice
            why = f"; the last {advice}" if advice is not None else ""
            too_few = f"{self.unusable} of {self.answered} items have no usable answer{why}; {HOW_TO_REASK}"
        return SessionResult(
            tasks=len(self.tasks),
            answered=self.answered,
            failed=self.failed,
            profile=self.profile,
            tally=self.session.tally,
            stopped=self.stopped,
            exit_code=self.exit_code,
            unusable=self.unusable,
            too_few_usable=too_few,
            waiting=0 if batches is None else batches.waiting,
            last_failure=self._last_failure,
        )
