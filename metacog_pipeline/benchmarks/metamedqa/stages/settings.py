"""What the study file says about MetaMedQA, and where its stages keep their files."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmarks.metamedqa.prompts import Wording, load_wording
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import replacing
from metacog_pipeline.study import MetaMedQASection, Study

BENCHMARK = "metamedqa"
MARK = "metacog_made_from"  # Parquet metadata: digest of everything a file was computed from


@dataclass(frozen=True, slots=True)
class Shown:
    """A stage's result as people see it: figures and a frame to preview."""

    facts: dict[str, Any]
    frame: pl.DataFrame


def settings(study: Study) -> MetaMedQASection:
    """Return the study's ``[benchmarks.metamedqa]``."""
    return study.benchmarks.metamedqa


def folder(study: Study) -> Path | None:
    """Return the folder of a custom data set."""
    given = settings(study).folder
    return None if given is None else beside(study, given)


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError for an unreadable file or an unknown condition."""
    chosen = settings(study).wording
    if chosen is None:
        return _wording(None, ())
    path = beside(study, chosen)
    found = path.stat() if path.is_file() else None
    return _wording(path, () if found is None else (found.st_mtime_ns, found.st_size, found.st_ino))


@functools.lru_cache(maxsize=4)  # a study of a hundred models looks here hundreds of times
def _wording(path: Path | None, changed: tuple[int, ...]) -> Wording:
    return load_wording(path)


def conditions(study: Study) -> tuple[str, ...]:
    """Return the canonical names of the study's conditions; raises StudyError for one without words."""
    words = wording(study)
    return tuple(dict.fromkeys(words.condition(name) for name in settings(study).conditions))


def beside(study: Study, path: Path) -> Path:
    """Return ``path`` as the study file means it."""
    return (study.path.parent / path.expanduser()).resolve()


def read_frame(path: Path) -> pl.DataFrame:
    """Read one of our own Parquet files; raises SourceError when it is damaged."""
    try:
        return pl.read_parquet(path, glob=False, hive_partitioning=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{path}: cannot be read ({error}); delete it and run `metacog run` again, answers are kept elsewhere"
        ) from None


def write_frame(frame: pl.DataFrame, path: Path, made_from: str) -> None:
    """Write ``frame`` whole or not at all, with the digest of what it was made from."""
    with replacing(path) as temporary:
        frame.write_parquet(temporary, metadata={MARK: made_from})


def mark_of(path: Path) -> str | None:
    """Return the digest of what the file at ``path`` was made from; ``None`` without a readable file."""
    try:
        return pl.read_parquet_metadata(path).get(MARK)
    except (OSError, pl.exceptions.PolarsError):
        return None
