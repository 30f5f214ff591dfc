"""Build the leaderboard: SQL files run over the Parquet datasets into a new database, tested, then swapped for the old.

A table of one benchmark whose SQL fails, or whose rows break a test, is left empty with the reason; a benchmark whose files
or rows break what all share is left off the board. What cannot be put down to a benchmark leaves the old board.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import duckdb
import pyarrow as pa

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.files import canonical_json, file_sha256, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import building, identifier, new_database, open_database, text
from metacog_pipeline.leaderboard.glossary import meaning
from metacog_pipeline.leaderboard.sql_folder import BUILD, Project, SqlModel, SqlTest, load_project
from metacog_pipeline.leaderboard.views import Views, data_files, refuse_torn

_FACTS = """
create temp table build_facts as select ?::varchar as id, ?::varchar as version,
    ?::struct(name varchar, rows bigint, digest varchar, reason varchar)[] as tables
"""


@dataclass(frozen=True, slots=True)
class TableResult:
    """The table ``schema.name`` of the board, the tables and datasets it ``reads``, and the ``reason`` why it is empty."""

    name: str
    schema: str
    rows: int
    reads: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A board: where it is, its id, its tables, how many tests held; ``left_out`` benchmarks with their reasons."""

    path: Path
    snapshot: str
    tables: tuple[TableResult, ...]
    tests: int
    left_out: Mapping[str, str]

    @property
    def failures(self) -> dict[str, str]:
        """Why tables are empty or benchmarks are left off, by name."""
        empty = {table.name: table.reason for table in self.tables if table.reason is not None}
        return {**empty, **self.left_out}


class BrokenError(StoreError):
    """A table cannot be made, or its rows break a test."""


def build(home: Home, *, folder: Path | None = None) -> BuildResult:
    """Build the leaderboard of ``home`` with the SQL ``folder``, or the one shipped. StoreError leaves the old board."""
    project = load_project(folder)
    with building(home):
        files = data_files(home, project)
        try:
            return _board(home, project, files, {})
        except BrokenError as error:
            # A torn file breaks whatever reads it: naming the file helps, naming the table does not.
            refuse_torn(home, files)
            left_out = _broken_alone(home, project, files)
            if not left_out:
                raise StoreError(f"{error}; the board was left as it was") from None
            return _board(home, project, files, left_out)


def _board(home: Home, project: Project, files: Sequence[str], left_out: Mapping[str, str]) -> BuildResult:
    with new_database(home, home.leaderboard) as connection:
        made = _Build(home, Views(connection, project, files, left_out))
        made.make_all()
        tables = tuple(made.tables)  # those about the build itself, made next, are not among them
        snapshot = made.write_facts()
        made.write_comments()
    return BuildResult(home.leaderboard, snapshot, tables, made.tests, left_out)


def _broken_alone(home: Home, project: Project, files: Sequence[str]) -> dict[str, str]:
    """Return the benchmarks that break a board of their own, each with the reason; nothing where all or none do."""
    with open_database(home.path) as connection:
        views = Views(connection, project, files)
        views.find_asked()
    found: dict[str, str] = {}
    for name in views.asked:
        with open_database(home.path) as connection:
            others = {each: "" for each in views.asked if each != name}
            try:
                _Build(home, Views(connection, project, files, others)).make_all()
            except BrokenError as error:
                found[name] = f"left off the board; correct what the benchmark returns ({error})"
    return found if len(found) < len(views.asked) else {}


@dataclass(slots=True)
class _Build:
    """Tables as they are made one after the other, in the database of ``views``."""

    home: Home
    views: Views
    tables: list[TableResult] = field(default_factory=list)
    tests: int = 0
    comments: dict[str, list[str]] = field(default_factory=dict)  # the statements of each table

    def make_all(self) -> None:
        """Make and test every table; BrokenError where one that benchmarks share cannot be made or breaks a test."""
        views = self.views
        views.connection.execute("create schema detail; set search_path = 'main,detail'")
        try:
            views.find_asked()
            views.make_given()
        except duckdb.Error as error:
            raise BrokenError(f"what the study asks cannot be read: {one_line(str(error), 300)}") from None
        views.add_responses()
        for model in views.project.models:
            self.make(model)

    def write_facts(self) -> str:
        """Write what the board was built from; return its id."""
        views, connection = self.views, self.views.connection
        sql = {each.name: sha256_hex(each.sql) for each in (*views.project.models, *views.project.parts)}
        inputs = {path: file_sha256(self.home / path) for path in views.files}
        views.ensure("stg_study")
        study = connection.execute("select digest from stg_study").fetchall()
        release = version("metacog_pipeline")
        shot = sha256_hex(canonical_json([study, release, [*sql.values()], inputs]))[:12]
        rows = [(each.name, each.rows, sql.get(each.name), each.reason) for each in self.tables]
        rows += [(name, 0, None, why) for name, why in views.left_out.items()]
        keys = ("name", "rows", "digest", "reason")
        connection.execute(_FACTS, [shot, release, [dict(zip(keys, row, strict=True)) for row in rows]])
        digests = {"file": [*inputs], "digest": pa.array(inputs.values(), pa.string())}
        connection.register("build_inputs", pa.table(digests))
        for model in views.project.beside(BUILD):
            self.make(model)
        return shot

    def write_comments(self) -> None:
        """Write what tables and columns mean into the database."""
        # In one transaction of all tables: each would be written to the disk on its own.
        said = (each for comments in self.comments.values() for each in comments)
        self.views.connection.execute(";\n".join(["begin", *said, "commit"]))

    def make(self, model: SqlModel) -> None:
        """Make one table and run its tests; where it is of one benchmark and fails, leave it empty with the reason."""
        connection, table = self.views.connection, f"{model.schema}.{identifier(model.name)}"
        reason: str | None = None
        try:
            for read in model.reads:
                self.views.ensure(read)
            connection.execute(f"create table {table} as\n{model.sql}")
            self.comments[table] = _comments(connection, model, table)
            for test in self._due(model):
                require_none(connection, test)
                self.tests += 1
        except (duckdb.Error, BrokenError) as error:
            said = str(error) if isinstance(error, BrokenError) else f"{model.file}: {error}"
            reason = one_line(said, 400)
            if model.benchmark is None:
                raise BrokenError(reason) from None
            refuse_torn(self.home, self.views.files)
            _make_empty(connection, model, table)
            self.comments[table] = _comments(connection, model, table, reason)
        [(rows,)] = connection.execute(f"select count(*) from {table}").fetchall()
        lineage = self.views.project.lineage(model)
        self.tables.append(TableResult(model.name, model.schema, rows, lineage, reason))

    def _due(self, model: SqlModel) -> Iterator[SqlTest]:
        """Yield the assertions of a table, and the queries that it is the last table of."""
        yield from model.tests
        tables = {each.name for each in self.views.project.models}
        made = {model.name, *(each.name for each in self.tables)}
        # A query over an emptied table would find what is missing there, which is said already.
        made -= {each.name for each in self.tables if each.reason is not None}
        for test in self.views.project.tests:
            reads = tables & {*test.reads}
            if model.name in reads and reads <= made:
                yield test


def require_none(connection: duckdb.DuckDBPyConnection, test: SqlTest) -> None:
    """Raise BrokenError, with how many rows break a test and the first of them; nothing where none does."""
    [(count,)] = connection.execute(f"select count(*) from (\n{test.sql}\n)").fetchall()
    if count:
        result = connection.execute(f"select * from (\n{test.sql}\n) order by all limit 1")
        names = [column[0] for column in result.description or ()]
        cells = ("null" if cell is None else one_line(str(cell), 80) for cell in result.fetchall()[0])
        first = ", ".join(f"{name}={cell}" for name, cell in zip(names, cells, strict=True))
        of = f"test {test.name} of {', '.join(test.reads)} ({test.file})"
        breaks = "row breaks" if count == 1 else "rows break"
        raise BrokenError(f"{of} failed: {count} {breaks} it, first {first}")


def _make_empty(connection: duckdb.DuckDBPyConnection, model: SqlModel, table: str) -> None:
    """Make a table without rows, with the columns of its SQL, where that says them."""
    connection.execute(f"drop table if exists {table}")
    try:
        connection.execute(f"create table {table} as select * from (\n{model.sql}\n) limit 0")
    except duckdb.Error:
        connection.execute(f"create table {table} (reason varchar)")


def _comments(
    connection: duckdb.DuckDBPyConnection, model: SqlModel, table: str, reason: str | None = None
) -> list[str]:
    """Return the statements that say what a table and its columns mean."""
    columns = connection.table(table).columns
    unknown = {name for name in model.columns if "*" not in name} - {*columns}
    if unknown and reason is None:
        raise BrokenError(f"{model.file}: describes {', '.join(unknown)}, which the table does not have")
    said = model.description if reason is None else f"not built: {reason}"
    comments = [f"comment on table {table} is {text(said)}"]
    for name in columns:
        if words := meaning(model.columns, name):
            comments.append(f"comment on column {table}.{identifier(name)} is {text(words)}")
    return comments
