"""What is done with one batch at its provider: submit it once, find it again, watch it, fetch its results.

::

    Later(message)    not possible now; nothing was sent, or nothing has changed: try again after a while
    BatchError        a ProviderError: it cannot go on without the user
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import httpx

from metacog_pipeline.errors import ProviderError, one_line
from metacog_pipeline.llm.batch import collecting, records, wave
from metacog_pipeline.llm.batch.anthropic import AnthropicBatches
from metacog_pipeline.llm.batch.calls import Calls, Refused, Unclear, Unsent
from metacog_pipeline.llm.batch.gemini import GeminiBatches
from metacog_pipeline.llm.batch.openai import OpenAiBatches
from metacog_pipeline.llm.batch.records import Batch
from metacog_pipeline.llm.batch.ways import Look, Way
from metacog_pipeline.llm.budget import Budget, BudgetSpent
from metacog_pipeline.llm.costs import reported_cost, usage_cost
from metacog_pipeline.llm.incoming import Reply
from metacog_pipeline.llm.ledger import NANO
from metacog_pipeline.llm.reading import Reader
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Completion, Usage
from metacog_pipeline.llm.wire import base_url, key_variable, wire_for

WAYS: Mapping[str, Way] = {
    "openai": OpenAiBatches(),
    "anthropic": AnthropicBatches(),
    "gemini": GeminiBatches(),
}
NO_TOKENS = Usage()
LINES_AT_ONCE = 200  # read before others get their turn
NOT_OURS = frozenset({401, 403, 404})


class BatchError(ProviderError):
    """A batch that cannot go on without the user. What was submitted is kept and found again."""


class Later(Exception):
    """Not possible now."""


class NotListed(Later):
    """A batch that may have been submitted is not in the provider's list, and may still appear there."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: how often a batch is looked at, and how long one whose submission broke is looked for."""

    first_s: float = 5.0
    factor: float = 1.5
    most_s: float = 300.0
    settling_s: float = 60.0  # a submission may take this long to appear in the provider's list


PACE = Pace()


class Desk:
    """The batches of one model, as its account sees them."""

    def __init__(
        self,
        spec: ModelSpec,
        key: str | None,
        http: httpx.AsyncClient,
        budget: Budget | None,
    ) -> None:
        self.spec = spec
        self.way = WAYS[spec.provider]
        self.root = base_url(spec)
        self.account = records.account_digest(key_variable(spec), key)
        self.pace = PACE
        self._key = key
        self._http = http
        self._budget = None if spec.free else budget
        self._wire = wire_for(spec.provider)
        self._reader = Reader(spec, key, self._wire)
        self._missing_since: dict[str, float] = {}

    def read(self, status: int, body: bytes) -> Completion:
        """Return what one result says, read as a reply of its own."""
        return self._reader.completion(Reply(status, {}, body))

    def free(self) -> float | None:
        """Return the dollars a batch may set aside; None where nothing limits them."""
        return None if self._budget is None else self._budget.free()

    def too_much(self, worst: int) -> BudgetSpent:
        """Return the error of a request for which there is not enough; ``worst`` in nano-dollars."""
        assert self._budget is not None
        return self._budget.spent(worst / NANO)

    def dollars(self, worst: int) -> float | None:
        """Return a worst case in dollars; None where the model has no price."""
        return worst / NANO if usage_cost(self.spec, NO_TOKENS, batch=True) is not None else None

    def record_fields(self, owner: records.Owner, part: wave.Part) -> dict[str, object]:
        """Return what the record of a new batch holds beside what its requests tell."""
        return {
            "partition": (owner.benchmark, self.spec.name, owner.run),
            "kept_in": owner.kept_in,
            "provider": self.spec.provider,
            "address": self.root,
            "account": self.account,
            "worst_usd": self.dollars(part.worst),
        }

    def set_aside(self, batch: Batch) -> None:
        """Set the worst case of a batch aside. Raises ``BudgetError``."""
        worst = batch.record.worst_usd or 0.0
        if self._budget is not None and not self._budget.hold(batch.record.mark, worst):
            raise self._budget.spent(worst)

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
        self._missing_since.pop(record.mark, None)
        try:
            remote = await self.way.submit(self._calls(batch), self.root, batch.record, batch.requests)
        except Unsent as failure:
            batch.now(state="written")
            raise Later(str(failure)) from None
        except Unclear as failure:
            raise Later(f"{failure}; it is looked for before anything is sent again") from None
        except Refused as refusal:
            if refusal.later:
                batch.now(state="written")
                raise Later(str(refusal)) from None
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
        with self._told(batch, unknown=()):
            listed = await self.way.find(self._calls(batch), self.root, record)
        found = [(name, sure) for name, sure in listed if sure or name not in others]
        if found:
            name, sure = found[0]
            batch.now(
                state="submitted", remote=name, tentative=not sure, submitted_at=record.submitting_since
            )
            return
        since = self._missing_since.setdefault(record.mark, time.monotonic())
        if time.monotonic() - since < self.pace.settling_s:
            raise NotListed("not in the provider's list yet")
        await self.submit(batch)

    async def peek(self, batch: Batch) -> Look:
        """Return how a submitted batch stands, and write nothing. Raises `Later` or `BatchError`."""
        with self._told(batch):
            return await self.way.look(self._calls(batch), self.root, batch.record)

    async def look(self, batch: Batch) -> Look:
        """Return how a submitted batch stands; one that failed as a whole is at its end. Raises as `peek`."""
        found = await self.peek(batch)
        if found.phase == "failed":
            message = one_line(found.message or "the provider says no more")
            batch.now(state="refused", remote_state=found.word, message=message, cost_usd=0.0)
            self._release(batch, 0.0)
            raise BatchError(
                f"batch {batch.record.mark} ({batch.record.remote}) failed: {message}; nothing was billed"
            )
        if found.word != batch.record.remote_state:
            batch.now(remote_state=found.word)
        return found

    async def collect(self, batch: Batch, look: Look) -> collecting.Found | None:
        """Fetch the results of a batch that has ended; None where they show that it is another's.

        Raises `Later`, `BatchError` or ``StoreError``.
        """
        calls = self._calls(batch)
        with self._told(batch):
            for place, name in enumerate(look.results):
                await calls.download(self.way.url_of(self.root, name), batch.results, append=place > 0)
        if not look.results:
            batch.results.touch()
        record, found = batch.record, collecting.index(batch, self.way)
        if record.tentative and not (found.places or found.why):
            batch.results.unlink()
            foreign = (*record.foreign, record.remote or "")
            batch.now(state="submitting", remote=None, tentative=False, foreign=foreign)
            return None
        cost, counts = await self._bill(batch, found)
        self._release(batch, cost or 0.0)
        batch.now(
            state="collected",
            tentative=False,
            ended_at=records.utc_text(),
            remote_state=look.word,
            counts=counts,
            cost_usd=cost,
            message=found.message(batch),
        )
        return found

    async def cancel(self, batch: Batch) -> None:
        """Ask the provider to stop a batch; what it has answered by then is billed and kept. Raises as `look`."""
        with self._told(batch):
            await self.way.cancel(self._calls(batch), self.root, batch.record)

    async def _bill(self, batch: Batch, found: collecting.Found) -> tuple[float | None, dict[str, int]]:
        """Return what a batch cost, and what became of its requests. One without a trace may have been billed."""
        worst = dict(batch.answers())
        counts = {"answered": 0, "failed": 0, "expired": 0, "cancelled": 0, "missing": 0}
        cost = self.dollars(0)
        for number, (answer, most) in enumerate(worst.items()):
            if number % LINES_AT_ONCE == 0:
                await asyncio.sleep(0)
            kind, billed = self._became(found, answer)
            counts[kind] += 1
            cost = None if cost is None else cost + (most / NANO if billed is None else billed)
        return cost, counts

    def _became(self, found: collecting.Found, answer: str) -> tuple[str, float | None]:
        """Return what became of a request, and its dollars; ``None``: not known, and so the most it can have cost."""
        place, why = found.places.get(answer), found.why.get(answer)
        if place is None:
            if why is None:
                return "missing", None
            return (why if why in ("expired", "cancelled") else "failed"), 0.0
        line = collecting.read_at(place, self.way)
        assert line is not None, "it was read before"
        if line.status != 200:
            return "failed", 0.0
        return "answered", reported_cost(self.spec, self.read(line.status, line.body), batch=True)

    def _release(self, batch: Batch, cost: float) -> None:
        if self._budget is not None:
            self._budget.release(batch.record.mark, cost)

    def _calls(self, batch: Batch) -> Calls:
        def explain(status: int, headers: Mapping[str, str], body: bytes) -> Completion:
            return self._wire.read(self.spec, status, headers, body, self._key)

        return Calls(self._http, wave.unsealed(batch.record.headers, self._key), self._key, explain)

    def _refused(self, batch: Batch, refusal: Refused) -> BatchError:
        message = one_line(str(refusal), 300)
        batch.now(state="refused", message=message, cost_usd=0.0)
        self._release(batch, 0.0)
        if refusal.status in (404, 405, 501):
            return BatchError(
                f'model {self.spec.name}: {self.root} offers no batches ({message}); set lane = "online", or correct '
                "base_url"
            )
        return BatchError(self._said(batch, refusal))

    @contextlib.contextmanager
    def _told(self, batch: Batch, unknown: Collection[int] = NOT_OURS) -> Iterator[None]:
        """Raise `Later` or `BatchError` for a call about ``batch`` that fails; ``unknown`` statuses say it is another's."""
        try:
            yield
        except (Unsent, Unclear) as failure:
            raise Later(str(failure)) from None
        except Refused as refusal:
            if refusal.later:
                raise Later(str(refusal)) from None
            if refusal.status in unknown:
                raise BatchError(
                    f"batch {batch.record.mark} ({batch.record.remote}) is not known to the account of "
                    f"{key_variable(self.spec) or 'this address'} ({one_line(str(refusal), 200)}): set the key it was "
                    f"submitted with, or give it up: metacog status STUDY --give-up {batch.record.mark}"
                ) from None
            raise BatchError(self._said(batch, refusal)) from None

    def _said(self, batch: Batch, refusal: Refused) -> str:
        return f"model {self.spec.name}: batch {batch.record.mark}: {one_line(str(refusal), 300)}"
