"""What a study home has spent, kept so that several processes together can never pass one budget.

Every session (one open ledger) owns one small file under ``<home>/ledger/`` and holds a lock on it while it lives::

    granted   what the session may spend; raised under the folder's lock and made durable before it is used
    settled   what its finished calls cost
    reserved  the worst case of its calls under way; written before a call is sent

A session counts against the budget with all that it was granted while it lives, with ``settled`` once it is closed,
and with ``settled + reserved`` once it is dead (its lock is free): the calls under way when it was killed may have
been billed. After a restart of the machine the last two figures may be older than the calls, so a session that died
in an earlier boot counts with its grant. The sum never passes the cap, and is never below what was spent.

A batch outlives the process that submits it: what it may cost is a record of its own, held until its results tell.

Amounts are whole nano-dollars. Grants are taken in chunks, so that the lock and the durable write are paid once for
many calls; figures of one session are one small write without a lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing, sync
from metacog_pipeline.home import Home
from metacog_pipeline.llm.ledger_records import (
    HOLD_PREFIX,
    Record,
    Totals,
    boot_id,
    line_of,
    totals_of,
)
from metacog_pipeline.llm.shared_ledger import LedgerAwayError, Others, SharedLedger

NANO = 1_000_000_000
GRANT_SHARE = 64  # a grant is at most this part of what remains (or what one call needs, if that is more)
MAX_GRANT = 5 * NANO  # what a crash before a reboot may cost the budget at most, per process
ROUNDING_SLACK = 1000  # a millionth of a dollar: sums of rounded costs may differ by as much
_LIMIT = 10**18  # a billion dollars, the widest figure a record holds


def nano(usd: float) -> int:
    """Return ``usd`` in nano-dollars, rounded up so that many small amounts never add up to too little.

    Amounts from a billion dollars on are all the same: more than any budget. Raises ``ValueError`` for a negative
    amount or one that is not a number.
    """
    if not usd >= 0:
        raise ValueError(f"{usd} is not an amount of dollars")
    scaled = min(usd * NANO, float(_LIMIT))
    return math.ceil(scaled - 1e-6)  # the slack is that of binary fractions: 0.1 $ must not become one more


class Ledger:
    """One session of a study home's ledger. Not shared between processes or threads."""

    def __init__(
        self, home: Home, cap: int | None, known_spent: int = 0, shared: SharedLedger | None = None
    ) -> None:
        self._folder = home.ledger
        self.shared = shared
        self._others = Others(0, 0)
        self._cap = cap
        self._closed_totals: dict[str, Totals] = {}
        self._boot = boot_id()
        self.granted = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unwritable(self._folder, error) from None
        with self._locked():
            missing = known_spent - self._others.granted - self._own().spent
            if missing > ROUNDING_SLACK:
                carried = self._new_file("kept", Record(self._boot, True, missing, missing, 0))
                os.close(carried[0])
            self._file, self._path = self._new_file("session", Record(self._boot, False, 0, 0, 0))

    def extend(self, need: int, settled: int, reserved: int) -> bool:
        """Grant this session at least ``need`` more, durably; ``False`` when that would pass the cap."""
        before = self.granted
        try:
            with self._locked():
                chunk = MAX_GRANT
                if self._cap is not None:
                    remaining = self._cap - self._counted()
                    if remaining < need:
                        return False
                    chunk = min(MAX_GRANT, remaining // GRANT_SHARE)
                self.granted += max(need, chunk)
                self.write(settled, reserved)
                os.fsync(self._file)
        except (OSError, StoreError) as error:
            self.granted = before  # what is not durable is not granted
            if isinstance(error, LedgerAwayError):
                self.write(settled, reserved)
            raise error if isinstance(error, StoreError) else _unwritable(self._path, error) from None
        return True

    def hold(self, mark: str, amount: int, settled: int, reserved: int) -> bool:
        """Hold ``amount`` for the batch ``mark``, durably; ``False`` when that would pass the cap. Once is enough."""
        held = False
        try:
            with self._locked():
                if self._hold_path(mark).exists():
                    return True
                if self._cap is not None and self._free(settled, reserved) < amount:
                    return False
                held = True
                self._write_hold(mark, Record(self._boot, False, amount, 0, amount))
        except LedgerAwayError:
            if held:
                self._hold_path(mark).unlink(missing_ok=True)
            raise
        return True

    def free(self, settled: int, reserved: int) -> int | None:
        """Return what may still be held; ``None`` without a cap."""
        if self._cap is None:
            return None
        with self._locked():
            return self._free(settled, reserved)

    def release(self, mark: str, spent: int) -> None:
        """Replace what is held for a batch by what it cost; 0 leaves no record."""
        with self._lowered():
            self._write_hold(mark, Record(self._boot, True, spent, spent, 0))
            if spent == 0:
                self._hold_path(mark).unlink(missing_ok=True)

    def _free(self, settled: int, reserved: int) -> int:
        assert self._cap is not None
        # What this session was granted for calls it does not make is free for a batch.
        self.granted = settled + reserved
        self.write(settled, reserved)
        return max(0, self._cap - self._counted())

    def _hold_path(self, mark: str) -> Path:
        return self._folder / f"{HOLD_PREFIX}{mark}.json"

    def _write_hold(self, mark: str, record: Record) -> None:
        path = self._hold_path(mark)
        try:
            with replacing(path) as temporary:
                temporary.write_bytes(line_of(record))
        except OSError as error:
            raise _unwritable(path, error) from None

    def write(self, settled: int, reserved: int, *, closed: bool = False) -> None:
        """Record this session's figures: one write, which a killed process cannot leave half done."""
        # A provider that bills above its own limits: what is spent counts, whatever was granted.
        self.granted = max(self.granted, settled + reserved)
        line = line_of(Record(self._boot, closed, self.granted, settled, reserved))
        try:
            os.pwrite(self._file, line, 0)
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def close(self, settled: int, reserved: int) -> None:
        """Give back what was granted and not spent; calls still under way count as spent.

        A session that spent nothing leaves no record.
        """
        if self._file < 0:
            return
        with self._lowered():
            self.granted = settled + reserved
            self.write(self.granted, 0, closed=True)
            os.fsync(self._file)
            if self.granted == 0:
                self._path.unlink(missing_ok=True)
            os.close(self._file)
        self._file = -1
        os.close(self._lock)
        if self.shared is not None:
            self.shared.close()

    def totals(self) -> Totals:
        """Return the figures of the whole home, and of all that share its ledger, as they were last written."""
        if self.shared is not None:
            with contextlib.suppress(LedgerAwayError):
                self._others = self.shared.read()
        return with_others(self._own(), self._others)

    def _own(self) -> Totals:
        return totals_of(self._folder, self._boot, self._closed_totals)

    def _counted(self) -> int:
        return self._others.granted + self._own().counted

    def _new_file(self, prefix: str, record: Record) -> tuple[int, Path]:
        """Create a record, locked and durable before it has a name that others read."""
        name = f"{prefix}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}-{secrets.token_hex(4)}.json"
        path = self._folder / name
        hidden = self._folder / f".{name}.tmp"
        try:
            file = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(file, line_of(record), 0)
            os.fsync(file)
            hidden.rename(path)
            sync(self._folder)
        except OSError as error:
            raise _unwritable(path, error) from None
        return file, path

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder and, where money is shared, the rows of all homes; what is granted then is written there."""
        with self._alone():
            if self.shared is None:
                yield
                return
            with self.shared.turn() as turn:
                self._others = turn.others
                yield
                own = self._own()
                turn.mine = own.counted, own.spent

    @contextlib.contextmanager
    def _lowered(self) -> Iterator[None]:
        """Hold the folder for a change that gives money back; where the others cannot be told now, they are later."""
        with self._alone():
            yield
        with contextlib.suppress(LedgerAwayError), self._locked():
            pass

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


def with_others(own: Totals, others: Others) -> Totals:
    """Return the figures of a home together with those of the others that share its budget."""
    return Totals(own.spent + others.spent, own.leaked, own.held + others.granted - others.spent)


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the ledger of spending at {path} cannot be written ({error.strerror}): free space or fix permissions; "
        "no call was sent"
    )
