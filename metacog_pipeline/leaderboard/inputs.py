"""The Parquet files a leaderboard is made from: which there are, whether they changed, and which of them is torn."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.files import file_sha256
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.staging import Dataset
from metacog_pipeline.transcripts.folder import JUDGEMENTS

#: Folders of the home that hold data sets.
FOLDERS = (
    *("study", "items", "transcripts", "scored", "judgements", "harmonised", "estimates", "cross_benchmark"),
)
# How a path tells whose rows a file holds. Calls to judges stand in the folder of the model they judge, with the judge as
# their model: their path does not tell.
_KEYS = (
    re.compile(
        rf"transcripts/benchmark=(?P<benchmark>(?![^/]+{JUDGEMENTS}/)[^/]+)/model=(?P<model>[^/]+)/run=(?P<run>\d+)/[^/]+"
    ),
    re.compile(r"estimates/(?P<benchmark>[^/]+)/models/(?P<model>[^/]+)\.parquet"),
    re.compile(
        r"(?:estimates/(?P<scored>[^/]+)/[^/]+|[^/]+/(?P<benchmark>[^/]+))/model=(?P<model>[^/]+)/run=(?P<run>\d+)\.parquet"
    ),
)


@dataclass(frozen=True, slots=True)
class Input:
    """One file: its state on disk, and the digest of its content."""

    path: str
    size: int
    mtime_ns: int
    digest: str

    @property
    def key(self) -> tuple[str, str, int | None] | None:
        """Benchmark, model and run whose rows it holds, as its path says; None where it does not."""
        for pattern in _KEYS:
            if match := pattern.fullmatch(self.path):
                found = match.groupdict()
                run = found.get("run")
                return (
                    str(found.get("benchmark") or found.get("scored")), found["model"], int(run) if run else None
                )  # fmt: skip
        return None


def scan(home: Home, known: Mapping[str, Input], folders: Sequence[str] = FOLDERS) -> dict[str, Input]:
    """Return the data files of ``home`` by path; a file of the size and time in ``known`` is not read again.

    Raises
    ------
    StoreError
        If a file cannot be read.
    """
    found: dict[str, Input] = {}
    for folder in folders:
        for name, entry in _files(home / folder, folder):
            state = entry.stat()
            old = known.get(name)
            if old and (old.size, old.mtime_ns) == (state.st_size, state.st_mtime_ns):
                found[name] = old
            else:
                found[name] = Input(name, state.st_size, state.st_mtime_ns, _digest(Path(entry.path)))
    return dict(sorted(found.items()))


def changed(old: Mapping[str, Input], new: Mapping[str, Input]) -> frozenset[str]:
    """Return the paths that were added, removed, or have another content."""
    return frozenset(
        path
        for path in old.keys() | new.keys()
        if path not in old or path not in new or old[path].digest != new[path].digest
    )


def torn_file_error(home: Home, files: Iterable[str]) -> StoreError | None:
    """Return the error naming the first of ``files`` that cannot be read and what to do about it; None when all can."""
    for name in sorted(files):
        if reason := _fault(home / name):
            again = (
                "it is written again from the journal beside it"
                if name.startswith("transcripts/")
                else "it is made again from the kept answers, nothing is asked twice"
            )
            return StoreError(
                f"{home / name}: not a readable Parquet file ({reason}); move it away and run metacog run STUDY: {again}"
            )
    return None


def of_dataset(dataset: Dataset, paths: Iterable[str]) -> list[str]:
    """Return those of ``paths`` that belong to ``dataset``."""
    # A home has thousands, each held against every dataset: how most begin tells sooner that they do not belong.
    begins = tuple(glob.partition("*")[0] for glob in dataset.patterns)
    return [path for path in paths if path.startswith(begins) and dataset.matches(path)]


def _files(folder: str | Path, within: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the Parquet files below ``folder``, each with its path below the home, where the folder is ``within``.

    Files without rows that version 0.1 left are passed over. Paths are text: of thousands a Path each takes longer than the
    rest.
    """
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read ({error.strerror}); check the study's home") from None
    for entry in entries:
        name = f"{within}/{entry.name}"
        if entry.is_dir():
            yield from _files(entry.path, name)
        elif entry.name.endswith(".parquet") and not entry.name.endswith("_schema.parquet"):
            yield name, entry


def _digest(path: Path) -> str:
    try:
        return file_sha256(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror}); check the study's home") from None


def _fault(path: Path) -> str | None:
    """Say what is wrong with a file; every byte is decoded, for a torn file may still have a whole footer."""
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=65_536):
                batch.validate(full=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        return one_line(str(error).replace(str(path), "the file"), 160)
    return None
