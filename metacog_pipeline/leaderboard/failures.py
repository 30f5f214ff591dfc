"""Who is to blame for a table that cannot be built: a benchmark whose files do not fit what all share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from metacog_pipeline import registry
from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import open_database
from metacog_pipeline.leaderboard.inputs import Input, of_dataset
from metacog_pipeline.leaderboard.models import Project

# Without the first the second would say that nobody has answered.
_STANDS_FOR = {"estimates": "leaderboard"}


@dataclass(slots=True)
class Faults:
    """What is left out of a build, with the reason: tables by name, datasets of a benchmark, rows of one in a table."""

    tables: dict[str, str] = field(default_factory=dict)
    datasets: dict[tuple[str, str], str] = field(default_factory=dict)
    rows: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, more: Faults) -> None:
        """Leave out ``more``."""
        self.tables |= more.tables
        self.datasets |= more.datasets
        self.rows |= more.rows

    def of_table(self, table: str) -> list[str]:
        """Return the benchmarks whose rows are left out of ``table``."""
        return [name for where, name in self.rows if where == table]

    def not_whole(self) -> set[str]:
        """Return the tables that are empty or lack rows: they are made anew each time."""
        return {*self.tables, *(table for table, _ in self.rows)}

    def reasons(self) -> dict[str, str]:
        """Return why each of them is left out; a table that lacks rows is named itself as well."""
        own = {f"{what} of {name}": why for (what, name), why in (*self.datasets.items(), *self.rows.items())}
        return {**{table: why for (table, _), why in self.rows.items()}, **self.tables, **own}


class Broken(Exception):
    """What must be left out of the next attempt: tables by name, and datasets of a benchmark, each with the reason."""

    def __init__(
        self,
        tables: Mapping[str, str],
        datasets: Mapping[tuple[str, str], str],
        rows: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        super().__init__(*tables.values(), *datasets.values(), *(rows or {}).values())
        self.faults = Faults(dict(tables), dict(datasets), dict(rows or {}))


class NotHeldError(StoreError):
    """A test that rows break: ``said`` is what of it, ``benchmarks`` are theirs, none where not every row tells."""

    def __init__(self, said: str, benchmarks: Collection[str]) -> None:
        super().__init__(f"{said}; the board was left as it was")
        self.said = said
        self.benchmarks = frozenset(benchmarks)


def blamed(
    error: NotHeldError, shared: Sequence[str], own: Mapping[str, str], asked: Collection[str]
) -> Faults:
    """Return what is left out for rows that break a test of tables: ``shared`` ones, and ``own`` ones of a benchmark each.

    Of a shared table all rows of the benchmarks whose rows break it, of a benchmark's own the whole. Raises ``error``
    where no benchmark is to blame, or all of several are, or a shipped one alone: then it is the fault of the table. Of a
    stranger's alone all else that it has is published.
    """
    owners = error.benchmarks or frozenset(own.values())
    every = shared and owners >= set(asked)
    if not owners or (every and (len(owners) > 1 or not owners.isdisjoint(_shipped()))):
        raise error
    also = [_STANDS_FOR[name] for name in shared if name in _STANDS_FOR]
    return Faults({name: error.said for name, owner in own.items() if owner in owners}, {}, {
        (table, name): f"all rows of {name} are left out; mend what the benchmark returns ({error.said})"
        for table in dict.fromkeys([*shared, *also])
        for name in sorted(owners)
    })  # fmt: skip


def _shipped() -> set[str]:
    return {name for name in registry.names() if registry.is_ours(name)}


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
    return key[0] if key else path.split("/")[1].removesuffix(".parquet")


def _misfit(connection: duckdb.DuckDBPyConnection, sql: str) -> str | None:
    try:
        connection.execute(f"select sum(hash(columns(*)) % 2) from ({sql})").fetchall()  # reads every value
    except duckdb.Error as error:
        return one_line(str(error), 300)
    return None
