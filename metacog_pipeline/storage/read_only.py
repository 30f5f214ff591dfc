"""Read-only DuckDB: a query reads attached files and the study's Parquet files, and does nothing else at any depth.

Two guards, each enough alone for what writes. The parse tree of a statement is walked: every query in it is a SELECT, every
table function one of a list. And the connection can open no file after `seal`, neither to read nor to write.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import duckdb

from metacog_pipeline.errors import StudyError
from metacog_pipeline.home import Home

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

_QUERIES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_TABLES = {  # table functions that read what is in the statement or the catalog of the board
    *("range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree", "summary"),
    *("histogram", "histogram_values", "read_parquet", "pragma_table_info"),
    *(f"duckdb_{name}" for name in ("columns", "tables", "views", "schemas", "types", "functions")),
}
_EFFECTS = {"nextval", "setval", "setseed", "sleep_ms", "write_log"}  # scalar functions that change something
_VERBS = {"copy", "insert", "update", "delete", "merge", "create", "drop", "alter", "attach", "call", "set"}
_PARQUET = re.compile(r"""['"]([^'"]+\.parquet)['"]""")
# A DuckDB file attached before stays readable. DuckDB's own read_parquet opens files, so that a macro replaces it.
_SEALED = """
set temp_directory = '';
set python_enable_replacements = false;
set enable_external_access = false;
set disabled_filesystems = 'LocalFileSystem';
create temp macro read_parquet(path, union_by_name := true) as table from query_table(path);
set lock_configuration = true;
"""


def seal(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep a connection from opening any file or address from now on."""
    connection.execute(_SEALED)


@dataclass(slots=True)
class Parsed:
    """The contents of a SELECT at any depth: kinds of queries, tables that are no expressions of its own, functions."""

    queries: set[str]
    tables: set[str]
    functions: set[str]
    table_functions: set[str]


def parse(connection: duckdb.DuckDBPyConnection, sql: str) -> Parsed:
    """Return the contents of one SELECT; StudyError where ``sql`` is another statement, or several."""
    found = Parsed(set(), set(), set(), set())
    expressions: set[str] = set()

    def look(node: dict[str, Any]) -> dict[str, Any]:
        kind = str(node.get("type", ""))
        if "cte_map" in node or kind.endswith("_NODE"):
            found.queries.add(kind)
        if kind == "BASE_TABLE":
            found.tables.add(node["table_name"].lower())
        if kind == "TABLE_FUNCTION":
            found.table_functions.add(node["function"]["function_name"].lower())
        found.functions.add(str(node.get("function_name", "")).lower())
        # The name of a common table expression is its own: it hides no table.
        expressions.update(each["key"].lower() for each in (node.get("cte_map") or {}).get("map", ()))
        return node

    [(tree,)] = connection.execute("select json_serialize_sql(?::varchar)", [sql]).fetchall()
    try:
        parsed = json.loads(tree, object_hook=look)
    except RecursionError:
        raise StudyError("nested too deeply; give a shorter SELECT") from None
    if parsed["error"] or len(parsed["statements"]) != 1:
        raise StudyError(f"{parsed.get('error_message', 'several statements')}; give exactly one SELECT")
    found.tables -= expressions
    return found


def require_reading(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise StudyError where ``sql`` is not one statement that only reads; duckdb.Error where it is no SQL."""
    sql.encode("utf-8")  # UnicodeError rather than a fault of DuckDB's binding
    kinds = [each.type for each in connection.extract_statements(sql)]
    if kinds == [duckdb.StatementType.MULTI]:
        # PIVOT without a list of columns has no tree that DuckDB gives out: here no word is allowed that could write.
        every = "select function_name from duckdb_functions() where function_type in ('table', 'table_macro')"
        functions = {str(name) for (name,) in connection.execute(every).fetchall()}
        refused = {*re.findall(r"\w+", sql.lower())} & ((functions - _TABLES) | _VERBS | _EFFECTS)
    elif kinds == [duckdb.StatementType.SELECT]:
        parsed = parse(connection, sql)
        refused = (
            (parsed.queries - _QUERIES) | (parsed.table_functions - _TABLES) | (parsed.functions & _EFFECTS)
        )
    else:
        refused = {kind.name for kind in kinds} if len(kinds) == 1 else {f"{len(kinds)} statements"}
    if refused:
        what = min(refused).removesuffix("_QUERY_NODE")
        raise StudyError(f"{what} is not allowed, the leaderboard is only read here; give a SELECT")


def add_files(connection: duckdb.DuckDBPyConnection, home: Home, sql: str) -> None:
    """Make a view of each Parquet file or pattern below ``home`` that ``sql`` names, as in ``from 'items/*.parquet'``."""
    # pyarrow reads them, so that DuckDB needs no right to open a file.
    for name in sorted({*_PARQUET.findall(sql)}):
        if (found := dataset(home, name)) is not None:
            connection.register(name, found)


def dataset(home: Home, name: str, schema: pa.Schema | None = None) -> ds.Dataset | None:
    """Return the Parquet files below ``home`` that a path or pattern names, with all columns or those of ``schema``."""
    root, pattern = home.path.resolve(), PurePosixPath(name)
    if pattern.is_relative_to(root):
        pattern = pattern.relative_to(root)
    if pattern.is_absolute() or ".." in pattern.parts:
        return None
    # Links and paths out of the home are passed over.
    inside = [
        str(path) for path in sorted(root.glob(str(pattern))) if path.resolve() == path and path.is_file()
    ]
    if not inside:
        return None
    # Imported late: few queries read files.
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    if schema is None:
        schema = pa.unify_schemas(map(pq.read_schema, inside), promote_options="permissive")
    return ds.dataset(inside, schema=schema, format="parquet")
