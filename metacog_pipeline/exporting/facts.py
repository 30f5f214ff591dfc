"""All that leaves a study, read in one place: every format writes what is here and reads nothing else.

Texts are without secrets (`cleaning`). Items, and prompts that hold them, leave only where the licence of every source they
are made from allows copies; otherwise each leaves as its id and its digest.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline import __version__
from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.benchmark.contract import Source
from metacog_pipeline.errors import StoreError
from metacog_pipeline.exporting.cleaning import Cleaner
from metacog_pipeline.files import read_toml, sha256_hex
from metacog_pipeline.leaderboard.output import Rows, to_csv
from metacog_pipeline.leaderboard.read import columns_of, one_connection, query_table
from metacog_pipeline.scoring import files as scored_files
from metacog_pipeline.scoring import printed
from metacog_pipeline.study import Study
from metacog_pipeline.study.new_file import toml_text

ABOUT, STUDY, FILES, IMPORTED = "metacog.json", "study.toml", "files", "imported"
#: Licences that allow copies to be passed on, as publishers write them.
_OPEN = re.compile(
    r"\b(?:CC[- ]?0|CC[- ]BY(?:[- ]SA)?(?:[- ]\d\.\d)?(?![- ]N)|public domain|MIT|Apache|BSD|ODC-By|Unlicense)\b",
    re.IGNORECASE,
)
#: Tables that hold when and on which disk a board was built, not what is on it.
_OF_THE_BUILD = ("inputs", "snapshot")
_TEXTS_OF_ITEMS = ("question", "key", "facts")


@dataclass(frozen=True, slots=True)
class Facts:
    """The results of a study. StoreError where it has no board yet."""

    study: Study
    clean: Cleaner

    @classmethod
    def of(cls, study: Study) -> Facts:
        """Return the facts of a study that has a board."""
        if not study.home.leaderboard.exists():
            raise StoreError(f"{study.home}: has no board yet; run it first: metacog run {study.path.name}")
        return cls(study, Cleaner(study))

    # --- about the study ----------------------------------------------------------------------------------------------
    def about(self) -> dict[str, Any]:
        """Return what every export says of itself: program, study, snapshot, benchmarks with their sources."""
        shot = query_table(self.study.home, "select id, version from detail.snapshot").to_pylist()[0]
        return {
            "made_by": "metacog_pipeline", "version": __version__, "board_version": shot["version"],
            "snapshot": shot["id"], "study": self.study.study.name, "seed": self.study.study.seed,
            "benchmarks": {each.name: self._of(each) for each in self.benchmarks()},
        }  # fmt: skip

    def _of(self, benchmark: Bound) -> dict[str, Any]:
        paper, home = benchmark.paper, self.study.home
        published = [
            {"name": each.name, "urls": [*each.urls], "licence": each.licence, "sha256": each.digest(home)}
            for each in sources(benchmark)
        ]
        return {
            "title": benchmark.title,
            "paper": {name: getattr(paper, name) for name in ("title", "authors", "year", "url")},
            "versions": {stage.value: version for stage, version in benchmark.versions.items()},
            "sources": published,
            "published": printed.paths(benchmark)[0].exists(),
            "items": "copied" if may_copy(benchmark) else "by id and digest",
            "items_sha256": item_files.items_digest(home, benchmark.name, benchmark.Item),
        }

    def benchmarks(self) -> list[Bound]:
        """Return the benchmarks of the study whose items are built, in the order of its file."""
        home = self.study.home
        return [each for each in enabled(self.study) if item_files.items_path(home, each.name).exists()]

    def write_study(self, folder: Path) -> None:
        """Write the study file with the files it names, without home, owners and deployment; folders are left out."""
        table = read_toml(self.study.path)
        table.pop("deploy", None)
        table["study"] = {key: each for key, each in table["study"].items() if key not in ("home", "owners")}
        table["benchmarks"] = self._with_files(table.get("benchmarks", {}), folder)
        for path in sorted(self.study.home.imported.glob("*.jsonl")):
            self._copy(path, folder / IMPORTED / path.name)
        (folder / STUDY).write_text(toml_text(self.clean.value(table)), encoding="utf-8")

    def _with_files(self, value: Any, folder: Path) -> Any:
        """Return a table with each file it names copied below ``folder`` and named as it is there."""
        if isinstance(value, Mapping):
            return {key: self._with_files(each, folder) for key, each in value.items()}
        if isinstance(value, list):
            return [self._with_files(each, folder) for each in value]
        path = next(named_paths(value, self.study.beside), None)
        if path is None or path.is_dir():
            return value if path is None else "[path]"
        name, number = path.name, 1
        while (target := folder / FILES / name).exists() and target.read_bytes() != path.read_bytes():
            number += 1
            name = f"{path.stem}-{number}{path.suffix}"
        self._copy(path, target)
        return f"{FILES}/{name}"

    def _copy(self, path: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        with contextlib.suppress(UnicodeDecodeError):  # Parquet, or packed
            data = self.clean.text(data.decode("utf-8"), message=False).encode("utf-8")
        target.write_bytes(data)

    # --- tables -------------------------------------------------------------------------------------------------------
    def tables(self) -> list[tuple[str, pl.DataFrame]]:
        """Return every table of the leaderboard that has rows, in order of its rows; names in alphabetical order."""
        with one_connection(self.study.home):
            names = [name for name in columns_of(self.study.home) if name not in _OF_THE_BUILD]
            found = [(name, self.table(name)) for name in names]
        return [(name, frame) for name, frame in found if frame.height]

    def table(self, name: str) -> pl.DataFrame:
        """Return one table of the leaderboard; without the texts of items that may not be passed on."""
        frame = pl.DataFrame(pl.from_arrow(query_table(self.study.home, f"from {name} order by all")))
        closed = [each.name for each in self.benchmarks() if not may_copy(each)]
        if closed and {"benchmark", "item_id"} <= set(frame.columns):
            shut = pl.col("benchmark").is_in(closed)
            texts = [each for each in _TEXTS_OF_ITEMS if each in frame.columns]
            frame = frame.with_columns(pl.when(~shut).then(pl.col(each)).alias(each) for each in texts)
        return self.clean.frame(frame)

    def described(self) -> dict[str, dict[str, str]]:
        """Return table → column → what it means."""
        sql = (
            "select table_name, column_name, comment from duckdb_columns() where comment is not null and "
            "database_name = 'leaderboard' order by table_name, column_index"
        )
        found: dict[str, dict[str, str]] = {}
        for row in query_table(self.study.home, sql).to_pylist():
            found.setdefault(row["table_name"], {})[row["column_name"]] = row["comment"]
        return found

    def responses(self, benchmark: Bound) -> pl.DataFrame:
        """Return the scored responses of a benchmark: a row per model, run, condition and item."""
        found = scored_files.scored_frames(benchmark)
        return self.clean.frame(pl.concat(found, how="diagonal_relaxed")) if found else pl.DataFrame()

    def items(self, benchmark: Bound) -> pl.DataFrame:
        """Return the items of a benchmark; id and digest alone where they may not be passed on."""
        path = item_files.items_path(self.study.home, benchmark.name)
        frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
        asked = frame.filter(pl.col("item_id").is_in([each.item_id for each in benchmark.items]))
        if may_copy(benchmark):
            return self.clean.frame(asked)
        return asked.select(each for each in ("item_id", "dataset", item_files.HASH) if each in asked.columns)

    def answers(self, benchmark: Bound) -> pl.DataFrame:
        """Return every call whose answer counts, all columns of a transcript; digests for prompts that may not leave."""
        asked = [each for each in tasks.partitions(benchmark) if each.manifest()]
        found = [scored_files.current_transcripts(benchmark, each) for each in asked]
        if not found:
            return pl.DataFrame()
        order = ("model", "run", "condition", "item_id", "step", "started_at")
        return self.clean.frame(without_prompts(benchmark, pl.concat(found))).sort(order)


def csv_of(frame: pl.DataFrame) -> bytes:
    """Return a table as CSV that spreadsheets cannot run."""
    return to_csv(Rows(tuple(frame.columns), tuple(frame.iter_rows()))).encode("utf-8")


# --- licences ---------------------------------------------------------------------------------------------------------
def without_prompts(benchmark: Bound, frame: pl.DataFrame) -> pl.DataFrame:
    """Return transcripts with the digest of each prompt where the benchmark's items may not be passed on."""
    if may_copy(benchmark):
        return frame
    digests = [json.dumps({"sha256": sha256_hex(each)}) for each in frame["request_json"]]
    return frame.with_columns(request_json=pl.Series(digests, dtype=pl.String))


def sources(benchmark: Bound) -> tuple[Source, ...]:
    """Return the published files that the items of a study are made from."""
    needed = set(benchmark.needed_sources())
    return tuple(each for each in benchmark.sources if each.name in needed)


def may_copy(benchmark: Bound) -> bool:
    """Whether the items may be passed on: shipped, generated and own ones, and those of sources with an open licence.

    A folder that the study names holds copies of somebody else's data: its items leave by digest.
    """
    named = named_paths(benchmark.settings.model_dump(mode="json"), benchmark.context.beside)
    return not any(path.is_dir() for path in named) and all(
        _OPEN.search(each.licence) for each in sources(benchmark)
    )


def named_paths(value: Any, beside: Any) -> Iterator[Path]:
    """Yield the files and folders that values of a study file name."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from named_paths(each, beside)
    elif isinstance(value, str) and 0 < len(value) < 1000 and {"/", "."} & set(value) and value.isprintable():
        path = beside(Path(value))
        with contextlib.suppress(OSError):
            if path.exists():
                yield path
