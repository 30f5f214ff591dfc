"""The loop that asks the items of one partition, from top to bottom."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence

from metacog_pipeline.asking.dry_run import DryRun, in_no_batch
from metacog_pipeline.asking.negotiation import (
    Negotiation,
    Refused,
    decisive,
    may_be_an_option,
    named_option,
    negotiate,
)
from metacog_pipeline.asking.states import OnProgress, Profile, SessionResult, StepFailed
from metacog_pipeline.asking.step import Session, StepAsker
from metacog_pipeline.asking.types import Task
from metacog_pipeline.errors import BudgetError, ProviderError, StoreError, one_line
from metacog_pipeline.llm import batch
from metacog_pipeline.llm.limiter import NotSent
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec

# one odd item must not decide that a provider cannot be asked at all
PROBED_TASKS = 3
# failures that concern all items as it seems, and may concern one
FEW_IN_A_ROW = 3
# a provider that is down should not be asked a thousand times
STOP_AFTER_FAILURES_IN_A_ROW = 50
# what five questions do not get, the next thousand will not get either
STOP_AFTER_UNREADABLE_IN_A_ROW = 5
# a partition with less is never complete
LEAST_USABLE_SHARE = 0.5
# characters of a failure in a line about something else
FAILURE_SHOWN = 160


def _advice(spec: ModelSpec) -> str:
    """Return what to change where replies of ``spec`` give nothing to read: most were cut while the model thought."""
    effort = f', set effort lower (now "{spec.effort}")' if spec.effort is not None else ""
    return (
        f"of model {spec.name}, raise thinking_tokens or max_tokens (now {spec.max_tokens}){effort}, set answer_mode = "
        '"text", or turn off the filter in extra_body; then `metacog run --reask unusable`'
    )


# Items whose answers are kept are counted; the first of the others find out how the model can be asked;
# items go one by one until a reply can be read, so that no more is paid for than shows that nothing can;
# then several workers ask the rest. Items in batches wait until a batch has ended.
class Loop:
    """One session's way through ``tasks``; a model over HTTP has at most ``spec.max_concurrency`` calls under way."""

    def __init__(
        self,
        session: Session,
        tasks: Sequence[Task],
        # Modes to try, best first.
        modes: Sequence[str],
        *,
        known: Profile | None = None,
        on_progress: OnProgress = None,
        # Gives up calls that are not sent yet.
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self.session, self.tasks, self.modes = session, tasks, tuple(modes)
        self.on_progress, self.on_stop = on_progress, on_stop
        profile = known if known is not None and known.mode in self.modes else None
        self.result = SessionResult(len(tasks), 0, 0, profile, session.tally)
        under_way = in_no_batch if session.queue is None else session.queue.holds
        self._kept = DryRun(session.spec, session.run, session.seed, session.find, under_way)
        self._failures_in_a_row = self._unreadable_in_a_row = 0
        # their answers are in batches
        self._pending: list[Task] = []
        self._negotiating = asyncio.Lock()

    async def run(self) -> SessionResult:
        """Ask every task that is not answered yet; return how far that came."""
        result, queue = self.result, self.session.queue
        todo = await self._count_kept()
        try:
            if todo and result.profile is None:
                await self._find_profile(todo[:PROBED_TASKS])
            if result.profile is not None:
                await self._ask_all(todo)
        except (BudgetError, ProviderError) as error:
            self.stop(str(error), error.exit_code)
        except NotSent:  # given up, for the reason that is noted
            pass
        if queue is not None:
            result.waiting = queue.waiting
            if queue.problems:
                self.stop("; ".join(queue.problems))
        few = result.answered - result.unusable < LEAST_USABLE_SHARE * result.answered
        # observers say nothing on purpose
        if few and self.session.spec.provider != "simulated":
            what = f"{result.unusable} of {result.answered} items have no usable answer"
            result.too_few_usable = f"{what}; {_advice(self.session.spec)}"
        self.session.learnt.save()
        return result

    def stop(self, reason: str, exit_code: int = ProviderError.exit_code) -> None:
        """Take no new task and give up calls not sent yet; the first reason given is the one reported."""
        if self.result.stopped is None:
            self.result.stopped = reason or "the provider gave no answer"
            self.result.exit_code = exit_code
            self.on_stop()

    async def _count_kept(self) -> list[Task]:
        """Count the tasks whose answers are all kept; return the others."""
        if not len(self.session.store):
            return list(self.tasks)
        profile = self.result.profile or self._negotiation().profile
        todo = []
        for task in self.tasks:
            await asyncio.sleep(0)  # signals are heard
            found = self._kept.answered_under(task, profile, self.modes)
            if found is None:
                todo.append(task)
            else:
                self._note_kept(await self._ask_under(found, task))
        if not todo:
            self.result.profile = profile
        return todo

    # --- how the model can be asked ---------------------------------------------------------------------------------
    def _negotiation(self) -> Negotiation:
        return Negotiation(self.session.spec, self.modes, self.session.learnt.known, self.result.profile)

    async def _find_profile(self, tasks: Sequence[Task]) -> None:
        """Find out how the model can be asked, by trying ``tasks``; stop where it cannot."""
        negotiation = self._negotiation()
        negotiation.more = len(tasks) > 1
        for task in tasks:
            try:
                return await self._settle(task, negotiation)
            except StepFailed as error:
                if self._concerns_all(error) or task is tasks[-1]:
                    self.result.failed += 1
                    return self.stop(str(error))

    async def _settle(self, task: Task, negotiation: Negotiation) -> None:
        """Ask ``task`` in one way after another until it goes through. What succeeds on the way are ordinary answers."""
        queue = self.session.queue
        while True:
            with contextlib.suppress(batch.Pending), batch.online():
                self.result.profile = await negotiate(
                    negotiation, self.session.learnt, lambda profile: self._ask_under(profile, task)
                )
                return
            # a batch of an earlier session has the answer
            if queue is None or not await queue.next():
                raise NotSent

    async def _ask(self, task: Task) -> bool:
        """Ask ``task``; return whether its last reply gives something to read."""
        profile = self.result.profile
        assert profile is not None, "found before tasks are asked"
        try:
            return await self._ask_under(profile, task)
        except StepFailed as error:
            # A refusal that names nothing may be about the question, so it takes several in a row.
            in_doubt = named_option(error.completion) is None and not error.fatal
            few = self._failures_in_a_row + 1 < FEW_IN_A_ROW
            if not may_be_an_option(error.completion) or (in_doubt and few):
                raise
            # Items differ in the options they need, and providers change: find out again how the model can be asked.
            async with self._negotiating:
                if self.result.stopped is not None:
                    raise
                # not found meanwhile, by another worker
                if self.result.profile is profile:
                    negotiation = self._negotiation()
                    negotiation.refused(error.completion)
                    await self._settle(task, negotiation)
            return await self._ask_under(self.result.profile or profile, task)

    async def _ask_under(self, profile: Profile, task: Task) -> bool:
        profile = self._kept.profile_for(task, profile, self.modes)
        asker = StepAsker(self.session, profile, task.item_id, task.item_hash, task.condition)
        await task.run(asker, profile.mode)
        return asker.readable

    # --- asking -----------------------------------------------------------------------------------------------------
    async def _ask_all(self, todo: Sequence[Task]) -> None:
        tasks = iter(todo)
        if self.session.spec.provider not in IN_PROCESS:
            with batch.online():
                await self._work(tasks, until_readable=True)
        await self._work_together(tasks)
        queue = self.session.queue
        while queue is not None and self._pending and self.result.stopped is None and await queue.next():
            waiting, self._pending = self._pending, []
            await self._work_together(iter(waiting))

    async def _work_together(self, tasks: Iterator[Task]) -> None:
        """Ask ``tasks`` with several workers; those whose answers are in batches are pending afterwards."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.session.spec.max_concurrency, len(self.tasks))):
                    group.create_task(self._work(tasks))
        except* StoreError as failures:
            raise failures.exceptions[0] from None

    async def _work(self, tasks: Iterator[Task], *, until_readable: bool = False) -> None:
        for task in tasks:
            if self.result.stopped is not None:
                return
            readable = False
            try:
                readable = await self._ask(task)
                self._note_answer(readable)
            except StepFailed as error:
                self._note_failure(error)
            except (BudgetError, ProviderError) as error:
                return self.stop(str(error), error.exit_code)
            except batch.Pending:
                self._pending.append(task)
                continue
            except NotSent:
                return
            if self.on_progress is not None:
                done = self.result.answered + self.result.failed
                self.on_progress(done, len(self.tasks), self.session.tally.cost_usd)
            if until_readable and readable:
                return

    # --- what became of it ------------------------------------------------------------------------------------------
    def _note_kept(self, readable: bool) -> None:
        self.result.answered += 1
        self.result.unusable += not readable

    def _note_answer(self, readable: bool) -> None:
        self._note_kept(readable)
        self._failures_in_a_row = 0
        self._unreadable_in_a_row = 0 if readable else self._unreadable_in_a_row + 1
        billed = self.session.spec.provider not in IN_PROCESS
        if billed and self._unreadable_in_a_row >= STOP_AFTER_UNREADABLE_IN_A_ROW:
            what = f"{self._unreadable_in_a_row} items in a row were billed and cannot be used"
            self.stop(f"{what}: {_advice(self.session.spec)}")

    def _note_failure(self, error: StepFailed) -> None:
        self.result.failed += 1
        self.result.last_failure = one_line(str(error), FAILURE_SHOWN)
        self._failures_in_a_row += 1
        if self._concerns_all(error) or self._failures_in_a_row >= STOP_AFTER_FAILURES_IN_A_ROW:
            self.stop(str(error))

    def _concerns_all(self, error: StepFailed) -> bool:
        """Whether every further item would fail as this one did."""
        # It names the key, the account or the model.
        if decisive(error.completion):
            return True
        nothing = self.result.answered == 0
        decided = isinstance(error, Refused) and error.decided
        # One that only forbids (xAI forbids single questions like that) counts where nothing was answered,
        # or after a few in a row.
        in_doubt = error.fatal or error.provider_away
        return (nothing and decided) or (in_doubt and (nothing or self._failures_in_a_row >= FEW_IN_A_ROW))
