"""The dollars a study may spend: the worst case of every call is set aside before it is sent, settled after.

::

    BudgetSpent (a BudgetError)   the next call could pass the cap, and nothing under way can free enough for it
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace

from metacog_pipeline.errors import BudgetError
from metacog_pipeline.home import Home
from metacog_pipeline.llm.ledger import (
    NANO,
    Ledger,
    LedgerAwayError,
    Totals,
    boot_id,
    nano,
    shared_ledger,
    totals_of,
    totals_of_others,
)

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


@dataclass(slots=True)
class Reservation:
    """The worst case of one attempt, until it is settled."""

    amount: int
    open: bool = True


class Budget:
    """The budget of a study home as one process sees it. One event loop only; close it when done."""

    def __init__(self, ledger: Ledger, cap: int | None) -> None:
        self._ledger = ledger
        self._cap = cap
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()
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
        async with self._turn:
            while not await self._taken(amount):
                if self._ledger.reserved == 0:
                    raise self.spent(usd)
                self._freed.clear()
                await self._freed.wait()
        return Reservation(amount)

    async def _taken(self, amount: int) -> bool:
        """Take ``amount`` where there is so much; a shared ledger that is away is waited for."""
        while True:
            try:
                return self._ledger.take(amount)
            except LedgerAwayError:
                await self._ledger_back()

    async def _ledger_back(self) -> None:
        assert self.shared is not None
        until = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            await asyncio.sleep(RETRY_S)
            try:
                await asyncio.to_thread(self.shared.read)
                return
            except LedgerAwayError:
                if asyncio.get_running_loop().time() > until:
                    raise

    def charge(self, reservation: Reservation, usd: float) -> None:
        """Replace ``reservation`` by what the call cost (0 when it cannot have been billed). Counts once."""
        if reservation.open:
            reservation.open = False
            self._ledger.charge(reservation.amount, nano(usd))
            self._freed.set()

    def hold(self, mark: str, usd: float) -> bool:
        """Set ``usd`` aside for the batch ``mark`` until `release`, in whichever process; ``False``: too much."""
        return self._ledger.hold(mark, nano(usd))

    def release(self, mark: str, usd: float) -> None:
        """Replace what is set aside for a batch by what it cost (0 when it cannot have been billed)."""
        self._ledger.release(mark, nano(usd))
        self._freed.set()

    def free(self) -> float | None:
        """Return the dollars that may still be set aside for a batch; ``None`` without a cap."""
        free = self._ledger.free()
        return None if free is None else free / NANO

    def figures(self) -> Figures:
        """Return the dollars of the whole home now; reads the ledger's few files."""
        return _figures(self._ledger.totals(), self._cap)

    def close(self) -> None:
        """Give back what is not spent. What is still reserved counts as spent."""
        self._ledger.close()

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
    if (shared := shared_ledger(home)) is not None:
        with contextlib.closing(shared):
            totals += totals_of_others(shared.read())
    return _figures(replace(totals, spent=max(totals.spent, nano(known_spent_usd))), _cap(cap_usd))


def _cap(cap_usd: float | None) -> int | None:
    return None if cap_usd is None else int(cap_usd * NANO + 1e-6)


def _figures(totals: Totals, cap: int | None) -> Figures:
    return Figures(
        cap=None if cap is None else cap / NANO,
        spent=totals.spent / NANO,
        leaked=totals.leaked / NANO,
        reserved=totals.held / NANO,
        remaining=None if cap is None else max(0, cap - totals.counted) / NANO,
    )
