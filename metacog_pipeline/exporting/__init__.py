"""Export: the results of a study in the formats of other programs, and as one archive that can be reproduced."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from metacog_pipeline.errors import StoreError, StudyError

FORMATS = ("csv", "eee", "hf", "inspect")


def zip_entry(name: str) -> zipfile.ZipInfo:
    """Return an entry of a zip whose bytes follow from its content alone."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # each needs a time; all have this one
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry


@contextlib.contextmanager
def new(target: Path) -> Iterator[None]:
    """Refuse a target that is there, and turn an error of the file system inside into one line."""
    try:
        if target.is_symlink() or (target.exists() and not (target.is_dir() and not any(target.iterdir()))):
            raise StudyError(
                f"{target}: is there already; choose a new place, or move it away: nothing is overwritten"
            )
        yield
    except OSError as error:
        why = error.strerror or error
        raise StoreError(f"{target}: cannot be written ({why}); choose another place") from None
