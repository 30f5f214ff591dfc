"""Export: the results of a study in the formats of other programs, and as one archive that can be reproduced."""

from __future__ import annotations

import contextlib
import pkgutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import making_folder

if TYPE_CHECKING:
    from metacog_pipeline.study import Study

#: Format → ``module:function``: ``write(facts, folder)`` fills an empty folder and returns a line about it.
FORMATS = {
    "csv": "tables:write_csv",
    "eee": "every_eval:write",
    "hf": "tables:write_parquet",
    "inspect": "inspect_files:write",
}


def write_folder(study: Study, target: Path, form: str) -> str:
    """Write the results of ``study``, all of one board, to a new folder; return a line about them.

    Raises ``StudyError`` if ``target`` exists, ``StoreError`` if there is no board or nothing can be written.
    """
    from metacog_pipeline.exporting.facts import Facts
    from metacog_pipeline.leaderboard.read import one_connection

    with one_connection(study.home), new(target), making_folder(target) as folder:
        line: str = pkgutil.resolve_name(f"{__name__}.{FORMATS[form]}")(Facts.of(study), folder)
    return line


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
