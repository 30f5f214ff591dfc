"""Tests that run on a new board before it takes the place of the old: assertions of headers and zero-row queries."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard.database import identifier, text
from metacog_pipeline.leaderboard.header import Assertion
from metacog_pipeline.leaderboard.models import SqlModel, SqlTest

_CELL = 80


class NotHeldError(StoreError):
    """Rows break a test: ``said`` names it and the first of them; ``benchmarks`` are theirs, none where one has none."""

    def __init__(self, said: str, benchmarks: frozenset[str]) -> None:
        super().__init__(f"{said}; the board was left as it was")
        self.said = said
        self.benchmarks = benchmarks


def check_model(connection: duckdb.DuckDBPyConnection, model: SqlModel) -> int:
    """Run the assertions of a table and return how many there were.

    Raises
    ------
    NotHeldError
        Naming the assertion, the file, the table, how many rows break it and the first of them.
    StoreError
        If the assertions cannot be looked at.
    """
    try:
        for each in model.header.assertions:
            query = _violations(f"{model.schema}.{identifier(model.name)}", each)
            _require_none(connection, query, f"{each} of {model.name} ({model.file})")
    except duckdb.Error as error:
        raise StoreError(f"{model.file}: its tests cannot run: {error}") from None
    return len(model.header.assertions)


def check_query(connection: duckdb.DuckDBPyConnection, test: SqlTest) -> int:
    """Run a query that must return no row, and return that it was one. Raises as `check_model`."""
    named = f"{test.name} of {', '.join(test.reads)} ({test.file})"
    try:
        _require_none(connection, test.sql, named)
    except duckdb.Error as error:
        raise StoreError(f"test {named} cannot run: {error}; the board was left as it was") from None
    return 1


def _violations(table: str, assertion: Assertion) -> str:
    names = [identifier(column) for column in assertion.columns]
    listed = ", ".join(names)
    if assertion.kind == "UNIQUE":
        return f"select {listed}, count(*) as copies from {table} group by {listed} having count(*) > 1"
    if assertion.kind == "NOT_NULL":
        return f"select * from {table} where {' or '.join(f'{name} is null' for name in names)}"
    allowed = ", ".join(text(value) for value in assertion.values)
    return f"select * from {table} where {listed}::varchar not in ({allowed})"


def _require_none(connection: duckdb.DuckDBPyConnection, query: str, named: str) -> None:
    [(count,)] = connection.execute(f"select count(*) from (\n{query}\n)").fetchall()
    if not count:
        return
    result = connection.execute(f"select * from (\n{query}\n) order by all limit 1")
    names = [column[0] for column in result.description or ()]
    first = _shown(names, result.fetchall()[0])
    owners = [(None,)]
    if "benchmark" in names:
        owners = connection.execute(f"select distinct benchmark::varchar from (\n{query}\n)").fetchall()
    plural = "row breaks" if count == 1 else "rows break"
    said = f"test {named} failed: {count} {plural} it, first {first}"
    known = [str(name) for (name,) in owners if name is not None]
    raise NotHeldError(said, frozenset(known if len(known) == len(owners) else ()))


def _shown(names: Sequence[str], row: Sequence[object]) -> str:
    cells = [(name, "null" if value is None else str(value)) for name, value in zip(names, row, strict=True)]
    return ", ".join(
        f"{name}={cell if len(cell) <= _CELL else cell[: _CELL - 1] + '…'}" for name, cell in cells
    )
