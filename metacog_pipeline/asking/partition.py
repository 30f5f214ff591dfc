"""Query one partition: all items × conditions of a benchmark for one model and run.

A fixed number of workers take tasks in order, so memory does not grow with the number of items. What stops a
partition early: a spent budget, a provider that rejects every call or cannot be reached, or many failures in a row.
Whatever was answered until then is kept, and the next session asks only for the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from metacog_pipeline.asking.asking import Profile, Session, StepFailed, Tally, is_fatal
from metacog_pipeline.asking.capability import Asked, ask_task, negotiate
from metacog_pipeline.asking.kept import kept_of
from metacog_pipeline.asking.options import decisive
from metacog_pipeline.asking.search import Refused, Search
from metacog_pipeline.asking.types import Task
from metacog_pipeline.asking.unusable import HOW_TO_REASK, mostly_unusable
from metacog_pipeline.errors import BudgetError, ProviderError, StoreError, one_line
from metacog_pipeline.llm.batch import parking
from metacog_pipeline.llm.halt import NotSent
from metacog_pipeline.llm.spec import IN_PROCESS
from metacog_pipeline.llm.types import ErrorKind

STOP_AFTER_FAILURES_IN_A_ROW = 50  # a provider that is down should not be asked a thousand times
SAID_AT_MOST = 160  # characters of a failure in a line about something else
SPARE_SHARE = 10  # one worker more for this many calls at once
FORBIDDEN_IN_A_ROW = (
    3  # refusals (403) that name no reason, between answers: of these items, or of the key by now
)
UNAVAILABLE = frozenset({503, 529})
UNAVAILABLE_S = 60.0  # of a service that says so: it has nothing to do with the task
PROBED_TASKS = 3  # one odd item must not decide that a provider cannot be asked at all


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a partition stands; handed to the caller after every task."""

    done: int
    total: int
    tally: Tally


@dataclass(frozen=True, slots=True)
class SessionResult:
    """How a session on a partition ended.

    ``stopped`` says why it ended early, ``None`` when it did not; ``exit_code`` is what a command that did nothing else
    ends with then. ``unusable`` counts answered tasks that give nothing to read; ``too_few_usable``
    says that they are too many. ``waiting`` batches are under way that nobody waited for. ``last_failure`` is what the
    provider said of the last call that failed.
    """

    tasks: int
    answered: int
    failed: int
    profile: Profile | None
    tally: Tally
    stopped: str | None = None
    exit_code: int = 0
    unusable: int = 0
    too_few_usable: str | None = None
    waiting: int = 0
    last_failure: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every task has its answers, and enough of them can be used."""
        return self.answered == self.tasks and self.too_few_usable is None

    @property
    def missing(self) -> str | None:
        """What there is not, in one line; None when complete."""
        if self.answered < self.tasks:
            why = f"; the last failure: {self.last_failure}" if self.last_failure else ""
            return f"{self.tasks - self.answered} of {self.tasks} items have no answer yet{why}"
        return self.too_few_usable


def workers(max_concurrency: int) -> int:
    """Return how many tasks are under way at once: a few wait for the disk while the others keep every call busy."""
    return max_concurrency + max_concurrency // SPARE_SHARE


async def query_tasks(
    pool: WorkerPool, modes: Sequence[str], *, known: Profile | None = None
) -> SessionResult:
    """Ask every task; a model over HTTP has at most ``spec.max_concurrency`` calls under way."""
    profile = known if known is not None and known.mode in modes else None
    search = Search(pool.session.spec, modes, pool.session.learnt.known)
    probed = pool.tasks[:PROBED_TASKS]
    for task in probed:
        if profile is not None or pool.stopped is not None:
            break
        search.more = task is not probed[-1]
        try:
            profile = await _probed(pool, task, search)
        except StepFailed as error:
            decided = error.decided if isinstance(error, Refused) else is_fatal(error)
            if decided or pool.nobody_there(error) or task is probed[-1]:
                pool.failed += 1
                pool.stop(str(error))
        except (BudgetError, ProviderError) as error:
            pool.stop(str(error), error.exit_code)
        except NotSent:
            break
    pool.stop_if_unusable()
    if profile is not None:
        profile = await pool.work(profile, modes)
    if pool.stopped is not None:
        await pool.look_up(profile or search.first().profile, modes)
    pool.session.learnt.save()
    return pool.outcome(profile)


async def _probed(pool: WorkerPool, task: Task, search: Search) -> Profile:
    """Return how ``task`` is asked. Where a batch of an earlier session has its answer, that is waited for."""
    while True:
        try:
            with parking.online():
                return await negotiate(pool.session, task, search)
        except parking.Parked:
            if not await pool.next_wave():
                raise NotSent from None


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
        self._finished: set[int] = set()  # tasks that were answered or failed
        self.failures_in_a_row = 0
        self.last_answer_at = float("-inf")  # on the event loop's clock
        self.interrupted = False
        self.stopped_at = 0.0  # when it was interrupted
        self.parked: list[tuple[str, Task]] = []
        self.stopped: str | None = None
        self.exit_code = 0
        self.last_failure: str | None = None

    async def work(self, profile: Profile, modes: Sequence[str] = ()) -> Profile:
        """Ask every task with as many workers as the model allows; return the profile of the last ones.

        It is ``profile``, unless the provider takes an option no more: then one of ``modes`` is found once again.
        """
        one_by_one = self.session.spec.provider not in IN_PROCESS
        asked = Asked(profile, tuple(modes) or (profile.mode,))
        queue = iter(self.tasks)
        try:
            if one_by_one:
                # Until something can be read, so that no more is paid for than shows that nothing can.
                with parking.online():
                    await self._worker(queue, asked, carefully=True)
            await self._pass(queue, asked)
            while self.parked and self.stopped is None and await self.next_wave():
                await self._pass(iter(self._ready()), asked)
        except* StoreError as failures:
            raise failures.exceptions[0] from None
        return asked.profile

    async def _pass(self, queue: Iterator[Task], asked: Asked) -> None:
        """Ask the tasks of ``queue``; those whose answers are in batches are parked."""
        submits = self.session.lane is not None and self.session.lane.submits
        at_once = parking.TASKS_AT_ONCE if submits else workers(self.session.spec.max_concurrency)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(self.tasks))):
                group.create_task(self._worker(queue, asked))

    async def next_wave(self) -> bool:
        """Wait until a batch brings answers to tasks that are parked; False where there is nothing to go on with."""
        assert self.session.lane is not None, "only batches park tasks"
        try:
            return await self.session.lane.next()
        except (BudgetError, ProviderError) as error:
            self.stop(str(error), error.exit_code)
        except NotSent:
            pass
        return False

    def _ready(self) -> list[Task]:
        """Return the parked tasks that can go on; the others stay parked."""
        batches, parked = self.session.lane, self.parked
        assert batches is not None, "only batches park tasks"
        self.parked = [each for each in parked if not batches.there(each[0])]
        return [task for answer, task in parked if batches.there(answer)]

    async def _worker(self, queue: Iterator[Task], asked: Asked, *, carefully: bool = False) -> None:
        """Ask one task after another; ``carefully`` only while they give nothing to read."""
        for task in queue:
            if self.stopped is not None:
                return
            gave_nothing = False
            try:
                gave_nothing = not await asked.run(self.session, task)
            except StepFailed as error:
                self._finished.add(id(task))
                self._failure(error)
            except (BudgetError, ProviderError) as error:
                self.stop(str(error), error.exit_code)
                return
            except parking.Parked as parked:
                self.parked.append((parked.answer, task))
                continue
            except NotSent:
                self.stop_if_unusable()
                return
            else:
                self._answer(task, gave_nothing)
                self.failures_in_a_row = 0
                self.last_answer_at = asyncio.get_running_loop().time()
            self.stop_if_unusable()
            if self.on_progress is not None:
                self.on_progress(Progress(self.answered + self.failed, len(self.tasks), self.session.tally))
            if carefully and not gave_nothing:
                return

    def _answer(self, task: Task, gave_nothing: bool) -> None:
        self._finished.add(id(task))
        self.answered += 1
        self.unusable += gave_nothing

    async def look_up(self, profile: Profile, modes: Sequence[str]) -> None:
        """Count the tasks that nobody took any more and that are answered in full already; nothing is asked."""
        kept = kept_of(self.session)
        for task in self.tasks:
            if id(task) in self._finished:
                continue
            await asyncio.sleep(0)  # a second interrupt is heard
            if (way := kept.whole(task, profile, modes)) is not None:
                self._answer(task, not await ask_task(self.session, task, way, modes))

    def stop_if_unusable(self) -> None:
        """Stop where replies are billed and cannot be used."""
        if self.session.watch.stop is not None:
            self.stop(self.session.watch.stop)

    def _failure(self, error: StepFailed) -> None:
        self.failed += 1
        self.failures_in_a_row += 1
        self.last_failure = one_line(str(error), SAID_AT_MOST)
        many = self.failures_in_a_row >= STOP_AFTER_FAILURES_IN_A_ROW
        if isinstance(error, Refused) and error.decided and not self.answered:
            many = True
        if (is_fatal(error) and not self._of_one_item(error)) or many or self.nobody_there(error):
            self.stop(str(error))

    def _of_one_item(self, error: StepFailed) -> bool:
        """Whether a call was forbidden for what it asks, as it seems: others were answered, and no code blames the key.

        xAI refuses a question that violates its guidelines like that.
        """
        forbidden = error.completion.http_status == HTTPStatus.FORBIDDEN and not decisive(error.completion)
        return forbidden and self.answered > 0 and self.failures_in_a_row < FORBIDDEN_IN_A_ROW

    def nobody_there(self, error: StepFailed) -> bool:
        """Whether the call found no connection, only refusals for rate, or for long a service that was unavailable, and no
        task was answered meanwhile: it has nothing to do with the task, and the next one would wait as long for nothing."""
        from metacog_pipeline.llm.transport import (
            NO_CONNECTION,  # loads HTTP, which was used if a call failed
        )

        failed = error.completion
        away = failed.http_status in UNAVAILABLE and failed.latency_s >= UNAVAILABLE_S
        if not (away or failed.error_kind is ErrorKind.RATE_LIMIT or failed.error_code == NO_CONNECTION):
            return False
        return self.last_answer_at <= asyncio.get_running_loop().time() - failed.latency_s

    def stop(self, reason: str, exit_code: int = ProviderError.exit_code) -> None:
        """Take no new task and give up calls not sent yet; the first reason given is the one reported."""
        if self.stopped is None:
            self.stopped = reason or "the provider gave no answer"
            self.exit_code = exit_code
            if self.on_stop is not None:
                self.on_stop()

    def outcome(self, profile: Profile | None) -> SessionResult:
        """Return how far the pool has come."""
        batches = self.session.lane
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
