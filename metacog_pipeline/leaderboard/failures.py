"""Who is to blame for a table that cannot be built: a benchmark whose files do not fit what all share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from metacog_pipeline.errors import one_line
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import open_database
from metacog_pipeline.leaderboard.inputs import Input, of_dataset
from metacog_pipeline.leaderboard.models import Project


class Broken(Exception):
    """What must be left out of the next attempt: tables by name, and datasets of a benchmark, each with the reason."""

    def __init__(self, tables: Mapping[str, str], datasets: Mapping[tuple[str, str], str]) -> None:
        super().__init__(*tables.values(), *datasets.values())
        self.tables = tables
        self.datasets = datasets


class Outgrown(Exception):
    """A table whose new rows have columns it does not have, or are not those that were removed: it must be made anew."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table = table


def culprit(
    home: Home, project: Project, views: Sequence[str], files: Mapping[str, Input]
) -> dict[tuple[str, str], str]:
    """Return (view, benchmark) → reason of every benchmark whose files of a shared dataset cannot be read as they must."""
    found: dict[tuple[str, str], str] = {}
    connection = open_database(home.path)
    try:
        for view in views:
            dataset = project.datasets[view]
            own: dict[str, list[str]] = {}
            for path in of_dataset(dataset, files):
                own.setdefault(owner(path, files), []).append(path)
            for name, paths in own.items():
                if reason := _misfit(connection, dataset.reading(paths)):
                    found[view, name] = f"{view} of {name}: {reason}"
    finally:
        connection.close()
    return found


def owner(path: str, files: Mapping[str, Input]) -> str:
    """Return the benchmark a file is of; for a file of them all, its folder."""
    key = files[path].key
    return key[0] if key else path.split("/")[1]


def _misfit(connection: duckdb.DuckDBPyConnection, sql: str) -> str | None:
    try:
        connection.execute(f"select sum(hash(columns(*)) % 2) from ({sql})").fetchall()  # reads every value
    except duckdb.Error as error:
        return one_line(str(error), 300)
    return None
