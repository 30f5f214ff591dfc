"""What a SELECT reads, told by DuckDB's own parser: tables and views by name, files by path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from metacog_pipeline.errors import StoreError

FILE_FUNCTIONS = frozenset(
    {
        "parquet_scan",
        "read_parquet",
        "read_csv",
        "read_csv_auto",
        "read_json",
        "read_json_auto",
        "read_ndjson",
        "read_ndjson_auto",
        "read_blob",
        "read_text",
    }
)
_FILE_ENDINGS = (".parquet", ".csv", ".csv.gz", ".json", ".jsonl", ".ndjson", ".tsv")
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reads:
    """What one statement reads: names of tables and views (lower case), and file patterns as written."""

    tables: tuple[str, ...]
    datasets: tuple[str, ...]


def serialized(connection: duckdb.DuckDBPyConnection, queries: Sequence[str]) -> list[str]:
    """Return what DuckDB's parser makes of each query, as JSON: one question for all, which takes a third of the time."""
    asked = "select json_serialize_sql(query) from (select unnest(?::varchar[]) as query)"
    return [str(row[0]) for row in connection.execute(asked, [[*queries]]).fetchall()] if queries else []


def reads_of(parsed: str, where: str) -> Reads:
    """Return what a single SELECT reads, ``parsed`` by `serialized`; ``where`` names it in errors.

    Names of common table expressions are left out, in the scope where they hold: a table that shares its name with
    another query's expression still counts.

    Raises
    ------
    StoreError
        If the query does not parse, is not a SELECT, holds more than one statement, or computes a file's path.
    """
    tree: dict[str, Any] = json.loads(parsed)
    if tree.get("error"):
        message = str(tree.get("error_message", "")).replace(
            "Only SELECT statements can be", "not a SELECT, cannot be"
        )
        raise StoreError(f"{where}: {message}; a file holds one SELECT statement")
    statements = tree.get("statements", [])
    if len(statements) != 1:
        raise StoreError(f"{where}: {len(statements)} statements; a file holds one SELECT statement")
    found = list(_walk(statements[0], _NONE, where))
    tables = sorted({name for is_file, name in found if not is_file})
    files = sorted({name for is_file, name in found if is_file})
    return Reads(tuple(tables), tuple(files))


def _walk(node: Any, scope: frozenset[str], where: str) -> Iterator[tuple[bool, str]]:
    """Yield ``(is_file, name)`` below ``node``; ``scope`` holds the expression names visible here."""
    if isinstance(node, list):
        for child in node:
            yield from _walk(child, scope, where)
    elif isinstance(node, dict):
        expressions = (node.get("cte_map") or {}).get("map") or []
        for entry in expressions:
            name = str(entry["key"]).lower()
            # Only a recursive expression sees itself; an ordinary one of the same name reads the outer table.
            yield from _walk(entry["value"], scope | {name} if _recursive(entry) else scope, where)
            scope |= {name}
        if node.get("type") == "BASE_TABLE":
            yield from _base_table(node, scope)
        elif node.get("type") == "TABLE_FUNCTION":
            yield from ((True, path) for path in _file_arguments(node["function"], where))
        for key, child in node.items():
            if key != "cte_map":
                yield from _walk(child, scope, where)


def _recursive(entry: Mapping[str, Any]) -> bool:
    query = entry["value"].get("query_node") or {}
    return bool(query.get("type") == "RECURSIVE_CTE_NODE")


def _base_table(node: Mapping[str, Any], scope: frozenset[str]) -> Iterator[tuple[bool, str]]:
    name = str(node.get("table_name", ""))
    if "/" in name or name.lower().endswith(_FILE_ENDINGS):
        yield True, name
        return
    schema = node.get("schema_name")
    if schema == "main" or (not schema and name.lower() not in scope):
        yield False, name.lower()


def _file_arguments(function: Mapping[str, Any], where: str) -> Iterator[str]:
    name = str(function.get("function_name", "")).lower()
    if name not in FILE_FUNCTIONS:
        return
    expression = function["arguments"][0]["expression"] if function.get("arguments") else {}
    listed = expression.get("function_name") == "list_value"
    parts = [part["expression"] for part in expression["arguments"]] if listed else [expression]
    for part in parts:
        literal = part.get("literal") or {}
        if literal.get("kind") != "STRING":
            raise StoreError(
                f"{where}: write the path given to {name} out as a plain string, so that it can be followed"
            )
        yield str(literal["text"])
