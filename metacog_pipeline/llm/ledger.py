"""Records of what a study home has spent: small files that all processes read, and a row for hosts that share a budget."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import math
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline.checksums import is_sealed, seal
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.storage.attached import attachment

NANO = 1_000_000_000  # amounts are whole nano-dollars
# a living session may be writing its figures at this moment
READ_ATTEMPTS = 3
NO_BOOT = "unknown"
# A batch outlives the process that submits it: what it may cost is a record of its own.
# of a record that belongs to a batch, whichever processes come and go
HOLD_PREFIX = "batch-"
TIMEOUTS: dict[str, Any] = {"connect_timeout": 3, "tcp_user_timeout": 5000, "keepalives_idle": 5,
                            "keepalives_interval": 2}  # fmt: skip
# a billion dollars, the widest figure a record holds
_LIMIT = 10**18
_TABLES = """
create table if not exists metacog_ledger (
    study text not null, home text not null, granted bigint not null, spent bigint not null,
    told timestamptz not null default now(), primary key (study, home));
"""
_UPSERT = """
insert into metacog_ledger values (%s, %s, %s, %s)
on conflict (study, home) do update set granted = excluded.granted, spent = excluded.spent, told = now()
"""


def nano(usd: float) -> int:
    """Return ``usd`` in nano-dollars, rounded up so that many small amounts never add up to too little."""
    if not usd >= 0:
        raise ValueError(f"{usd} is not an amount of dollars")
    scaled = min(usd * NANO, float(_LIMIT))
    # the slack is that of binary fractions: 0.1 $ must not become one more
    return math.ceil(scaled - 1e-6)


# One file of each session, whose lock it holds while it lives. ``granted`` is what it may spend,
# durable before it is used; ``settled`` what its finished calls cost; ``reserved`` the worst case of
# those under way, written before a call is sent.
@dataclass(frozen=True, slots=True)
class Record:
    """The figures of one session, or of one batch."""

    boot: str  # names a start of the machine
    closed: bool
    granted: int
    settled: int
    reserved: int

    def line(self) -> bytes:
        """Return one line of JSON of fixed length, so that a later write covers an earlier one exactly."""
        closed = "true " if self.closed else "false"
        line = (
            f'{{"version":1,"unit":"nano-dollar","boot":"{self.boot}","closed":{closed},"granted":{self.granted:>20},'
            f'"settled":{self.settled:>20},"reserved":{self.reserved:>20}}}'
        )
        return seal(line.encode("ascii"))


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures of a home, or of several."""

    spent: int = 0  # for good
    # a part of it, by sessions that died with calls under way
    leaked: int = 0
    # by living sessions beyond what they have settled
    held: int = 0

    @property
    def counted(self) -> int:
        """What the budget must count."""
        return self.spent + self.held

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.spent + other.spent, self.leaked + other.leaked, self.held + other.held)


def totals_of(folder: Path, closed: dict[str, Totals]) -> Totals:
    """Return the figures of all records in ``folder``; ``closed`` remembers those that will not change any more."""
    boot = boot_id()
    return sum(
        (closed.get(path.name) or _totals_of(path, boot, closed) for path in folder.glob("*.json")), Totals()
    )


# A living session counts with its grant; a closed one with what it settled; a dead one also with what it
# reserved, because calls under way when it was killed may have been billed. After a restart of the machine
# both figures may be older than the calls: then the grant counts.
def _totals_of(path: Path, boot: str, closed: dict[str, Totals]) -> Totals:
    try:
        record = _read(path)
        if record.closed:
            return closed.setdefault(path.name, Totals(record.settled))
        if path.name.startswith(HOLD_PREFIX) or _alive(path):
            return Totals(record.settled, 0, record.granted - record.settled)
    except FileNotFoundError:  # closed in this moment by a session that spent nothing
        return Totals()
    except OSError as error:
        said = f"ledger record {path} cannot be read ({error.strerror}): check its permissions"
        raise StoreError(said) from None
    counted = record.settled + record.reserved if record.boot == boot != NO_BOOT else record.granted
    return Totals(counted, counted - record.settled)


def _read(path: Path) -> Record:
    for _ in range(READ_ATTEMPTS):
        line = path.read_bytes()
        with contextlib.suppress(ValueError, KeyError, TypeError):
            if is_sealed(line):
                fields = json.loads(line)
                return Record(*(fields[name] for name in Record.__slots__))
    raise StoreError(
        f"ledger record {path} is damaged, so what was spent is unknown: restore it, or move it away if the "
        "answers kept in this home have the whole cost"
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
    """Return what names this start of the machine, where the system reports it."""
    with contextlib.suppress(OSError, ValueError):
        text = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return text if text.replace("-", "").isalnum() else NO_BOOT
    return NO_BOOT


class LedgerAwayError(StoreError):
    """PostgreSQL cannot be reached now: nothing was granted, and nothing may be sent on it."""


# The row of a home says what it may have spent at most and what it spent, and is durable before the home
# uses what it grants. A home that never comes back holds at most a chunk for each of its processes.
class SharedLedger:
    """The rows of one study, seen from one home. For one process; its threads take turns."""

    def __init__(self, variable: str, study: str, home: str) -> None:
        self._variable, self._study, self._home = variable, study, home
        self._lock = threading.RLock()
        self._connection: Any = None

    @contextlib.contextmanager
    def turn(self) -> Iterator[tuple[Totals, Callable[[Totals], None]]]:
        """Hold the study's rows for one transaction: yield what the others hold, and what writes this home's row."""
        with self._transaction() as connection:
            connection.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (self._study,))
            yield (
                self._others(connection),
                lambda own: connection.execute(_UPSERT, (self._study, self._home, own.counted, own.spent)),
            )

    def read(self) -> Totals:
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

    def _others(self, connection: Any) -> Totals:
        granted, spent = connection.execute(
            "select coalesce(sum(granted), 0), coalesce(sum(spent), 0) from metacog_ledger where study = %s and home <> %s",
            (self._study, self._home),
        ).fetchone()
        return Totals(int(spent), 0, int(granted - spent))

    def _connected(self) -> Any:
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(_address(self._variable), autocommit=True, **TIMEOUTS)
            with self._connection.transaction():
                self._connection.execute("select pg_advisory_xact_lock(hashtextextended('metacog', 0))")
                self._connection.execute(_TABLES)
        return self._connection


def shared_ledger(home: Home) -> SharedLedger | None:
    """Return the shared ledger ``home`` is attached to, None where its money is its own. Raises ``StudyError``."""
    known = attachment(home)
    if known.ledger is None:
        return None
    _address(known.ledger)
    if importlib.util.find_spec("psycopg") is None:
        said = 'deploy.ledger = "postgres": needs the extra cluster: pip install "metacog-pipeline[cluster]"'
        raise StudyError(said)
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
