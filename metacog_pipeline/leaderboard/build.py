"""Build the leaderboard: SQL files run over the Parquet datasets into a new database beside the old, tested, then swapped.

Readers are never blocked and never see a half-built board: the file they opened stays whole until they close it, and the
next one they open is new. A failed test leaves the old board where it was. A table of one benchmark whose SQL fails is
empty and says why, and rows of a benchmark that break a test of what all share are left out of it; the rest is published.
Only what changed since the last build is made again: `plan.py` says what.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard import snapshot
from metacog_pipeline.leaderboard.checks import any_of, check_model, check_query, withhold_outside
from metacog_pipeline.leaderboard.database import building, identifier, new_database, one_instance, text
from metacog_pipeline.leaderboard.declared import declared_measures
from metacog_pipeline.leaderboard.failures import Broken, Faults, NotHeldError, Outgrown, blamed, culprit
from metacog_pipeline.leaderboard.glossary import meaning
from metacog_pipeline.leaderboard.inputs import changed, scan, torn_file_error
from metacog_pipeline.leaderboard.listing import make_items, make_listing
from metacog_pipeline.leaderboard.models import GIVEN, Project, SqlModel, load_project, with_own_tables
from metacog_pipeline.leaderboard.plan import Plan, own_tables, plan_of
from metacog_pipeline.leaderboard.views import Views, make_given_views

# Bytes of changed files below which a second thread shortens the wait by a twentieth at most, for a fifth more work.
ONE_THREAD = 64 * 2**20
_NUMBERS = {"stg_estimates", "stg_run_estimates", "stg_calibration"}  # whose values lie in a declared range
MOST_BROKEN = 20  # tables that may fail one after another before the build itself is given up


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table: its rows, wall seconds it took (0: it was current), and why it is empty where it could not be built."""

    name: str
    schema: str
    rows: int
    seconds: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did: where the board is, its tables, how many tests held, wall seconds, remarks for people."""

    path: Path
    snapshot: str
    tables: tuple[TableReport, ...]
    tests: int
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[TableReport, ...]:
        """Tables that could not be built: each empty, with its reason."""
        return tuple(table for table in self.tables if table.reason is not None)

    def facts(self, name: str) -> dict[str, int | float | str]:
        """Return what is worth showing about one table."""
        made = next((table for table in self.tables if table.name == name), None)
        if made is None:
            return {}
        reason: dict[str, int | float | str] = {"reason": made.reason} if made.reason else {}
        return {"rows": made.rows, "seconds": round(made.seconds, 4), "file": str(self.path), **reason}


def build(home: Home, *, folder: Path | None = None) -> BuildReport:
    """Build ``<home>/leaderboard.duckdb`` from the Parquet datasets of ``home``.

    Parameters
    ----------
    home
        The study's folder.
    folder
        The SQL folder; default the one shipped.

    Raises
    ------
    StoreError
        If a SQL file is wrong, a Parquet file cannot be read, a shared table cannot be built, a test fails, or the home
        cannot be written. The old board is then untouched.
    """
    started = time.perf_counter()
    project = load_project(folder)
    target = home.leaderboard
    faults = Faults()
    with building(home), one_instance(home) as instance:
        old, notes = snapshot.read_old(instance, target)
        for _ in range(MOST_BROKEN):
            try:
                return _built(instance, home, project, old, faults, notes, started)
            except Outgrown as failure:
                old = snapshot.without(old, failure.table)
            except Broken as failure:
                faults.add(failure.faults)
    raise StoreError(
        f"{target}: more than {MOST_BROKEN} tables cannot be built; the first: {next(iter(faults.reasons().items()))}"
    )


def _built(
    instance: duckdb.DuckDBPyConnection,
    home: Home,
    project: Project,
    old: snapshot.Old,
    faults: Faults,
    notes: tuple[str, ...],
    started: float,
) -> BuildReport:
    target = home.leaderboard
    with new_database(instance, target, copy=old.reusable) as connection:
        connection.execute("create schema if not exists detail")
        connection.execute("set search_path = 'main,detail'")
        connection.execute(
            "set parquet_metadata_cache = true"
        )  # several tables read the same hundreds of files
        if not old.reusable:
            snapshot.carry_over(connection, target)
        files = scan(home, old.files)
        if sum(files[path].size for path in changed(old.files, files) & files.keys()) < ONE_THREAD:
            connection.execute("set threads = 1")
        make_given_views(connection, files)
        asked, listing = make_listing(connection, files)
        project = with_own_tables(project, own_tables(home, project, files, asked))
        declared = declared_measures(asked)
        listing = replace(listing, asked=sha256_hex(canonical_json([listing.asked, declared])))
        plan = plan_of(project, files, old, listing, faults.not_whole(), faults.datasets)
        _make_room(connection, project, plan, faults.tables)
        connection.begin()  # one transaction: statement by statement each would be synced to disk
        if plan.rebuilds("items"):
            make_items(connection, files)
        views = Views(connection, project, files, plan, declared, faults.tables, faults.datasets)
        made = [_make(home, views, model, faults.of_table(model.name)) for model in project.models]
        empty = {table.name for table in made if not table.rows}
        tests = _run_tests(connection, project, plan, faults.tables, empty, asked)
        reasons = faults.reasons()
        shot = snapshot.write(
            connection, project, files, listing, {table.name: table.rows for table in made}, reasons
        )
        connection.commit()
    left_out = [
        TableReport(name, "", 0, 0.0, why)
        for name, why in reasons.items()
        if name not in {x.name for x in made}
    ]
    return BuildReport(target, shot, (*made, *left_out), tests, time.perf_counter() - started, notes)


def _make_room(
    connection: duckdb.DuckDBPyConnection, project: Project, plan: Plan, broken: Collection[str]
) -> None:
    """Remove tables that are gone or made anew: within one transaction the file would grow by as much as they take.

    One that is left empty stays, for it tells its columns.
    """
    anew = [each for each in project.models if plan.rebuilds(each.name) and each.name not in broken]
    places = [(each.schema, each.name) for each in anew if each.name in plan.kept_rows]
    places += [("detail", name) for name in plan.gone]
    if places:
        dropped = [f"drop table if exists {schema}.{identifier(name)}" for schema, name in places]
        connection.execute(";\n".join(["begin", *dropped, "commit"]))


def _make(home: Home, views: Views, model: SqlModel, without: Sequence[str]) -> TableReport:
    """Make one table again, wholly or the rows of changed files, where that is needed; ``without`` rows of benchmarks."""
    started = time.perf_counter()
    connection, plan, broken = views.connection, views.plan, views.broken
    table = f"{model.schema}.{identifier(model.name)}"
    if not plan.touches(model.name):
        return TableReport(model.name, model.schema, plan.kept_rows[model.name], 0.0)
    counted, fresh = None, "true"
    try:
        if model.name in broken:
            _empty(connection, model, table, broken[model.name])
        else:
            shadows = [] if plan.rebuilds(model.name) else views.shadow(model)
            for read in model.reads:
                views.ensure(read)
            if plan.rebuilds(model.name):
                counted = connection.execute(f"create or replace table {table} as\n{model.sql}").fetchall()
                _describe(connection, model, table)
            else:
                if _columns(connection, model.sql) - _columns(connection, f"from {table}"):
                    raise Outgrown(model.name)
                replaced = any_of(plan.conditions(model)) or "false"
                connection.execute(f"delete from {table} where {replaced}")
                [(made,)] = connection.execute(f"insert into {table} by name\n{model.sql}").fetchall()
                [(there,)] = connection.execute(f"select count(*) from {table} where {replaced}").fetchall()
                if made != there + sum(
                    pq.read_metadata(home / path).num_rows for path in plan.of_nobody(model.name)
                ):
                    raise Outgrown(model.name)  # rows of others: they stood there before, too
                if set(GIVEN) & set(model.reads) and not plan.of_nobody(model.name):
                    fresh = replaced  # were other ranges declared, the whole table would be made again
            for name in shadows:
                connection.execute(f"drop view temp.{identifier(name)}")
            if _NUMBERS & set(model.reads):
                withhold_outside(connection, table, views.declared, fresh)
            if without:
                listed = ", ".join(map(text, without))
                connection.execute(f"delete from {table} where benchmark in ({listed})")
                counted = None
    except duckdb.Error as error:
        raise _explained(home, views, model, error) from None
    counted = counted or connection.execute(f"select count(*) from {table}").fetchall()
    rows = int(counted[0][0])
    return TableReport(model.name, model.schema, rows, time.perf_counter() - started, broken.get(model.name))


def _columns(connection: duckdb.DuckDBPyConnection, sql: str) -> set[str]:
    return {str(row[0]) for row in connection.execute(f"describe {sql}").fetchall()}


def _empty(connection: duckdb.DuckDBPyConnection, model: SqlModel, table: str, reason: str) -> None:
    """Make a table without rows that says why; its columns are those it had, or those its header names."""
    known = connection.execute(
        "select column_name, data_type from duckdb_columns() where table_name = ? and schema_name = ? "
        "and database_name = current_database() order by column_index",
        [model.name, model.schema],
    ).fetchall()
    names = dict.fromkeys((*model.header.key, *model.header.columns), "varchar") or {"reason": "varchar"}
    columns = {str(name): str(kind) for name, kind in known} or names
    connection.execute(f"drop table if exists {table}")
    listed = ", ".join(f"{identifier(name)} {kind}" for name, kind in columns.items())
    connection.execute(f"create table {table} ({listed})")
    _comment(connection, model, table, list(columns), f"not built: {reason}")


def _describe(connection: duckdb.DuckDBPyConnection, model: SqlModel, table: str) -> None:
    columns = connection.table(table).columns
    if unknown := [name for name in model.header.columns if "*" not in name and name not in columns]:
        raise StoreError(
            f"{model.file}: its header describes {', '.join(unknown)}, which the table does not have"
        )
    _comment(connection, model, table, columns, model.header.description)


def _comment(
    connection: duckdb.DuckDBPyConnection, model: SqlModel, table: str, columns: list[str], said: str
) -> None:
    comments = [f"comment on table {table} is {text(said)}"]
    for column in columns:
        if words := meaning(model.header, column):
            comments.append(f"comment on column {table}.{identifier(column)} is {text(words)}")
    # Each statement is optimised for as long as it takes to run, though there is nothing in it to be made quicker.
    connection.execute(";\n".join(["pragma disable_optimizer", *comments, "pragma enable_optimizer"]))


def _run_tests(
    connection: duckdb.DuckDBPyConnection,
    project: Project,
    plan: Plan,
    broken: Mapping[str, str],
    empty: Collection[str],
    asked: Collection[str],
) -> int:
    """Run the tests of what was made and return how many there were; Broken says whose rows break any of them."""
    count, found = 0, Faults()

    def held(check: Callable[[], int], of: Sequence[SqlModel]) -> int:
        try:
            return check()
        except NotHeldError as error:
            shared = [each.name for each in of if _is_shared(connection, each)]
            own = {each.name: each.benchmark for each in of if each.benchmark is not None}
            found.add(blamed(error, shared, own, asked))
            return 0

    for model in project.models:
        if plan.touches(model.name) and model.name not in broken:
            whole = plan.rebuilds(model.name) or plan.of_nobody(model.name)
            some = None if whole else plan.conditions(model)
            check = partial(check_model, connection, model, some, empty=model.name in empty)
            count += held(check, [model])
    for test in project.tests:
        if any(plan.touches(name) for name in test.reads) and not broken.keys() & set(test.reads):
            read = [model for model in project.models if model.name in test.reads]
            count += held(partial(check_query, connection, test), read)
    if found.reasons():
        raise Broken(found.tables, {}, found.rows)
    return count


def _is_shared(connection: duckdb.DuckDBPyConnection, model: SqlModel) -> bool:
    """Whether a table holds rows of several benchmarks, and says of each whose it is."""
    return model.benchmark is None and "benchmark" in _columns(
        connection, f"from {model.schema}.{identifier(model.name)}"
    )


def _explained(home: Home, views: Views, model: SqlModel, error: duckdb.Error) -> StoreError | Broken:
    """Return what to do about a table that failed: a torn file or a shared table end the build, others are left out."""
    project, files = views.project, views.files
    behind = sorted({source for read in model.reads for source in project.sources(read)})
    if torn := torn_file_error(
        home, [path for path in files if any(project.datasets[v].matches(path) for v in behind)]
    ):
        return torn
    said = one_line(str(error), 300)
    if model.benchmark is not None:
        return Broken({model.name: said}, {})
    found = culprit(home, project, behind, files)
    return Broken({}, found) if found else StoreError(f"{model.file}: {error}")
