"""The data dictionary: what one row of every table is, its key, its columns and its tests, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import read_table
from metacog_pipeline.leaderboard.sql_folder import load_project

_TABLES = """
    select t.schema_name, t.table_name, t.comment,
        list({'name': c.column_name, 'type': c.data_type, 'says': c.comment} order by c.column_index)
    from duckdb_tables() t join duckdb_columns() c using (database_name, schema_name, table_name)
    where t.database_name = 'leaderboard' group by all order by all
"""
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
_TITLES = {"main": "What most people need", "detail": "Schema detail: what these tables are made from"}


def tables(home: Home) -> list[dict[str, Any]]:
    """Return every table of the leaderboard of ``home``: its schema, name, what it says, and its columns, as data."""
    found = read_table(home, _TABLES).rows
    return [dict(zip(("schema", "table", "says", "columns"), row, strict=True)) for row in found]


def dictionary(home: Home) -> str:
    """Return every table of the leaderboard of ``home`` with its description and its columns, as Markdown.

    Raises
    ------
    StoreError
        If there is no leaderboard, or it cannot be read.
    """
    found = tables(home)
    parts = [
        "# Data dictionary",
        "Made from the comments in the leaderboard file; every table and column has one.",
    ]
    for schema in ("main", "detail"):
        parts.append(f"## {_TITLES[schema]}")
        parts += [_entry(schema, each) for each in found if each["schema"] == schema]
    parts.append("\n".join([*_MEASURES, *(_row(row) for row in read_table(home, _SHARED).rows)]))
    return "\n\n".join(parts) + "\n"


def saved_queries(folder: Path | None = None) -> dict[str, str]:
    """Return the queries that come with the package, by name."""
    return dict(load_project(folder).queries)


def _entry(schema: str, table: Mapping[str, Any]) -> str:
    name = table["table"] if schema == "main" else f"{schema}.{table['table']}"
    lines = [
        f"### {name}",
        "",
        (table["says"] or "").strip(),
        "",
        "| column | type | meaning |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| `{each['name']}` | {_cell(each['type'].lower())} | {_cell(each['says'] or '')} |"
        for each in table["columns"]
    ]
    return "\n".join(lines)


def _row(values: tuple[Any, ...]) -> str:
    name, *rest = (_cell(each or "") for each in values)
    return f"| `{name}` | " + " | ".join(rest) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
