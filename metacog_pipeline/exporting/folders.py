"""Targets of an export: nothing is overwritten, and a folder is written whole or not at all."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import UMASK


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder next to ``target``; on success it is renamed to ``target``, on any error it is removed."""
    refuse_taken(target)
    with writable(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
        made.chmod(0o777 & ~UMASK)
    try:
        with writable(target):
            yield made
            if target.is_dir():
                target.rmdir()
            made.rename(target)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


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
        raise StoreError(
            f"{target}: cannot be written ({error.strerror or error}); choose another place"
        ) from None
