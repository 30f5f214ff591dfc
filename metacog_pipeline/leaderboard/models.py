"""The SQL folder: one file = one SELECT = one table named by the file; ``tests/`` holds queries that return no row."""

from __future__ import annotations

import graphlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from metacog_pipeline.errors import StoreError, suggestion
from metacog_pipeline.files import sha256_hex, shipped
from metacog_pipeline.leaderboard.datasets import SHARED, Dataset
from metacog_pipeline.leaderboard.header import Header, parse_header

MARTS, DETAIL, BENCHMARKS, QUERIES, TESTS = "marts", "detail", "benchmarks", "queries", "tests"
#: Tables that a build makes before any SQL file runs: what the study asks now.
GIVEN = ("listed", "asked", "asked_benchmarks", "kept_items")
_CLOSING = re.compile(r";(?:\s|;|--[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*\Z")
_NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")


@dataclass(frozen=True, slots=True)
class SqlTest:
    """A query that must return no row; ``reads`` are the tables it looks at, ``benchmark`` as of `SqlModel`."""

    name: str
    file: str
    sql: str
    reads: tuple[str, ...]
    benchmark: str | None = None


@dataclass(frozen=True, slots=True)
class SqlModel:
    """One SQL file.

    Attributes
    ----------
    name, schema
        The table is ``schema.name``; schema is ``main`` or ``detail``.
    file
        As errors show it: ``marts/leaderboard.sql``.
    sql, header
        The SELECT; the comment above it.
    reads
        Names it selects from: tables, ``stg_`` views, what is in `GIVEN`.
    benchmark
        Whose table it is; None for those of all.
    """

    name: str
    schema: str
    file: str
    sql: str
    header: Header
    reads: tuple[str, ...]
    benchmark: str | None = None

    @property
    def digest(self) -> str:
        """What changes when the file does."""
        return sha256_hex(self.sql + repr(self.header))


@dataclass(frozen=True, slots=True)
class Project:
    """Every file of a folder: tables in the order they are built, parts of shared ones, tests, saved queries, datasets."""

    models: tuple[SqlModel, ...]
    parts: tuple[SqlModel, ...]
    tests: tuple[SqlTest, ...]
    queries: Mapping[str, str]
    datasets: Mapping[str, Dataset]

    def parts_of(self, view: str) -> list[SqlModel]:
        """Return the SQL files of benchmarks that add rows to a shared view."""
        return [part for part in self.parts if f"stg_{part.header.part_of}" == view]

    def sources(self, name: str) -> frozenset[str]:
        """Return the datasets a table or view reads, by view name, through parts but not through tables."""
        found = {name} & self.datasets.keys()
        for part in self.parts_of(name):
            found |= {source for read in part.reads for source in self.sources(read)}
        return frozenset(found)


def load_project(folder: Path | None = None) -> Project:
    """Read and check every SQL file of ``folder`` (default: those shipped).

    Raises
    ------
    StoreError
        If a file is not one SELECT, a name is used twice or unknown, or files read each other in a circle.
    """
    root = folder or shipped("dbt_like_sql")
    found: dict[str, SqlModel] = {}
    tests: list[SqlTest] = []
    queries: dict[str, str] = {}
    with duckdb.connect(":memory:") as parser:
        for path in sorted(each for each in root.rglob("*.sql") if not each.name.startswith(".")):
            file, layer = str(path.relative_to(root)), path.relative_to(root).parts[0]
            sql = _read(path, file)
            if layer == QUERIES:
                queries[path.stem] = _without_semicolon(sql)
            elif layer == TESTS:
                tests.append(_test(path, file, sql, _reads(parser, sql, file)))
            elif layer in (MARTS, DETAIL, BENCHMARKS):
                model = _model(path, file, layer, sql, _reads(parser, sql, file))
                if model.name in found:
                    raise StoreError(
                        f"{file} and {found[model.name].file} both make {model.name}; rename one"
                    )
                found[model.name] = model
    if not found:
        raise StoreError(
            f"{root}: no SQL file in {MARTS}, {DETAIL}, {BENCHMARKS}; is this the folder of the tables?"
        )
    datasets = {**SHARED, **{each.view: each for model in found.values() for each in model.header.reads}}
    parts = tuple(model for model in found.values() if model.header.part_of)
    tables = {name: model for name, model in found.items() if not model.header.part_of}
    _refuse_unknown([*found.values(), *tests], {*tables, *datasets, *GIVEN})
    return Project(tuple(_ordered(tables, parts)), parts, tuple(tests), queries, datasets)


def tables_behind(reads: Iterable[str], parts: Iterable[SqlModel]) -> Iterator[str]:
    """Yield ``reads``, and the names that parts of a shared view among them read."""
    parts = tuple(parts)
    for name in reads:
        yield name
        for part in parts:
            if f"stg_{part.header.part_of}" == name:
                yield from part.reads


def _test(path: Path, file: str, sql: str, reads: tuple[str, ...]) -> SqlTest:
    owner = path.parent.name if path.parent.parent.name == BENCHMARKS else None
    return SqlTest(path.stem, file, _without_semicolon(sql), reads, owner)


def _model(path: Path, file: str, layer: str, sql: str, reads: tuple[str, ...]) -> SqlModel:
    return SqlModel(
        name=path.stem,
        schema="main" if layer == MARTS else "detail",
        file=file,
        sql=_without_semicolon(sql),
        header=parse_header(sql, file),
        reads=reads,
        benchmark=path.parent.name if layer == BENCHMARKS else None,
    )


def _read(path: Path, where: str) -> str:
    if not _NAME.match(path.stem):
        raise StoreError(f"{where}: a file name must be lower-case letters, digits and underscores")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StoreError(f"{where}: not readable as UTF-8 text ({error})") from None


def _without_semicolon(sql: str) -> str:
    """Return ``sql`` fit to stand inside brackets: cut at a closing semicolon that only comments follow."""
    return _CLOSING.sub("", sql).rstrip() + "\n"


def _reads(parser: duckdb.DuckDBPyConnection, sql: str, where: str) -> tuple[str, ...]:
    """Return the tables a SELECT reads, as DuckDB's own parser says; ``where`` names the file in errors."""
    [(tree,)] = parser.execute("select json_serialize_sql(?::varchar)", [sql]).fetchall()
    parsed = json.loads(tree)
    if parsed.get("error"):
        raise StoreError(f"{where}: {parsed.get('error_message')}; a file holds one SELECT statement")
    if len(parsed["statements"]) != 1:
        raise StoreError(
            f"{where}: {len(parsed['statements'])} statements; a file holds one SELECT statement"
        )
    return tuple(sorted(set(_tables(parsed["statements"]))))


def _tables(node: Any, scope: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the tables below a node of a parse tree; ``scope`` holds the common table expressions visible there."""
    if isinstance(node, list):
        for child in node:
            yield from _tables(child, scope)
    elif isinstance(node, dict):
        for entry in (node.get("cte_map") or {}).get("map", ()):
            # An expression does not see itself: `with a as (select * from a)` reads the table a.
            yield from _tables(entry["value"], scope)
            scope |= {str(entry["key"]).lower()}
        name = str(node.get("table_name", "")).lower()
        if node.get("type") == "BASE_TABLE" and (name not in scope or node.get("schema_name")):
            yield name
        for key, child in node.items():
            if key != "cte_map":
                yield from _tables(child, scope)


def _refuse_unknown(files: Sequence[SqlModel | SqlTest], known: set[str]) -> None:
    for each in files:
        for name in each.reads:
            if name not in known:
                raise StoreError(
                    f"{each.file} reads {name}, which no SQL file makes{suggestion(name, known)}; "
                    "correct the name or add the file"
                )


def _ordered(tables: Mapping[str, SqlModel], parts: Sequence[SqlModel]) -> list[SqlModel]:
    graph = {
        name: sorted(read for read in tables_behind(model.reads, parts) if read in tables)
        for name, model in sorted(tables.items())
    }
    try:
        return [tables[name] for name in graphlib.TopologicalSorter(graph).static_order()]
    except graphlib.CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise StoreError(
            f"SQL files read each other in a circle: {circle}; break it at one of them"
        ) from None
