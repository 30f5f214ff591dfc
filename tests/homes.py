"""Data files of a synthetic study home, in the types the leaderboard reads them with."""

import functools
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard import build as boards
from metacog_pipeline.leaderboard.datasets import Dataset
from metacog_pipeline.leaderboard.sql_folder import Project, load_project
from metacog_pipeline.scoring import printed
from metacog_pipeline.study import Study, load_study

_KEPT = tempfile.TemporaryDirectory(prefix="metacog-homes-")


@functools.cache
def _datasets() -> tuple[Dataset, ...]:
    return tuple(load_project().datasets.values())


def columns_of(path: str) -> dict[str, str]:
    """Return the columns, with their DuckDB types, of the dataset the file at ``path`` (below the home) belongs to."""
    for dataset in _datasets():
        if dataset.of([path]):
            return dict(dataset.columns)
    raise AssertionError(f"{path} belongs to no dataset")


def rows(names: str, *values: Sequence[object], **same: object) -> list[dict[str, object]]:
    """Return a row for each of ``values``, in the order of ``names``, with what all have the ``same``."""
    return [{**same, **dict(zip(names.split(), row, strict=True))} for row in values]


def write(home: Home, path: str, rows: Sequence[Mapping[str, object]]) -> Path:
    """Write ``rows`` to ``path`` below ``home``; columns they do not name are null, others of theirs are kept."""
    schema = _schema(tuple(columns_of(path).items()))
    columns = set(schema.names)
    extra = list(dict.fromkeys(name for row in rows for name in row if name not in columns))
    data = {
        **{field.name: pa.array([row.get(field.name) for row in rows], field.type) for field in schema},
        **{name: pa.array([row.get(name) for row in rows]) for name in extra},
    }
    target = home / path
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(data), target)
    return target


@functools.lru_cache(maxsize=256)
def _schema(columns: tuple[tuple[str, str], ...]) -> pa.Schema:
    """Return the Arrow types of DuckDB columns; a connection costs more than the file that is written."""
    shape = ", ".join(f"null::{kind} as {name}" for name, kind in columns)
    with duckdb.connect() as connection:
        return connection.sql(f"select {shape} where false").to_arrow_table().schema


def few_tables(patch: pytest.MonkeyPatch, *names: str, tested: bool = False) -> None:
    """Have boards made of these tables and of what they read, which takes a fraction of the time of all.

    For tests of what comes before a board; the tests of its tables are run where they are ``tested``.
    """
    patch.setattr(boards, "load_project", lambda folder=None: _few(load_project(folder), names, tested))
    patch.setattr(boards._Build, "write_comments", lambda self: None)


def _few(project: Project, names: Sequence[str], tested: bool) -> Project:
    # What is made last says of every board whether it is complete.
    kept, found = {*names, "progress"}, set[str]()
    while found != kept:
        found = {*kept}
        for model in project.models:
            if model.name in kept:
                kept |= {*model.reads, *project.lineage(model)}
    models = [each for each in project.models if each.name in kept]
    tables = {each.name for each in project.models} - kept
    tests = [each for each in project.tests if tested and not tables & {*each.reads}]
    if not tested:
        models = [replace(each, tests=()) for each in models]
    return replace(project, models=tuple(models), tests=tuple(tests))


def print_numbers(home: Home, benchmark: str, *, claims: bool = True) -> None:
    """Write what the paper of ``benchmark`` prints, as a study would; without ``claims`` nothing is fitted."""
    shutil.copytree(_printed(benchmark, claims), home.path, dirs_exist_ok=True)


@functools.cache
def _printed(benchmark: str, claims: bool) -> Path:
    """Return a home with what a paper prints and nothing else: the same for all tests, so made once."""
    folder = Path(_KEPT.name) / f"{benchmark}-{claims}"
    folder.mkdir()
    home, study = folder / "home", folder / "printed.toml"
    models = '[[models]]\nname = "m"\nprovider = "simulated"\n'
    study.write_text(f'[study]\nname = "t"\nhome = "home"\n{models}[benchmarks.{benchmark}]\n')
    found = bound(load_study(study), benchmark)
    if claims:
        printed.write(found)
    else:
        values = found.published.values(found).with_columns(benchmark=pl.lit(benchmark))
        write(Home(home), f"estimates/{benchmark}/published/published_values.parquet", values.to_dicts())
    return home


def lend_cases(study: Study) -> None:
    """Give a study of MEDLEY's sample cases what they are made by, for tests that do not hold how: 560 calls, 1.5 s.

    What a result was made from stands in it: where a study asks for others, it makes its own.
    """
    benchmark = bound(study, "medley")
    limit = benchmark.settings.limit
    shutil.copytree(_cases(study.study.seed, limit), study.home.path, dirs_exist_ok=True)


@functools.cache
def _cases(seed: int, limit: int | None) -> Path:
    """Return a home with the sample cases of a seed and the answers they rest on, and nothing else."""
    folder = Path(_KEPT.name) / f"cases-{seed}-{limit}"
    folder.mkdir()
    study = folder / "cases.toml"
    lines = ["[study]", 'name = "t"', 'home = "home"', f"seed = {seed}"]
    lines += [
        "[[models]]",
        'name = "m"',
        'provider = "simulated"',
        "[benchmarks.medley]",
        'dataset = "sample"',
    ]
    study.write_text("\n".join([*lines, *(() if limit is None else (f"limit = {limit}",))]))
    loaded = load_study(study)
    loaded.prepare()
    construction.build(bound(loaded, "medley"))
    kept = folder / "kept"
    for name in ("items", "transcripts"):
        shutil.copytree(loaded.home / name, kept / name)
    return kept
