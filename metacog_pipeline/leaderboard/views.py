"""Temporary views and tables that SQL files read: the datasets of a home, and what the study asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.leaderboard.datasets import MEASURES, QUESTIONS, SHARED
from metacog_pipeline.leaderboard.glossary import declared_measures, declared_questions
from metacog_pipeline.leaderboard.sql_folder import ASKED, VIEWS, Project, model_of
from metacog_pipeline.transcripts.folder import JUDGEMENTS

# Views whose rows benchmarks declare, and the table they are registered as.
_DECLARED = {"stg_measures": "declared_measures", "stg_questions": "declared_questions"}
_RESPONSES = """\
-- One row: of scored/{name}/**/*.parquet.
-- Reads: {view} = scored/{name}/**/*.parquet (answer_ids varchar[])
-- columns:
--   *: {name} does not say what it means
select * exclude (answer_ids) from {view} semi join listed using (model)
"""


def data_files(home: Home, project: Project) -> list[str]:
    """Return the Parquet files the board is made from, by path below the home."""
    folders = {pattern.split("/")[0] for each in project.datasets.values() for pattern in each.patterns}
    found = (path for folder in folders for path in (home / folder).rglob("*.parquet"))
    # Version 0.1 left files of schemas beside them.
    return sorted(home.key(path) for path in found if not path.name.endswith("_schema.parquet"))


def refuse_torn(home: Home, files: Sequence[str]) -> None:
    """Raise StoreError for the first file that cannot be read, and say what to do about it."""
    for name in files:
        if (why := why_torn(home / name)) is not None:
            mend = "move it away and run metacog run STUDY: it is rebuilt from the kept answers, nothing is asked twice"
            raise StoreError(f"{home / name}: not a readable Parquet file ({why}); {mend}")


def why_torn(path: Path) -> str | None:
    """Return why a Parquet file cannot be read; None where it can."""
    try:
        with pq.ParquetFile(path) as file:
            # Every byte is decoded: a torn file may have a whole footer.
            for batch in file.iter_batches():
                batch.validate(full=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        return one_line(str(error).replace(str(path), "the file"), 160)
    return None


@dataclass(slots=True)
class Views:
    """The views of one build; of benchmarks in ``left_out`` nothing is read but what their calls cost."""

    connection: duckdb.DuckDBPyConnection
    project: Project
    files: Sequence[str]
    left_out: Mapping[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    _made: set[str] = field(default_factory=set)

    def ensure(self, name: str) -> None:
        """Make the view ``name``, with the rows that benchmarks add to it, unless it is there or no view at all."""
        dataset = self.project.datasets.get(name)
        if name in self._made or dataset is None:
            return
        self._made.add(name)
        files, declared = dataset.of(self.files), _DECLARED.get(name)
        if name != "stg_calls":  # what is left off the board has been paid all the same
            files = [path for path in files if owner(path) not in self.left_out]
        whole = dataset.reading(files, f"from {declared}" if declared else None)
        for part in self.project.parts:
            if f"stg_{part.part_of}" == name and part.benchmark not in self.left_out:
                for read in part.reads:
                    self.ensure(read)
                self.connection.execute(f"create temp table part_{part.name} as\n{part.sql}")
                whole += f" union all by name select * from part_{part.name}"
        self.connection.execute(f"create temp view {name} as {whole}")

    def find_asked(self) -> None:
        """Find out which benchmarks the study asks."""
        self.ensure("stg_partitions")
        rows = self.connection.execute("select distinct benchmark from stg_partitions").fetchall()
        # Before anything was asked those that have files: an import may come first.
        folders = ("items/", "scored/", "estimates/")
        there = {owner(path) for path in self.files if path.startswith(folders)}
        known = {str(name) for (name,) in rows} or there
        self.asked = sorted(each for each in known - {*self.left_out} if not each.endswith(JUDGEMENTS))

    def make_given(self) -> None:
        """Make the tables of what the study asks, and register what the benchmarks declare."""
        for name, rows, schema in (
            ("declared_measures", declared_measures(self.asked), MEASURES),
            ("declared_questions", declared_questions(self.asked), QUESTIONS),
        ):
            frame = pl.DataFrame([*rows], schema=schema, orient="row")
            self.connection.register(name, frame.to_arrow())
        asked = "create temp table asked_benchmarks as select unnest(?::varchar[]) as benchmark"
        self.connection.execute(asked, [self.asked])
        self.connection.execute(f"create temp table kept_items as {' union all '.join(self._items())}")
        for folder, kind in ((ASKED, "table"), (VIEWS, "view")):
            for model in self.project.beside(folder):
                for read in model.reads:
                    self.ensure(read)
                self.connection.execute(f"create temp {kind} {model.name} as\n{model.sql}")

    def _items(self) -> Iterator[str]:
        """Yield the SELECT of each benchmark's items, after one of their columns without rows."""
        dataset = SHARED["stg_items"]
        columns = ", ".join((*dataset.columns, "own"))
        yield f"select null::varchar as benchmark, {columns}, null::varchar as facts from ({dataset.reading([])})"
        for name in self.asked:
            path = f"items/{name}.parquet"
            if path in self.files:
                # The whole row is written as JSON before columns of other benchmarks are added.
                row = f"select *, to_json(whole)::varchar as facts from read_parquet({text(path)}) as whole"
                yield f"select {text(name)}, {columns}, facts from ({dataset.reading([path], row)})"

    def add_responses(self) -> None:
        """Add a plain table of the responses of each benchmark without SQL."""
        served = {model.benchmark for model in (*self.project.models, *self.project.parts)}
        models, datasets = [*self.project.models], dict(self.project.datasets)
        for name in self.asked:
            view = f"stg_{name}_responses"
            sql = _RESPONSES.format(name=name, view=view)
            model = model_of(f"{name}_responses.sql", sql, (view, "listed"))
            if name not in served and model.datasets[0].of(self.files):
                datasets[view] = model.datasets[0]
                models.append(replace(model, file=f"the files of {name}", benchmark=name))
        self.project = replace(self.project, models=tuple(models), datasets=datasets)


def owner(path: str) -> str:
    """Return the benchmark a data file is of, by its path; of one of all benchmarks its own name."""
    return path.split("/")[1].removeprefix("benchmark=").removesuffix(".parquet")
