"""Export: the results of a study in the formats of other programs, and as one archive that can be reproduced."""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metacog_pipeline.study import Study

#: Format → ``module:function``: ``write(facts, folder)`` fills an empty folder and returns a line about it.
FORMATS = {
    "csv": "hub:write_csv",
    "eee": "every_eval:write",
    "hf": "hub:write_parquet_tables",
    "inspect": "inspect_files:write",
}
ARCHIVE = "bundle.zip"  # in every exported folder: the study can be rebuilt from it


def write_folder(study: Study, target: Path, form: str) -> str:
    """Write the results of ``study``, all of one board, and its bundle to a new folder; return a line about them.

    Raises ``StudyError`` if ``target`` exists, ``StoreError`` if there is no board or nothing can be written.
    """
    from metacog_pipeline.exporting.bundle import write_archive
    from metacog_pipeline.exporting.facts import Facts
    from metacog_pipeline.exporting.folders import new_folder, refuse_taken
    from metacog_pipeline.leaderboard.read import one_connection

    refuse_taken(target)
    with one_connection(study.home), new_folder(target) as folder:
        line: str = pkgutil.resolve_name(f"{__name__}.{FORMATS[form]}")(Facts.of(study), folder)
        write_archive(study, folder / ARCHIVE)
    return line
