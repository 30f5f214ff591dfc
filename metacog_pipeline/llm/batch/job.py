"""The life of one batch at its provider: submit it once, find it again, look at it, collect its results.

Whatever is not possible now raises `Later`: try again after a while.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import httpx

from metacog_pipeline.errors import ProviderError, StoreError, one_line
from metacog_pipeline.llm.batch import records
from metacog_pipeline.llm.batch.backends import BACKENDS, Backend, Line, Look, cancel, read_line
from metacog_pipeline.llm.batch.records import Batch
from metacog_pipeline.llm.batch.transport import Calls, Later, Refused
from metacog_pipeline.llm.budget import Budget, BudgetSpent
from metacog_pipeline.llm.client import read_reply
from metacog_pipeline.llm.costs import priced, reconciled
from metacog_pipeline.llm.ledger import NANO
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.transport import Reply
from metacog_pipeline.llm.types import Completion, ErrorKind, failed
from metacog_pipeline.llm.wire import base_url, key_variable, wire_for

KEY = "{key}"  # stands for the key in the headers that are written down
MAX_LINE_BYTES = 128 * 2**20
SETTLING_S = 60.0  # a submission may take this long to appear in the provider's list
NOT_OURS = frozenset({401, 403, 404})
UNBILLED = ("expired", "cancelled")
WHY = {
    "expired": "the batch expired before this request was answered",
    "cancelled": "the batch was cancelled before this request was answered",
    "error": "the batch has no answer to this request",
    "unreadable": "the answer in the batch cannot be read",
}


class BatchError(ProviderError):
    """A batch that cannot go on without the user. What was submitted is kept and found again."""


@dataclass(slots=True)
class Results:
    """What the results of a batch hold, by answer id: where each answer stands, and why others have none.

    ``places`` are (offset, length) of lines in ``batch.results``; ``unknown`` are the ids of results that were not asked
    for, ``unreadable`` is how many lines are no result. None of these keeps the others from being used.
    """

    batch: Batch
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    unreadable: int = 0

    @classmethod
    def of(cls, batch: Batch, backend: Backend) -> Results:
        """Index the results of a batch. Raises ``StoreError`` where they cannot be read."""
        wanted, found = {answer for answer, _ in batch.answers()}, cls(batch)
        errors, offset = dict[str, tuple[int, int]](), 0
        try:
            with batch.results.open("rb") as source:
                while raw := source.readline(MAX_LINE_BYTES):
                    place, offset = (offset, len(raw)), offset + len(raw)
                    line = read_line(backend, raw) if raw.strip() else None
                    if line is None:
                        found.unreadable += bool(raw.strip())
                    elif line.custom_id not in wanted:
                        found.unknown.append(line.custom_id)
                    elif line.why is not None:
                        found.why.setdefault(line.custom_id, line.why)
                    else:
                        (found.places if line.status == 200 else errors).setdefault(line.custom_id, place)
        except OSError as error:
            raise StoreError(f"the results {batch.results} cannot be read ({error.strerror})") from None
        found.places = errors | found.places  # an answer counts before an error of the same request
        found.why = {answer: why for answer, why in found.why.items() if answer not in found.places}
        return found

    def line(self, answer: str, backend: Backend) -> Line | None:
        """Return the result that answers a request."""
        offset, length = self.places[answer]
        with self.batch.results.open("rb") as source:
            source.seek(offset)
            return read_line(backend, source.read(length))

    def unbilled(self, answer: str) -> bool:
        """Whether the provider says that a request without an answer was not billed; what is lost may have been."""
        return self.why.get(answer) in UNBILLED

    def problem(self) -> str | None:
        """Return one line about what does not belong there; None where there is none."""
        found = []
        if self.unknown:
            first = repr(self.unknown[0][:80])
            found.append(f"{len(self.unknown)} results are of requests that were not in it (first: {first})")
        if self.unreadable:
            found.append(f"{self.unreadable} lines of results cannot be read")
        if not found:
            return None
        record, where = self.batch.record, f"all that came is kept in {self.batch.results}"
        return f"batch {record.mark} ({record.remote}): {' and '.join(found)}; {where}; ask the provider"


def unanswered(why: str) -> Completion:
    """Return the completion of a request that a batch has no answer to."""
    message = WHY.get(why, WHY["error"])
    return failed(ErrorKind.TRANSIENT, f"batch_{why}", message, cost_usd=0.0, lane="batch")


class Jobs:
    """The batches of one model, as its account sees them."""

    def __init__(
        self,
        spec: ModelSpec,
        key: str | None,
        http: httpx.AsyncClient,
        budget: Budget | None,
    ) -> None:
        self.spec = spec
        self.backend = BACKENDS[spec.provider]
        self.root = base_url(spec)
        self.account = records.account_digest(key_variable(spec), key)
        self._key = key
        self._http = http
        self._budget = None if spec.free else budget
        self._wire = wire_for(spec.provider)

    # --- money and reading ------------------------------------------------------------------------------------------
    def free(self) -> float | None:
        """Return the dollars a batch may set aside; None where nothing limits them."""
        return None if self._budget is None else self._budget.free()

    def too_much(self, worst: int) -> BudgetSpent:
        """Return the error of a request for which there is not enough; ``worst`` in nano-dollars."""
        assert self._budget is not None
        return self._budget.spent(worst / NANO)

    def dollars(self, worst: int) -> float | None:
        """Return a worst case in dollars; None where the model has no price."""
        return worst / NANO if priced(self.spec) else None

    def set_aside(self, batch: Batch) -> None:
        """Set the worst case of a batch aside. Raises ``BudgetError``."""
        worst = batch.record.worst_usd or 0.0
        if self._budget is not None and not self._budget.hold(batch.record.mark, worst):
            raise self._budget.spent(worst)

    def _release(self, batch: Batch, cost: float) -> None:
        if self._budget is not None:
            self._budget.release(batch.record.mark, cost)

    def completion(self, line: Line, batch: Batch) -> Completion:
        """Return what a result means, as a call of its own would have: the status says how it ended."""
        if line.why is not None:
            return unanswered(line.why)
        record = batch.record
        started = datetime.fromisoformat(record.submitted_at or record.created_at)
        took = max(0.0, records.age_s(record.submitted_at) - records.age_s(record.ended_at))
        completion = read_reply(self.spec, self._wire, self._key, Reply(line.status, {}, line.body))
        return dataclasses.replace(completion, started_at=started, latency_s=took, lane="batch", attempts=1)

    # --- the states of a batch --------------------------------------------------------------------------------------
    def forget(self, batch: Batch) -> None:
        """Remove a batch of which nothing was sent."""
        batch.remove()
        self._release(batch, 0.0)

    async def submit(self, batch: Batch) -> None:
        """Submit a batch that is written, or whose submission was found to have come to nothing.

        Raises `Later`, `BatchError`, or ``BudgetError`` where its worst case cannot be set aside. A submission of unknown
        outcome leaves the batch ``submitting``.
        """
        record = batch.record
        self.set_aside(batch)
        batch.now(state="submitting", submitting_since=records.utc_text(), tries=record.tries + 1)
        try:
            remote = await self.backend.submit(self._calls(batch), self.root, batch.record, batch.requests)
        except Later as failure:
            if not failure.taken:
                batch.now(state="written")
            raise
        except Refused as refusal:
            raise self._refused(batch, refusal) from None
        batch.now(state="submitted", remote=remote, tentative=False, submitted_at=records.utc_text())

    async def resolve(self, batch: Batch, others: Collection[str]) -> None:
        """Find out whether a batch that may have been submitted is there; submit it again when it is not.

        ``others`` are names of batches that are known to be somebody else's. Raises as `submit`.
        """
        record = batch.record
        if record.account != self.account:
            raise BatchError(
                f"batch {record.mark} may have been submitted with another key than {key_variable(self.spec)} holds now: "
                "set that key again so that it can be looked for, or give it up: "
                f"metacog status STUDY --give-up {record.mark}"
            )
        with self._reported(batch, not_ours=()):
            listed = await self.backend.find(self._calls(batch), self.root, record)
        found = [(name, sure) for name, sure in listed if sure or name not in others]
        if found:
            name, sure = found[0]
            since = record.submitting_since
            batch.now(state="submitted", remote=name, tentative=not sure, submitted_at=since)
            return
        if records.age_s(record.submitting_since) < SETTLING_S:
            raise Later("not in the provider's list yet", taken=True)
        await self.submit(batch)

    async def peek(self, batch: Batch) -> Look:
        """Return how a submitted batch stands, and write nothing. Raises `Later` or `BatchError`."""
        with self._reported(batch):
            return await self.backend.look(self._calls(batch), self.root, batch.record)

    async def look(self, batch: Batch) -> Look:
        """Return how a submitted batch stands; one that failed as a whole is at its end. Raises as `peek`."""
        found = await self.peek(batch)
        if found.phase == "failed":
            message = one_line(found.message or "the provider gives no reason")
            batch.now(state="refused", remote_state=found.word, message=message, cost_usd=0.0)
            self._release(batch, 0.0)
            name = f"batch {batch.record.mark} ({batch.record.remote})"
            raise BatchError(f"{name} failed: {message}; nothing was billed")
        if found.word != batch.record.remote_state:
            batch.now(remote_state=found.word)
        return found

    async def collect(self, batch: Batch, look: Look) -> Results | None:
        """Fetch the results of a batch that has ended; None where they show that it is another's.

        Raises `Later`, `BatchError` or ``StoreError``.
        """
        calls = self._calls(batch)
        with self._reported(batch):
            for place, url in enumerate(look.results):
                await calls.download(url, batch.results, append=place > 0)
        if not look.results:
            batch.results.touch()
        record, found = batch.record, Results.of(batch, self.backend)
        if record.tentative and not (found.places or found.why):
            batch.results.unlink()
            foreign = (*record.foreign, record.remote or "")
            batch.now(state="submitting", remote=None, tentative=False, foreign=foreign)
            return None
        cost, counts = self._bill(found)
        self._release(batch, cost or 0.0)
        batch.now(
            state="collected",
            tentative=False,
            ended_at=records.utc_text(),
            remote_state=look.word,
            counts=counts,
            cost_usd=cost,
            message=found.problem(),
        )
        return found

    async def cancel(self, batch: Batch) -> None:
        """Ask the provider to stop a batch; what it has answered by then is billed and kept. Raises as `look`."""
        with self._reported(batch):
            await cancel(self.backend, self._calls(batch), self.root, batch.record)

    def _bill(self, found: Results) -> tuple[float | None, dict[str, int]]:
        """Return what a batch cost, and what became of its requests."""
        counts = {"answered": 0, "failed": 0, "expired": 0, "cancelled": 0, "missing": 0}
        cost = self.dollars(0)
        for answer, most in found.batch.answers():
            kind, billed = self._became(found, answer)
            counts[kind] += 1
            if cost is not None:  # no more than was asked for, whatever is reported
                cost += most / NANO if billed is None else min(billed, most / NANO)
        return cost, counts

    def _became(self, found: Results, answer: str) -> tuple[str, float | None]:
        """Return what became of a request, and its dollars; ``None``: not known, and so the most it can have cost."""
        if answer not in found.places:
            why = found.why.get(answer, "missing")
            return ("failed" if why == "error" else why), 0.0 if found.unbilled(answer) else None
        line = found.line(answer, self.backend)
        assert line is not None, "it was read before"
        if line.status != 200:
            return "failed", 0.0
        return "answered", reconciled(self.spec, self.completion(line, found.batch), None, batch=True).cost

    # --- calls, and what their failures mean ------------------------------------------------------------------------
    def _calls(self, batch: Batch) -> Calls:
        def explain(status: int, headers: Mapping[str, str], body: bytes) -> Completion:
            return self._wire.read(self.spec, status, headers, body, self._key)

        headers = {name: value.replace(KEY, self._key or "") for name, value in batch.record.headers.items()}
        return Calls(self._http, headers, self._key, explain)

    def _refused(self, batch: Batch, refusal: Refused) -> BatchError:
        message = one_line(str(refusal), 300)
        batch.now(state="refused", message=message, cost_usd=0.0)
        self._release(batch, 0.0)
        if refusal.status in (404, 405, 501):
            return BatchError(
                f'model {self.spec.name}: {self.root} offers no batches ({message}); set lane = "online", or correct '
                "base_url"
            )
        return BatchError(self._message(batch, refusal))

    @contextlib.contextmanager
    def _reported(self, batch: Batch, not_ours: Collection[int] = NOT_OURS) -> Iterator[None]:
        """Raise `BatchError` for a call about ``batch`` that is refused; ``not_ours``: statuses of another's."""
        try:
            yield
        except Refused as refusal:
            if refusal.status not in not_ours:
                raise BatchError(self._message(batch, refusal)) from None
            raise BatchError(
                f"batch {batch.record.mark} ({batch.record.remote}) is not known to the account of "
                f"{key_variable(self.spec) or 'this address'} ({one_line(str(refusal), 200)}): set the key it was "
                f"submitted with, or give it up: metacog status STUDY --give-up {batch.record.mark}"
            ) from None

    def _message(self, batch: Batch, refusal: Refused) -> str:
        return f"model {self.spec.name}: batch {batch.record.mark}: {one_line(str(refusal), 300)}"
