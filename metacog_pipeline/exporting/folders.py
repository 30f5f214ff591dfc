"""Targets of an export: nothing is overwritten, and a folder is written whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import making_folder


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder that is renamed to ``target`` on success and removed on any error."""
    refuse_taken(target)
    with writable(target), making_folder(target) as made:
        yield made


def refuse_taken(target: Path) -> None:
    """Raise StudyError where ``target`` exists and is no empty folder."""
    with writable(target):
        if target.is_symlink() or (target.exists() and not (target.is_dir() and not any(target.iterdir()))):
            raise StudyError(
                f"{target}: is there already; choose a new place, or move it away: nothing is overwritten"
            )


@contextlib.contextmanager
def writable(target: Path) -> Iterator[None]:
    """Turn an error of the file system at ``target`` into one line."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise StoreError(f"{target}: cannot be written ({why}); choose another place") from None
