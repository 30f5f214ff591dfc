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

One budget among many homes is kept by PostgreSQL: a row of a home says what it may have spent at most (``granted``) and
what it spent. The cap leaves to one home what the rows of the others do not hold. A row is durable before the home uses
what it grants, so the sum never passes the cap, whoever dies when; a home that never comes back holds what it was granted
and did not spend, at most a chunk for each of its processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from metacog_pipeline.checksums import is_sealed, seal
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import replacing, sync
from metacog_pipeline.home import Home
from metacog_pipeline.storage.attached import attachment

NANO = 1_000_000_000
GRANT_SHARE = 64  # a grant is at most this part of what remains (or what one call needs, if that is more)
MAX_GRANT = 5 * NANO  # what a crash before a reboot may cost the budget at most, per process
ROUNDING_SLACK = 1000  # a millionth of a dollar: sums of rounded costs may differ by as much
READ_ATTEMPTS = 3  # a living session may be writing its figures at this moment
NO_BOOT = "unknown"
_HOLD_PREFIX = "batch-"
_LIMIT = 10**18  # a billion dollars, the widest figure a record holds

TIMEOUTS: dict[str, Any] = {
    "connect_timeout": 3,
    "tcp_user_timeout": 5000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
}
_TABLES = """
create table if not exists metacog_ledger (
    study text not null, home text not null, granted bigint not null, spent bigint not null,
    told timestamptz not null default now(), primary key (study, home));
"""


def nano(usd: float) -> int:
    """Return ``usd`` in nano-dollars, rounded up so that many small amounts never add up to too little.

    Amounts from a billion dollars on are all the same: more than any budget. Raises ``ValueError`` for a negative
    amount or one that is not a number.
    """
    if not usd >= 0:
        raise ValueError(f"{usd} is not an amount of dollars")
    scaled = min(usd * NANO, float(_LIMIT))
    return math.ceil(scaled - 1e-6)  # the slack is that of binary fractions: 0.1 $ must not become one more


@dataclass(frozen=True, slots=True)
class Record:
    """The figures of one session, or of one batch."""

    boot: str
    closed: bool
    granted: int
    settled: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures of a home."""

    spent: int = 0  # for good
    leaked: int = 0  # a part of it, by sessions that died with calls under way
    held: int = 0  # by living sessions beyond what they have settled

    @property
    def counted(self) -> int:
        """What the budget must count."""
        return self.spent + self.held

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.spent + other.spent, self.leaked + other.leaked, self.held + other.held)


class LedgerAwayError(StoreError):
    """PostgreSQL cannot be reached now: nothing was granted, and nothing may be sent on it."""


class Others(NamedTuple):
    """What the rows of all other homes of a study hold, in nano-dollars."""

    granted: int
    spent: int


class SharedLedger:
    """The rows of one study, seen from one home. For one process; its threads take turns."""

    def __init__(self, variable: str, study: str, home: str) -> None:
        self._variable, self._study, self._home = variable, study, home
        self._lock = threading.RLock()
        self._connection: Any = None

    @contextlib.contextmanager
    def turn(self) -> Iterator[tuple[Others, Callable[[int, int], None]]]:
        """Hold the study's rows for one transaction: yield what the others hold, and what writes (granted, spent) here.

        Raises ``LedgerAwayError`` where the server is not there.
        """
        with self._transaction() as connection:
            connection.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (self._study,))
            yield (
                self._others(connection),
                lambda granted, spent: connection.execute(
                    "insert into metacog_ledger as old values (%s, %s, %s, %s) on conflict (study, home) do update set "
                    "granted = excluded.granted, spent = excluded.spent, told = now()",
                    (self._study, self._home, granted, spent),
                ),
            )

    def read(self) -> Others:
        """Return what the others hold. Raises as `turn`."""
        with self._transaction() as connection:
            return self._others(connection)

    def close(self) -> None:
        """Close the connection; the next transaction opens another."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Any]:
        import psycopg

        with self._lock:
            try:
                connection = self._connected()
                with connection.transaction():
                    yield connection
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                self.close()
                raise LedgerAwayError(
                    f"PostgreSQL at {self._variable} does not answer ({_first_line(error)}): no call is sent that it did "
                    "not grant; start it and run again"
                ) from error
            except psycopg.Error as error:
                said = f"PostgreSQL at {self._variable}: {_first_line(error)}"
                raise StoreError(f"{said}: the role must be allowed to create tables") from error

    def _others(self, connection: Any) -> Others:
        granted, spent = connection.execute(
            "select coalesce(sum(granted), 0), coalesce(sum(spent), 0) from metacog_ledger where study = %s and home <> %s",
            (self._study, self._home),
        ).fetchone()
        return Others(int(granted), int(spent))

    def _connected(self) -> Any:
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(_address(self._variable), autocommit=True, **TIMEOUTS)
            with self._connection.transaction():
                self._connection.execute("select pg_advisory_xact_lock(hashtextextended('metacog', 0))")
                self._connection.execute(_TABLES)
        return self._connection


class Ledger:
    """One session of a study home's ledger. Not shared between processes or threads."""

    def __init__(
        self, home: Home, cap: int | None, known_spent: int = 0, shared: SharedLedger | None = None
    ) -> None:
        self.shared = shared
        self.granted = self.settled = self.reserved = 0
        self._folder = home.ledger
        self._cap = cap
        self._others = Others(0, 0)
        self._closed_totals: dict[str, Totals] = {}
        self._boot = boot_id()
        with _writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with self._locked():
            missing = known_spent - self._others.granted - self._own().spent
            if missing > ROUNDING_SLACK:
                os.close(self._new_file("kept", Record(self._boot, True, missing, missing, 0))[0])
            self._file, self._path = self._new_file("session", Record(self._boot, False, 0, 0, 0))

    def take(self, amount: int) -> bool:
        """Set ``amount`` aside for a call; ``False`` when that would pass the cap."""
        short = self.settled + self.reserved + amount - self.granted
        if short > 0 and not self.extend(short):
            return False
        self.reserved += amount
        try:
            self._write()
        except StoreError:
            self.reserved -= amount
            raise
        return True

    def charge(self, amount: int, cost: int) -> None:
        """Replace an ``amount`` set aside by what the call cost."""
        self.settled += cost
        self.reserved -= amount
        # An answer that was paid for must not be lost because its cost cannot be noted: the record then still holds the
        # reservation, which is more, and the next call says what is wrong.
        with contextlib.suppress(StoreError):
            self._write()

    def extend(self, need: int) -> bool:
        """Grant this session at least ``need`` more, durably; ``False`` when that would pass the cap."""
        before = self.granted
        try:
            with _writing(self._path), self._locked():
                chunk = MAX_GRANT
                if self._cap is not None:
                    remaining = self._cap - self._counted()
                    if remaining < need:
                        return False
                    chunk = min(MAX_GRANT, remaining // GRANT_SHARE)
                self.granted += max(need, chunk)
                self._write()
                os.fsync(self._file)
        except StoreError as error:
            self.granted = before  # what is not durable is not granted
            if isinstance(error, LedgerAwayError):
                self._write()
            raise
        return True

    def hold(self, mark: str, amount: int) -> bool:
        """Hold ``amount`` for the batch ``mark``, durably; ``False`` when that would pass the cap. Once is enough."""
        held = False
        try:
            with self._locked():
                if self._hold_path(mark).exists():
                    return True
                if self._cap is not None and self._free() < amount:
                    return False
                held = True
                self._write_hold(mark, Record(self._boot, False, amount, 0, amount))
        except LedgerAwayError:
            if held:
                self._hold_path(mark).unlink(missing_ok=True)
            raise
        return True

    def release(self, mark: str, spent: int) -> None:
        """Replace what is held for a batch by what it cost; 0 leaves no record."""
        with self._lowered():
            self._write_hold(mark, Record(self._boot, True, spent, spent, 0))
            if spent == 0:
                self._hold_path(mark).unlink(missing_ok=True)

    def free(self) -> int | None:
        """Return what may still be held; ``None`` without a cap."""
        if self._cap is None:
            return None
        with self._locked():
            return self._free()

    def close(self) -> None:
        """Give back what was granted and not spent; calls still under way count as spent."""
        if self._file < 0:
            return
        with self._lowered():
            self.settled, self.reserved = self.settled + self.reserved, 0
            self.granted = self.settled
            self._write(closed=True)
            os.fsync(self._file)
            if self.settled == 0:
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
        return self._own() + totals_of_others(self._others)

    def _own(self) -> Totals:
        return totals_of(self._folder, self._boot, self._closed_totals)

    def _counted(self) -> int:
        return self._others.granted + self._own().counted

    def _free(self) -> int:
        assert self._cap is not None
        self.granted = self.settled + self.reserved  # what no call of this session needs is free for a batch
        self._write()
        return max(0, self._cap - self._counted())

    def _write(self, *, closed: bool = False) -> None:
        """Record this session's figures: one write, which a killed process cannot leave half done."""
        # A provider that bills above its own limits: what is spent counts, whatever was granted.
        self.granted = max(self.granted, self.settled + self.reserved)
        record = Record(self._boot, closed, self.granted, self.settled, self.reserved)
        with _writing(self._path):
            os.pwrite(self._file, line_of(record), 0)

    def _hold_path(self, mark: str) -> Path:
        return self._folder / f"{_HOLD_PREFIX}{mark}.json"

    def _write_hold(self, mark: str, record: Record) -> None:
        path = self._hold_path(mark)
        with _writing(path), replacing(path) as temporary:
            temporary.write_bytes(line_of(record))

    def _new_file(self, prefix: str, record: Record) -> tuple[int, Path]:
        """Create a record, locked and durable before it has a name that others read."""
        name = f"{prefix}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}-{secrets.token_hex(4)}.json"
        path, hidden = self._folder / name, self._folder / f".{name}.tmp"
        with _writing(path):
            file = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(file, line_of(record), 0)
            os.fsync(file)
            hidden.rename(path)
            sync(self._folder)
        return file, path

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder and, where money is shared, the rows of all homes; what is granted then is written there."""
        with self._alone():
            if self.shared is None:
                yield
                return
            with self.shared.turn() as (self._others, write):
                yield
                own = self._own()
                write(own.counted, own.spent)

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


def shared_ledger(home: Home) -> SharedLedger | None:
    """Return the shared ledger ``home`` is attached to, None where its money is its own.

    Raises ``StudyError`` where the variable with the address is not set, or the extra ``cluster`` is not installed.
    """
    known = attachment(home)
    if known.ledger is None:
        return None
    _address(known.ledger)
    try:
        import psycopg as psycopg
    except ImportError as error:
        raise StudyError(
            'deploy.ledger = "postgres": needs the extra cluster: pip install "metacog-pipeline[cluster]"'
        ) from error
    lock = home.ledger / ".lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    # A copy of a home is another home: it has the identity of the first, but not the file.
    return SharedLedger(known.ledger, known.store or known.identity, f"{known.identity}-{lock.stat().st_ino}")


def _address(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise StudyError(f'deploy.dagster_storage = "{variable}": the variable is not set; export it')
    return value.replace("postgresql+psycopg2://", "postgresql://", 1)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:160]


def totals_of_others(others: Others) -> Totals:
    """Return what other homes that share the budget add to the figures of one."""
    return Totals(others.spent, 0, others.granted - others.spent)


def totals_of(folder: Path, boot: str, closed: dict[str, Totals]) -> Totals:
    """Return the figures of all records in ``folder``; ``boot`` names this start of the machine.

    ``closed`` remembers records that will not change any more, so that a home with a thousand past sessions is read once.
    """
    found = (closed.get(path.name) or _totals_of_one(path, boot, closed) for path in folder.glob("*.json"))
    return sum(found, Totals())


def _totals_of_one(path: Path, boot: str, closed: dict[str, Totals]) -> Totals:
    try:
        record = _read(path)
        if record.closed:
            closed[path.name] = Totals(record.settled)
            return closed[path.name]
        if path.name.startswith(_HOLD_PREFIX) or _alive(path):
            return Totals(record.settled, 0, record.granted - record.settled)
    except FileNotFoundError:  # closed in this moment by a session that spent nothing
        return Totals()
    except OSError as error:
        raise StoreError(
            f"ledger record {path} cannot be read ({error.strerror}): check its permissions"
        ) from None
    counted = record.settled + record.reserved if record.boot == boot != NO_BOOT else record.granted
    return Totals(counted, counted - record.settled)


def line_of(record: Record) -> bytes:
    """Return ``record`` as one line of JSON of fixed length, so that a later write covers an earlier one exactly."""
    closed = "true " if record.closed else "false"
    line = (
        f'{{"version":1,"unit":"nano-dollar","boot":"{record.boot}","closed":{closed},"granted":{record.granted:>20},'
        f'"settled":{record.settled:>20},"reserved":{record.reserved:>20}}}'
    )
    return seal(line.encode("ascii"))


def _read(path: Path) -> Record:
    for _ in range(READ_ATTEMPTS):
        line = path.read_bytes()
        with contextlib.suppress(ValueError, KeyError, TypeError):
            if is_sealed(line):
                fields = json.loads(line)
                return Record(*(fields[name] for name in Record.__slots__))
    raise StoreError(
        f"ledger record {path} is damaged, so what was spent cannot be told: restore it, or move it away if the "
        "answers kept in this home tell the whole cost"
    )


def _alive(path: Path) -> bool:
    """Whether the session that owns ``path`` still holds its lock."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Shared, so that two processes that look at the same moment do not take each other for the owner.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def boot_id() -> str:
    """Return what names this start of the machine, where the system tells."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return NO_BOOT
    return text if text.replace("-", "").isalnum() else NO_BOOT


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
