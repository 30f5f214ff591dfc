"""Temporary views and tables that SQL files read: the datasets of a home, and what the study asks of whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.leaderboard.datasets import MEASURES, SHARED, Dataset
from metacog_pipeline.leaderboard.declared import words_of
from metacog_pipeline.leaderboard.header import Header
from metacog_pipeline.leaderboard.models import Project, SqlModel
from metacog_pipeline.transcripts.folder import JUDGEMENTS

#: Folders of the home that hold datasets.
FOLDERS = (
    *("study", "items", "transcripts", "scored", "judgements", "harmonised", "estimates", "cross_benchmark"),
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
# Folders of estimates that all benchmarks share; any other is a table of the benchmark's own.
_SHARED_FOLDERS = frozenset({"models", "runs", "comparisons", "published", "curves", "judge_agreement"})
# Folder of the home → the table of a benchmark's own that its files make.
_OWN = {"scored": "responses", "judgements": "judgements"}
_ITEMS = SHARED["stg_items"]
_ITEM_COLUMNS = ", ".join(_ITEMS.columns)


def data_files(home: Home) -> list[str]:
    """Return the Parquet files the board is made from, by path below the home; those version 0.1 left are passed over."""
    found = (path for folder in FOLDERS for path in (home / folder).rglob("*.parquet"))
    return sorted(home.key(path) for path in found if not path.name.endswith("_schema.parquet"))


def owner(path: str) -> str:
    """Return the benchmark a data file is of, by its path; of one of all benchmarks its own name."""
    folder, _, rest = path.partition("/")
    name = rest.partition("/")[0].removesuffix(".parquet")
    return name.removeprefix("benchmark=") if folder == "transcripts" else name


def torn_file_error(home: Home, files: Sequence[str]) -> StoreError | None:
    """Return the error naming the first file that cannot be read and what to do about it; None when all can."""
    for name in files:
        try:
            with pq.ParquetFile(home / name) as file:
                for (
                    batch
                ) in file.iter_batches():  # every byte is decoded: a torn file may have a whole footer
                    batch.validate(full=True)
        except (OSError, ValueError, pa.ArrowException) as error:
            why = one_line(str(error).replace(str(home / name), "the file"), 160)
            again = (
                "it is written again from the journal beside it"
                if name.startswith("transcripts/")
                else "it is made again from the kept answers, nothing is asked twice"
            )
            return StoreError(
                f"{home / name}: not a readable Parquet file ({why}); move it away and run metacog run STUDY: {again}"
            )
    return None


@dataclass(slots=True)
class Views:
    """The views of one build; of benchmarks in ``left_out`` nothing is read but what their calls cost."""

    connection: duckdb.DuckDBPyConnection
    project: Project
    files: Sequence[str]
    left_out: Collection[str]
    asked: list[str] = field(default_factory=list)
    failed_parts: dict[str, str] = field(default_factory=dict)
    _made: set[str] = field(default_factory=set)

    def files_of(self, dataset: Dataset) -> list[str]:
        """Return the files of a dataset."""
        found = dataset.of(self.files)
        return (
            found if dataset.name == "calls" else [each for each in found if owner(each) not in self.left_out]
        )

    def ensure(self, name: str) -> None:
        """Make the view ``name``, with the rows that benchmarks add to it, unless it is there or no view at all."""
        if name in self._made or name not in self.project.datasets:
            return
        self._made.add(name)
        dataset = self.project.datasets[name]
        relation = "from declared_measures" if name == "stg_measures" else None
        whole = dataset.reading(self.files_of(dataset), relation)
        for part in self.project.parts_of(name):
            if part.benchmark not in self.left_out and self._part(part):
                whole += f" union all by name select * from part_{part.name}"
        self.connection.execute(f"create temp view {name} as {whole}")

    def _part(self, part: SqlModel) -> bool:
        """Make the rows a benchmark adds to a shared view; False, and the reason kept, where they cannot be made."""
        try:
            for read in part.reads:
                self.ensure(read)
            self.connection.execute(f"create temp table part_{part.name} as\n{part.sql}")
        except duckdb.Error as error:
            self.failed_parts[part.name] = f"{part.file}: {one_line(str(error), 300)}"
            return False
        return True

    def make_asked(self) -> None:
        """Make ``listed`` and ``asked_benchmarks``, and ``kept_items`` and ``asked`` without rows, see `make_items`.

        Before any study is written down, every benchmark that has files counts as asked.
        """
        for name in ("stg_study", "stg_models", "stg_partitions"):
            self.ensure(name)
        self.connection.execute(_LISTED)
        found = self.connection.execute("select distinct benchmark from stg_partitions").fetchall()
        with_files = {
            owner(path) for path in self.files if path.startswith(("items/", "scored/", "estimates/"))
        }
        known = {str(name) for (name,) in found} or with_files
        self.asked = sorted(each for each in known - {*self.left_out} if not each.endswith(JUDGEMENTS))
        asked = "create temp table asked_benchmarks as select unnest(?::varchar[]) as benchmark"
        self.connection.execute(asked, [self.asked])
        self.connection.execute(
            f"create temp table kept_items as select null::varchar as benchmark, {_ITEM_COLUMNS}, null::varchar as facts "
            f"from ({_ITEMS.reading([])}); create temp table asked (benchmark varchar, dataset varchar, task varchar)"
        )

    def make_items(self, name: str) -> None:
        """Add the items of one benchmark to ``kept_items``, and its data sets and tasks to ``asked``.

        ``asked`` has a row per data set and task, and one with task '' per data set. Before the items are built, every data
        set that has estimates counts.
        """
        path, sets = f"items/{name}.parquet", "select distinct dataset, coalesce(task, '') as task from"
        if path in self.files:
            # The whole row is written as JSON before columns of other benchmarks stand beside it.
            row = f"select *, to_json(own)::varchar as facts from read_parquet({text(path)}) as own"
            read = f"select {text(name)} as benchmark, {_ITEM_COLUMNS}, facts from ({_ITEMS.reading([path], row)})"
            self.connection.execute(f"insert into kept_items {read}")
            found = f"{sets} kept_items where benchmark = {text(name)}"
        else:
            estimates = SHARED["stg_estimates"]
            own = [each for each in self.files_of(estimates) if owner(each) == name]
            found = f"{sets} ({estimates.reading(own)}) where dataset is not null"
        both = f"{found} union select dataset, '' from ({found})"
        self.connection.execute(f"insert into asked select {text(name)}, * from ({both}) order by all")

    def declare(self, rows: list[dict[str, object]]) -> None:
        """Give ``stg_measures`` its rows: what the benchmarks declare."""
        self.connection.register("declared_measures", pl.DataFrame(rows, schema=MEASURES).to_arrow())

    def add_own_tables(self, home: Home) -> None:
        """Add a plain table for each sort of files of a benchmark that has no SQL: its responses, judgements and tables."""
        served = {model.benchmark for model in (*self.project.models, *self.project.parts)}
        found: dict[tuple[str, str, str], str] = {}  # benchmark, table, folder → one of its files
        for path in self.files:
            parts = path.split("/")
            if len(parts) < 3 or parts[1] in served or parts[1] not in self.asked:
                continue
            if parts[0] in _OWN:
                found.setdefault((parts[1], _OWN[parts[0]], "/".join(parts[:2])), path)
            elif parts[0] == "estimates" and len(parts) > 3 and parts[2] not in _SHARED_FOLDERS:
                found.setdefault((parts[1], parts[2], "/".join(parts[:3])), path)
        made = [_own_table(home, *key, example) for key, example in found.items()]
        datasets = {each.view: each for model in made for each in model.header.reads}
        self.project = replace(
            self.project,
            models=(*self.project.models, *made),
            datasets={**self.project.datasets, **datasets},
        )


def _own_table(home: Home, benchmark: str, table: str, folder: str, example: str) -> SqlModel:
    """Return the table of all files below ``folder``; of rows of models those that the study lists."""
    dataset = Dataset(f"{benchmark}_{table}", (f"{folder}/**/*.parquet",), {})
    names = pq.read_schema(home / example).names
    words = {name: said for name, said in words_of(benchmark, table).items() if said and name in names}
    unsaid = {"*": f"{benchmark} does not say what it means"}
    of_listed = " where model in (select model from listed)" if "model" in names else ""
    return SqlModel(
        name=dataset.name,
        schema="detail",
        file=f"the files of {benchmark}",
        sql=f"select * from {dataset.view}{of_listed}\n",
        header=Header(f"One row: of {dataset.patterns[0]}.", (), None, (dataset,), (), {**words, **unsaid}),
        reads=(dataset.view, "listed"),
        benchmark=benchmark,
    )
