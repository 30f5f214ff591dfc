"""Build the leaderboard: SQL files run over the Parquet datasets into a new database, tested, then swapped for the old.

All tables are made at each build: from a million responses that takes a few seconds, and nothing has to be known of the
last build. Readers are never blocked: the file they opened stays whole until they close it. A table of one benchmark whose
SQL fails, or whose rows break a test, is left empty with the reason; a benchmark whose files or rows break what all share
is left off the board with the reason, and the others are published. What cannot be put down to a benchmark leaves the old
board where it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

import duckdb
import pyarrow as pa

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.files import canonical_json, file_sha256, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import building, identifier, new_database, open_database, text
from metacog_pipeline.leaderboard.glossary import meaning
from metacog_pipeline.leaderboard.sql_folder import Project, SqlModel, SqlTest, load_project, tables_behind
from metacog_pipeline.leaderboard.views import Views, data_files, refuse_torn

# Views whose values lie in a declared range.
_RANGED = {"stg_estimates", "stg_run_estimates", "stg_calibration"}
_SNAPSHOT_DIGITS = 12
_CELL = 80  # letters of a cell in a message
_SNAPSHOT = """
create table detail.snapshot as select ?::varchar as id, name as study, seed, ?::varchar as version,
    current_timestamp as built_at,
    (select coalesce(bool_and(state = 'complete'), false) from progress where role <> 'helper') as complete,
    ?::struct(name varchar, rows bigint, digest varchar, reason varchar)[] as tables
from (from stg_study union all select null, null, null where not exists (from stg_study))
"""
_COMMENTS = {
    "snapshot": (
        "One row: the build. Its id stands wherever numbers leave the file.",
        {
            "id": "first 12 digits of the SHA-256 of study, version, SQL and the digests of all input files",
            "study": "name of the study",
            "seed": "the study's seed",
            "version": "of metacog",
            "built_at": "when",
            "complete": "whether every partition of the study was complete",
            "tables": "each table of this file, and each benchmark that is left off it: its name, rows, the digest of its "
            "SQL, and why it is empty or left off, null for all others",
        },
    ),
    "inputs": (
        "One row: a file the tables are made from. Key: file.",
        {"file": "path below the study's home", "digest": "SHA-256 of its content"},
    ),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, its DuckDB type, what it means."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class TableResult:
    """The table ``schema.name`` of the board.

    ``reads`` are the tables and datasets (``stg_…``) its rows come from; ``reason`` says why it is empty, None where it
    could be built.
    """

    name: str
    schema: str
    rows: int
    columns: tuple[Column, ...]
    reads: tuple[str, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A board: where it is, its tables, how many tests held, wall seconds; ``left_out`` benchmarks with their reasons."""

    path: Path
    snapshot: str
    tables: tuple[TableResult, ...]
    tests: int
    seconds: float
    left_out: Mapping[str, str]

    @property
    def failures(self) -> dict[str, str]:
        """Why tables are empty or benchmarks are left off, by name."""
        empty = {table.name: table.reason for table in self.tables if table.reason is not None}
        return {**empty, **self.left_out}


class BrokenError(StoreError):
    """A table cannot be made, or its rows break a test."""


def build(home: Home, *, folder: Path | None = None) -> BuildResult:
    """Build ``<home>/leaderboard.duckdb`` from the Parquet datasets of ``home``, and ``transcripts.duckdb`` beside it.

    Parameters
    ----------
    home
        The study's folder.
    folder
        The SQL folder; default the one shipped.

    Raises
    ------
    StoreError
        If a SQL file is wrong, a Parquet file cannot be read, a shared table cannot be built, a test fails for every
        benchmark, or the home cannot be written. The old board is then untouched.
    """
    started = time.perf_counter()
    project = load_project(folder)
    with building(home):
        files = data_files(home)
        try:
            made, snapshot = _board(home, project, files, {})
        except BrokenError as error:
            refuse_torn(home, files)
            left_out = _broken_alone(home, project, files)
            if not left_out:
                raise StoreError(f"{error}; the board was left as it was") from None
            made, snapshot = _board(home, project, files, left_out)
        with new_database(home, home.texts) as connection:
            texts = _Build(home, Views(connection, project, files))
            for model in project.texts:
                texts.make(replace(model, schema="main"))
    seconds = time.perf_counter() - started
    return BuildResult(
        home.leaderboard, snapshot, tuple(made.tables), made.tests, seconds, made.views.left_out
    )


def _board(
    home: Home, project: Project, files: Sequence[str], left_out: Mapping[str, str]
) -> tuple[_Build, str]:
    """Put a new board in its place; return how it was made, and its id."""
    with new_database(home, home.leaderboard) as connection:
        made = _Build(home, Views(connection, project, files, left_out))
        made.make_all()
        return made, _write_snapshot(made)


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
                found[name] = f"left off the board; mend what the benchmark returns ({error})"
    return found if len(found) < len(views.asked) else {}


@dataclass(slots=True)
class _Build:
    """Tables as they are made one after the other, in the database of ``views``."""

    home: Home
    views: Views
    tables: list[TableResult] = field(default_factory=list)
    tests: int = 0
    _empty: set[str] = field(default_factory=set)

    def make_all(self) -> None:
        """Make and test every table; BrokenError where one that benchmarks share cannot be made or breaks a test."""
        views = self.views
        views.connection.execute("create schema detail; set search_path = 'main,detail'")
        try:
            views.find_asked()
            views.make_given()
        except duckdb.Error as error:
            raise BrokenError(f"what the study asks cannot be read: {one_line(str(error), 300)}") from None
        own = views.own_tables(self.home)
        datasets = {each.view: each for model in own for each in model.datasets}
        views.project = replace(
            views.project,
            models=(*views.project.models, *own),
            datasets={**views.project.datasets, **datasets},
        )
        for model in views.project.models:
            self.make(model)

    def make(self, model: SqlModel) -> None:
        """Make one table and run its tests; where it is of one benchmark and fails, leave it empty with the reason."""
        connection, table = self.views.connection, f"{model.schema}.{identifier(model.name)}"
        reason: str | None = None
        try:
            for read in model.reads:
                self.views.ensure(read)
            connection.execute(f"create table {table} as\n{model.sql}")
            if _RANGED & {*model.reads}:
                _withhold(connection, table)
            columns = _described(connection, model, table)
            for test in self._due(model):
                require_none(connection, test)
                self.tests += 1
        except (duckdb.Error, BrokenError) as error:
            said = str(error) if isinstance(error, BrokenError) else f"{model.file}: {error}"
            reason = one_line(said, 400)
            if model.benchmark is None:
                raise BrokenError(reason) from None
            refuse_torn(self.home, self.views.files)
            self._empty.add(model.name)
            _make_empty(connection, model, table)
            columns = _described(connection, model, table, reason)
        [(rows,)] = connection.execute(f"select count(*) from {table}").fetchall()
        self.tables.append(TableResult(model.name, model.schema, rows, columns, self._lineage(model), reason))

    def _lineage(self, model: SqlModel) -> tuple[str, ...]:
        """Return the tables and datasets the rows of a table come from, also through parts of benchmarks."""
        project = self.views.project
        # What the study asks (`listed`, `asked`) chooses among rows and gives none.
        known = {*project.datasets, *(each.name for each in project.models)}
        behind = tables_behind(model.reads, project.parts)
        return tuple(sorted({"stg_items" if name == "kept_items" else name for name in behind} & known))

    def _due(self, model: SqlModel) -> Iterator[SqlTest]:
        """Yield the assertions of a table, and the queries that it is the last table of; none that read an empty one."""
        yield from model.tests
        tables = {each.name for each in self.views.project.models}
        made = {model.name, *(each.name for each in self.tables)}
        for test in self.views.project.tests:
            reads = tables & {*test.reads}
            if model.name in reads and reads <= made and not reads & self._empty:
                yield test


def require_none(connection: duckdb.DuckDBPyConnection, test: SqlTest) -> None:
    """Raise BrokenError, with how many rows break a test and the first of them; nothing where none does."""
    [(count,)] = connection.execute(f"select count(*) from (\n{test.sql}\n)").fetchall()
    if count:
        result = connection.execute(f"select * from (\n{test.sql}\n) order by all limit 1")
        names = [column[0] for column in result.description or ()]
        cells = ("null" if cell is None else one_line(str(cell), _CELL) for cell in result.fetchall()[0])
        first = ", ".join(f"{name}={cell}" for name, cell in zip(names, cells, strict=True))
        of = f"test {test.name} of {', '.join(test.reads)} ({test.file})"
        raise BrokenError(
            f"{of} failed: {count} {'row breaks' if count == 1 else 'rows break'} it, first {first}"
        )


def _withhold(connection: duckdb.DuckDBPyConnection, table: str) -> None:
    """Take the number from rows whose value lies outside the declared range; their status says both.

    Such a value is an error of whoever computed it. Rounding may pass a range by a hair.
    """
    connection.execute(
        f"update {table} as own set estimate = null, low = null, high = null, "
        "status = concat('outside its range: ', own.estimate, ', which is ', "
        "coalesce('from ' || said.min, 'any number'), coalesce(' to ' || said.max, ' on')) "
        "from declared_measures as said where own.benchmark = said.benchmark and own.measure = said.measure "
        "and (own.estimate < said.min - 1e-9 or own.estimate > said.max + 1e-9)"
    )


def _make_empty(connection: duckdb.DuckDBPyConnection, model: SqlModel, table: str) -> None:
    """Make a table without rows; its columns are those of its SQL, or, where that says none, those its comment names."""
    connection.execute(f"drop table if exists {table}")
    try:
        connection.execute(f"create table {table} as select * from (\n{model.sql}\n) limit 0")
    except duckdb.Error:
        names = [name for name in model.columns if "*" not in name] or ["reason"]
        listed = ", ".join(f"{identifier(name)} varchar" for name in names)
        connection.execute(f"create table {table} ({listed})")


def _described(
    connection: duckdb.DuckDBPyConnection, model: SqlModel, table: str, reason: str | None = None
) -> tuple[Column, ...]:
    """Write what a table and its columns mean into the database, and return the columns."""
    found = connection.table(table)
    columns = [
        Column(name, str(kind), meaning(model.columns, name) or "")
        for name, kind in zip(found.columns, found.types, strict=True)
    ]
    unknown = [name for name in model.columns if "*" not in name and name not in found.columns]
    if unknown and reason is None:
        raise BrokenError(
            f"{model.file}: its comment describes {', '.join(unknown)}, which the table does not have"
        )
    said = model.description if reason is None else f"not built: {reason}"
    _comment(connection, table, said, {each.name: each.description for each in columns if each.description})
    return tuple(columns)


def _comment(
    connection: duckdb.DuckDBPyConnection, table: str, said: str, columns: Mapping[str, str]
) -> None:
    comments = [f"comment on table {table} is {text(said)}"]
    comments += [
        f"comment on column {table}.{identifier(name)} is {text(words)}" for name, words in columns.items()
    ]
    connection.execute(";\n".join(["begin", *comments, "commit"]))


def _write_snapshot(made: _Build) -> str:
    """Write ``detail.snapshot`` and ``detail.inputs``, which say what the board was built from; return its id."""
    views, connection = made.views, made.views.connection
    digests = {each.name: sha256_hex(each.sql) for each in (*views.project.models, *views.project.parts)}
    inputs = {path: file_sha256(made.home / path) for path in views.files}
    study = connection.execute("select digest from stg_study").fetchall()
    release = version("metacog_pipeline")
    shot = sha256_hex(canonical_json([study, release, [*digests.values()], inputs]))[:_SNAPSHOT_DIGITS]
    rows = [(each.name, each.rows, digests.get(each.name), each.reason) for each in made.tables]
    rows += [(name, 0, None, why) for name, why in made.views.left_out.items()]
    keys = ("name", "rows", "digest", "reason")
    connection.execute(_SNAPSHOT, [shot, release, [dict(zip(keys, row, strict=True)) for row in rows]])
    connection.register(
        "inputs_read", pa.table({"file": [*inputs], "digest": pa.array(inputs.values(), pa.string())})
    )
    connection.execute("create table detail.inputs as from inputs_read")
    for table, (said, columns) in _COMMENTS.items():
        _comment(connection, f"detail.{table}", said, columns)
    return shot
