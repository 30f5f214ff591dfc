"""Read the leaderboard: a connection that cannot write, and one SELECT at a time."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

import duckdb

from metacog_pipeline.errors import StoreError, StudyError, one_line, suggestion
from metacog_pipeline.files import shipped
from metacog_pipeline.home import FOLDERS, Home
from metacog_pipeline.leaderboard import query_mistakes
from metacog_pipeline.leaderboard.database import attach, open_database, text
from metacog_pipeline.leaderboard.output import Rows, unique

if TYPE_CHECKING:
    import pyarrow as pa

_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)  # MULTI is what PIVOT becomes
T = TypeVar("T")
_HELD: ContextVar[tuple[Home, duckdb.DuckDBPyConnection] | None] = ContextVar("_HELD", default=None)
_NO_FRAME = re.compile(r"month_day_nano_interval|(?:dense|sparse)_union")
_EXPLAIN = re.compile(r"^\s*explain(\s+analyze)?\b", re.IGNORECASE)


def connect(home: Home) -> duckdb.DuckDBPyConnection:
    """Return a connection to the leaderboard of ``home`` that reads and cannot write.

    The file is attached read-only, so the study can be rebuilt meanwhile; a connection opened later sees the new board.
    Files can be read below the home only, by path relative to it; the settings are locked.

    Raises
    ------
    StoreError
        If there is no leaderboard, or it cannot be read.
    """
    home = Home(home.path.resolve())
    connection = open_database(home.path)
    try:
        attach(connection, home.leaderboard, "leaderboard")
        if home.texts.is_file():
            attach(connection, home.texts, "texts")
        connection.execute("use leaderboard")
        connection.execute("set search_path = 'leaderboard.main,leaderboard.detail'")
        # Relative patterns are checked as written, before the search path is applied: both forms must be allowed.
        allowed = [f"{home}/", *(f"{folder}/" for folder in FOLDERS)]
        connection.execute(f"set allowed_directories = [{', '.join(text(path) for path in allowed)}]")
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


def run_query(home: Home, sql: str) -> Rows:
    """Run one reading statement (SELECT, FROM, WITH, DESCRIBE, SHOW, SUMMARIZE, PIVOT, EXPLAIN) on the leaderboard.

    Raises
    ------
    StudyError
        If ``sql`` is not one reading statement, or DuckDB refuses it.
    StoreError
        If there is no leaderboard, or a Parquet file behind a view cannot be read.
    """
    return _queried(home, _one_reading_statement(sql), _rows)


def query_table(home: Home, sql: str) -> pa.Table:
    """Run one reading statement as `run_query` does, and return an Arrow table with the types of the database.

    Repeated names are numbered. StudyError where a column holds intervals or unions, which fit no frame.
    """

    def table(connection: duckdb.DuckDBPyConnection, statement: str) -> pa.Table:
        import pyarrow as pa

        relation = connection.sql(statement)
        found = pa.table({}) if relation is None else relation.to_arrow_table()
        names = unique(found.column_names)
        for name, kind in zip(names, found.schema.types, strict=True):
            if _NO_FRAME.search(str(kind)):
                raise StudyError(
                    f'query: column "{name}" holds {one_line(str(kind), 60)}, which fits no frame; select its parts, or '
                    f'"{name}"::varchar'
                )
        return found.rename_columns(names)

    return _queried(home, _one_reading_statement(sql), table)


def _rows(connection: duckdb.DuckDBPyConnection, statement: str) -> Rows:
    result = connection.execute(statement)
    columns = tuple(column[0] for column in result.description or ())
    return Rows(columns, tuple(result.fetchall()))


def _queried(home: Home, statement: str, take: Callable[[duckdb.DuckDBPyConnection, str], T]) -> T:
    held = _HELD.get()
    connection = connect(home) if held is None or held[0] != home else held[1]
    try:
        for name, test in _tests(statement):
            connection.execute(f'create or replace temp view "{name}" as {test}')
        return take(connection, statement)
    except (duckdb.Error, UnicodeError, ValueError, OverflowError) as error:
        # The last three: a value Python cannot hold, such as a date past the year 9999.
        raise StudyError(f"query: {_explained(connection, str(error))}") from None
    finally:
        if held is None or connection is not held[1]:
            connection.close()


@contextlib.contextmanager
def one_connection(home: Home) -> Iterator[None]:
    """Have all queries of ``home`` in the block read one board through one connection; it does not see a newer one.

    Within another such block they go on with its connection.

    Raises
    ------
    StoreError
        As `connect` does.
    """
    held = _HELD.get()
    if held is not None and held[0] == home:
        yield
        return
    connection = connect(home)
    token = _HELD.set((home, connection))
    try:
        yield
    finally:
        _HELD.reset(token)
        connection.close()


def _tests(statement: str) -> Iterator[tuple[str, str]]:
    """Yield name and SQL of each test of the SQL folder that ``statement`` names: its rows are what is wrong."""
    words = set(re.findall(r"\w+", statement.lower()))
    for path in sorted(shipped("dbt_like_sql", "tests").rglob("*.sql")):
        if path.stem in words:
            yield path.stem, path.read_text("utf-8")


def _explained(connection: duckdb.DuckDBPyConnection, message: str) -> str:
    """Return what went wrong and what to do."""
    names = "select distinct table_name from information_schema.tables"
    return query_mistakes.words(
        message, lambda: [str(name) for (name,) in connection.execute(names).fetchall()]
    )


def read_table(home: Home, sql: str) -> Rows:
    """Run one of the package's own queries: what it cannot find, a leaderboard of another version does not hold.

    Raises
    ------
    StoreError
        If there is no leaderboard, it cannot be read, or it lacks a table or column of this version.
    """
    try:
        return _queried(home, sql, _rows)
    except StudyError:
        raise StoreError(
            f"{home.leaderboard}: was built by another version of metacog; "
            "rebuild it with metacog run STUDY: nothing is asked twice"
        ) from None


def board(home: Home, benchmark: str | None = None) -> Rows:
    """Return the rows of ``leaderboard``, of one benchmark or all.

    Raises
    ------
    StudyError
        If ``benchmark`` is not on the board.
    StoreError
        If there is no leaderboard, or it cannot be read.
    """
    where = "" if benchmark is None else f"where benchmark = {text(benchmark)}"
    found = run_query(home, f"from leaderboard {where} order by benchmark, condition, source, model, measure")
    if benchmark is not None and not found.rows:
        rows = run_query(home, "select distinct benchmark from leaderboard order by all").rows
        known = [str(name) for (name,) in rows]
        listed = ", ".join(known) or "none yet"
        meant = suggestion(benchmark, known)
        raise StudyError(f'benchmark: "{benchmark}" is not on the board{meant}; it has: {listed}')
    return found


def _one_reading_statement(sql: str) -> str:
    try:
        sql.encode("utf-8")
        statements = duckdb.extract_statements(sql)
    except (duckdb.Error, UnicodeError) as error:
        raise StudyError(f"query: {query_mistakes.words(str(error), tuple)}") from None
    if len(statements) != 1:
        raise StudyError(f"query: {len(statements)} statements; give exactly one SELECT")
    statement = statements[0]
    if statement.type == duckdb.StatementType.EXPLAIN:
        # EXPLAIN ANALYZE runs what it explains, so that must be a reading statement too.
        _one_reading_statement(_EXPLAIN.sub("", _without_comments(statement.query), count=1))
    elif statement.type not in _READING:
        raise StudyError(
            f"query: {statement.type.name} is not allowed, the leaderboard is only read here; give a SELECT"
        )
    return str(statement.query)


def _without_comments(sql: str) -> str:
    return re.sub(r"^(\s*(--[^\n]*\n|/\*.*?\*/))*", "", sql, flags=re.DOTALL)


def question_sets(home: Home, benchmark: str | None = None) -> list[tuple[str, str]]:
    """Return (benchmark, data set) of what the study asks: of its items, before they are built of its estimates."""
    found = read_table(
        home,
        "select distinct benchmark, dataset from items union select distinct benchmark, dataset from estimates "
        "where benchmark not in (select benchmark from items) order by all",
    ).rows
    return [(str(row[0]), str(row[1])) for row in found if benchmark in (None, row[0])]


def columns_of(home: Home) -> dict[str, dict[str, str]]:
    """Return table → column → type of the leaderboard of ``home``."""
    found: dict[str, dict[str, str]] = {}
    for table, column, kind in read_table(
        home,
        "select table_name, column_name, data_type from duckdb_columns() where database_name = 'leaderboard' "
        "order by table_name, column_index",
    ).rows:
        found.setdefault(str(table), {})[str(column)] = str(kind)
    return found
