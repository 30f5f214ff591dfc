"""The dollars a study may spend: the worst case of every call is set aside before it is sent, settled after."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import math
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from metacog_pipeline.errors import BudgetError, StoreError
from metacog_pipeline.files import replacing, sync, sync_open
from metacog_pipeline.home import Home
from metacog_pipeline.llm import ledger
from metacog_pipeline.llm.ledger import HOLD_PREFIX, NANO, LedgerAwayError, Record, Totals, nano, totals_of

# Granted in chunks, so that the lock and the durable write are paid once for many calls.
# a grant is at most this part of what remains (or what one call needs, if that is more)
GRANT_SHARE = 64
# what a crash before a reboot may cost the budget at most, per process
MAX_GRANT = 5 * NANO
# a millionth of a dollar: sums of rounded costs may differ by as much
ROUNDING_SLACK = 1000
# a shared ledger that is away for so long stops the run
PATIENCE_S = 600.0
RETRY_S = 2.0  # between two looks


class BudgetSpent(BudgetError):
    """Stop asking: the next call could pass the budget, and nothing under way can free enough for it."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Dollars of a study home, over all processes that share it."""

    cap: float | None
    spent: float  # by settled calls, and what is leaked
    # the worst case of calls that were under way when a process was killed
    leaked: float
    reserved: float  # set aside by living processes
    # may still be set aside; None without a cap
    remaining: float | None


class Budget:
    """The budget of a study home as one process sees it. One event loop only; close it when done."""

    def __init__(self, home: Home, cap_usd: float | None, *, known_spent_usd: float = 0.0) -> None:
        """Open the budget of ``home``: what it may ever spend, past sessions included; None for no cap."""
        self.shared = ledger.shared_ledger(home)
        self._cap = _cap(cap_usd)
        self._folder = home.ledger
        self._granted = self._settled = self._reserved = 0
        self._others = Totals()
        self._closed_totals: dict[str, Totals] = {}
        self._boot = ledger.boot_id()
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()
        with _writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with self._locked():
            # What the kept answers cost counts where the ledger knows of less: somebody may have deleted its files.
            missing = nano(known_spent_usd) - self._others.counted - self._own().spent
            if missing > ROUNDING_SLACK:
                os.close(self._new_file("kept", Record(self._boot, True, missing, missing, 0))[0])
            self._file, self._path = self._new_file("session", Record(self._boot, False, 0, 0, 0))

    @property
    def capped(self) -> bool:
        """Whether there is a cap, so that every call must have a price."""
        return self._cap < math.inf

    async def reserve(self, usd: float) -> int:
        """Set ``usd`` aside, in order of asking; return what `charge` takes back, once, or raise `BudgetSpent`."""
        amount, until = nano(usd), math.inf
        async with self._turn:
            while True:
                try:
                    short = self._settled + self._reserved + amount - self._granted
                    if short <= 0 or self._extend(short):
                        self._write(self._reserved + amount)
                        return amount
                except LedgerAwayError:  # calls under way go on, so that what they bring is kept
                    now = asyncio.get_running_loop().time()
                    if now > until:
                        raise
                    until = min(until, now + PATIENCE_S)
                    await asyncio.sleep(RETRY_S)
                    continue
                until = math.inf
                # Settling the calls under way in this process may free enough; nothing else is waited for.
                if self._reserved == 0:
                    raise self.spent(usd)
                self._freed.clear()
                await self._freed.wait()

    def charge(self, reserved: int, usd: float) -> None:
        """Replace what was ``reserved`` for a call by what it cost (0 when it cannot have been billed)."""
        self._settled += nano(usd)
        self._reserved -= reserved
        # An answer that was paid for must not be lost because its cost cannot be noted: the record then still holds the
        # reservation, which is more, and the next call says what is wrong.
        with contextlib.suppress(StoreError):
            self._write(self._reserved)
        self._freed.set()

    def hold(self, mark: str, usd: float) -> bool:
        """Set ``usd`` aside for the batch ``mark`` until `release`, in whichever process; ``False``: too much."""
        path, amount = self._hold_path(mark), nano(usd)
        try:
            with self._locked():
                if self._unheld() < amount:
                    return False
                _write_whole(path, Record(self._boot, False, amount, 0, amount))
        except LedgerAwayError:
            path.unlink(missing_ok=True)
            raise
        return True

    def release(self, mark: str, usd: float) -> None:
        """Replace what is set aside for a batch by what it cost (0 when it cannot have been billed)."""
        path, spent = self._hold_path(mark), nano(usd)
        with self._locked(lowers=True):
            _write_whole(path, Record(self._boot, True, spent, spent, 0))
            if spent == 0:
                path.unlink(missing_ok=True)
        self._freed.set()

    def free(self) -> float:
        """Return the nano-dollars that may still be set aside for a batch; infinite without a cap."""
        with self._locked():
            return self._unheld()

    def figures(self) -> Figures:
        """Return the dollars of the whole home now; reads the ledger's few files."""
        if self.shared is not None:
            with contextlib.suppress(LedgerAwayError):
                self._others = self.shared.read()
        return _figures(self._own() + self._others, self._cap)

    def spent(self, usd: float) -> BudgetSpent:
        """Return the error of a call, or a batch, that could cost ``usd`` and for which there is not enough."""
        now = self.figures()
        return BudgetSpent(
            f"budget ${now.cap or 0.0:.4f}: ${now.spent:.4f} is spent and ${now.reserved:.4f} set aside, and the next "
            f"call could cost ${nano(usd) / NANO:.4f}: raise budget_usd in the study file and run again; the answers so "
            "far are kept"
        )

    def close(self) -> None:
        """Give back what is not spent. What is still reserved counts as spent."""
        if self._file < 0:
            return
        with self._locked(lowers=True):
            self._settled += self._reserved
            self._granted = self._settled
            self._write(0, closed=True)
            sync_open(self._file)
            if self._settled == 0:
                self._path.unlink(missing_ok=True)
            os.close(self._file)
        self._file = -1
        os.close(self._lock)
        if self.shared is not None:
            self.shared.close()

    # --- the files --------------------------------------------------------------------------------------------------
    def _extend(self, need: int) -> bool:
        """Grant this session at least ``need`` more, durably; ``False`` when that would pass the cap."""
        before = self._granted
        try:
            with _writing(self._path), self._locked():
                remaining = self._cap - self._counted()
                if remaining < need:
                    return False
                self._granted += max(need, int(min(MAX_GRANT, remaining / GRANT_SHARE)))
                self._write(self._reserved)
                sync_open(self._file)
        except StoreError as error:
            # what is not durable is not granted
            self._granted = before
            if isinstance(error, LedgerAwayError):
                self._write(self._reserved)
            raise
        return True

    def _own(self) -> Totals:
        return totals_of(self._folder, self._closed_totals)

    def _counted(self) -> int:
        return self._others.counted + self._own().counted

    def _unheld(self) -> float:
        # What no call of this session needs is free for a batch.
        self._granted = self._settled + self._reserved
        self._write(self._reserved)
        return max(0, self._cap - self._counted())

    def _write(self, reserved: int, *, closed: bool = False) -> None:
        # A provider that bills above its own limits: what is spent counts, not what was granted.
        self._granted = max(self._granted, self._settled + reserved)
        record = Record(self._boot, closed, self._granted, self._settled, reserved)
        with _writing(self._path):
            os.pwrite(self._file, record.line(), 0)
        self._reserved = reserved

    def _hold_path(self, mark: str) -> Path:
        return self._folder / f"{HOLD_PREFIX}{mark}.json"

    def _new_file(self, prefix: str, record: Record) -> tuple[int, Path]:
        """Create a record, locked and durable before it has a name that others read."""
        name = f"{prefix}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}-{secrets.token_hex(4)}.json"
        path, hidden = self._folder / name, self._folder / f".{name}.tmp"
        with _writing(path):
            file = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(file, record.line(), 0)
            sync_open(file)
            hidden.rename(path)
            sync(self._folder)
        return file, path

    @contextlib.contextmanager
    def _locked(self, *, lowers: bool = False) -> Iterator[None]:
        """Hold the folder and, where money is shared, the rows of all homes; what is granted then is written there."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            # What only lowers a grant is done also while the others cannot see it.
            if lowers or self.shared is None:
                yield
            if self.shared is not None:
                away = (LedgerAwayError,) if lowers else ()
                with contextlib.suppress(*away), self.shared.turn() as (self._others, write):
                    if not lowers:
                        yield
                    write(self._own())
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


def _write_whole(path: Path, record: Record) -> None:
    with _writing(path), replacing(path) as temporary:
        temporary.write_bytes(record.line())


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise ``StoreError`` where the disk refuses what is written inside."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"the ledger of spending at {path} cannot be written ({error.strerror}): free space or fix permissions; "
            "no call was sent"
        ) from None


def read_figures(home: Home, cap_usd: float | None, *, known_spent_usd: float = 0.0) -> Figures:
    """Return what ``home`` has spent and may still spend, writing nothing. Parameters and errors as `Budget`."""
    totals = totals_of(home.ledger, {})
    if (shared := ledger.shared_ledger(home)) is not None:
        with contextlib.closing(shared):
            totals += shared.read()
    return _figures(replace(totals, spent=max(totals.spent, nano(known_spent_usd))), _cap(cap_usd))


def _cap(cap_usd: float | None) -> float:
    return math.inf if cap_usd is None else int(cap_usd * NANO + 1e-6)


def _figures(totals: Totals, cap: float) -> Figures:
    known = cap < math.inf
    return Figures(
        cap=cap / NANO if known else None,
        spent=totals.spent / NANO,
        leaked=totals.leaked / NANO,
        reserved=totals.held / NANO,
        remaining=max(0, cap - totals.counted) / NANO if known else None,
    )
