"""Export: the results of a study in the formats of other programs, and as one archive that can be reproduced."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metacog_pipeline.study import Study

#: Format → what writes it, ``module:function``: ``write(facts, folder)`` fills an empty folder and returns lines about it.
FORMATS = {
    "csv": "hub:write_csv",
    "eee": "every_eval:write",
    "hf": "hub:write_parquet_tables",
    "inspect": "inspect_files:write",
}


def writer(form: str) -> Callable[[Any, Path], list[str]]:
    """Return the function that writes ``form``; its module is imported now."""
    found: Callable[[Any, Path], list[str]] = pkgutil.resolve_name(f"{__name__}.{FORMATS[form]}")
    return found


def write_folder(study: Study, target: Path, form: str) -> list[str]:
    """Write the results of ``study``, all of one board, to a new folder; return lines about what is in it.

    Raises ``StudyError`` if ``target`` exists, ``StoreError`` if there is no board or nothing can be written.
    """
    from metacog_pipeline.exporting.facts import Facts
    from metacog_pipeline.exporting.folders import new_folder, refuse_taken
    from metacog_pipeline.leaderboard.read import one_connection

    refuse_taken(target)
    with one_connection(study.home), new_folder(target) as folder:
        return writer(form)(Facts.of(study), folder)
