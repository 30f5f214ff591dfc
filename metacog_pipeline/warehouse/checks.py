"""Tests that run on the new database before it takes the place of the old: assertions and zero-row queries."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from metacog_pipeline.errors import StoreError
from metacog_pipeline.warehouse.database import identifier, text
from metacog_pipeline.warehouse.header import Assertion
from metacog_pipeline.warehouse.models import TESTS, SqlModel, SqlTest

_CELL = 80


def check_model(connection: duckdb.DuckDBPyConnection, model: SqlModel) -> int:
    """Run the comment assertions of ``model`` and return how many there were.

    Raises
    ------
    StoreError
        Naming the assertion, the file, the table, how many rows break it and the first of them.
    """
    for assertion in model.assertions:
        _require_none(connection, _violations(model.name, assertion), str(assertion), model.file, model.name)
    return len(model.assertions)


def check_query(connection: duckdb.DuckDBPyConnection, test: SqlTest) -> None:
    """Run a zero-row query.

    Raises
    ------
    StoreError
        As :func:`check_model`.
    """
    _require_none(connection, test.sql, test.name, f"{TESTS}/{test.path.name}", ", ".join(test.depends_on))


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
    try:
        counted = connection.execute(f"select count(*) from (\n{query}\n)").fetchone()
        count = int(counted[0]) if counted else 0
        if not count:
            return
        first = connection.execute(f"select * from (\n{query}\n) order by all limit 1")
        shown = _shown([column[0] for column in first.description or ()], first.fetchone() or ())
    except duckdb.Error as error:
        raise StoreError(
            f"test {test} of {table} ({file}) cannot run: {error}; the board was left as it was"
        ) from None
    plural = "row breaks" if count == 1 else "rows break"
    raise StoreError(
        f"test {test} of {table} ({file}) failed: {count} {plural} it, first {shown}; the board was left as it was"
    )


def _shown(names: Sequence[str], row: Sequence[object]) -> str:
    cells = [(name, "null" if value is None else str(value)) for name, value in zip(names, row, strict=True)]
    return ", ".join(
        f"{name}={cell if len(cell) <= _CELL else cell[: _CELL - 1] + '…'}" for name, cell in cells
    )
