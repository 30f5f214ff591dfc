"""Opening DuckDB for a study: paths relative to the home, no extension fetched, names and texts quoted."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

import duckdb

from metacog_pipeline.errors import StoreError, StudyError, one_line
from metacog_pipeline.files import replacing
from metacog_pipeline.home import Home

OFFICIAL = "leaderboard_official"  # the table no SQL file makes and every rebuild carries over
_LOCK_WAIT_S = 60.0
_NEW = "new_board"  # what a database that is being made is attached as
_INSTANCE: ContextVar[tuple[Path, duckdb.DuckDBPyConnection] | None] = ContextVar("_INSTANCE", default=None)


def open_database(folder: Path) -> duckdb.DuckDBPyConnection:
    """Open a database in memory with relative paths starting at ``folder``, mostly a home.

    Extensions are neither downloaded nor loaded from outside: what is built in (Parquet, CSV, JSON) is enough.

    Raises
    ------
    StudyError
        If the home's path cannot be used as a search path.
    """
    resolved = str(folder.resolve())
    # DuckDB splits the search path at commas and takes * and ? as wildcards; there is no way to escape them.
    if unusable := sorted(set(resolved) & set(",*?")):
        raise StudyError(
            f"study.home: {resolved} holds {' '.join(unusable)}, which DuckDB cannot search; choose another folder"
        )
    return duckdb.connect(
        ":memory:",
        config={
            "file_search_path": resolved,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )


@contextlib.contextmanager
def one_instance(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield DuckDB as it was started for ``home``, once for all blocks within this one: it takes as long as ten tables.

    Cursors of it share what is attached and the number of threads; temporary tables are those of each.
    """
    held = _INSTANCE.get()
    if held is not None and held[0] == home.path:
        yield held[1]
        return
    instance = open_database(home.path)
    token = _INSTANCE.set((home.path, instance))
    try:
        yield instance
    finally:
        _INSTANCE.reset(token)
        instance.close()


@contextlib.contextmanager
def attached(instance: duckdb.DuckDBPyConnection, **files: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a cursor of ``instance`` to which ``files`` are attached read-only, by name. Raises as `attach` does."""
    connection = instance.cursor()
    try:
        for name, file in files.items():
            attach(connection, file, name)
        yield connection
    finally:
        connection.close()
        for name in files:
            instance.execute(f"detach database if exists {identifier(name)}")


def attach(connection: duckdb.DuckDBPyConnection, file: Path, name: str) -> None:
    """Attach ``file`` read-only as ``name``.

    Raises
    ------
    StoreError
        If the file is missing, or is not a DuckDB database this version can read.
    """
    if not file.is_file():
        raise StoreError(f"{file}: no leaderboard there yet; build it with metacog run STUDY")
    try:
        connection.execute(f"attach {text(str(file))} as {identifier(name)} (read_only)")
    except duckdb.Error as error:
        raise StoreError(
            f"{file}: not readable as a DuckDB file ({one_line(str(error), 200)}); "
            "move it away and run metacog run STUDY: the board is rebuilt from the kept answers"
        ) from None


@contextlib.contextmanager
def new_database(
    instance: duckdb.DuckDBPyConnection, target: Path, *, copy: bool
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a database that becomes ``target`` when the block ends well; ``copy`` starts from ``target``.

    Raises
    ------
    StoreError
        If the database cannot be written; ``target`` is then as it was.
    """
    try:
        with replacing(target) as temporary:
            if copy:
                shutil.copyfile(target, temporary)
            else:
                temporary.unlink()  # DuckDB refuses an empty file
            log = temporary.with_name(f"{temporary.name}.wal")
            connection = instance.cursor()
            try:
                connection.execute(f"attach {text(str(temporary))} as {_NEW} (type duckdb)")
                connection.execute(f"use {_NEW}")
                # What is committed goes into the file at once: a log beside it would be written, and then read into it.
                connection.execute("set checkpoint_threshold = '1 byte'")
                yield connection
                connection.execute("checkpoint")
            finally:
                connection.close()
                with contextlib.suppress(duckdb.Error):  # of a full disk; what was raised before says so
                    instance.execute(f"detach database if exists {_NEW}")
                log.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"{target}: cannot be written ({error.strerror or error}); free space or check the study's home"
        ) from None
    except duckdb.Error as error:
        raise StoreError(f"{target}: cannot be built: {error}") from None


def identifier(name: str) -> str:
    """Return ``name`` quoted as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return ``value`` quoted as a SQL string."""
    return "'" + value.replace("'", "''") + "'"


@contextlib.contextmanager
def building(home: Home) -> Iterator[None]:
    """Hold the right to replace the leaderboard of ``home``; a second builder waits its turn.

    Raises
    ------
    StoreError
        If another process keeps building for a minute, or the home cannot be written.
    """
    path = home.board_lock
    try:
        handle = path.open("a")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error.strerror}); check the study's home") from None
    with handle:
        deadline = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"{home.leaderboard}: another process has been building it for {_LOCK_WAIT_S:.0f} s; "
                        "wait for it, or end it, and try again"
                    ) from None
                time.sleep(0.02)
        yield
