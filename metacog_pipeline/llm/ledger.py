"""What a study home has spent, kept so that several processes together can never pass one budget.

Every session (one open ledger) owns one small file under ``<home>/ledger/`` and holds a lock on it while it lives::

    granted   what the session may spend; raised under the folder's lock and made durable before it is used
    settled   what its finished calls cost
    reserved  the worst case of its calls under way; written before a call is sent

A session counts against the budget with all that it was granted while it lives, with ``settled`` once it is closed,
and with ``settled + reserved`` once it is dead (its lock is free): the calls under way when it was killed may have
been billed. After a restart of the machine the last two figures may be older than the calls, so a session that died
in an earlier boot counts with its grant. The sum never passes the cap, and is never below what was spent.

Amounts are whole nano-dollars. Grants are taken in chunks, so that the lock and the durable write are paid once for
many calls; figures of one session are one small write without a lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import sync_folder

NANO = 1_000_000_000
GRANT_SHARE = 64  # a grant is at most this part of what remains (or what one call needs, if that is more)
MAX_GRANT = 5 * NANO
ROUNDING_SLACK = 1000  # a millionth of a dollar: sums of rounded costs may differ by as much
READ_ATTEMPTS = 3  # a living session may be writing its figures at this moment
_LIMIT = 10**18  # a billion dollars, the widest figure a record holds
_NO_BOOT = "unknown"


@dataclass(frozen=True, slots=True)
class Record:
    """The figures of one session, in nano-dollars."""

    boot: str
    closed: bool
    granted: int
    settled: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures of a home, in nano-dollars: ``spent`` for good, ``leaked`` (a part of it) by sessions that died
    with calls under way, ``held`` by living sessions beyond what they have settled."""

    spent: int
    leaked: int
    held: int

    @property
    def counted(self) -> int:
        """What the budget must count."""
        return self.spent + self.held


def nano(usd: float) -> int:
    """Return ``usd`` in nano-dollars, rounded up so that many small amounts never add up to too little."""
    if not (math.isfinite(usd) and 0 <= usd * NANO < _LIMIT):
        raise ValueError(f"{usd} is not an amount of dollars")
    return math.ceil(
        usd * NANO - 1e-6
    )  # the slack is that of binary fractions: 0.1 $ must not become one more


class Ledger:
    """One session of a study home's ledger. Not shared between processes or threads.

    Parameters
    ----------
    home
        The study home; ``<home>/ledger/`` is made when missing.
    cap
        The most the home may ever spend, in nano-dollars; ``None`` for no cap (spending is still recorded).
    known_spent
        What kept answers say was spent, in nano-dollars. Where the ledger knows of less (it was deleted, or the
        answers came from another home), the difference is recorded as spent.

    Raises
    ------
    StoreError
        The folder or a record cannot be written or read.
    """

    def __init__(self, home: Path, cap: int | None, known_spent: int = 0) -> None:
        self._folder = home / "ledger"
        self._cap = cap
        self._closed_totals: dict[str, Totals] = {}
        self._boot = _boot_id()
        self.granted = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unwritable(self._folder, error) from None
        with self._locked():
            missing = known_spent - self.totals().spent
            if missing > ROUNDING_SLACK:
                carried = self._new_file("carried", Record(self._boot, True, missing, missing, 0))
                os.close(carried[0])
            self._file, self._path = self._new_file("session", Record(self._boot, False, 0, 0, 0))

    def extend(self, need: int, settled: int, reserved: int) -> bool:
        """Grant this session at least ``need`` more, durably; ``False`` when that would pass the cap."""
        with self._locked():
            chunk = MAX_GRANT
            if self._cap is not None:
                remaining = self._cap - self.totals().counted
                if remaining < need:
                    return False
                chunk = min(MAX_GRANT, remaining // GRANT_SHARE)
            before = self.granted
            self.granted += max(need, chunk)
            try:
                self.write(settled, reserved)
                os.fsync(self._file)
            except (OSError, StoreError) as error:
                self.granted = before  # what is not durable is not granted
                raise error if isinstance(error, StoreError) else _unwritable(self._path, error) from None
        return True

    def write(self, settled: int, reserved: int, *, closed: bool = False) -> None:
        """Record this session's figures: one write, which a killed process cannot leave half done."""
        # A provider that bills above its own limits: what is spent counts, whatever was granted.
        self.granted = max(self.granted, settled + reserved)
        line = _line(Record(self._boot, closed, self.granted, settled, reserved))
        try:
            os.pwrite(self._file, line, 0)
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def close(self, settled: int, reserved: int) -> None:
        """Give back what was granted and not spent; calls still under way count as spent."""
        if self._file < 0:
            return
        with self._locked():
            self.granted = settled + reserved
            self.write(self.granted, 0, closed=True)
            os.fsync(self._file)
            os.close(self._file)
        self._file = -1
        os.close(self._lock)

    def totals(self) -> Totals:
        """Return the figures of the whole home, this session's as they were last written."""
        spent = leaked = held = 0
        for path in sorted(self._folder.glob("*.json")):
            one = self._closed_totals.get(path.name) or self._session_totals(path)
            spent, leaked, held = spent + one.spent, leaked + one.leaked, held + one.held
        return Totals(spent, leaked, held)

    def _session_totals(self, path: Path) -> Totals:
        record = _read(path)
        if record.closed:
            # A closed record never changes again: a home with a thousand past sessions is read once.
            self._closed_totals[path.name] = Totals(record.settled, 0, 0)
            return self._closed_totals[path.name]
        if _alive(path):
            return Totals(record.settled, 0, record.granted - record.settled)
        sure = record.boot == self._boot != _NO_BOOT
        counted = record.settled + record.reserved if sure else record.granted
        return Totals(counted, counted - record.settled, 0)

    def _new_file(self, prefix: str, record: Record) -> tuple[int, Path]:
        """Create a record, locked and durable before it has a name that others read."""
        name = f"{prefix}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}-{secrets.token_hex(4)}.json"
        path = self._folder / name
        hidden = self._folder / f".{name}.tmp"
        try:
            file = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(file, _line(record), 0)
            os.fsync(file)
            hidden.rename(path)
            sync_folder(self._folder)
        except OSError as error:
            raise _unwritable(path, error) from None
        return file, path

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


def _line(record: Record) -> bytes:
    """Return ``record`` as one line of JSON of fixed length, so that a later write covers an earlier one exactly."""
    closed = "true " if record.closed else "false"
    return (
        f'{{"version":1,"unit":"nano-dollar","boot":"{record.boot}","closed":{closed},"granted":{record.granted:>20},'
        f'"settled":{record.settled:>20},"reserved":{record.reserved:>20}}}\n'
    ).encode("ascii")


def _read(path: Path) -> Record:
    for _ in range(READ_ATTEMPTS):
        try:
            record = _parsed(path.read_bytes())
        except OSError as error:
            raise StoreError(
                f"ledger record {path} cannot be read ({error.strerror}): check its permissions"
            ) from None
        if record is not None:
            return record
    raise StoreError(
        f"ledger record {path} is damaged, so what was spent cannot be told: restore it, or move it away if the "
        "answers kept in this home tell the whole cost"
    )


def _parsed(line: bytes) -> Record | None:
    try:
        fields = json.loads(line)
        figures = [fields[key] for key in ("granted", "settled", "reserved")]
        if all(type(f) is int and f >= 0 for f in figures) and isinstance(fields["closed"], bool):
            return Record(str(fields["boot"]), fields["closed"], *figures)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


def _alive(path: Path) -> bool:
    """Whether the session that owns ``path`` still holds its lock."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(
            f"ledger record {path} cannot be read ({error.strerror}): check its permissions"
        ) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def _boot_id() -> str:
    """Return what names this start of the machine, where the system tells."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return _NO_BOOT
    return text if text.replace("-", "").isalnum() else _NO_BOOT


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the ledger of spending at {path} cannot be written ({error.strerror}): free space or fix permissions; "
        "no call was sent"
    )
