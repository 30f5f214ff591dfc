"""Tests that run on the new database before it takes the place of the old: assertions and zero-row queries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import duckdb

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard.database import identifier, text
from metacog_pipeline.leaderboard.failures import NotHeldError
from metacog_pipeline.leaderboard.header import Assertion
from metacog_pipeline.leaderboard.models import SqlModel, SqlTest

_CELL = 80


def check_model(
    connection: duckdb.DuckDBPyConnection,
    model: SqlModel,
    rows: Sequence[tuple[str, list[object]]] | None = None,
    *,
    empty: bool = False,
) -> int:
    """Run the assertions of ``model``, over ``rows`` of it only where these are given, and return how many there were.

    No row breaks those of a table that is ``empty``; that it has the columns they name is looked at all the same.

    Raises
    ------
    NotHeldError
        Naming the assertion, the file, the table, how many rows break it and the first of them.
    StoreError
        If the assertions cannot be looked at.
    """
    if not model.header.assertions or rows == []:
        return 0
    table = f"{model.schema}.{identifier(model.name)}"
    source = f"from {table}" if rows is None else f"from (select * from {table} where {any_of(rows)})"
    try:
        if empty:
            named = dict.fromkeys(name for each in model.header.assertions for name in each.columns)
            connection.execute(f"select {', '.join(map(identifier, named))} from {table} limit 0")
            return len(model.header.assertions)
        parts = [f"({_suspects(source, each)})" for each in model.header.assertions]
        counts = connection.execute(f"select {', '.join(parts)}").fetchall()[0]
        for assertion, count in zip(model.header.assertions, counts, strict=True):
            if count:
                _require_none(
                    connection, _violations(source, assertion), str(assertion), model.file, model.name
                )
    except duckdb.Error as error:
        raise StoreError(f"{model.file}: its tests cannot run: {error}") from None
    return len(model.header.assertions)


def check_query(connection: duckdb.DuckDBPyConnection, test: SqlTest) -> int:
    """Run a query that must return no row, and return that it was one.

    Raises
    ------
    NotHeldError, StoreError
        As :func:`check_model`.
    """
    tables = ", ".join(test.reads)
    try:
        _require_none(connection, test.sql, test.name, test.file, tables)
    except duckdb.Error as error:
        raise StoreError(
            f"test {test.name} of {tables} ({test.file}) cannot run: {error}; the board was left as it was"
        ) from None
    return 1


def withhold_outside(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    declared: Sequence[Mapping[str, object]],
    rows: str = "true",
) -> None:
    """Take the number from rows of ``table`` whose value lies outside the declared range; their status says both.

    Such a value is an error of whoever computed it. Rounding may pass a range by a hair. Only those of ``rows``, a
    condition, are looked at.
    """
    ranges = [
        f"({text(str(each['benchmark']))}, {text(str(each['measure']))}, {_number(each['min'])}, {_number(each['max'])})"
        for each in declared
        if each["min"] is not None or each["max"] is not None
    ]
    if ranges:
        connection.execute(
            f"update {table} as own set estimate = null, low = null, high = null, "
            "status = concat('outside its range: ', own.estimate, ', which is ', "
            "coalesce('from ' || least, 'any number'), coalesce(' to ' || most, ' on')) "
            f"from (values {', '.join(ranges)}) as declared (of_benchmark, of_measure, least, most) "
            "where own.benchmark = of_benchmark and own.measure = of_measure "
            f"and (own.estimate < least - 1e-9 or own.estimate > most + 1e-9) and ({rows})"
        )


def _number(value: object) -> str:
    return "null::double" if value is None else f"{float(str(value))!r}::double"


def any_of(rows: Sequence[tuple[str, list[object]]]) -> str:
    """Return the conditions as one, their values written out: views cannot take parameters."""
    made = []
    for where, values in rows:
        written = (str(value) if isinstance(value, int) else text(str(value)) for value in values)
        made.append(re.sub(r"\?", lambda _, written=written: next(written), where))  # type: ignore[misc]
    return " or ".join(f"({each})" for each in made)


def _suspects(source: str, assertion: Assertion) -> str:
    """Return the count that is 0 only where no row breaks ``assertion``; where it is not, the rows are looked at.

    Keys that are alike have one hash: to compare hashes is a third of the work.
    """
    if assertion.kind == "UNIQUE":
        listed = ", ".join(map(identifier, assertion.columns))
        return f"select count(*) - count(distinct hash({listed})) {source}"
    return f"select count(*) from ({_violations(source, assertion)})"


def _violations(source: str, assertion: Assertion) -> str:
    names = [identifier(column) for column in assertion.columns]
    listed = ", ".join(names)
    if assertion.kind == "UNIQUE":
        return f"select {listed}, count(*) as copies {source} group by {listed} having count(*) > 1"
    if assertion.kind == "NOT_NULL":
        return f"select * {source} where {' or '.join(f'{name} is null' for name in names)}"
    allowed = ", ".join(text(value) for value in assertion.values)
    return f"select * {source} where {listed}::varchar not in ({allowed})"


def _require_none(
    connection: duckdb.DuckDBPyConnection, query: str, test: str, file: str, table: str
) -> None:
    counted = connection.execute(f"select count(*) from (\n{query}\n)").fetchall()
    count = int(counted[0][0])
    if not count:
        return
    first = connection.execute(f"select * from (\n{query}\n) order by all limit 1")
    names = [column[0] for column in first.description or ()]
    shown = _shown(names, first.fetchone() or ())
    owners = []
    if "benchmark" in names:
        owners = connection.execute(f"select distinct benchmark from (\n{query}\n)").fetchall()
    known = [str(name) for (name,) in owners if name is not None]
    plural = "row breaks" if count == 1 else "rows break"
    raise NotHeldError(
        f"test {test} of {table} ({file}) failed: {count} {plural} it, first {shown}",
        known if len(known) == len(owners) else (),
    )


def _shown(names: Sequence[str], row: Sequence[object]) -> str:
    cells = [(name, "null" if value is None else str(value)) for name, value in zip(names, row, strict=True)]
    return ", ".join(
        f"{name}={cell if len(cell) <= _CELL else cell[: _CELL - 1] + '…'}" for name, cell in cells
    )
