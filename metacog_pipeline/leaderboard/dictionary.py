"""The data dictionary: what one row of every table is, its key, its columns and its tests, as Markdown."""

from __future__ import annotations

from pathlib import Path

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.models import load_project
from metacog_pipeline.leaderboard.read import connect

_SHARED = """
    select distinct measure, unit, coalesce(min::text, 'any') || ' to ' || coalesce(max::text, 'any'), definition, paper
    from measures where starts_with(measure, 'harmonised_') order by all
"""
_MEASURES = (
    "## Measures of calibration",
    "",
    "By one rule for every benchmark with a confidence per item; the same stands in `measures`.",
    "",
    "| measure | unit | range | meaning | reference |",
    "| --- | --- | --- | --- | --- |",
)
_TITLES = {"main": "What most people need", "detail": "Schema detail: what stands behind it"}


def tables(home: Home) -> list[dict[str, object]]:
    """Return every table of the leaderboard of ``home``: its name, what it says, and its columns, as data."""
    connection = connect(home)
    try:
        found = connection.execute(
            "select t.schema_name, t.table_name, t.comment, "
            "list({'name': c.column_name, 'type': c.data_type, 'says': c.comment} order by c.column_index) "
            "from duckdb_tables() t join duckdb_columns() c using (database_name, schema_name, table_name) "
            "where t.database_name = 'leaderboard' group by all order by all"
        ).fetchall()
    finally:
        connection.close()
    return [dict(zip(("schema", "table", "says", "columns"), row, strict=True)) for row in found]


def dictionary(home: Home) -> str:
    """Return every table of the leaderboard of ``home`` with its description and its columns.

    Raises
    ------
    StoreError
        If there is no leaderboard, or it cannot be read.
    """
    connection = connect(home)
    try:
        tables = connection.execute(
            "select schema_name, table_name, comment from duckdb_tables() where database_name = 'leaderboard' order by all"
        ).fetchall()
        columns = connection.execute(
            "select schema_name, table_name, column_name, data_type, comment from duckdb_columns() "
            "where database_name = 'leaderboard' order by schema_name, table_name, column_index"
        ).fetchall()
        shared = connection.execute(_SHARED).fetchall()
    finally:
        connection.close()
    parts = [
        "# Data dictionary",
        "Made from the comments in the leaderboard file; every table and column has one.",
    ]
    for schema in sorted({row[0] for row in tables}, key=lambda name: name != "main"):
        parts.append(f"## {_TITLES.get(schema, schema)}")
        for own, table, said in tables:
            if own == schema:
                rows = [row[2:] for row in columns if row[:2] == (schema, table)]
                parts.append(_entry(table if schema == "main" else f"{schema}.{table}", said, rows))
    parts.append("\n".join([*_MEASURES, *(_row(row) for row in shared)]))
    return "\n\n".join(parts) + "\n"


def saved_queries(folder: Path | None = None) -> dict[str, str]:
    """Return the queries that come with the package, by name."""
    return dict(load_project(folder).queries)


def _entry(table: str, said: str | None, columns: list[tuple[str, str, str | None]]) -> str:
    lines = [
        f"### {table}",
        "",
        (said or "").strip(),
        "",
        "| column | type | meaning |",
        "| --- | --- | --- |",
    ]
    lines += [f"| `{name}` | {_cell(kind.lower())} | {_cell(words or '')} |" for name, kind, words in columns]
    return "\n".join(lines)


def _row(values: tuple[str | None, ...]) -> str:
    name, *rest = (_cell(each or "") for each in values)
    return f"| `{name}` | " + " | ".join(rest) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
