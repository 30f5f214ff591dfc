"""A model that is asked through batches: each call waits until a wave of them is whole, goes out with it, and comes back.

Tasks stay what they are: they ask and wait. When every living task waits, the wave is closed: its requests become
batches, written down before anything is sent, their worst case set aside. What comes back are ordinary completions. A
request that is in a batch of an earlier process waits for that batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import dataclasses
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import MetacogError
from metacog_pipeline.llm.batch import collecting, records, wave
from metacog_pipeline.llm.batch.desk import BatchError, Desk, Later, NotListed
from metacog_pipeline.llm.batch.records import Batch
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.client import HttpChatModel
from metacog_pipeline.llm.costs import billed_cost, worst_case_cost
from metacog_pipeline.llm.halt import Halt, NotSent
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind
from metacog_pipeline.llm.wire import UnsupportedConstraint, wire_for

MOST_TASKS = 50_000  # suspended at once: more only take memory
MOST_BATCHES = 3  # one request is put into, before it counts as failed
MOST_FAILURES = 20  # of looking at one batch in a row: hours, with the pauses between them
DELIVERED_AT_ONCE = 256
DELIVERY_PAUSE_S = 0.01  # in which what was delivered is written down
AGAIN = (ErrorKind.TRANSIENT, ErrorKind.RATE_LIMIT)

_online: contextvars.ContextVar[bool] = contextvars.ContextVar("metacog_asked_online", default=False)
_logger = logging.getLogger(__name__)


class Waiting(NotSent):
    """The call is in a batch that has not ended, and nobody waits for it. Engine-internal."""


@contextlib.contextmanager
def online() -> Iterator[None]:
    """Have the calls made inside asked online: how a model takes its options must be known before a batch is written."""
    before = _online.set(True)
    try:
        yield
    finally:
        _online.reset(before)


@dataclass(slots=True)
class _Watched:
    """One batch of this session: when it is looked at next, on the loop's clock."""

    batch: Batch
    due: float = 0.0
    pause: float = 0.0
    failures: int = 0
    looked: bool = False


@dataclass(frozen=True, slots=True)
class _Rest:
    """A request that its batch did not answer; ``cost`` may have been billed for it all the same."""

    why: str
    cost: float | None


_Outcome = tuple[collecting.Place, Batch] | _Rest


class BatchModel:
    """A `ChatModel` that asks ``spec`` through batches. One event loop and one partition only.

    ``identify`` gives a request's answer id, ``kept`` says whether an answer is in the store. ``wait`` is whether to stay
    until batches end: otherwise every call that waits for one raises `Waiting` once all are submitted, and ``waiting``
    is how many batches are under way. ``problems`` is what has to be said about those that ended.
    """

    def __init__(
        self,
        model: HttpChatModel,
        desk: Desk,
        home: Path,
        owner: records.Owner,
        *,
        key: str | None,
        halt: Halt,
        identify: Callable[[ChatRequest], str],
        kept: Callable[[str], bool],
        wait: bool = True,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.spec = model.spec
        self.waiting = 0
        self.problems: list[str] = []
        self._model = model
        self._desk = desk
        self._home = home
        self._owner = owner
        self._key = key
        self._halt = halt
        self._identify = identify
        self._kept = kept
        self._wait = wait
        self._say = say or _logger.info
        self._plain = model.spec.model_copy(update={"stream": False})
        self._wire = wire_for(model.spec.provider)
        self._wave = wave.Wave(home, desk.way)
        self._parts: list[wave.Part] = []
        self._watched: dict[str, _Watched] = {}
        self._under_way: dict[str, Batch] = {}
        self._places: dict[str, tuple[collecting.Place, Batch]] = {}
        self._futures: dict[str, asyncio.Future[_Outcome]] = {}
        self._living: Callable[[], int] = lambda: 0
        self._event = asyncio.Event()
        self._last_added = 0.0
        self._failure: MetacogError | None = None
        self._driver: asyncio.Task[None] | None = None
        self._sending: asyncio.Task[None] | None = None

    @property
    def known(self) -> Capabilities:
        """What is known of the model."""
        return self._model.known

    @known.setter
    def known(self, known: Capabilities) -> None:
        self._model.known = known

    @property
    def announced_limits(self) -> Any:
        """The limits the provider has announced."""
        return self._model.announced_limits

    def begin(self, living: Callable[[], int]) -> None:
        """Take up the batches of earlier processes; ``living`` tells how many tasks may still ask.

        Raises ``StoreError``.
        """
        self._living = living
        records.clear_spools(self._home)
        for batch in records.batches(self._home):
            record = batch.record
            whose = (record.partition[1], record.kept_in, record.address)
            if whose == (self.spec.name, self._owner.kept_in, self._desk.root):
                self._take_up(batch)
        self._driver = asyncio.get_running_loop().create_task(self._drive())

    def changed(self) -> None:
        """Look whether every living task waits now."""
        if self._quiet():
            self._event.set()

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request`` through a batch; raises `Waiting` where nobody waits for it, else as the online model."""
        answer = self._identify(request)
        known = answer in self._places or answer in self._under_way
        if self._driver is None or (_online.get() and not known):
            return await self._model.complete(request)
        cost: float | None = 0.0
        for number in range(1, MOST_BATCHES + 1):
            found = self._places.get(answer)
            try:
                outcome = found if found is not None else await self._outcome(answer, request)
            except UnsupportedConstraint:
                return await self._model.complete(request)  # which says so, and sends nothing
            completion, why = self._read(request, outcome)
            self._places.pop(answer, None)
            if completion is not None and completion.error_kind not in AGAIN:
                return _with(completion, number, cost)
            if isinstance(outcome, _Rest):
                cost = None if cost is None or outcome.cost is None else cost + outcome.cost
            if self.spec.batch_rest == "online":
                return _with(await self._model.complete(request), number, cost)
        return _with(collecting.unanswered(why), MOST_BATCHES, cost)

    async def close(self) -> None:
        """Let a submission under way finish, forget what was not written down, note what is kept by now."""
        if self._driver is None:
            return
        if self._sending is not None:
            await asyncio.wait([self._sending])
        self._driver.cancel()
        await asyncio.wait([self._driver])
        self._driver = None
        self._wave.drop()
        for part in self._parts:
            part.path.unlink(missing_ok=True)
        for watched in self._watched.values():
            self._put_away(watched.batch)

    # --- one call ---------------------------------------------------------------------------------------------------
    async def _outcome(self, answer: str, request: ChatRequest) -> _Outcome:
        """Wait for what becomes of ``request``: in a batch under way, or in the wave. Raises ``UnsupportedConstraint``."""
        if self._failure is not None:
            raise self._failure
        if answer not in self._under_way:
            self._add(answer, request)
        future: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self._futures[answer] = future
        self.changed()
        try:
            with self._halt.unsent():
                return await future
        finally:
            if self._futures.get(answer) is future:
                del self._futures[answer]

    def _add(self, answer: str, request: ChatRequest) -> None:
        call = self._wire.build(self._plain, request, self._key, self.known)
        way = self._desk.way
        group = wave.Group(way.target(self._desk.root, call), wave.sealed(call.headers, self._key))
        worst = worst_case_cost(self.spec, request, self.known, batch=True)
        self._wave.add(answer, group, way.line(answer, group.target, call), worst)
        self._last_added = asyncio.get_running_loop().time()

    def _read(self, request: ChatRequest, outcome: _Outcome) -> tuple[Completion | None, str]:
        if isinstance(outcome, _Rest):
            return None, outcome.why
        place, batch = outcome
        line = collecting.read_at(place, self._desk.way)
        if line is None:
            return None, "unreadable"
        completion = collecting.completion_of(line, batch, self._desk.read)
        billed = 1 if line.status == 200 else 0
        cost = billed_cost(self.spec, request, completion.usage, self.known, batch=True) if billed else 0.0
        return dataclasses.replace(completion, cost_usd=cost, attempts_billed=billed), "error"

    # --- the batches ------------------------------------------------------------------------------------------------
    def _take_up(self, batch: Batch) -> None:
        state = batch.record.state
        if state == "written":  # never sent: its requests are asked for anew
            self._desk.forget(batch)
        elif state in records.OPEN_STATES:
            self._watch(batch)
        elif state == "collected":
            for answer, place in collecting.index(batch, self._desk.way).places.items():
                if not self._kept(answer):
                    self._places.setdefault(answer, (place, batch))
            self._put_away(batch)

    def _watch(self, batch: Batch) -> None:
        self._watched[batch.record.mark] = _Watched(batch, pause=self._desk.pace.first_s)
        for answer, _ in batch.answers():
            self._under_way[answer] = batch

    def _put_away(self, batch: Batch) -> None:
        """Note that all answers of a batch are kept elsewhere; what is odd about it stays."""
        if batch.record.state != "collected":
            return
        places = collecting.index(batch, self._desk.way).places
        if all(map(self._kept, places)):
            batch.now(state="done")
            if batch.record.message is None:
                batch.forget_files()

    def _quiet(self) -> bool:
        return bool(self._futures) and len(self._futures) >= self._living()

    async def _drive(self) -> None:
        try:
            while True:
                await self._step()
                self._leave_if_not_waiting()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._until_next()):
                        await self._event.wait()
                self._event.clear()
        except MetacogError as error:
            self._fail(error)
        except Exception as error:  # a fault of this program must not leave tasks waiting for ever
            _logger.exception("the batches of %s", self.spec.name)
            self._fail(
                BatchError(f"model {self.spec.name}: its batches stopped ({type(error).__name__}: {error})")
            )

    async def _step(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._wave and (self._quiet() or now - self._last_added >= self._desk.pace.quiet_s):
            self._parts += self._wave.take()
        self._write_parts()
        for watched in list(self._watched.values()):
            if watched.due <= asyncio.get_running_loop().time():
                await self._tend(watched)

    def _write_parts(self) -> None:
        """Make batches of the parts, as far as the budget allows now."""
        while self._parts:
            part = self._parts[0]
            count = wave.affordable(part, self._desk.free())
            if count == 0:
                if not any(each.batch.record.state in records.OPEN_STATES for each in self._watched.values()):
                    raise self._desk.too_much(part.answers[0][1])
                return  # what is under way may cost less than was set aside
            if count < len(part.answers):
                part, rest = wave.split(self._home, self._desk.way, part, count)
                self._parts[0] = rest
            else:
                self._parts.pop(0)
            batch = wave.written(self._home, part, self._desk.record_fields(self._owner, part))
            self._desk.set_aside(batch)
            self._watch(batch)

    async def _tend(self, watched: _Watched) -> None:
        """Do the next thing with a batch: submit it, look for it, look at it, collect it."""
        batch, loop = watched.batch, asyncio.get_running_loop()
        try:
            match batch.record.state:
                case "written":
                    await self._uninterrupted(self._desk.submit(batch))
                    self._tell(batch, "submitted")
                case "submitting":
                    await self._uninterrupted(self._desk.resolve(batch, self._others(batch)))
                case "submitted":
                    look = await self._desk.look(batch)
                    watched.looked = True
                    if look.phase == "ended":
                        found = await self._desk.collect(batch, look)
                        if found is not None:
                            self._tell(batch, f"has ended ({look.word})")
                            await self._deliver(batch, found)
                        return
                case _:
                    watched.due = float("inf")
                    return
            watched.failures = 0
        except NotListed:
            pass
        except Later as reason:
            watched.failures += 1
            if watched.failures >= MOST_FAILURES:
                raise BatchError(
                    f"batch {batch.record.mark}: {reason}; it is kept, run again to go on with it"
                ) from None
            _logger.info("batch %s: %s", batch.record.mark, reason)
        if batch.record.state == "submitting":
            watched.due = loop.time() + min(watched.pause, self._desk.pace.settling_s / 4)
        else:
            watched.due = loop.time() + watched.pause
            watched.pause = min(watched.pause * self._desk.pace.factor, self._desk.pace.most_s)

    async def _uninterrupted(self, work: Any) -> None:
        """Do what must not be broken off half-way: `close` waits for it."""
        self._sending = asyncio.get_running_loop().create_task(work)
        try:
            await asyncio.shield(self._sending)
        finally:
            if self._sending.done():
                self._sending = None

    async def _deliver(self, batch: Batch, found: collecting.Found) -> None:
        """Give every task that waits what its request came to."""
        for number, (answer, worst) in enumerate(batch.answers(), start=1):
            self._under_way.pop(answer, None)
            future, place = self._futures.pop(answer, None), found.places.get(answer)
            if place is not None and future is None:
                self._places[answer] = (place, batch)
            if future is not None and not future.done():
                why = found.why.get(answer)
                cost = self._desk.dollars(worst) if why is None else 0.0
                future.set_result((place, batch) if place is not None else _Rest(why or "error", cost))
            if number % DELIVERED_AT_ONCE == 0:
                await asyncio.sleep(DELIVERY_PAUSE_S)
        if (message := batch.record.message) is not None:
            self.problems.append(message)
        self._watched[batch.record.mark].due = float("inf")
        self._event.set()  # what it cost less than was set aside may pay for the next

    def _others(self, batch: Batch) -> set[str]:
        """Return the batches at the provider that are known to be others than ``batch``."""
        mark = batch.record.mark
        return {
            each.record.remote
            for each in records.batches(self._home)
            if each.record.remote is not None and not each.record.tentative and each.record.mark != mark
        }

    def _leave_if_not_waiting(self) -> None:
        under_way = [
            each for each in self._watched.values() if each.batch.record.state in records.OPEN_STATES
        ]
        if self._wait or not self._quiet() or self._wave or not under_way:
            return
        if all(each.looked and each.batch.record.state == "submitted" for each in under_way):
            self.waiting = len(under_way)
            self._wake(Waiting())

    def _until_next(self) -> float | None:
        now = asyncio.get_running_loop().time()
        soonest = min((each.due for each in self._watched.values()), default=float("inf"))
        if self._wave:
            soonest = min(soonest, self._last_added + self._desk.pace.quiet_s)
        return None if soonest == float("inf") else max(0.0, soonest - now)

    def _fail(self, error: MetacogError) -> None:
        self._failure = error
        self._wake(error)

    def _wake(self, error: Exception) -> None:
        for future in list(self._futures.values()):
            if not future.done():
                future.set_exception(error)

    def _tell(self, batch: Batch, what: str) -> None:
        record = batch.record
        if record.state in ("submitted", "collected"):
            self._say(f"{self.spec.name}: batch {record.mark} of {record.n} requests {what}")


def _with(completion: Completion, batches: int, cost: float | None) -> Completion:
    """Return ``completion`` with what the batches before it came to."""
    total = None if cost is None or completion.cost_usd is None else completion.cost_usd + cost
    return dataclasses.replace(
        completion,
        cost_usd=total,
        attempts=completion.attempts + batches - 1,
        attempts_billed=completion.attempts_billed + bool(cost),
    )
