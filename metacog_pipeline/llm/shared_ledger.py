"""One budget among many homes: what each may spend is granted by PostgreSQL, in chunks, one transaction a chunk.

A home keeps its own ledger of files, whose sessions and crashes are its own affair. Its row here says what the home may
have spent at most (``granted``) and what it told last that it spent. The cap leaves to one home what the rows of the others
do not hold. A row is durable before the home uses what it grants, so the sum never passes the cap, whoever dies when; a
home that never comes back holds what it was granted and did not spend, at most a chunk for each of its processes.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.storage.attached import attachment

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
