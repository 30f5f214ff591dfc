"""Build the leaderboard: SQL files run over the Parquet datasets into a new database, tested, then swapped for the old.

All tables are made at each build: from a million responses that takes a few seconds, and nothing has to be known of the
last build. Readers are never blocked: the file they opened stays whole until they close it. A table of one benchmark whose
SQL fails, or whose rows break a test, is left empty with the reason; a benchmark whose files or rows break what all share
is left off the board with the reason, and the others are published. What cannot be put down to a benchmark leaves the old
board where it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import duckdb
import pyarrow as pa

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.files import canonical_json, file_sha256, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.checks import NotHeldError, check_model, check_query
from metacog_pipeline.leaderboard.database import building, identifier, new_database, text
from metacog_pipeline.leaderboard.declared import declared_measures
from metacog_pipeline.leaderboard.glossary import meaning
from metacog_pipeline.leaderboard.models import Project, SqlModel, load_project, tables_behind
from metacog_pipeline.leaderboard.texts import build_texts
from metacog_pipeline.leaderboard.views import Views, data_files, owner, torn_file_error

# Views whose values lie in a declared range.
_RANGED = {"stg_estimates", "stg_run_estimates", "stg_calibration"}
_SNAPSHOT_DIGITS = 12
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
    """One table of the board.

    Attributes
    ----------
    name, schema
        The table is ``schema.name``.
    rows, columns
        How many rows it has; its columns in their order.
    reads
        The tables and datasets (``stg_…``) its rows come from.
    seconds
        Wall time it took.
    reason
        Why it is empty; None where it could be built.
    """

    name: str
    schema: str
    rows: int
    columns: tuple[Column, ...]
    reads: tuple[str, ...]
    seconds: float
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


class _Fault(Exception):
    """Tables or benchmarks, each with the reason, without which the board is to be built again."""

    def __init__(self, *, tables: Mapping[str, str] = {}, benchmarks: Mapping[str, str] = {}) -> None:
        super().__init__()
        self.tables, self.benchmarks = tables, benchmarks


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
    empty: dict[str, str] = {}
    left_out: dict[str, str] = {}
    with building(home):
        files = data_files(home)
        while True:  # each round leaves out one thing more
            try:
                result = _Build(home, project, files, empty, left_out, started).made()
                break
            except _Fault as fault:
                empty |= fault.tables
                left_out |= fault.benchmarks
        build_texts(home, files)
    return result


@dataclass(slots=True)
class _Build:
    """One attempt: tables in ``empty`` have no rows, nothing is read of the benchmarks in ``left_out``."""

    home: Home
    project: Project
    files: list[str]
    empty: dict[str, str]
    left_out: dict[str, str]
    started: float

    def made(self) -> BuildResult:
        """Return the board, which stands in its place."""
        with new_database(self.home, self.home.leaderboard) as connection:
            connection.execute("create schema detail; set search_path = 'main,detail'")
            views = Views(connection, self.project, self.files, self.left_out)
            try:
                tables = self._tables(views)
                tests = self._test(views)
                snapshot = self._note(views, tables)
            except duckdb.Error as error:
                raise self._torn() or StoreError(
                    f"{self.home.leaderboard}: cannot be built: {error}"
                ) from None
        seconds = time.perf_counter() - self.started
        return BuildResult(self.home.leaderboard, snapshot, tables, tests, seconds, dict(self.left_out))

    def _tables(self, views: Views) -> tuple[TableResult, ...]:
        views.make_asked()
        for name in views.asked:
            try:
                views.make_items(name)
            except duckdb.Error as error:
                raise self._torn() or _blamed(
                    views, {name}, f"items of {name}: {one_line(str(error), 300)}"
                ) from None
        views.add_own_tables(self.home)
        views.declare(declared_measures(views.asked))
        tables = [self._table(views, model) for model in views.project.models]
        parts = [TableResult(name, "", 0, (), (), 0.0, why) for name, why in views.failed_parts.items()]
        return (*tables, *parts)

    def _table(self, views: Views, model: SqlModel) -> TableResult:
        """Make one table; where it is of one benchmark and fails, leave it empty with the reason."""
        started = time.perf_counter()
        connection, table = views.connection, f"{model.schema}.{identifier(model.name)}"
        reason = self.empty.get(model.name)
        if reason is None:
            try:
                for read in model.reads:
                    views.ensure(read)
                connection.execute(f"create table {table} as\n{model.sql}")
                if _RANGED & set(model.reads):
                    _withhold(connection, table)
            except duckdb.Error as error:
                reason = self.empty[model.name] = self._failed(views, model, error)
        if reason is not None:
            _empty(connection, model, table)
        columns = _describe(connection, model, table, reason)
        [(rows,)] = connection.execute(f"select count(*) from {table}").fetchall()
        reads = _lineage(views.project, model)
        return TableResult(
            model.name, model.schema, rows, columns, reads, time.perf_counter() - started, reason
        )

    def _failed(self, views: Views, model: SqlModel, error: duckdb.Error) -> str:
        """Return why a table of one benchmark is empty; raise what else a failed table means."""
        if torn := self._torn():
            raise torn
        if model.benchmark is not None:
            return one_line(str(error), 300)
        if misfits := _misfits(views, model):
            raise _blamed(views, misfits.keys(), next(iter(misfits.values())))
        raise StoreError(f"{model.file}: {error}")

    def _torn(self) -> StoreError | None:
        return torn_file_error(self.home, self.files)

    def _test(self, views: Views) -> int:
        """Run all tests and return how many there were; StoreError or a _Fault where one does not hold."""
        project, count = views.project, 0
        built = [model for model in project.models if model.name not in self.empty]
        for model in built:
            try:
                count += check_model(views.connection, model)
            except NotHeldError as error:
                if model.benchmark is not None:
                    raise _Fault(tables={model.name: error.said}) from None
                raise _blamed(views, error.benchmarks, error.said) from None
        own = {model.name for model in project.models if model.benchmark is not None}
        for test in project.tests:
            if self.empty.keys() & {*test.reads}:
                continue
            try:
                count += check_query(views.connection, test)
            except NotHeldError as error:
                if tables := own & {*test.reads}:
                    raise _Fault(tables=dict.fromkeys(tables, error.said)) from None
                owners = {test.benchmark} if test.benchmark is not None else error.benchmarks
                raise _blamed(views, owners, error.said) from None
        return count

    def _note(self, views: Views, tables: Iterable[TableResult]) -> str:
        """Write ``detail.snapshot`` and ``detail.inputs``, which say what the board was built from; return its id."""
        connection = views.connection
        digests = {model.name: model.digest for model in views.project.models}
        inputs = {path: file_sha256(self.home / path) for path in self.files}
        study = connection.execute("select name, seed, digest from stg_study").fetchall() or [
            (None, None, "")
        ]
        name, seed, digest = study[0]
        release = version("metacog_pipeline")
        sql = [*digests.values(), *(part.digest for part in views.project.parts)]
        shot = sha256_hex(canonical_json([digest, release, sql, inputs]))[:_SNAPSHOT_DIGITS]
        made = [(table.name, table.rows, digests.get(table.name), table.reason) for table in tables]
        made += [(name, 0, None, why) for name, why in self.left_out.items()]
        keys = ("name", "rows", "digest", "reason")
        connection.execute(
            "create table detail.snapshot as select ?::varchar as id, ?::varchar as study, ?::bigint as seed, "
            "?::varchar as version, current_timestamp as built_at, "
            "(select coalesce(bool_and(state = 'complete'), false) from progress where role <> 'helper') as complete, "
            "?::struct(name varchar, rows bigint, digest varchar, reason varchar)[] as tables",
            [shot, name, seed, release, [dict(zip(keys, row, strict=True)) for row in made]],
        )
        read = pa.table({"file": [*inputs], "digest": pa.array(inputs.values(), pa.string())})
        connection.register("inputs_read", read)
        connection.execute("create table detail.inputs as from inputs_read")
        for table, (said, columns) in _COMMENTS.items():
            _comment(connection, f"detail.{table}", said, columns)
        return shot


def _blamed(views: Views, benchmarks: Iterable[str], said: str) -> _Fault | StoreError:
    """Return what follows from rows of ``benchmarks``: they are left off while others remain, else the old board stays."""
    names = {*benchmarks}
    # Rows that are still there without the files of their benchmark came from elsewhere: leaving it out again is no help.
    if not names or names >= {*views.asked} or names <= {*views.left_out}:
        return StoreError(f"{said}; the board was left as it was")
    why = f"left off the board; mend what the benchmark returns ({said})"
    return _Fault(benchmarks=dict.fromkeys(sorted(names), why))


def _misfits(views: Views, model: SqlModel) -> dict[str, str]:
    """Return the benchmarks whose files of a dataset behind a shared table do not have its columns, with the reason."""
    found: dict[str, str] = {}
    for view in sorted({view for name in model.reads for view in views.project.sources(name)}):
        dataset = views.project.datasets[view]
        for name in views.asked:
            own = [path for path in views.files_of(dataset) if owner(path) == name]
            try:  # reads every value
                query = f"select sum(hash(columns(*)) % 2) from ({dataset.reading(own)})"
                views.connection.execute(query).fetchall()
            except duckdb.Error as error:
                found[name] = f"{view} of {name}: {one_line(str(error), 300)}"
    return found


def _lineage(project: Project, model: SqlModel) -> tuple[str, ...]:
    """Return the tables and datasets the rows of a table come from, also through parts of benchmarks.

    What the study asks (`listed`, `asked`) chooses among rows and gives none.
    """
    known = {*project.datasets, *(each.name for each in project.models)}
    read = {
        "stg_items" if name == "kept_items" else name for name in tables_behind(model.reads, project.parts)
    }
    return tuple(sorted(read & known))


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


def _empty(connection: duckdb.DuckDBPyConnection, model: SqlModel, table: str) -> None:
    """Make a table without rows; its columns are those of its SQL, or, where that says none, those its header names."""
    connection.execute(f"drop table if exists {table}")
    try:
        connection.execute(f"create table {table} as select * from (\n{model.sql}\n) limit 0")
    except duckdb.Error:
        names = dict.fromkeys(
            (*model.header.key, *(name for name in model.header.columns if "*" not in name))
        )
        listed = ", ".join(f"{identifier(name)} varchar" for name in names or {"reason": None})
        connection.execute(f"create table {table} ({listed})")


def _describe(
    connection: duckdb.DuckDBPyConnection, model: SqlModel, table: str, reason: str | None
) -> tuple[Column, ...]:
    """Write what a table and its columns mean into the database, and return the columns."""
    found = connection.table(table)
    columns = [
        Column(name, str(kind), meaning(model.header, name) or "")
        for name, kind in zip(found.columns, found.types, strict=True)
    ]
    names = [name for name in model.header.columns if "*" not in name]
    if unknown := [name for name in names if name not in found.columns and reason is None]:
        raise StoreError(
            f"{model.file}: its header describes {', '.join(unknown)}, which the table does not have"
        )
    said = model.header.description if reason is None else f"not built: {reason}"
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
