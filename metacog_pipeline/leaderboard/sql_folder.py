"""The SQL folder: one file = one SELECT = one table named by the file; ``tests/`` holds queries that return no row.

The comment that opens a file says what the table is and what must hold of it::

    -- One row: one measure of one model.
    -- Key: benchmark, model, measure.
    -- Source: estimates/*/models.
    -- Reads: stg_metacogbench_judges = estimates/metacogbench/judges/*.parquet (dataset varchar, tier varchar)
    -- Part of: curves.
    -- #NOT_NULL(model)
    -- #SET{source: measured|published|simulated}
    -- columns:
    --   estimate: point estimate, 0 to 1 for shares

``Key`` is tested: no two rows share it, nulls taken as equal. ``Reads`` declares a dataset only this benchmark has, its
patterns separated by ``|`` and its columns with their DuckDB types. ``Part of`` makes rows of a shared table, no table of
its own. ``#SET`` lets nulls pass, ``#NOT_NULL`` does not. One row, key and source are the table's comment in the database.
"""

from __future__ import annotations

import functools
import graphlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import shipped
from metacog_pipeline.leaderboard.database import identifier, text
from metacog_pipeline.leaderboard.datasets import SHARED, Dataset
from metacog_pipeline.storage.read_only import parse

#: Folders besides the board's own tables: what the study asks, how the board was made, what is read and not kept.
ASKED, BUILD, VIEWS = BESIDE = ("asked", "build", "views")
_ENTRY = re.compile(r"^ ?(One row|Key|Source|Part of|Reads): ", re.MULTILINE)
_DESCRIBED = ("One row", "Key", "Source")
_COLUMN = re.compile(r"^ {2,3}([A-Za-z_*][\w*]*): ", re.MULTILINE)
_ASSERTION = re.compile(r"^\s*-- *(#.*)$", re.MULTILINE)
_DATASET = re.compile(r"(stg_\w+) = ([^()]+?) ?\((.*)\)")


@dataclass(frozen=True, slots=True)
class SqlTest:
    """A query that must return no row; ``reads`` are the tables it looks at."""

    name: str
    file: str
    sql: str
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SqlModel:
    """One SQL file that makes the table ``schema.name``."""

    name: str
    schema: str  # main or detail
    file: str
    sql: str
    reads: tuple[str, ...]  # tables, ``stg_`` views, and what a build makes itself (`views`)
    benchmark: str | None = None  # None for tables of all
    description: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)  # what they mean; * is for any letters of a name
    part_of: str | None = None  # the shared dataset the file adds rows to
    datasets: tuple[Dataset, ...] = ()  # those it declares
    tests: tuple[SqlTest, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """Every file of a folder: tables in the order they are built, parts of shared datasets, tests, datasets."""

    models: tuple[SqlModel, ...]
    parts: tuple[SqlModel, ...]
    others: tuple[SqlModel, ...]
    tests: tuple[SqlTest, ...]
    datasets: Mapping[str, Dataset]

    def lineage(self, model: SqlModel) -> tuple[str, ...]:
        """Return the tables and datasets the rows of a table come from, also through parts of benchmarks."""
        # What the study asks (`listed`, `asked`) chooses among rows and gives none.
        known = {*self.datasets, *(each.name for each in self.models)}
        through = {each.name: each.reads for each in self.beside(VIEWS)}
        reads = [read for name in model.reads for read in through.get(name, (name,))]
        sources = _sources(reads, self.parts)
        return tuple(sorted({"stg_items" if name == "kept_items" else name for name in sources} & known))

    def beside(self, folder: str) -> list[SqlModel]:
        """Return the tables of one folder of `BESIDE`."""
        return [model for model in self.others if model.file.startswith(f"{folder}/")]


def load_project(folder: Path | None = None) -> Project:
    """Read every SQL file of ``folder`` (default: those shipped); StoreError names the file with a mistake."""
    root = folder or shipped("dbt_like_sql")
    files = {str(path.relative_to(root)): path.read_text("utf-8") for path in sorted(root.rglob("*.sql"))}
    reads = _reads(tuple(files.items()))
    tests = tuple(SqlTest(Path(f).stem, f, files[f], read) for f, read in reads if f.startswith("tests/"))
    models = [model_of(f, files[f], read) for f, read in reads if not f.startswith("tests/")]
    if not models:
        raise StoreError(f"{root}: no SQL file; is this the folder of the tables?")
    datasets = {**SHARED, **{each.view: each for model in models for each in model.datasets}}
    parts = tuple(model for model in models if model.part_of)
    tables: dict[str, SqlModel] = {}
    for model in models:
        if (other := tables.setdefault(model.name, model)) is not model:
            raise StoreError(f"{model.file} and {other.file} both make {model.name}; rename one")
    others = tuple(model for model in models if model.file.split("/")[0] in BESIDE)
    ordered = tuple(each for each in _ordered(tables, parts) if each not in (*parts, *others))
    return Project(ordered, parts, others, tests, datasets)


def _sources(reads: Iterable[str], parts: Sequence[SqlModel]) -> Iterator[str]:
    """Yield ``reads``, and the names that parts of a shared dataset among them read."""
    for name in reads:
        yield name
        for part in parts:
            if f"stg_{part.part_of}" == name:
                yield from part.reads


def _ordered(tables: Mapping[str, SqlModel], parts: Sequence[SqlModel]) -> list[SqlModel]:
    graph = {name: sorted({*_sources(tables[name].reads, parts)} & {*tables}) for name in sorted(tables)}
    try:
        return [tables[name] for name in graphlib.TopologicalSorter(graph).static_order()]
    except graphlib.CycleError as error:
        raise StoreError(f"SQL files read each other in a circle: {' -> '.join(error.args[1])}") from None


@functools.lru_cache(maxsize=2)  # parsing takes longer than a small board
def _reads(texts: tuple[tuple[str, str], ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the tables that each file's SELECT reads, as DuckDB's own parser says."""
    found = []
    with duckdb.connect(":memory:") as connection:
        for file, sql in texts:
            try:
                found.append((file, tuple(sorted(parse(connection, sql).tables))))
            except StudyError as error:
                raise StoreError(f"{file}: {error}") from None
    return tuple(found)


# --- the comment that opens a file ------------------------------------------------------------------------------------
def model_of(file: str, sql: str, reads: tuple[str, ...]) -> SqlModel:
    """Return the table of a file and what its comment says of it."""
    layer, path = file.partition("/")[0], Path(file)
    comment = re.match(r"(?:--.*\n)*", sql)
    lines = "\n".join(line[2:] for line in (comment[0] if comment else "").splitlines() if "-- #" not in line)
    above, _, below = lines.partition("\n columns:\n")
    entries = _pairs(_ENTRY, above)
    said = dict(entries)
    key = [name.strip() for name in said.get("Key", "none").split(";")[0].rstrip(".").split(",")]
    assertions = [] if key == ["none"] else [f"#UNIQUE({', '.join(key)})"]
    return SqlModel(
        name=path.stem,
        schema="main" if layer == "marts" else "detail",
        file=file,
        sql=sql,
        reads=reads,
        benchmark=path.parent.name if layer == "benchmarks" else None,
        description=" ".join(f"{name}: {said[name]}" for name in _DESCRIBED if name in said),
        columns=dict(_pairs(_COLUMN, below)),
        part_of=said["Part of"].rstrip(".") if "Part of" in said else None,
        datasets=tuple(_dataset(each, file) for name, each in entries if name == "Reads"),
        tests=tuple(_assertion(each, path.stem, file) for each in (*assertions, *_ASSERTION.findall(sql))),
    )


def _pairs(pattern: re.Pattern[str], lines: str) -> list[tuple[str, str]]:
    """Return what ``pattern`` names and the text up to the next name, on one line."""
    found = pattern.split(lines)[1:]
    return [(name, " ".join(said.split())) for name, said in zip(found[::2], found[1::2], strict=True)]


def _dataset(said: str, file: str) -> Dataset:
    found = _DATASET.fullmatch(said)
    if found is None:
        raise StoreError(f"{file}: Reads: {said}: write Reads: stg_name = pattern (column type, …)")
    columns = dict(each.strip().split(" ", 1) for each in found[3].split(","))
    return Dataset(found[1], tuple(found[2].split(" | ")), columns)


def _assertion(said: str, table: str, file: str) -> SqlTest:
    """Return an assertion as a query for the rows that break it."""
    if found := re.fullmatch(r"#(UNIQUE|NOT_NULL)\(([\w, ]+)\)", said):
        names = [identifier(name.strip()) for name in found[2].split(",")]
        sql = f"select * from {table} where {' or '.join(f'{name} is null' for name in names)}"
        if found[1] == "UNIQUE":
            keys = ", ".join(names)
            sql = f"select {keys}, count(*) as copies from {table} group by {keys} having count(*) > 1"
    elif found := re.fullmatch(r"#SET\{(\w+): ([^{}]+)\}", said):
        allowed = ", ".join(text(each) for each in found[2].split("|"))
        sql = f"select * from {table} where {identifier(found[1])}::varchar not in ({allowed})"
    else:
        raise StoreError(f"{file}: {said} is not an assertion; write #NOT_NULL(a, b) or #SET{{a: x|y}}")
    return SqlTest(said, file, sql, (table,))
