"""Whether anything a run depends on has changed since a run found nothing to do.

Told by the state of files (path, size, time of change, inode), none of which is read: the study file, every file or
folder it names, everything in its home, and the program. Any difference, a file more or less included, means that a run
must look for itself; so the worst this can do is to be slow. What only Dagster keeps is not looked at, but for whether
its history is still the same file.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.files import canonical_json, sha256_hex, shipped, write_text
from metacog_pipeline.home import VERSION_FILE
from metacog_pipeline.study.study_file import Study

NOTE = "up_to_date.txt"
MOST_FILES = 200_000  # a home of more is looked through by the run itself
_PROGRAM = ("metacog_pipeline", "metacog_assets")
_HISTORY = ("history", "runs.db")
Row = tuple[str, int, int, int]


def state_of(study: Study) -> str | None:
    """Return a digest of the state of all files a run of ``study`` depends on; None where they cannot be listed."""
    try:
        rows: list[object] = [sys.version, version("metacog-pipeline"), _history(study)]
        for root in (study.path, *_named(study), *_program(study)):
            rows += _listed(root)
        own = str(study.home.status / NOTE)
        home = _listed(study.home.path, skip={study.home.dagster.name, VERSION_FILE})
        rows += [row for row in home if row[0] != own]
    except (OSError, ValueError, ImportError, _TooManyError):
        return None
    return sha256_hex(canonical_json(rows))


def holds(study: Study) -> bool:
    """Whether everything is as it was when a run last found nothing to do."""
    try:
        noted = (study.home.status / NOTE).read_text("utf-8")
    except (OSError, ValueError):
        return False
    return noted == state_of(study)


def note(study: Study, state: str | None) -> None:
    """Write down that nothing was to be done in ``state``; without a note, the next run looks for itself."""
    if state is not None:
        with contextlib.suppress(OSError):
            write_text(study.home.status / NOTE, state)


class _TooManyError(Exception):
    """There are more files than are looked at."""


def _history(study: Study) -> int | None:
    path = study.home.dagster.joinpath(*_HISTORY)
    return path.stat().st_ino if path.exists() else None


def _program(study: Study) -> Iterator[Path]:
    """Yield the folders with the code and data a run uses, those of other people's benchmarks included."""
    yield from (shipped("data"), shipped("dbt_like_sql"))
    for name in dict.fromkeys((*_PROGRAM, *(registry.package_of(name) for name in study.benchmarks))):
        spec = find_spec(name)
        if spec is None:
            raise ImportError(name)
        places = spec.submodule_search_locations or [str(spec.origin)]
        yield from map(Path, places)


def _named(study: Study) -> Iterator[Path]:
    """Yield the files and folders the study file names, where they are."""
    found: list[Path] = [*_paths(study.model_dump(mode="python", exclude={"path"}))]
    found += [Path(spec.model) for spec in study.askable if spec.provider == "transformers" and spec.model]
    for path in found:
        yield study.path.parent / path.expanduser()


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _paths(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _paths(each)


def _listed(root: Path, skip: Iterable[str] = ()) -> list[Row]:
    """Return the state of a file, or of every file below a folder without those called ``skip`` at its top."""
    if not root.is_dir():
        return [_row(str(root), root.stat())] if root.exists() else [(str(root), -1, -1, -1)]
    rows: list[Row] = []
    folders = [str(root)]
    skipped = {str(root / name) for name in (*skip, "__pycache__")}
    while folders:
        with os.scandir(folders.pop()) as found:
            for entry in found:
                if entry.path in skipped or entry.name == "__pycache__":
                    continue
                if entry.is_dir():
                    folders.append(entry.path)
                else:
                    rows.append(_row(entry.path, entry.stat(follow_symlinks=entry.is_file())))
                if len(rows) + len(folders) > MOST_FILES:
                    raise _TooManyError
    return sorted(rows)


def _row(path: str, found: os.stat_result) -> Row:
    return path, found.st_size, found.st_mtime_ns, found.st_ino
