"""Dagster's own SQLite files, with connections that stay open, and fewer events of the runs of one command.

Dagster opens a file anew for every event it stores and closes it again, which makes SQLite move its log into the file each
time: a third of the processor time of a small study. The files are the same, and of the same form.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg
from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._config import StringSource
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import SqliteScheduleStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage, SqliteStorageConfig
from dagster._serdes import ConfigurableClassData
from sqlalchemy import create_engine, event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine.interfaces import DBAPIConnection

_SCRIPTS = "_read_by_metacog"
WAIT_S = 60  # for another process that writes
MOST_OPEN = 16  # files of single runs; the one used longest ago is closed
#: Of a run in one process nobody reads them again: what was made is in the materialization, what failed in the failure.
PASSING = frozenset(
    {
        dg.DagsterEventType.STEP_OUTPUT,
        dg.DagsterEventType.RESOURCE_INIT_STARTED,
        dg.DagsterEventType.RESOURCE_INIT_SUCCESS,
    }
)


class _AmongAssets:
    """The same storage, to which the file of a run is that of all assets."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)

    def run_connection(self, run_id: str) -> Any:
        return self._events.index_connection()


class Events(SqliteEventLogStorage):
    """Events of all runs.

    ``brief`` leaves out those that only say what others say: of every output, of every resource, and that a check is
    planned (its row among the checks is written). That an asset is planned stands among the assets, where Dagster looks
    for what is under way or failed, and not in the run's own file: the run says what it is to make.
    """

    def __init__(self, base_dir: str) -> None:
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._tables = set[str]()
        self.brief = False
        super().__init__(base_dir)
        # Dagster makes the tables where the file is not there. A process that was ended meanwhile left a part of them, and
        # no later one could open the home: what is missing is made, which is the first thing the first event does anyway.
        with self._connect(INDEX_SHARD_NAME):
            pass
        self.reindex_events()
        self.reindex_assets()

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engine = self._engine(shard)
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.connect() as connection, connection.begin():
                yield connection

    def _engine(self, shard: str) -> Engine:
        found = self._engines.pop(shard, None)
        if found is None:
            found = _opened(self.conn_string_for_shard(shard))
        self._engines[shard] = found
        if len(self._engines) > MOST_OPEN:
            self._engines.popitem(last=False)[1].dispose()
        return found

    def store_event(self, event: dg.EventLogEntry) -> None:
        """Store an event, unless it is one of those that are left out."""
        kind = event.dagster_event_type if event.is_dagster_event else None
        if self.brief and kind in PASSING:
            return
        if self.brief and kind == dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED:
            self.store_asset_check_event(event, None)
            return
        if self.brief and kind == dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED:
            SqlEventLogStorage.store_event(_AmongAssets(self), event)  # type: ignore[arg-type]
            return
        super().store_event(event)

    def has_table(self, table_name: str) -> bool:
        """Return whether there is a table; Dagster opens the file to see, for every asset it stores, and it stays."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def wipe(self) -> None:
        """Delete everything."""
        self._tables.clear()
        self._close()
        super().wipe()

    def dispose(self) -> None:
        """Close every file."""
        self._close()
        super().dispose()

    def _close(self) -> None:
        with self._db_lock:
            while self._engines:
                self._engines.popitem()[1].dispose()


class Runs(SqliteRunStorage):
    """What runs there were."""

    _engine: Engine | None = None

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a connection that stays open for the next."""
        if self._engine is None:
            self._engine = _opened(self._conn_string)
        with self._engine.connect() as connection, connection.begin():
            yield connection

    def dispose(self) -> None:
        """Close the file."""
        if self._engine is not None:
            self._engine.dispose()
        super().dispose()


class History(DagsterSqliteStorage):
    """Runs, events and schedules of a study, in the files where Dagster would put them."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self.base_dir = base_dir
        _read_migrations_once()
        self._run_storage = Runs.from_local(f"{base_dir}/history/")
        self._event_log_storage = Events(f"{base_dir}/history/runs/")
        self._schedule_storage = SqliteScheduleStorage.from_local(f"{base_dir}/schedules")
        self._inst_data = inst_data
        self._instance_weakref = None

    @classmethod
    def config_type(cls) -> Any:
        """Return what dagster.yaml may say."""
        return {"base_dir": StringSource}

    @classmethod
    def from_config_value(  # type: ignore[override]  # as DagsterSqliteStorage narrows it
        cls, inst_data: ConfigurableClassData, config_value: SqliteStorageConfig
    ) -> History:
        """Return the storage that dagster.yaml describes."""
        return cls(config_value["base_dir"], inst_data)


def _read_migrations_once() -> None:
    """Have Dagster's list of migrations, fifty modules, read once per process: it is asked for with every file opened."""
    if _SCRIPTS not in vars(ScriptDirectory):
        read, known = ScriptDirectory.from_config, dict[str | None, ScriptDirectory]()

        def from_config(config: Config) -> ScriptDirectory:
            place = config.get_main_option("script_location")
            if place not in known:
                known[place] = read(config)
            return known[place]

        setattr(ScriptDirectory, _SCRIPTS, known)
        ScriptDirectory.from_config = from_config  # type: ignore[method-assign]


def _opened(address: str) -> Engine:
    engine = create_engine(address, connect_args={"timeout": WAIT_S})
    event.listen(engine, "connect", _without_waiting)
    return engine


def _without_waiting(opened: DBAPIConnection, _: object) -> None:
    """Have writes wait for no disk: with a write-ahead log a file is whole after a power cut all the same.

    Dagster sets the log as well, but after it has made all tables, one wait for the disk each.
    """
    cursor = opened.cursor()
    cursor.execute("pragma journal_mode = wal")
    cursor.execute("pragma synchronous = normal")
    cursor.close()
