"""The dollars a study may spend: the worst case of every call is set aside before it is sent, settled after.

::

    BudgetSpent (a BudgetError)   the next call could pass the cap, and nothing under way can free enough for it
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass, replace

from metacog_pipeline.errors import BudgetError, StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.llm.ledger import NANO, Ledger, nano, with_others
from metacog_pipeline.llm.ledger_records import Totals, boot_id, totals_of
from metacog_pipeline.llm.shared_ledger import LedgerAwayError, shared_ledger

PATIENCE_S = 600.0  # a shared ledger that is away for so long stops the run
RETRY_S = 0.5


class BudgetSpent(BudgetError):
    """Stop asking: the next call could pass the budget. Calls under way finish and are kept."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Dollars of a study home, over all processes that share it.

    ``spent`` settled calls and, as ``leaked``, the worst case of calls that were under way when a process was
    killed; ``reserved`` set aside by living processes; ``remaining`` may still be set aside (``None`` without cap).
    """

    cap: float | None
    spent: float
    leaked: float
    reserved: float
    remaining: float | None


class Reservation:
    """The worst case of one attempt, until it is settled."""

    __slots__ = ("amount", "open")

    def __init__(self, amount: int) -> None:
        self.amount = amount
        self.open = True


class Budget:
    """The budget of a study home as one process sees it. One event loop only; close it when done."""

    def __init__(self, ledger: Ledger, cap: int | None) -> None:
        self._ledger = ledger
        self._cap = cap
        self._settled = 0
        self._reserved = 0
        self._waiting: deque[tuple[int, asyncio.Future[Reservation]]] = deque()
        self._closed = False
        self._away: asyncio.Task[None] | None = None
        self.shared = ledger.shared

    @classmethod
    def open(cls, home: Home, cap_usd: float | None, *, known_spent_usd: float = 0.0) -> Budget:
        """Open the budget of ``home``. Raises ``StoreError`` where the ledger cannot be read or written.

        ``cap_usd`` is the most this home may ever spend, past sessions included, ``None`` for no cap; ``known_spent_usd``
        what the answers kept in the home cost, which counts where the ledger knows of less.
        """
        cap = _cap(cap_usd)
        return cls(Ledger(home, cap, nano(known_spent_usd), shared_ledger(home)), cap)

    @property
    def capped(self) -> bool:
        """Whether there is a cap, so that every call must have a price."""
        return self._cap is not None

    async def reserve(self, usd: float) -> Reservation:
        """Set ``usd`` aside, in order of asking, and return it for ``charge``.

        Waits while settling the calls under way in this process may free enough, and while a shared ledger is away.
        Raises `BudgetSpent` where the cap leaves less than ``usd``, and nothing is under way here that could free more.
        """
        amount = nano(usd)
        if not self._waiting:
            with contextlib.suppress(LedgerAwayError):  # it waits with those who come after it
                if self._take(amount):
                    return Reservation(amount)
                if self._reserved == 0:
                    raise self.spent(usd)
        future: asyncio.Future[Reservation] = asyncio.get_running_loop().create_future()
        self._waiting.append((amount, future))
        if self.shared is not None and self._away is None and len(self._waiting) == 1:
            self._serve()
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled() and future.exception() is None:
                self.charge(future.result(), 0.0)
            self._serve()
            raise

    def charge(self, reservation: Reservation, usd: float) -> None:
        """Replace ``reservation`` by what the call cost (0 when it cannot have been billed). Counts once."""
        if not reservation.open:
            return
        reservation.open = False
        self._settled += nano(usd)
        self._reserved -= reservation.amount
        # An answer that was paid for must not be lost because its cost cannot be noted: the record then still holds
        # the reservation, which is more, and the next call to reserve says what is wrong.
        with contextlib.suppress(StoreError):
            self._ledger.write(self._settled, self._reserved)
        self._serve()

    def hold(self, mark: str, usd: float) -> bool:
        """Set ``usd`` aside for the batch ``mark`` until `release`, in whichever process; ``False``: too much."""
        return self._ledger.hold(mark, nano(usd), self._settled, self._reserved)

    def release(self, mark: str, usd: float) -> None:
        """Replace what is set aside for a batch by what it cost (0 when it cannot have been billed)."""
        self._ledger.release(mark, nano(usd))
        self._serve()

    def free(self) -> float | None:
        """Return the dollars that may still be set aside for a batch; ``None`` without a cap."""
        free = self._ledger.free(self._settled, self._reserved)
        return None if free is None else free / NANO

    def figures(self) -> Figures:
        """Return the dollars of the whole home now; reads the ledger's few files."""
        return _figures(self._ledger.totals(), self._cap)

    def close(self) -> None:
        """Give back what is not spent. What is still reserved counts as spent."""
        if not self._closed:
            self._closed = True
            if self._away is not None:
                self._away.cancel()
            self._ledger.close(self._settled, self._reserved)

    def _take(self, amount: int) -> bool:
        short = self._settled + self._reserved + amount - self._ledger.granted
        if short > 0 and not self._ledger.extend(short, self._settled, self._reserved):
            return False
        self._ledger.write(self._settled, self._reserved + amount)
        self._reserved += amount
        return True

    def _serve(self) -> None:
        """Give freed dollars to those who wait, first come first served; refuse when nothing more can be freed."""
        while self._waiting:
            amount, future = self._waiting[0]
            if not future.done():
                try:
                    if self._take(amount):
                        future.set_result(Reservation(amount))
                    elif self._reserved > 0:
                        return
                    else:
                        future.set_exception(self.spent(amount / NANO))
                except LedgerAwayError as error:
                    if self._away is None:
                        self._away = asyncio.create_task(self._wait_for_ledger(error))
                    return
                except StoreError as error:
                    future.set_exception(error)
            self._waiting.popleft()

    async def _wait_for_ledger(self, error: LedgerAwayError) -> None:
        """Give nothing until the shared ledger is back, then go on; refuse all who wait after `PATIENCE_S`."""
        assert self.shared is not None
        until = asyncio.get_running_loop().time() + PATIENCE_S
        while self._waiting:
            await asyncio.sleep(RETRY_S)
            with contextlib.suppress(LedgerAwayError):
                await asyncio.to_thread(self.shared.read)
                break
            if asyncio.get_running_loop().time() > until:
                for _, future in self._waiting:
                    if not future.done():
                        future.set_exception(error)
                break
        self._away = None
        self._serve()

    def spent(self, usd: float) -> BudgetSpent:
        """Return the error of a call, or a batch, that could cost ``usd`` and for which there is not enough."""
        now = self.figures()
        return BudgetSpent(
            f"budget ${now.cap or 0.0:.4f}: ${now.spent:.4f} is spent and ${now.reserved:.4f} set aside, and the next "
            f"call could cost ${nano(usd) / NANO:.4f}: raise budget_usd in the study file and run again; the answers so "
            "far are kept"
        )


def read_figures(home: Home, cap_usd: float | None, *, known_spent_usd: float = 0.0) -> Figures:
    """Return what ``home`` has spent and may still spend, writing nothing. Parameters and errors as `Budget.open`."""
    totals = totals_of(home.ledger, boot_id(), {})
    shared = shared_ledger(home)
    if shared is not None:
        with contextlib.closing(shared):
            totals = with_others(totals, shared.read())
    return _figures(replace(totals, spent=max(totals.spent, nano(known_spent_usd))), _cap(cap_usd))


def _cap(cap_usd: float | None) -> int | None:
    return None if cap_usd is None else int(cap_usd * NANO + 1e-6)


def _figures(totals: Totals, cap: int | None) -> Figures:
    remaining = None if cap is None else max(0, cap - totals.counted) / NANO
    return Figures(
        cap=None if cap is None else cap / NANO,
        spent=totals.spent / NANO,
        leaked=totals.leaked / NANO,
        reserved=totals.held / NANO,
        remaining=remaining,
    )
