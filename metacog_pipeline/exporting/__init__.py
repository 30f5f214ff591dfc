"""Results leave in the formats that others read, and whole, as an archive from which the boards can be made again.

================  =====================================================================================
``facts``         all that leaves, read from a study in one place: texts without secrets, items by licence
``cleaning``      keys, addresses with credentials and personal paths are taken out of every text
``folders``       a target that is there already is not overwritten; what is written is whole or absent
``spreadsheets``  ``csv``
``lakes``         ``ducklake``, where DuckDB has the extension
``hub``           ``hf``: Parquet splits and a data set card
``samples``       what a model said about an item, the unit of logs of other programs
``every_eval``    ``eee``: Every Eval Ever
``inspect_files`` ``inspect``: logs of inspect_ai
``inspect_tasks`` every benchmark as a task of inspect_ai
``trackers``      ``mlflow`` and ``wandb``: offline runs
``draws``         ``arviz``: posterior draws
``bundle``        one archive that a paper can cite
``reproduce``     the boards of an archive made again, and compared
``citing``        BibTeX of papers, data sets and software behind the boards
================  =====================================================================================

What `asking.logs.exported` reads back is column by column what `facts.Facts.answers` gives.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Format → what writes it, ``module:function``: ``write(facts, folder)`` fills an empty folder and returns lines about it.
FORMATS = {
    "arviz": "draws:write",
    "csv": "spreadsheets:write",
    "ducklake": "lakes:write",
    "eee": "every_eval:write",
    "hf": "hub:write",
    "inspect": "inspect_files:write",
    "mlflow": "trackers:write_mlflow",
    "wandb": "trackers:write_wandb",
}


def writer(form: str) -> Callable[[Any, Path], list[str]]:
    """Return what writes ``form``; its module is imported now."""
    found: Callable[[Any, Path], list[str]] = pkgutil.resolve_name(f"{__name__}.{FORMATS[form]}")
    return found
