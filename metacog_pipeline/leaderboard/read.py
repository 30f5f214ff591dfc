"""Read the leaderboard: a connection that cannot write, and one SELECT at a time."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from metacog_pipeline.errors import StoreError, StudyError, one_line, suggestion
from metacog_pipeline.files import replacing, shipped, write_text
from metacog_pipeline.home import FOLDERS, Home
from metacog_pipeline.leaderboard.database import attach, open_database, text
from metacog_pipeline.leaderboard.output import Rows, to_csv, to_json, unique

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)  # MULTI is what PIVOT becomes
_HELD: ContextVar[tuple[Home, duckdb.DuckDBPyConnection] | None] = ContextVar("_HELD", default=None)
_NO_FRAME = re.compile(r"month_day_nano_interval|(?:dense|sparse)_union")
_TABLE = re.compile(r'Table with name "?([^"!]+?)"? does not exist')
_COLUMN = re.compile(r'(?:Referenced column "?|does not have a column named ")([^"]+?)(?:"? not found|")')
_KIND, _PLACE = re.compile(r"^[A-Z][A-Za-z ]* Error: "), re.compile(r"\s*LINE \d+:.*", re.DOTALL)


def connect(home: Home) -> duckdb.DuckDBPyConnection:
    """Return a connection to the leaderboard of ``home`` that reads and cannot write.

    The file is attached read-only, so the study can be rebuilt meanwhile; a connection opened later sees the new board.
    Files can be read below the home only, by path relative to it; the settings are locked. StoreError if there is no
    leaderboard, or it cannot be read.
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


@contextlib.contextmanager
def one_connection(home: Home) -> Iterator[None]:
    """Have all queries of ``home`` in the block read one board through one connection; it does not see a newer one.

    Within another such block they go on with its connection. Raises as `connect` does.
    """
    held = _HELD.get()
    if held is not None and held[0] == home:
        yield
        return
    with connect(home) as connection:
        token = _HELD.set((home, connection))
        try:
            yield
        finally:
            _HELD.reset(token)


def run_query(home: Home, sql: str) -> Rows:
    """Run one reading statement (SELECT, FROM, WITH, DESCRIBE, SHOW, SUMMARIZE, PIVOT) on the leaderboard.

    StudyError if ``sql`` is another statement, or DuckDB refuses it; StoreError as `connect`.
    """
    return _queried(home, _one_reading_statement(sql), _rows)


def query_table(home: Home, sql: str) -> pa.Table:
    """Run one reading statement as `run_query` does, and return an Arrow table with the types of the database.

    Repeated names are numbered. StudyError where a column holds intervals or unions, which fit no frame.
    """
    return _queried(home, _one_reading_statement(sql), _arrow)


def export_query(home: Home, sql: str, target: Path) -> int:
    """Write what ``sql`` answers to a ``.parquet``, ``.csv`` or ``.json`` file, and return the number of rows."""
    kind = target.suffix.lower()
    if kind not in (".parquet", ".csv", ".json"):
        raise StudyError(f"--output {target}: give a file that ends in .parquet, .csv, .json")
    try:
        if kind == ".parquet":
            import pyarrow.parquet as pq

            table = query_table(home, sql)
            with replacing(target) as temporary:
                pq.write_table(table, temporary)
            return int(table.num_rows)
        rows = run_query(home, sql)
        write_text(target, to_csv(rows) if kind == ".csv" else to_json(rows))
        return len(rows.rows)
    except OSError as error:
        why = error.strerror or error
        raise StoreError(f"--output {target}: cannot be written ({why}); choose another place") from None


def read_table(home: Home, sql: str) -> Rows:
    """Run one of the package's own queries: StoreError where the board lacks a table or column of this version."""
    try:
        return _queried(home, sql, _rows)
    except StudyError:
        raise StoreError(
            f"{home.leaderboard}: was built by another version of metacog; "
            "rebuild it with metacog run STUDY: nothing is asked twice"
        ) from None


def board(home: Home, benchmark: str | None = None) -> Rows:
    """Return the rows of ``leaderboard``, of one benchmark or all. StudyError where it is not on the board."""
    where = "" if benchmark is None else f"where benchmark = {text(benchmark)}"
    order = "order by benchmark, condition, source, model, measure"
    found = read_table(home, f"from leaderboard {where} {order}")
    if benchmark is not None and not found.rows:
        names = read_table(home, "select distinct benchmark from leaderboard order by all").rows
        known = [str(name) for (name,) in names]
        meant, listed = suggestion(benchmark, known), ", ".join(known) or "none yet"
        raise StudyError(f'benchmark: "{benchmark}" is not on the board{meant}; it has: {listed}')
    return found


def columns_of(home: Home) -> dict[str, dict[str, str]]:
    """Return table → column → type of the leaderboard of ``home``."""
    columns = "map_from_entries(list((column_name, data_type) order by column_index))"
    of_board = "duckdb_columns() where database_name = 'leaderboard' group by all order by all"
    found: Any = read_table(home, f"select table_name, {columns} from {of_board}").rows
    return dict(found)


def saved_queries() -> dict[str, str]:
    """Return the queries that come with the package, by name."""
    folder = shipped("dbt_like_sql", "queries")
    return {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.sql"))}


def _queried(home: Home, statement: str, take: Callable[[duckdb.DuckDBPyConnection, str], T]) -> T:
    held = _HELD.get()
    with contextlib.ExitStack() as stack:
        connection = held[1] if held is not None and held[0] == home else stack.enter_context(connect(home))
        try:
            _make_tests(connection, statement)
            return take(connection, statement)
        except (duckdb.Error, UnicodeError, ValueError, OverflowError) as error:
            # The last three: a value Python cannot hold, such as a date past the year 9999.
            names = "select distinct table_name from information_schema.tables"
            tables = [str(name) for (name,) in connection.execute(names).fetchall()]
            raise StudyError(f"query: {_mistake(str(error), tables)}") from None


def _make_tests(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Make a view of each test of the SQL folder that ``statement`` names: its rows are what is wrong."""
    words = set(re.findall(r"\w+", statement.lower()))
    for path in shipped("dbt_like_sql", "tests").rglob("*.sql"):
        if path.stem in words:
            connection.execute(f'create or replace temp view "{path.stem}" as {path.read_text("utf-8")}')


def _rows(connection: duckdb.DuckDBPyConnection, statement: str) -> Rows:
    result = connection.execute(statement)
    return Rows(tuple(column[0] for column in result.description or ()), tuple(result.fetchall()))


def _arrow(connection: duckdb.DuckDBPyConnection, statement: str) -> pa.Table:
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


def _one_reading_statement(sql: str) -> str:
    """Return the statement; StudyError where it is not one that reads, or EXPLAIN, which may run another kind."""
    try:
        sql.encode("utf-8")
        statements = duckdb.extract_statements(sql)
    except (duckdb.Error, UnicodeError) as error:
        raise StudyError(f"query: {_mistake(str(error), ())}") from None
    if len(statements) != 1:
        raise StudyError(f"query: {len(statements)} statements; give exactly one SELECT")
    if statements[0].type not in _READING:
        raise StudyError(
            f"query: {statements[0].type.name} is not allowed, the leaderboard is only read here; give a SELECT"
        )
    return str(statements[0].query)


def _mistake(message: str, tables: Iterable[str]) -> str:
    """Return what DuckDB says is wrong, and what to ask instead."""
    if found := _TABLE.search(message):
        return f'no table "{found[1]}" there{suggestion(found[1], tables)}; "show tables" lists all there are'
    if found := _COLUMN.search(message):
        near = re.findall(r'"([^"]+)"', _PLACE.sub("", message[found.end() :]))
        close = suggestion(found[1], near)
        return f'no column "{found[1]}"{close}; "describe TABLE" lists those of a table; text stands in \'single quotes\''
    said = _KIND.sub("", _PLACE.sub("", message))
    return f"the database refuses it: {said}; give one SELECT, as in: select model, estimate from leaderboard"
