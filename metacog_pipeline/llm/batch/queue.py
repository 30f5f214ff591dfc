"""A model with a batch API: a call without its answer yet is pending, and repeated when the answer is there."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from metacog_pipeline.errors import ProviderError, one_line
from metacog_pipeline.files import replacing, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import Pending, backends, is_online, records
from metacog_pipeline.llm.batch.backends import Calls, Later, Line, Refused, read_line
from metacog_pipeline.llm.batch.records import Batch, BatchRecord
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.client import HttpChatModel, read_reply
from metacog_pipeline.llm.costs import priced, worst_case_cost
from metacog_pipeline.llm.ledger import NANO, nano
from metacog_pipeline.llm.spec import base_url, key_variable
from metacog_pipeline.llm.transport import Http, Reply
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Status, failed
from metacog_pipeline.llm.wire import wire_for
from metacog_pipeline.llm.wire.events import UnsupportedConstraint

# one request is put into, before it counts as failed
MOST_BATCHES = 3
# a submission may take this long to appear in the provider's list
SETTLING_S = 60.0
# what is lost, or failed without a word, may have been billed
UNBILLED = ("expired", "cancelled")
AGAIN = (ErrorKind.TRANSIENT, ErrorKind.RATE_LIMIT)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Queued:
    """A request that waits to be submitted, how it is sent, and the most it can cost in nano-dollars."""

    answer: str
    request: ChatRequest
    headers: Mapping[str, str]
    line: bytes
    worst: int


# A task that meets a call without an answer ends as pending and runs again when the batch has ended: what
# it asked before is in the store, and what the batch brought comes back as ordinary completions. So nothing
# waits in memory but requests, and a process that starts does nothing else than one that went on.
class BatchModel:
    """A `ChatModel` that asks through batches. One event loop and one partition only."""

    def __init__(
        self,
        online: HttpChatModel,
        http: Http,
        key: str | None,
        budget: Budget,
        *,
        home: Home,
        # ``partition`` is benchmark, model and run; what no batch holds is asked online unless this process
        # ``submits``.
        partition: tuple[str, str, int],
        kept_in: str,
        identify: Callable[[ChatRequest], str],
        kept: Callable[[str], bool],
        submits: bool = True,
    ) -> None:
        # ``waiting`` counts batches for a later session; ``problems`` are lines about those that ended.
        self.submits, self.waiting, self.problems = submits, 0, list[str]()
        self._online, self._http, self._key, self._home = online, http, key, home
        self._spec = spec = online.spec.model_copy(update={"stream": False})
        self._budget = budget
        self._partition, self._kept_in, self._identify, self._kept = partition, kept_in, identify, kept
        self._backend, self._wire = backends.BACKENDS[spec.provider], wire_for(spec.provider)
        # Only the key that submitted a batch finds it again.
        self._account = sha256_hex(f"metacog batch account\0{key_variable(spec) or ''}\0{key or ''}")[:32]
        self._queued: dict[str, _Queued] = {}
        self._batches: list[Batch] = []
        # by batch, the answers that it may bring
        self._under_way: dict[str, set[str]] = {}
        # What batches brought for a request, oldest first: one that came to nothing was put into the next.
        self._brought: dict[str, list[Completion]] = {}
        # by batch, what it may have billed
        self._billed: dict[str, list[str]] = {}
        # what came of it, and is no answer
        self._tried: dict[str, list[Completion]] = {}
        self._failed: set[str] = set()

    def begin(self) -> None:
        """Take up the batches of earlier processes. Raises ``StoreError``."""
        spec = self._spec
        for batch in records.unfinished(self._home, spec.name, self._kept_in, base_url(spec)):
            self._watch(batch)
            if batch.record.state == "collected":
                self._deliver(batch, self._became(batch)[0])

    def holds(self, answer: str) -> bool:
        """Whether a batch has the answer to a call, or will have it."""
        under_way = any(answer in answers for answers in self._under_way.values())
        return under_way or answer in self._brought or answer in self._queued

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request`` with what a batch brought; raises `Pending` where it is not there yet."""
        answer = self._identify(request)
        completion = self._from_batches(answer)
        if completion is None and self.holds(answer):
            raise Pending
        if completion is None:
            completion = await self._otherwise(answer, request)
        if completion.status is Status.FAILED:
            self._failed.add(answer)
        tried = self._tried.pop(answer, [])
        before = sum(each.cost_usd or 0.0 for each in tried)
        return replace(
            completion,
            cost_usd=None if completion.cost_usd is None else completion.cost_usd + before,
            attempts=completion.attempts + len(tried),
            attempts_billed=completion.attempts_billed + sum(each.attempts_billed for each in tried),
        )

    async def next(self) -> bool:
        """Submit what was asked for, and look at every batch once; False where the tasks have nothing to go on with."""
        while self._queued and await self._submit():
            pass
        delivered = [await self._tend(each) for each in self._open()]
        # No process waits for a provider here: a later session continues.
        self.waiting = len(self._open()) + bool(self._queued)
        return any(delivered) or not self.waiting

    async def close(self) -> None:
        """Note which batches are kept elsewhere by now; what was not written down is asked for again."""
        for batch in (each for each in self._batches if each.record.mark in self._billed):
            if all(self._kept(each) or each in self._failed for each in self._billed[batch.record.mark]):
                batch.now(state="done")
                # what is odd about it stays
                if batch.record.message is None:
                    batch.remove(batch.asked, batch.results)

    # --- one call ---------------------------------------------------------------------------------------------------
    def _from_batches(self, answer: str) -> Completion | None:
        for completion in self._brought.pop(answer, []):
            tried = self._tried.setdefault(answer, [])
            first_empty = completion.empty and not any(each.empty for each in tried)
            if not first_empty and completion.error_kind not in AGAIN:
                return completion
            # of whole answers that say nothing the second counts
            tried.append(completion)
        return None

    async def _otherwise(self, answer: str, request: ChatRequest) -> Completion:
        """Answer a request that no batch holds now: online, as failed for good, or by queueing it."""
        if not self.submits or is_online():
            return await self._online.complete(request)
        tried = self._tried.get(answer, [])
        if len(tried) >= MOST_BATCHES:
            return tried.pop()
        if (refusal := self._online.refusal()) is not None:
            return refusal
        try:
            call = self._wire.build(self._spec, request, self._key, self._online.known)
        except UnsupportedConstraint:
            # which says so, and sends nothing
            return await self._online.complete(request)
        worst = nano(worst_case_cost(self._spec, request, self._online.known, batch=True) or 0.0)
        line = self._backend.line(answer, call.body)
        self._queued[answer] = _Queued(answer, request, call.headers, line, worst)
        raise Pending

    def _completion(self, record: BatchRecord, line: Line, most: int, request: ChatRequest) -> Completion:
        if line.why is not None:
            billed, worst = line.why not in UNBILLED, most / NANO if priced(self._spec) else None
            said = f"the batch did not answer this request ({line.why})"
            more = {"cost_usd": worst if billed else 0.0, "attempts_billed": int(billed), "lane": "batch"}
            return failed(ErrorKind.TRANSIENT, f"batch_{line.why}", said, **more)
        completion = read_reply(self._spec, self._wire, self._key, Reply(line.status, {}, line.body))
        cost: float | None = 0.0
        billed = line.status == 200
        if billed:
            cost = self._online.billed(completion, request, self._online.known, batch=True)
        took = ((record.ended_at or record.created_at) - record.created_at).total_seconds()
        begun: dict[str, Any] = {"started_at": record.created_at, "latency_s": max(0.0, took)}
        return replace(completion, cost_usd=cost, attempts_billed=int(billed), lane="batch", **begun)

    # --- submitting -------------------------------------------------------------------------------------------------
    async def _submit(self) -> bool:
        chosen = self._chosen()
        if not chosen:
            worst = next(iter(self._queued.values())).worst
            if not self._open():
                raise self._budget.spent(worst / NANO)
            # what is under way may cost less than was set aside
            return False
        batch = self._written(chosen)
        calls = self._calls(batch, chosen[0].headers)
        try:
            remote = await self._backend.submit(calls, [each.line for each in chosen])
            batch.now(state="submitted", remote=remote)
        except Refused as refusal:
            self._end(batch, 0.0, state="refused", message=str(refusal))
            raise
        except Later as reason:
            _logger.info("batch %s: %s", batch.record.mark, reason)
            if not reason.taken:
                self._forget(batch)
                return False
        for each in chosen:
            del self._queued[each.answer]
        self._watch(batch)
        return True

    def _chosen(self) -> list[_Queued]:
        """Return the queued requests that go into one batch: alike, few enough, and payable at their worst."""
        chosen, size, left = list[_Queued](), 0, self._budget.free()
        for each in self._queued.values():
            if chosen and each.headers != chosen[0].headers:
                continue
            # 2: what separates them
            size, left = size + len(each.line) + 2, left - each.worst
            too_much = len(chosen) >= backends.MOST_REQUESTS or (chosen and size > backends.MOST_BYTES)
            if too_much or left < 0:
                break
            chosen.append(each)
        return chosen

    def _written(self, chosen: list[_Queued]) -> Batch:
        worst = sum(each.worst for each in chosen) / NANO
        record = BatchRecord(
            # as every provider allows in a name
            mark=f"metacog-{secrets.token_hex(12)}",
            partition=self._partition,
            kept_in=self._kept_in,
            address=base_url(self._spec),
            account=self._account,
            n=len(chosen),
            worst_usd=worst if priced(self._spec) else None,
            created_at=datetime.now(UTC),
        )
        asked = [(each.answer, each.worst, each.request) for each in chosen]
        batch = records.create(self._home, record, asked)
        if not self._budget.hold(record.mark, worst):
            # another process was quicker
            self._forget(batch)
            raise self._budget.spent(worst)
        return batch

    # --- batches under way ------------------------------------------------------------------------------------------
    def _calls(self, batch: Batch, headers: Mapping[str, str] | None = None) -> Calls:
        return Calls(self._http, self._spec, self._key, batch.record.mark, headers)

    def _watch(self, batch: Batch) -> None:
        self._batches.append(batch)
        self._under_way[batch.record.mark] = {answer for answer, *_ in batch.answers()}

    def _open(self) -> list[Batch]:
        return [each for each in self._batches if each.record.state in records.OPEN_STATES]

    async def _tend(self, batch: Batch) -> bool:
        """Look for a batch, look at it, collect it: as far as is possible now. Return whether tasks can go on."""
        try:
            if batch.record.state != "submitted" and not await self._found(batch):
                return True
            return await self._collected(batch)
        except Later as reason:
            _logger.info("batch %s: %s", batch.record.mark, reason)
            return False

    async def _found(self, batch: Batch) -> bool:
        """Find out whether a batch that may have been submitted is there; forget one that is not."""
        record = batch.record
        if record.account != self._account:
            raise ProviderError(
                f"batch {record.mark} may have been submitted with another key than {key_variable(self._spec)} holds "
                f"now: set that key again, or give it up: metacog status STUDY --give-up {record.mark}"
            )
        if (remote := await self._backend.find(self._calls(batch), batch)) is not None:
            batch.now(state="submitted", remote=remote)
            return True
        if record.age_s < SETTLING_S:
            raise Later("not in the provider's list yet")
        self._forget(batch)
        return False

    async def _collected(self, batch: Batch) -> bool:
        """Fetch and bill the results of a batch that has ended; return whether they are there, and ours."""
        calls, record = self._calls(batch), batch.record
        look = await self._backend.look(calls, record.remote or "")
        if look.phase == "failed":
            why = one_line(look.message or "the provider gives no reason")
            self._end(batch, 0.0, state="refused", remote_state=look.word, message=why)
            raise ProviderError(f"batch {record.mark} ({record.remote}) failed: {why}; nothing was billed")
        if look.word != record.remote_state:
            batch.now(remote_state=look.word)
        if look.phase == "running":
            return False
        with batch.explained("written"), replacing(batch.results) as temporary, temporary.open("wb") as file:
            for url in look.results:
                await calls.download(url, file)
        batch.now(ended_at=datetime.now(UTC))
        found, odd = self._became(batch)
        message: str | None = None
        if odd:
            what = f"{odd} lines of results cannot be read, or are of requests that were not in it"
            message = f"batch {record.mark}: {what}; they are kept in {batch.results}; ask the provider"
            self.problems.append(message)
        counts = {"answered": sum(each.status is not Status.FAILED for each in found.values())}
        cost = sum(each.cost_usd or 0.0 for each in found.values()) if priced(self._spec) else None
        self._end(batch, cost, state="collected", counts=counts, message=message)
        self._deliver(batch, found)
        return True

    def _became(self, batch: Batch) -> tuple[dict[str, Completion], int]:
        """Return what became of each request of a batch, and how many lines of what came are no result of it."""
        lines, odd = {answer: Line(answer, why="missing") for answer, *_ in batch.answers()}, 0
        with batch.explained("read"), batch.results.open("rb") as source:
            for raw in source:
                line = read_line(self._backend, raw)
                if line is None or line.custom_id not in lines:
                    odd += bool(raw.strip())
                elif lines[line.custom_id].status != 200:  # an answer counts before an error
                    lines[line.custom_id] = line
        return {
            answer: self._completion(batch.record, lines.pop(answer), most, request)
            for answer, most, request in batch.answers()
        }, odd

    def _deliver(self, batch: Batch, found: Mapping[str, Completion]) -> None:
        del self._under_way[batch.record.mark]
        self._billed[batch.record.mark] = [answer for answer, each in found.items() if each.attempts_billed]
        for answer, completion in found.items():
            if not self._kept(answer):
                self._brought.setdefault(answer, []).append(completion)

    def _end(self, batch: Batch, cost: float | None, **changes: Any) -> None:
        # First what is set aside: a batch that is over is not gone through again, and would hold it for ever.
        self._budget.release(batch.record.mark, cost or 0.0)
        batch.now(cost_usd=cost, **changes)

    def _forget(self, batch: Batch) -> None:
        """Remove a batch of which nothing was taken."""
        self._under_way.pop(batch.record.mark, None)
        self._batches = [each for each in self._batches if each is not batch]
        self._budget.release(batch.record.mark, 0.0)
        batch.remove(batch.noted, batch.asked, batch.results)
