"""Read the leaderboard: the one door of every reading, a connection that cannot write and one SELECT at a time."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

import duckdb

from metacog_pipeline.errors import StoreError, StudyError, suggestion
from metacog_pipeline.files import shipped
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard import verdict
from metacog_pipeline.leaderboard.database import attach, open_database, text
from metacog_pipeline.leaderboard.output import Rows, unique
from metacog_pipeline.storage.read_only import add_files, dataset, require_reading, seal

if TYPE_CHECKING:
    import pyarrow as pa

    from metacog_pipeline.study import Study

T = TypeVar("T")
_HELD: ContextVar[tuple[Home, duckdb.DuckDBPyConnection] | None] = ContextVar("_HELD", default=None)
TRANSCRIPTS = "transcripts"  # a row per call with its texts, read from the Parquet copies
_NO_FRAME = re.compile(r"month_day_nano_interval|(?:dense|sparse)_union")
_EXAMPLE = "give one SELECT, as in: select model, estimate from leaderboard"
_NAMES = '"show tables" and "describe TABLE" list what there is; text is in \'single quotes\''
_KIND, _PLACE = re.compile(r"^[A-Z][A-Za-z ]* Error: "), re.compile(r"\s*LINE \d+:.*", re.DOTALL)


def connect(home: Home) -> duckdb.DuckDBPyConnection:
    """Return a connection to the leaderboard of ``home`` that cannot write, nor open any other file."""
    home = Home(home.path.resolve())
    connection = open_database(home.path)
    try:
        # Read-only, so the study can be rebuilt meanwhile; a connection opened later sees the new board.
        attach(connection, home.leaderboard, "leaderboard")
        connection.execute("use leaderboard; set search_path = 'leaderboard.main,leaderboard.detail'")
        seal(connection)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def one_connection(home: Home) -> Iterator[None]:
    """Have all queries of ``home`` in the block read one board through one connection; it does not see a newer one."""
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
    """Run one reading statement (SELECT, FROM, WITH, DESCRIBE, SHOW, SUMMARIZE, PIVOT); StudyError for any other."""
    return _queried(home, sql, _rows)


def query_table(home: Home, sql: str) -> pa.Table:
    """Run one reading statement and return an Arrow table with the types of the database; repeated names are numbered."""
    return _queried(home, sql, _arrow)


def read_table(home: Home, sql: str) -> Rows:
    """Run one of the package's own queries: StoreError where the board lacks a table or column of this version."""
    try:
        return _queried(home, sql, _rows)
    except StudyError:
        mend = "rebuild it with metacog run STUDY: nothing is asked twice"
        raise StoreError(f"{home.leaderboard}: was built by another version of metacog; {mend}") from None


def board(home: Home, benchmark: str | None = None) -> Rows:
    """Return the rows of ``leaderboard``, of one benchmark or all. StudyError where it is not on the board."""
    where = "" if benchmark is None else f"where benchmark = {text(benchmark)}"
    order = "order by benchmark, condition, source, model, measure"
    found = read_table(home, f"from leaderboard {where} {order}")
    if benchmark is not None and not found.rows:
        sql = "select distinct benchmark from leaderboard order by all"
        known = [str(name) for (name,) in read_table(home, sql).rows]
        meant, listed = suggestion(benchmark, known), ", ".join(known) or "none yet"
        raise StudyError(f'benchmark: "{benchmark}" is not on the board{meant}; it has: {listed}')
    return found


def verdict_rows(home: Home) -> Rows:
    """Return the rows of the table ``verdict`` with label and unit of their measure, in the order of `verdict.Cell`."""
    about = {"label": "coalesce(said.label, own.measure)", "unit": "said.unit"}
    listed = ", ".join(f"{about.get(name, f'own.{name}')} as {name}" for name in verdict.COLUMNS)
    joined = "verdict as own left join measures as said using (benchmark, measure)"
    return read_table(home, f"select {listed} from {joined}")


def verdicts(home: Home) -> dict[str, verdict.Verdict]:
    """Return the study's verdict by kind of respondent: ``measured`` and ``simulated``, those there are."""
    return verdict.verdicts(verdict_rows(home).rows)


def pairs(study: Study, a: str, b: str) -> Rows:
    """Return the tests of ``a`` minus ``b``, whichever way round ``comparisons`` has them, primary ones first."""
    for name in (a, b):
        study.model(name)
    if a == b:
        raise StudyError(f'compare: "{a}" twice; name two models')
    one, two = text(a), text(b)
    found = read_table(
        study.home,
        f"""
        select * from (
            select * from comparisons where model is null and a = {one} and b = {two}
            union all
            select * replace (
                b as a, a as b, -value as value, -high as low, -low as high,
                -high_adjusted as low_adjusted, -low_adjusted as high_adjusted
            )
            from comparisons where model is null and a = {two} and b = {one}
        )
        order by question is null, list_position({[*verdict.QUESTIONS]}, question), not "primary",
            benchmark, family, measure, dataset, task, condition, scoring
        """,
    )
    if not found.rows:
        why = "both need answers to the same items: run the study first"
        raise StoreError(f"compare: no test of {a} against {b} yet; {why}")
    return found


def _queried(home: Home, statement: str, take: Callable[[duckdb.DuckDBPyConnection, str], T]) -> T:
    held = _HELD.get()
    with contextlib.ExitStack() as stack:
        connection = held[1] if held is not None and held[0] == home else stack.enter_context(connect(home))
        try:
            require_reading(connection, statement)
            _make_views(connection, home, set(re.findall(r"\w+", statement.lower())))
            add_files(connection, home, statement)
            return take(connection, statement)
        except (duckdb.Error, StudyError, ValueError, OverflowError, OSError) as error:
            # The last three: a value Python cannot hold, such as a date past the year 9999; a file that is damaged.
            why = str(error) if isinstance(error, StudyError) else _mistake(str(error))
            raise StudyError(f"query: {why}") from None


def _make_views(connection: duckdb.DuckDBPyConnection, home: Home, words: Collection[str]) -> None:
    """Make the views among ``words``: tests of the SQL folder, whose rows are what is wrong, and the calls with texts."""
    for path in shipped("dbt_like_sql", "tests").rglob("*.sql"):
        if path.stem in words:
            connection.execute(f'create or replace temp view "{path.stem}" as {path.read_text("utf-8")}')
    if TRANSCRIPTS in words:  # a board without texts is a tenth of the size
        from metacog_pipeline.transcripts.schema import ARROW_SCHEMA

        found = dataset(home, f"{TRANSCRIPTS}/**/*.parquet", ARROW_SCHEMA)
        connection.register(TRANSCRIPTS, ARROW_SCHEMA.empty_table() if found is None else found)


def _rows(connection: duckdb.DuckDBPyConnection, statement: str) -> Rows:
    result = connection.execute(statement)
    return Rows(tuple(column[0] for column in result.description or ()), tuple(result.fetchall()))


def _arrow(connection: duckdb.DuckDBPyConnection, statement: str) -> pa.Table:
    import pyarrow as pa

    relation = connection.sql(statement)
    found = pa.table({}) if relation is None else relation.to_arrow_table()
    for field in found.schema:
        if _NO_FRAME.search(str(field.type)):
            name = f'"{field.name}"'
            raise StudyError(f"column {name} holds what fits no frame; select its parts, or {name}::varchar")
    return found.rename_columns(unique(found.column_names))


def _mistake(message: str) -> str:
    """Return what DuckDB says is wrong, on what it says of near names, and what to ask instead."""
    if "LocalFileSystem has been disabled" in message:
        return "a file is read here only where it is Parquet below the study's home, as in from 'items/*.parquet'"
    said = _KIND.sub("", _PLACE.sub("", message))
    hint = _NAMES if "not found" in said or "not exist" in said else _EXAMPLE
    return f"the database refuses it: {said}; {hint}"
