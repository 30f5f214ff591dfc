"""A model that is asked through batches: a call whose answer is not there yet is given up, and made again when it is.

A task that meets such a call is parked: `Parked` unwinds it, and its request lies in the open wave or in a batch under
way. When every task is answered or parked, `BatchModel.next` closes the wave: its requests become batches, written down
before anything is sent, their worst case set aside. Then the parked tasks run again; what they asked before is in the
store, and what the batch brought comes back as ordinary completions. So nothing waits in memory but the names of tasks,
and a process that starts anew does nothing else than one that went on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable
from dataclasses import dataclass

from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import collecting, records, wave
from metacog_pipeline.llm.batch.desk import BatchError, Desk, Later, NotListed
from metacog_pipeline.llm.batch.parking import Parked, is_online
from metacog_pipeline.llm.batch.records import Batch
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.client import HttpChatModel
from metacog_pipeline.llm.costs import worst_case_cost
from metacog_pipeline.llm.halt import Halt
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind
from metacog_pipeline.llm.wire import UnsupportedConstraint, wire_for

MOST_BATCHES = 3  # one request is put into, before it counts as failed
LOOKED_FOR_TIMES = 4  # in the provider's list, before a batch counts as never submitted
MOST_FAILURES = 20  # of looking at one batch in a row: hours, with the pauses between them
AGAIN = (ErrorKind.TRANSIENT, ErrorKind.RATE_LIMIT)
EMPTY = "empty"  # a whole answer that says nothing: billed, and asked for once more

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Watched:
    """One batch of this session: when it is looked at next, on the loop's clock."""

    batch: Batch
    due: float = 0.0
    pause: float = 0.0
    failures: int = 0
    looked: bool = False


@dataclass(slots=True)
class _Tried:
    """A request that batches did not answer: how many, why the last one did not, what may have been billed for it."""

    batches: int = 0
    why: str = "error"
    cost: float | None = 0.0


class BatchModel:
    """A `ChatModel` that asks ``spec`` through batches. One event loop and one partition only.

    ``identify`` gives a request's answer id, ``kept`` says whether an answer is in the store. ``submits`` is whether what
    no batch holds goes into a new one; otherwise it is asked online, and only earlier batches are taken up. ``wait`` is
    whether `next` stays until batches end; otherwise it returns once all are submitted, and ``waiting`` is how many are
    under way.
    ``problems`` is what has to be said about those that ended.
    """

    def __init__(
        self,
        model: HttpChatModel,
        desk: Desk,
        home: Home,
        owner: records.Owner,
        *,
        key: str | None,
        halt: Halt,
        identify: Callable[[ChatRequest], str],
        kept: Callable[[str], bool],
        submits: bool = True,
        wait: bool = True,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.spec = model.spec
        self.submits = submits
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
        self._wave = wave.Wave(desk.way)
        self._parts: list[wave.Part] = []
        self._unpaid: set[str] = set()  # in parts the budget has not allowed yet
        self._watched: dict[str, _Watched] = {}
        self._under_way: dict[str, Batch] = {}
        # What batches brought for a request, oldest first: one that came to nothing was put into the next.
        self._places: dict[str, list[tuple[collecting.Place, Batch]]] = {}
        self._tried: dict[str, _Tried] = {}

    @property
    def known(self) -> Capabilities:
        """What is known of the model."""
        return self._model.known

    @known.setter
    def known(self, known: Capabilities) -> None:
        self._model.known = known

    def begin(self) -> None:
        """Take up the batches of earlier processes. Raises ``StoreError``."""
        for batch in records.unfinished(self._home, self.spec.name, self._owner.kept_in, self._desk.root):
            self._take_up(batch)

    def there(self, answer: str) -> bool:
        """Whether a parked call may be made again: its batch has ended."""
        return not (answer in self._under_way or answer in self._unpaid or answer in self._wave)

    def holds(self, answer: str) -> bool:
        """Whether a batch has the answer to a call, or will have it."""
        return answer in self._places or not self.there(answer)

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request`` with what a batch brought; raises `Parked` where it is not there yet."""
        answer = self._identify(request)
        for found in self._places.pop(answer, []):
            completion = self._read(request, *found)
            if completion is None:
                self._note(answer, "unreadable", worst_case_cost(self.spec, request, self.known, batch=True))
            elif completion.error_kind in AGAIN:  # billed where the provider says that it answered
                self._note(answer, "error", completion.cost_usd)
            elif completion.empty and not self._was_empty(answer):
                self._note(answer, EMPTY, completion.cost_usd)
            else:
                return _with(completion, self._tried.pop(answer, None))
        if not self.there(answer):
            raise Parked(answer)
        tried = self._tried.get(answer)
        if self.submits and tried is not None and tried.batches >= MOST_BATCHES:
            return _with(collecting.unanswered(tried.why), self._tried.pop(answer))
        if not self.submits or is_online() or (tried is not None and self.spec.batch_rest == "online"):
            return _with(await self._model.complete(request), self._tried.pop(answer, None))
        if (refusal := self._model.refusal()) is not None:
            return refusal
        try:
            self._add(answer, request)
        except UnsupportedConstraint:
            return await self._model.complete(request)  # which says so, and sends nothing
        raise Parked(answer)

    async def next(self) -> bool:
        """Submit what was asked for, and wait until some of it is there; False where nobody waits for it.

        Raises `NotSent` when everything is to be given up, ``BudgetError`` where not one request can be paid for,
        `BatchError` where a batch cannot go on without the user.
        """
        self._parts += self._wave.take()
        self._unpaid = {answer for part in self._parts for answer, _ in part.answers}
        while True:
            self._write_parts()
            now = asyncio.get_running_loop().time
            due = [each for each in self._watched.values() if each.due <= now()]
            delivered = [await self._tend(each) for each in due]
            under_way = self._open_ones()
            if any(delivered) or not under_way:
                return True
            if not self._wait and all(each.looked for each in under_way):
                self.waiting = len(under_way)
                return False
            with self._halt.unsent():
                await asyncio.sleep(max(0.0, min(each.due for each in under_way) - now()))

    async def close(self) -> None:
        """Note what is kept by now; what was not written down is asked for again."""
        for watched in self._watched.values():
            self._put_away(watched.batch)

    # --- one call ---------------------------------------------------------------------------------------------------
    def _add(self, answer: str, request: ChatRequest) -> None:
        call = self._wire.build(self._plain, request, self._key, self.known)
        way = self._desk.way
        group = wave.Group(way.target(self._desk.root, call), wave.sealed(call.headers, self._key))
        worst = worst_case_cost(self.spec, request, self.known, batch=True)
        self._wave.add(answer, group, way.line(answer, group.target, call), worst)

    def _read(self, request: ChatRequest, place: collecting.Place, batch: Batch) -> Completion | None:
        line = collecting.read_at(place, self._desk.way)
        if line is None:
            return None
        completion = collecting.completion_of(line, batch.record, self._desk.read)
        billed = 1 if line.status == 200 else 0
        if billed:
            self._model.note_bill(request, completion.usage)
        cost = self._model.billed(completion, request, self.known, batch=True) if billed else 0.0
        return dataclasses.replace(completion, cost_usd=cost, attempts_billed=billed)

    def _was_empty(self, answer: str) -> bool:
        return answer in self._tried and self._tried[answer].why == EMPTY

    def _note(self, answer: str, why: str, cost: float | None) -> None:
        """Note that a batch did not answer a request."""
        tried = self._tried.setdefault(answer, _Tried())
        tried.batches += 1
        tried.why = why
        tried.cost = None if tried.cost is None or cost is None else tried.cost + cost

    # --- the batches ------------------------------------------------------------------------------------------------
    def _take_up(self, batch: Batch) -> None:
        state = batch.record.state
        if state == "written":  # never sent: its requests are asked for anew
            self._desk.forget(batch)
        elif state in records.OPEN_STATES:
            self._watch(batch, due=0.0)
        elif state == "collected":
            for answer, place in collecting.index(batch, self._desk.way).places.items():
                if not self._kept(answer):
                    self._places.setdefault(answer, []).append((place, batch))
            self._watched[batch.record.mark] = _Watched(batch, due=float("inf"))  # put away in the end

    def _watch(self, batch: Batch, due: float) -> None:
        self._watched[batch.record.mark] = _Watched(batch, due, self._desk.pace.first_s)
        self._under_way.update((answer, batch) for answer, _ in batch.answers())

    def _put_away(self, batch: Batch) -> None:
        """Note that all answers of a batch are kept elsewhere; what is odd about it stays."""
        if batch.record.state != "collected":
            return
        places = collecting.index(batch, self._desk.way).places
        if all(map(self._kept, places)):
            batch.now(state="done")
            if batch.record.message is None:
                batch.forget_files()

    def _open_ones(self) -> list[_Watched]:
        return [each for each in self._watched.values() if each.batch.record.state in records.OPEN_STATES]

    def _write_parts(self) -> None:
        """Make batches of the parts, as far as the budget allows now."""
        while self._parts:
            part = self._parts[0]
            count = wave.affordable(part, self._desk.free())
            if count == 0:
                if not self._open_ones():
                    raise self._desk.too_much(part.answers[0][1])
                return  # what is under way may cost less than was set aside
            if count < len(part.answers):
                part, rest = wave.split(part, count)
                self._parts[0] = rest
            else:
                self._parts.pop(0)
            batch = wave.written(self._home, part, self._desk.record_fields(self._owner, part))
            self._desk.set_aside(batch)
            self._watch(batch, due=0.0)
            self._unpaid.difference_update(answer for answer, _ in part.answers)

    async def _tend(self, watched: _Watched) -> bool:
        """Do the next thing with a batch: submit it, look for it, look at it, collect it. Return whether answers came."""
        batch, loop = watched.batch, asyncio.get_running_loop()
        try:
            match batch.record.state:
                case "written":
                    await self._desk.submit(batch)
                    self._tell(batch, "submitted")
                case "submitting":
                    await self._desk.resolve(batch, self._others(batch))
                case "submitted":
                    look = await self._desk.look(batch)
                    watched.looked = True
                    found = await self._desk.collect(batch, look) if look.phase == "ended" else None
                    if found is not None:
                        self._tell(batch, f"has ended ({look.word})")
                        self._deliver(batch, found)
                        watched.due = float("inf")
                        return True
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
            watched.due = loop.time() + self._desk.pace.settling_s / LOOKED_FOR_TIMES
        else:
            watched.due = loop.time() + watched.pause
            watched.pause = min(watched.pause * self._desk.pace.factor, self._desk.pace.most_s)
        return False

    def _deliver(self, batch: Batch, found: collecting.Found) -> None:
        """Have what a batch brought at hand, and note what it did not bring."""
        for answer, worst in batch.answers():
            self._under_way.pop(answer, None)
            if (place := found.places.get(answer)) is not None:
                self._places.setdefault(answer, []).append((place, batch))
                continue
            why = found.why.get(answer)
            self._note(answer, why or "error", self._desk.dollars(worst) if why is None else 0.0)
        if (message := batch.record.message) is not None:
            self.problems.append(message)

    def _others(self, batch: Batch) -> set[str]:
        """Return the batches at the provider that are known to be others than ``batch``."""
        mark = batch.record.mark
        return {
            each.record.remote
            for each in records.batches(self._home)
            if each.record.remote is not None and not each.record.tentative and each.record.mark != mark
        }

    def _tell(self, batch: Batch, what: str) -> None:
        self._say(f"{self.spec.name}: batch {batch.record.mark} of {batch.record.n} requests {what}")


def _with(completion: Completion, tried: _Tried | None) -> Completion:
    """Return ``completion`` with what the batches before it came to."""
    if tried is None:
        return completion
    cost = completion.cost_usd
    return dataclasses.replace(
        completion,
        cost_usd=None if cost is None or tried.cost is None else cost + tried.cost,
        attempts=completion.attempts + tried.batches,
        attempts_billed=completion.attempts_billed + bool(tried.cost),
    )
