"""A model that is asked through batches: a call whose answer is not there yet is given up, and made again when it is.

A task that meets such a call ends with `Pending`; its request is queued, or in a batch under way. When every task is
answered or pending, `BatchModel.next` writes the queued requests down as batches, sets their worst case aside and submits
them. Then the pending tasks run again: what they asked before is in the store, and what the batch brought comes back as
ordinary completions. So nothing waits in memory but the names of tasks, and a process that starts anew does nothing else
than one that went on.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from dataclasses import dataclass

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import records
from metacog_pipeline.llm.batch.backends import Backend
from metacog_pipeline.llm.batch.job import KEY, Jobs, Results, unanswered
from metacog_pipeline.llm.batch.pending import Pending, is_online
from metacog_pipeline.llm.batch.records import Batch, BatchRecord
from metacog_pipeline.llm.batch.transport import Later
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.client import HttpChatModel
from metacog_pipeline.llm.costs import worst_case_cost
from metacog_pipeline.llm.ledger import NANO, nano
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind
from metacog_pipeline.llm.wire import UnsupportedConstraint, wire_for

MOST_BATCHES = 3  # one request is put into, before it counts as failed
AGAIN = (ErrorKind.TRANSIENT, ErrorKind.RATE_LIMIT)
EMPTY = "empty"  # a whole answer that says nothing: billed, and asked for once more

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that waits to be submitted.

    ``target`` and ``headers`` (without the key) are what all requests of a batch share, ``worst`` the most it can cost in
    nano-dollars.
    """

    answer: str
    target: str
    headers: tuple[tuple[str, str], ...]
    line: bytes
    worst: int


@dataclass(slots=True)
class _Tried:
    """A request that batches did not answer: how many, why the last one did not, what may have been billed for it."""

    batches: int = 0
    why: str = "error"
    cost: float | None = 0.0


class BatchModel:
    """A `ChatModel` that asks ``spec`` through batches. One event loop and one partition only.

    ``identify`` gives a request's answer id, ``kept`` says whether an answer is in the store. ``submits`` is whether what
    no batch holds goes into a new one; otherwise it is asked online, and only earlier batches are taken up. ``waiting`` is
    how many batches are under way, for a later session; ``problems`` are the lines about those that ended.
    """

    def __init__(
        self,
        model: HttpChatModel,
        jobs: Jobs,
        home: Home,
        owner: records.Owner,
        *,
        key: str | None,
        identify: Callable[[ChatRequest], str],
        kept: Callable[[str], bool],
        submits: bool = True,
    ) -> None:
        self.spec = model.spec
        self.submits = submits
        self.waiting = 0
        self.problems: list[str] = []
        self._model = model
        self._jobs = jobs
        self._home = home
        self._owner = owner
        self._key = key
        self._identify = identify
        self._kept = kept
        self._plain = model.spec.model_copy(update={"stream": False})
        self._wire = wire_for(model.spec.provider)
        self._queued: dict[str, Request] = {}
        self._batches: list[Batch] = []
        self._under_way: set[str] = set()
        # What batches brought for a request, oldest first: one that came to nothing was put into the next.
        self._brought: dict[str, list[Results]] = {}
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
        for batch in records.unfinished(self._home, self.spec.name, self._owner.kept_in, self._jobs.root):
            if batch.record.state == "written":  # never sent: its requests are asked for anew
                self._jobs.forget(batch)
            elif batch.record.state in records.OPEN_STATES:
                self._watch(batch)
            else:
                results = Results.of(batch, self._jobs.backend)
                for answer in results.places:
                    if not self._kept(answer):
                        self._brought.setdefault(answer, []).append(results)
                self._batches.append(batch)  # put away in the end

    def there(self, answer: str) -> bool:
        """Whether a pending call may be made again: its batch has ended."""
        return answer not in self._under_way and answer not in self._queued

    def holds(self, answer: str) -> bool:
        """Whether a batch has the answer to a call, or will have it."""
        return answer in self._brought or not self.there(answer)

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request`` with what a batch brought; raises `Pending` where it is not there yet."""
        answer = self._identify(request)
        if (completion := self._from_batches(answer, request)) is not None:
            return _with(completion, self._tried.pop(answer, None))
        if not self.there(answer):
            raise Pending(answer)
        tried = self._tried.get(answer)
        if self.submits and tried is not None and tried.batches >= MOST_BATCHES:
            return _with(unanswered(tried.why), self._tried.pop(answer))
        if not self.submits or is_online() or (tried is not None and self.spec.batch_rest == "online"):
            return _with(await self._model.complete(request), self._tried.pop(answer, None))
        if (refusal := self._model.refusal()) is not None:
            return refusal
        try:
            self._queue(answer, request)
        except UnsupportedConstraint:
            return await self._model.complete(request)  # which says so, and sends nothing
        raise Pending(answer)

    async def next(self) -> bool:
        """Submit what was asked for, and look at every batch once; False where the tasks have nothing to go on with.

        Nobody waits for a provider here: a later session goes on with what is under way. Raises ``BudgetError`` where not
        one request can be paid for, `BatchError` where a batch cannot go on without the user.
        """
        self._write_batches()
        delivered = [await self._tend(each) for each in self._open_ones()]
        self.waiting = len(self._open_ones())
        return any(delivered) or not self.waiting

    async def close(self) -> None:
        """Note which batches are kept elsewhere by now; what was not written down is asked for again."""
        for batch in self._batches:
            if batch.record.state != "collected":
                continue
            if all(map(self._kept, Results.of(batch, self._jobs.backend).places)):
                batch.now(state="done")
                if batch.record.message is None:  # what is odd about it stays
                    batch.forget_files()

    # --- one call ---------------------------------------------------------------------------------------------------
    def _queue(self, answer: str, request: ChatRequest) -> None:
        backend, call = self._jobs.backend, self._wire.build(self._plain, request, self._key, self.known)
        target = backend.target(self._jobs.root, call)
        worst = worst_case_cost(self.spec, request, self.known, batch=True)
        headers = sorted(
            (name, value.replace(self._key, KEY) if self._key else value)
            for name, value in call.headers.items()
            if name not in ("content-type", "accept")
        )
        line = backend.line(answer, target, call)
        self._queued[answer] = Request(answer, target, tuple(headers), line, nano(worst or 0.0))

    def _from_batches(self, answer: str, request: ChatRequest) -> Completion | None:
        """Return the answer that batches brought; note what came to nothing, and what it may have cost."""
        for results in self._brought.pop(answer, []):
            completion = self._read(answer, request, results)
            if completion is None:
                worst = worst_case_cost(self.spec, request, self.known, batch=True)
                self._note(answer, "unreadable", worst)
            elif completion.error_kind in AGAIN:  # billed where the provider says that it answered
                self._note(answer, "error", completion.cost_usd)
            elif completion.empty and self._tried.get(answer, _Tried()).why != EMPTY:
                self._note(answer, EMPTY, completion.cost_usd)
            else:
                return completion
        return None

    def _read(self, answer: str, request: ChatRequest, results: Results) -> Completion | None:
        line = results.line(answer, self._jobs.backend)
        if line is None:
            return None
        completion = self._jobs.completion(line, results.batch)
        billed = 1 if line.status == 200 else 0
        cost = self._model.billed(completion, request, self.known, batch=True) if billed else 0.0
        return dataclasses.replace(completion, cost_usd=cost, attempts_billed=billed)

    def _note(self, answer: str, why: str, cost: float | None) -> None:
        """Note that a batch did not answer a request."""
        tried = self._tried.setdefault(answer, _Tried())
        tried.batches += 1
        tried.why = why
        tried.cost = None if tried.cost is None or cost is None else tried.cost + cost

    # --- the batches ------------------------------------------------------------------------------------------------
    def _watch(self, batch: Batch) -> None:
        self._batches.append(batch)
        self._under_way.update(answer for answer, _ in batch.answers())

    def _open_ones(self) -> list[Batch]:
        return [each for each in self._batches if each.record.state in records.OPEN_STATES]

    def _write_batches(self) -> None:
        """Make batches of the queued requests, as far as the budget allows now."""
        while self._queued:
            chosen = batch_of(list(self._queued.values()), self._jobs.backend, self._jobs.free())
            if not chosen:
                if not self._open_ones():
                    raise self._jobs.too_much(next(iter(self._queued.values())).worst)
                return  # what is under way may cost less than was set aside
            batch = self._written(chosen)
            self._jobs.set_aside(batch)
            self._watch(batch)
            for each in chosen:
                del self._queued[each.answer]

    def _written(self, chosen: list[Request]) -> Batch:
        """Write a batch of these requests down."""
        jobs, requests = self._jobs, self._jobs.backend.separator.join(each.line for each in chosen)
        record = BatchRecord(
            mark=records.new_mark(),
            partition=(self._owner.benchmark, self.spec.name, self._owner.run),
            kept_in=self._owner.kept_in,
            provider=self.spec.provider,
            address=jobs.root,
            account=jobs.account,
            target=chosen[0].target,
            n=len(chosen),
            size=len(requests),
            digest=sha256_hex("\n".join(each.answer for each in chosen)),
            worst_usd=jobs.dollars(sum(each.worst for each in chosen)),
            created_at=records.utc_text(),
            headers=dict(chosen[0].headers),
        )
        return records.create(self._home, record, requests, [(each.answer, each.worst) for each in chosen])

    async def _tend(self, batch: Batch) -> bool:
        """Do the next thing with a batch: submit it, look for it, look at it, collect it. Return whether answers came."""
        jobs = self._jobs
        try:
            match batch.record.state:
                case "written":
                    await jobs.submit(batch)
                    self._announce(batch, "submitted")
                case "submitting":
                    await jobs.resolve(batch, self._others(batch))
                case "submitted":
                    look = await jobs.look(batch)
                    found = await jobs.collect(batch, look) if look.phase == "ended" else None
                    if found is not None:
                        self._announce(batch, f"has ended ({look.word})")
                        self._deliver(batch, found)
                        return True
        except Later as reason:
            _logger.info("batch %s: %s", batch.record.mark, reason)
        return False

    def _deliver(self, batch: Batch, found: Results) -> None:
        """Have what a batch brought at hand, and note what it did not bring."""
        for answer, worst in batch.answers():
            self._under_way.discard(answer)
            if answer in found.places:
                self._brought.setdefault(answer, []).append(found)
            else:
                cost = 0.0 if found.unbilled(answer) else self._jobs.dollars(worst)
                self._note(answer, found.why.get(answer, "error"), cost)
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

    def _announce(self, batch: Batch, what: str) -> None:
        _logger.info(
            "%s: batch %s of %d requests %s", self.spec.name, batch.record.mark, batch.record.n, what
        )


def batch_of(queued: list[Request], backend: Backend, free_usd: float | None) -> list[Request]:
    """Return the first of the ``queued`` requests that go into one batch: alike, few enough, and payable at their worst."""
    chosen: list[Request] = []
    left = None if free_usd is None else int(free_usd * NANO + 1e-6)
    size = 0
    for each in queued:
        if (each.target, each.headers) != (queued[0].target, queued[0].headers):
            continue
        size += len(each.line) + (len(backend.separator) if chosen else 0)
        if left is not None:
            left -= each.worst
        too_many = len(chosen) >= backend.most_requests or (chosen and size > backend.most_bytes)
        if too_many or (left is not None and left < 0):
            break
        chosen.append(each)
    return chosen


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
