"""The SQL folder: one file = one SELECT = one table or view named by the file; ``tests/`` holds zero-row queries."""

from __future__ import annotations

import difflib
import functools
import graphlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import shipped
from metacog_pipeline.leaderboard.dependencies import reads_of
from metacog_pipeline.leaderboard.header import Assertion, Materialized, parse_header

Layer = Literal["staging", "intermediate", "marts"]
LAYERS: tuple[Layer, ...] = ("staging", "intermediate", "marts")
TESTS = "tests"
_CLOSING = re.compile(r";(?:\s|;|--[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*\Z")
_NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")


@dataclass(frozen=True, slots=True)
class SqlTest:
    """A query that must return no row. ``depends_on`` are the tables it looks at."""

    name: str
    path: Path
    sql: str
    description: str
    depends_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SqlModel:
    """One SQL file.

    ``depends_on`` are other models; ``datasets`` the file patterns it reads, relative to the study home; ``columns``
    (name, text) pairs from the header; ``tests`` the names of the zero-row queries that look at it.
    """

    name: str
    layer: Layer
    path: Path
    sql: str
    description: str
    materialized: Materialized
    depends_on: tuple[str, ...]
    datasets: tuple[str, ...]
    assertions: tuple[Assertion, ...]
    columns: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]

    @property
    def file(self) -> str:
        """Layer and file name, as errors show them: ``marts/board.sql``."""
        return f"{self.layer}/{self.path.name}"


@dataclass(frozen=True, slots=True)
class Project:
    """Every model of a folder, sources before what reads them, and every zero-row test."""

    models: tuple[SqlModel, ...]
    tests: tuple[SqlTest, ...]


def load_models(folder: Path | None = None) -> list[SqlModel]:
    """Return the models of ``folder`` (default: those shipped) in the order they are built.

    Raises
    ------
    StoreError
        As :func:`load_project`.
    """
    return list(load_project(folder).models)


def load_project(folder: Path | None = None) -> Project:
    """Read and check every SQL file of ``folder`` (default: those shipped).

    Raises
    ------
    StoreError
        If a file is not one SELECT, a name is used twice or unknown, or files read each other in a circle.
    """
    root = folder or shipped("dbt_like_sql")
    paths = [path for part in (*LAYERS, TESTS) for path in _sql_files(root / part)]
    return _parsed(root, tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths))


@functools.lru_cache(maxsize=8)
def _parsed(root: Path, files: tuple[tuple[Path, int, int], ...]) -> Project:
    """Read the files once per change: a process that rebuilds after every answered model would parse them each time."""
    paths = [path for path, _, _ in files]
    if not any(path.parent.name in LAYERS for path in paths):
        raise StoreError(f"{root}: no SQL file in {', '.join(LAYERS)}; is this the folder of the SQL models?")
    connection = duckdb.connect(":memory:")
    try:
        tests = tuple(_test(connection, path) for path in paths if path.parent.name == TESTS)
        found: dict[str, SqlModel] = {}
        for layer in LAYERS:
            for path in (each for each in paths if each.parent.name == layer):
                model = _model(connection, layer, path, tests)
                if model.name in found:
                    raise StoreError(
                        f"{model.file} and {found[model.name].file} both make {model.name}; rename one of them"
                    )
                found[model.name] = model
    finally:
        connection.close()
    _refuse_unknown(found, tests)
    return Project(tuple(_ordered(found)), tests)


def _sql_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.sql") if not path.name.startswith("."))


def _read(path: Path, where: str) -> str:
    if not _NAME.match(path.stem):
        raise StoreError(f"{where}: a file name must be lower-case letters, digits and underscores")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StoreError(f"{where}: not readable as UTF-8 text ({error})") from None


def _model(
    connection: duckdb.DuckDBPyConnection, layer: Layer, path: Path, tests: Iterable[SqlTest]
) -> SqlModel:
    where = f"{layer}/{path.name}"
    text = _read(path, where)
    header = parse_header(text, where)
    reads = reads_of(connection, text, where)
    return SqlModel(
        name=path.stem,
        layer=layer,
        path=path,
        sql=_without_semicolon(text),
        description=header.description,
        materialized=header.materialized,
        depends_on=reads.tables,
        datasets=reads.datasets,
        assertions=header.assertions,
        columns=header.columns,
        tests=tuple(test.name for test in tests if path.stem in test.depends_on),
    )


def _test(connection: duckdb.DuckDBPyConnection, path: Path) -> SqlTest:
    where = f"{TESTS}/{path.name}"
    text = _read(path, where)
    header = parse_header(text, where)
    reads = reads_of(connection, text, where)
    return SqlTest(path.stem, path, _without_semicolon(text), header.description, reads.tables)


def _without_semicolon(sql: str) -> str:
    """Return ``sql`` fit to stand inside brackets: cut at a closing semicolon that only comments follow."""
    return _CLOSING.sub("", sql).rstrip() + "\n"


def _refuse_unknown(found: Mapping[str, SqlModel], tests: Iterable[SqlTest]) -> None:
    readers = [(model.file, model.depends_on) for model in found.values()]
    readers += [(f"{TESTS}/{test.path.name}", test.depends_on) for test in tests]
    for file, names in readers:
        for name in names:
            if name not in found:
                raise StoreError(
                    f"{file} reads {name}, which no SQL file makes{suggestion(name, found)}; "
                    "correct the name or add the file"
                )


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean x?)`` for the closest of ``known``, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]}?)" if close else ""


def _ordered(found: Mapping[str, SqlModel]) -> list[SqlModel]:
    graph = {name: sorted(model.depends_on) for name, model in sorted(found.items())}
    try:
        return [found[name] for name in graphlib.TopologicalSorter(graph).static_order()]
    except graphlib.CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise StoreError(
            f"SQL files read each other in a circle: {circle}; break it at one of them"
        ) from None
