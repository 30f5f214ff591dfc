"""Temporary views and tables that SQL files read: the datasets of a home, and what the study asks of whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.leaderboard.datasets import MEASURES, SHARED, Dataset
from metacog_pipeline.leaderboard.declared import declared_measures, words_of
from metacog_pipeline.leaderboard.sql_folder import Project, SqlModel
from metacog_pipeline.transcripts.folder import JUDGEMENTS

#: Folders of the home that hold datasets.
FOLDERS = (
    "study",
    "items",
    "transcripts",
    "scored",
    "judgements",
    "harmonised",
    "estimates",
    "cross_benchmark",
)
_LISTED = """
create temp table listed as
select
    model, provider, model_id, family, params_b, params_active_b, released, runs,
    if(source = 'simulated' or provider = 'simulated', 'simulated', 'measured') as source
from stg_models
where listed
order by model
"""
# A row per data set and task, and one with task '' per data set. Before items are built, data sets with estimates count.
_ASKED = """
create temp table asked as
with sets as (
    select distinct benchmark, dataset, coalesce(task, '') as task from kept_items
    union
    select distinct benchmark, dataset, coalesce(task, '') from stg_estimates
    where dataset is not null and benchmark in (from asked_benchmarks)
        and benchmark not in (select benchmark from kept_items)
)
from sets union select benchmark, dataset, '' from sets order by all
"""
# Folders of estimates that all benchmarks share; any other is a table of the benchmark's own.
_SHARED_FOLDERS = frozenset({"models", "runs", "comparisons", "published", "curves", "judge_agreement"})
# Folder of the home → the table of a benchmark's own that its files make.
_OWN = {"scored": "responses", "judgements": "judgements"}


def data_files(home: Home) -> list[str]:
    """Return the Parquet files the board is made from, by path below the home; those version 0.1 left are passed over."""
    found = (path for folder in FOLDERS for path in (home / folder).rglob("*.parquet"))
    return sorted(home.key(path) for path in found if not path.name.endswith("_schema.parquet"))


def refuse_torn(home: Home, files: Sequence[str]) -> None:
    """Raise StoreError for the first file that cannot be read, and say what to do about it."""
    for name in files:
        try:
            with pq.ParquetFile(home / name) as file:
                for (
                    batch
                ) in file.iter_batches():  # a torn file may have a whole footer: every byte is decoded
                    batch.validate(full=True)
        except (OSError, ValueError, pa.ArrowException) as error:
            why = one_line(str(error).replace(str(home / name), "the file"), 160)
            raise StoreError(
                f"{home / name}: not a readable Parquet file ({why}); move it away and run metacog run STUDY: "
                "it is made again from the kept answers, nothing is asked twice"
            ) from None


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
        if name == "stg_measures":
            declared = pl.DataFrame(declared_measures(self.asked), schema=MEASURES)
            self.connection.register("declared_measures", declared.to_arrow())
            whole = dataset.reading([], "from declared_measures")
        else:
            kept = [
                path for path in dataset.of(self.files) if name == "stg_calls" or not self._is_left_out(path)
            ]
            whole = dataset.reading(kept)
        for part in self.project.parts:
            if f"stg_{part.part_of}" == name and part.benchmark not in self.left_out:
                for read in part.reads:
                    self.ensure(read)
                self.connection.execute(f"create temp table part_{part.name} as\n{part.sql}")
                whole += f" union all by name select * from part_{part.name}"
        self.connection.execute(f"create temp view {name} as {whole}")

    def _is_left_out(self, path: str) -> bool:
        return path.split("/")[1].removesuffix(".parquet") in self.left_out

    def make_given(self) -> None:
        """Make the tables of `GIVEN`. Before any study is written down, every benchmark that has files counts as asked."""
        for name in ("stg_study", "stg_models", "stg_partitions", "stg_estimates", "stg_measures"):
            self.ensure(name)
        self.connection.execute(_LISTED)
        asked = "create temp table asked_benchmarks as select unnest(?::varchar[]) as benchmark"
        self.connection.execute(asked, [self.asked])
        self.connection.execute(f"create temp table kept_items as {' union all '.join(self._items())}")
        self.connection.execute(_ASKED)

    def find_asked(self) -> None:
        """Find out which benchmarks the study asks."""
        self.ensure("stg_partitions")
        rows = self.connection.execute("select distinct benchmark from stg_partitions").fetchall()
        folders = ("items/", "scored/", "estimates/")
        files = {
            path.split("/")[1].removesuffix(".parquet") for path in self.files if path.startswith(folders)
        }
        known = {str(name) for (name,) in rows} or files
        self.asked = sorted(each for each in known - {*self.left_out} if not each.endswith(JUDGEMENTS))

    def _items(self) -> Iterator[str]:
        """Yield the SELECT of each benchmark's items, after one of their columns without rows."""
        dataset = SHARED["stg_items"]
        columns = ", ".join(dataset.columns)
        yield f"select null::varchar as benchmark, {columns}, null::varchar as facts from ({dataset.reading([])})"
        for name in self.asked:
            path = f"items/{name}.parquet"
            if path in self.files:
                # The whole row is written as JSON before columns of other benchmarks stand beside it.
                row = f"select *, to_json(own)::varchar as facts from read_parquet({text(path)}) as own"
                yield f"select {text(name)}, {columns}, facts from ({dataset.reading([path], row)})"

    def own_tables(self, home: Home) -> list[SqlModel]:
        """Return a plain table for each sort of files of benchmarks without SQL: responses, judgements and tables."""
        served = {model.benchmark for model in (*self.project.models, *self.project.parts)}
        found: dict[tuple[str, str, str], str] = {}  # benchmark, table, folder → one of its files
        for path in self.files:
            folder, name, *rest = path.split("/")
            if name not in self.asked or name in served:
                continue
            if folder in _OWN:
                found.setdefault((name, _OWN[folder], f"{folder}/{name}"), path)
            elif folder == "estimates" and len(rest) > 1 and rest[0] not in _SHARED_FOLDERS:
                found.setdefault((name, rest[0], f"{folder}/{name}/{rest[0]}"), path)
        return [_own_table(home, *key, example) for key, example in found.items()]


def _own_table(home: Home, benchmark: str, table: str, folder: str, example: str) -> SqlModel:
    """Return the table of all files below ``folder``; of rows of models those that the study lists."""
    dataset = Dataset(f"{benchmark}_{table}", (f"{folder}/**/*.parquet",), {})
    names = pq.read_schema(home / example).names
    words = {name: said for name, said in words_of(benchmark, table).items() if said and name in names}
    of_listed = " where model in (select model from listed)" if "model" in names else ""
    return SqlModel(
        name=dataset.name,
        schema="detail",
        file=f"the files of {benchmark}",
        sql=f"select * from {dataset.view}{of_listed}\n",
        reads=(dataset.view, "listed"),
        benchmark=benchmark,
        description=f"One row: of {dataset.patterns[0]}.",
        columns={**words, "*": f"{benchmark} does not say what it means"},
        datasets=(dataset,),
    )
