"""Opening DuckDB for a study: paths relative to the home, no extension fetched, names and texts quoted."""

from __future__ import annotations

import contextlib
import fcntl
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb

from metacog_pipeline.errors import StoreError, StudyError, one_line
from metacog_pipeline.files import replacing
from metacog_pipeline.home import Home

_HELD = re.compile(r"Could not set lock on file .*?(?:held in (.*?) \(PID (\d+)\)|$)", re.DOTALL)


def open_database(folder: Path, file: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Open ``file``, or a database in memory, with relative paths starting at ``folder``; no extension is fetched."""
    resolved = str(folder.resolve())
    # DuckDB splits the search path at commas and takes * and ? as wildcards; there is no way to escape them.
    if unusable := sorted(set(resolved) & set(",*?")):
        raise StudyError(
            f"study.home: {resolved} holds {' '.join(unusable)}, which DuckDB cannot search; choose another folder"
        )
    outside = dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), False)
    return duckdb.connect(str(file or ":memory:"), config={"file_search_path": resolved, **outside})


def attach(connection: duckdb.DuckDBPyConnection, file: Path, name: str) -> None:
    """Attach ``file`` read-only as ``name``; StoreError where it is missing, held by another process, or damaged."""
    if not file.is_file():
        raise StoreError(f"{file}: no leaderboard there yet; build it with metacog run STUDY")
    try:
        connection.execute(f"attach {text(str(file))} as {identifier(name)} (read_only)")
    except duckdb.Error as error:
        if held := _HELD.search(str(error)):
            holder = f"process {held[2]} ({Path(held[1]).name})" if held[2] else "another process"
            wait = "wait until it closes the file, or end it, and ask again"
            raise StoreError(f"{file}: {holder} has it open for writing; {wait}") from None
        raise StoreError(
            f"{file}: not readable as a DuckDB file ({one_line(str(error), 200)}); "
            "move it away and run metacog run STUDY: the board is rebuilt from the kept answers"
        ) from None


@contextlib.contextmanager
def new_database(home: Home, target: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a new database file that takes the place of ``target`` when the block ends well."""
    try:
        with replacing(target) as temporary:
            # DuckDB refuses an empty file.
            temporary.unlink()
            connection = open_database(home.path, temporary)
            try:
                # One thread: sums of floats are the same in every bit on any machine.
                connection.execute("set threads = 1")
                yield connection
            finally:
                connection.close()
                temporary.with_name(f"{temporary.name}.wal").unlink(missing_ok=True)
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
    """Hold the right to replace the leaderboard of ``home``; a second builder waits its turn, which takes seconds."""
    path = home.board_lock
    try:
        handle = path.open("a")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error.strerror}); check the study's home") from None
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
