"""Build the leaderboard: run the SQL files into a new database beside the old one, test it, then swap.

Readers are never blocked and never see a half-built board: the file they opened stays whole until they close it, and
the next one they open is new. A failed test or a torn file leaves the old board where it was.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard.checks import check_model, check_query
from metacog_pipeline.leaderboard.database import (
    LEADERBOARD,
    attach,
    building,
    identifier,
    new_database,
    text,
)
from metacog_pipeline.leaderboard.datasets import prepare, torn_file_error
from metacog_pipeline.leaderboard.models import Project, SqlModel, load_project, suggestion

#: Tables that no SQL file makes and every rebuild carries over.
KEPT = ("board_official",)


@dataclass(frozen=True, slots=True)
class ModelReport:
    """One table or view that was built; ``rows`` is None for a view, ``seconds`` wall time."""

    name: str
    layer: str
    rows: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did: where the board is, what was built, how many tests held, wall seconds, remarks for people."""

    path: Path
    models: tuple[ModelReport, ...]
    tests: int
    seconds: float
    notes: tuple[str, ...] = ()

    def facts(self, name: str) -> dict[str, int | float | str]:
        """Return what is worth showing about one table: rows (a view has none of its own) and seconds."""
        made = next((model for model in self.models if model.name == name), None)
        if made is None:
            return {}
        rows: dict[str, int | float | str] = {} if made.rows is None else {"rows": made.rows}
        return {**rows, "seconds": round(made.seconds, 4), "file": str(self.path)}


def build(home: Path, *, only: Sequence[str] | None = None, folder: Path | None = None) -> BuildReport:
    """Build ``<home>/leaderboard.duckdb`` from the Parquet datasets of ``home``.

    Parameters
    ----------
    home
        The study's folder.
    only
        Names of the tables to build again; the others keep the content they have. What they read is built too where
        the current file lacks it. ``None`` builds everything afresh.
    folder
        The SQL folder; default the one shipped.

    Raises
    ------
    StoreError
        If a SQL file is wrong, a Parquet file cannot be read, a test fails, or the home cannot be written. The old
        board is then untouched.
    """
    started = time.perf_counter()
    project = load_project(folder)
    target = home / LEADERBOARD
    with building(home):
        notes: tuple[str, ...] = ()
        copy = only is not None and target.exists()
        with new_database(home, target, copy=copy) as connection:
            if not copy:
                notes = _carry_over(connection, target)
            present = _objects(connection)
            chosen = _chosen(project, only, present)
            prepare(home, [pattern for model in chosen for pattern in model.datasets])
            connection.execute(
                "set parquet_metadata_cache = true"
            )  # several tables read the same hundreds of files
            connection.begin()  # one transaction: statement by statement each would be synced to disk
            reports = tuple(_make(connection, home, project, model, present) for model in chosen)
            tests = _run_tests(connection, home, project, chosen)
            connection.commit()
    return BuildReport(target, reports, tests, time.perf_counter() - started, notes)


def _carry_over(connection: duckdb.DuckDBPyConnection, target: Path) -> tuple[str, ...]:
    """Copy the kept tables from the old board, and return what people should know about it."""
    if not target.exists():
        return ()
    try:
        attach(connection, target, "old")
    except StoreError as error:
        aside = target.with_name("leaderboard.unreadable.duckdb")
        target.replace(aside)
        return (f"the old board was unreadable and now stands at {aside}: {error}",)
    rows = connection.execute(
        "select table_name, comment from duckdb_tables() where database_name = 'old'"
    ).fetchall()
    for name, comment in rows:
        if name in KEPT:
            connection.execute(f"create table {identifier(name)} as from old.{identifier(name)}")
            connection.execute(f"comment on table {identifier(name)} is {text(comment or '')}")
    connection.execute("detach old")
    return ()


def _objects(connection: duckdb.DuckDBPyConnection) -> Mapping[str, str]:
    """Return the tables and views there are, by name: ``{"board": "table"}``."""
    rows = connection.execute(
        "select table_name, 'table' from duckdb_tables() where not internal "
        "union all select view_name, 'view' from duckdb_views() where not internal"
    ).fetchall()
    return {str(name): str(kind) for name, kind in rows}


def _chosen(project: Project, only: Sequence[str] | None, present: Mapping[str, str]) -> list[SqlModel]:
    if only is None:
        return list(project.models)
    by_name = {model.name: model for model in project.models}
    for name in only:
        if name not in by_name:
            raise StoreError(f"{name}: no SQL file makes this table{suggestion(name, by_name)}")
    wanted: set[str] = set()
    waiting = list(only)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += [above for above in by_name[name].depends_on if above not in present]
    return [model for model in project.models if model.name in wanted]


def _make(
    connection: duckdb.DuckDBPyConnection,
    home: Path,
    project: Project,
    model: SqlModel,
    present: Mapping[str, str],
) -> ModelReport:
    started = time.perf_counter()
    name, kind = identifier(model.name), model.materialized
    try:
        if existing := present.get(model.name):
            connection.execute(f"drop {existing} {name}")
        made = connection.execute(f"create {kind} {name} as\n{model.sql}").fetchone()
    except duckdb.Error as error:
        raise _explained(home, project, model, f"{model.file}: {error}") from None
    try:
        comments = [f"comment on {kind} {name} is {text(model.description)}"]
        comments += [
            f"comment on column {name}.{identifier(column)} is {text(words)}"
            for column, words in model.columns
        ]
        connection.execute(";\n".join(comments))
    except duckdb.Error as error:
        raise StoreError(
            f"{model.file}: its header describes what the table does not have: {error}"
        ) from None
    rows = int(made[0]) if made and kind == "table" else None
    return ModelReport(model.name, model.layer, rows, time.perf_counter() - started)


def _run_tests(
    connection: duckdb.DuckDBPyConnection, home: Path, project: Project, chosen: Sequence[SqlModel]
) -> int:
    built = {model.name for model in chosen}
    count = 0
    for model in chosen:
        try:
            count += check_model(connection, model)
        except duckdb.Error as error:
            # A view is read for the first time here: a torn file shows up as a test that cannot run.
            raise _explained(home, project, model, f"{model.file}: its tests cannot run: {error}") from None
    # A query over several tables speaks of one moment: it runs when all of them were built now (views always are).
    now = built | {model.name for model in project.models if model.materialized == "view"}
    for test in project.tests:
        if built & set(test.depends_on) and now >= set(test.depends_on):
            check_query(connection, test)
            count += 1
    return count


def _explained(home: Path, project: Project, model: SqlModel, message: str) -> StoreError:
    """Return the error to show: the torn file behind a failure when there is one, else ``message``."""
    return torn_file_error(home, _all_datasets(project, model)) or StoreError(message)


def _all_datasets(project: Project, model: SqlModel) -> set[str]:
    by_name = {each.name: each for each in project.models}
    patterns: set[str] = set()
    waiting, seen = [model.name], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            patterns |= set(by_name[name].datasets)
            waiting += by_name[name].depends_on
    return patterns
