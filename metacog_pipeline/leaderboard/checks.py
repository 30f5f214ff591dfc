"""Tests that run on the new database before it takes the place of the old: assertions and zero-row queries."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard.database import identifier, text
from metacog_pipeline.leaderboard.header import Assertion
from metacog_pipeline.leaderboard.models import TESTS, SqlModel, SqlTest

_CELL = 80


def check_model(connection: duckdb.DuckDBPyConnection, model: SqlModel) -> int:
    """Run the comment assertions of ``model`` and return how many there were.

    Raises
    ------
    StoreError
        Naming the assertion, the file, the table, how many rows break it and the first of them.
    duckdb.Error
        If the table cannot be read, or has no such column.
    """
    if any(_counts(connection, model)):
        for assertion in model.assertions:
            query = _violations(model.name, assertion)
            _require_none(connection, query, str(assertion), model.file, model.name)
    return len(model.assertions)


def check_query(connection: duckdb.DuckDBPyConnection, test: SqlTest) -> None:
    """Run a zero-row query.

    Raises
    ------
    StoreError
        As :func:`check_model`, also when the query cannot run.
    """
    file, tables = f"{TESTS}/{test.path.name}", ", ".join(test.depends_on)
    try:
        _require_none(connection, test.sql, test.name, file, tables)
    except duckdb.Error as error:
        raise StoreError(
            f"test {test.name} of {tables} ({file}) cannot run: {error}; the board was left as it was"
        ) from None


def _counts(connection: duckdb.DuckDBPyConnection, model: SqlModel) -> tuple[int, ...]:
    """Return how many rows break each assertion, in one statement: a view over many files is planned once."""
    if not model.assertions:
        return ()
    parts = [f"(select count(*) from ({_violations(model.name, each)}))" for each in model.assertions]
    return tuple(connection.execute(f"select {', '.join(parts)}").fetchone() or ())


def _violations(table: str, assertion: Assertion) -> str:
    names = [identifier(column) for column in assertion.columns]
    listed = ", ".join(names)
    source = f"from {identifier(table)}"
    if assertion.kind == "UNIQUE":
        return f"select {listed}, count(*) as copies {source} group by {listed} having count(*) > 1"
    if assertion.kind == "NOT_NULL":
        return f"select * {source} where {' or '.join(f'{name} is null' for name in names)}"
    allowed = ", ".join(text(value) for value in assertion.values)
    return f"select * {source} where {listed}::varchar not in ({allowed})"


def _require_none(
    connection: duckdb.DuckDBPyConnection, query: str, test: str, file: str, table: str
) -> None:
    counted = connection.execute(f"select count(*) from (\n{query}\n)").fetchone()
    count = int(counted[0]) if counted else 0
    if not count:
        return
    first = connection.execute(f"select * from (\n{query}\n) order by all limit 1")
    shown = _shown([column[0] for column in first.description or ()], first.fetchone() or ())
    plural = "row breaks" if count == 1 else "rows break"
    raise StoreError(
        f"test {test} of {table} ({file}) failed: {count} {plural} it, first {shown}; the board was left as it was"
    )


def _shown(names: Sequence[str], row: Sequence[object]) -> str:
    cells = [(name, "null" if value is None else str(value)) for name, value in zip(names, row, strict=True)]
    return ", ".join(
        f"{name}={cell if len(cell) <= _CELL else cell[: _CELL - 1] + '…'}" for name, cell in cells
    )
