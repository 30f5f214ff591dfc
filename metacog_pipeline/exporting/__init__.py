"""Export: the results of a study in the formats of other programs, and as one archive that can be reproduced.

================  =====================================================================================
``facts``         all that is exported, read from a study in one place: texts without secrets, items by licence
``cleaning``      keys, addresses with credentials and personal paths are taken out of every text
``folders``       a target that is there already is not overwritten; what is written is whole or absent
``hub``           ``hf`` and ``csv``: tables as Parquet or CSV, and a dataset card
``samples``       what a model said about an item, the unit of logs of other programs
``every_eval``    ``eee``: Every Eval Ever
``inspect_files`` ``inspect``: logs of inspect_ai
``inspect_tasks`` every benchmark as a task of inspect_ai
``bundle``        one archive that a paper can cite
``reproduce``     the boards of an archive made again, and compared
``citing``        BibTeX of papers, data sets and software behind the boards
================  =====================================================================================

What `interchange.logs.exported` reads back is column by column what `facts.Facts.answers` gives.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Format → what writes it, ``module:function``: ``write(facts, folder)`` fills an empty folder and returns lines about it.
FORMATS = {
    "csv": "hub:write_csv",
    "eee": "every_eval:write",
    "hf": "hub:write_parquet",
    "inspect": "inspect_files:write",
}


def writer(form: str) -> Callable[[Any, Path], list[str]]:
    """Return what writes ``form``; its module is imported now."""
    found: Callable[[Any, Path], list[str]] = pkgutil.resolve_name(f"{__name__}.{FORMATS[form]}")
    return found
