"""The SQL folder: one file = one SELECT = one table named by the file; ``tests/`` holds queries that return no row."""

from __future__ import annotations

import functools
import graphlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from metacog_pipeline.errors import StoreError, suggestion
from metacog_pipeline.files import sha256_hex, shipped
from metacog_pipeline.leaderboard.dependencies import Reads, reads_of, serialized
from metacog_pipeline.leaderboard.header import Header, parse_header
from metacog_pipeline.leaderboard.staging import SHARED, Dataset

MARTS, DETAIL, BENCHMARKS, QUERIES, TESTS = "marts", "detail", "benchmarks", "queries", "tests"
#: Made in `listing`, before any table: what the study asks now.
GIVEN = ("listed", "asked", "asked_benchmarks", "kept_items")
_OF_LISTED = " where model in (select model from listed)"
_CLOSING = re.compile(r";(?:\s|;|--[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*\Z")
_NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")


@dataclass(frozen=True, slots=True)
class SqlTest:
    """A query that must return no row. ``reads`` are the tables it looks at."""

    name: str
    file: str
    sql: str
    reads: tuple[str, ...]


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
class OwnTable:
    """A table of a benchmark without SQL: whether its rows are of models, and what is said of its columns."""

    benchmark: str
    table: str
    dataset: Dataset
    of_models: bool
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Project:
    """Every file of a folder: tables in the order they are built, parts of shared ones, tests, saved queries, datasets."""

    models: tuple[SqlModel, ...]
    parts: tuple[SqlModel, ...]
    tests: tuple[SqlTest, ...]
    queries: Mapping[str, str]
    datasets: Mapping[str, Dataset]

    def sources(self, name: str) -> frozenset[str]:
        """Return the datasets behind a table or view, by view name, through parts but not through tables."""
        parts = [each for each in self.parts if f"stg_{each.header.part_of}" == name]
        found = {name} if name in self.datasets else set()
        for part in parts:
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
    paths = sorted(path for path in root.rglob("*.sql") if not path.name.startswith("."))
    return _parsed(root, tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths))


@functools.lru_cache(maxsize=8)
def _parsed(root: Path, files: tuple[tuple[Path, int, int], ...]) -> Project:
    """Read the files once per change: a process that rebuilds after every answered model would parse them each time."""
    found: dict[str, SqlModel] = {}
    tests: list[SqlTest] = []
    queries: dict[str, str] = {}
    texts = {path: _read(path, str(path.relative_to(root))) for path, _, _ in files}
    asked = {
        path: sql for path, sql in texts.items() if _layer(root, path) in (TESTS, MARTS, DETAIL, BENCHMARKS)
    }
    with duckdb.connect(":memory:") as connection:
        parsed = dict(zip(asked, serialized(connection, [*asked.values()]), strict=True))
    for path, sql in texts.items():
        layer, file = _layer(root, path), str(path.relative_to(root))
        if layer == QUERIES:
            queries[path.stem] = _without_semicolon(sql)
        if path not in parsed:
            continue
        reads = reads_of(parsed[path], file)
        if layer == TESTS:
            tests.append(SqlTest(path.stem, file, _without_semicolon(sql), reads.tables))
            continue
        model = _model(path, file, layer, sql, reads)
        if model.name in found:
            raise StoreError(f"{file} and {found[model.name].file} both make {model.name}; rename one")
        found[model.name] = model
    if not found:
        raise StoreError(
            f"{root}: no SQL file in {MARTS}, {DETAIL}, {BENCHMARKS}; is this the folder of the tables?"
        )
    datasets = {**SHARED, **{each.view: each for model in found.values() for each in model.header.reads}}
    parts = tuple(model for model in found.values() if model.header.part_of)
    tables = {name: model for name, model in found.items() if not model.header.part_of}
    _refuse_unknown([*found.values()], tests, {*tables, *datasets, *GIVEN})
    return Project(tuple(_ordered(tables, parts)), parts, tuple(tests), queries, datasets)


def with_own_tables(project: Project, own: Sequence[OwnTable]) -> Project:
    """Return ``project`` with a plain table for each of ``own``."""
    made = [
        SqlModel(
            name=f"{each.benchmark}_{each.table}",
            schema="detail",
            file=f"the files of {each.benchmark}",
            sql=f"select * from {each.dataset.view}{_OF_LISTED if each.of_models else ''}\n",
            header=Header(
                f"One row: of {each.dataset.patterns[0]}.", (), None, None, (), (),
                {**each.words, "*": f"{each.benchmark} does not say what it means"},
            ),
            reads=(each.dataset.view, "listed"),
            benchmark=each.benchmark,
        )
        for each in own
    ]  # fmt: skip
    datasets = {**project.datasets, **{each.dataset.view: each.dataset for each in own}}
    return replace(project, models=(*project.models, *made), datasets=datasets)


def _layer(root: Path, path: Path) -> str:
    return path.relative_to(root).parts[0]


def _model(path: Path, file: str, layer: str, sql: str, reads: Reads) -> SqlModel:
    return SqlModel(
        name=path.stem,
        schema="main" if layer == MARTS else "detail",
        file=file,
        sql=_without_semicolon(sql),
        header=parse_header(sql, file),
        reads=reads.tables,
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


def _refuse_unknown(models: Iterable[SqlModel], tests: Iterable[SqlTest], known: set[str]) -> None:
    readers = [(model.file, model.reads) for model in models] + [(test.file, test.reads) for test in tests]
    for file, names in readers:
        for name in names:
            if name not in known:
                raise StoreError(
                    f"{file} reads {name}, which no SQL file makes{suggestion(name, known)}; "
                    "correct the name or add the file"
                )


def tables_behind(reads: Iterable[str], parts: Iterable[SqlModel]) -> Iterator[str]:
    """Yield the names behind ``reads``, those that parts of a shared view read among them."""
    parts = tuple(parts)
    for name in reads:
        yield name
        for part in parts:
            if f"stg_{part.header.part_of}" == name:
                yield from part.reads


def _ordered(tables: Mapping[str, SqlModel], parts: tuple[SqlModel, ...]) -> list[SqlModel]:
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
