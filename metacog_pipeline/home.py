"""Where a study keeps what it writes. Everything but what `KEPT` names can be deleted and rebuilt."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDERS = (  # those that every home has
    *("sources", "items", "transcripts", "responses", "judgements", "scored", "harmonised"),
    *("estimates", "cross_benchmark", "report", "dagster", "study"),
)
# Not reproducible: answers of models and human respondents, their imported questions, labels of the reader model,
# what was spent, what is submitted, and what `metacog train study` trained.
KEPT = ("transcripts", "people", "imported", "audits", "ledger", "batches", "training")
LEADERBOARD = "leaderboard.duckdb"
STATUS, BUILT_FROM = (
    "study",
    "board.sha256",
)  # below it: what the leaderboard was built from, and the digest of the file


class PathBelow:
    """An attribute: the path of a file or folder below a home, or below another folder with a ``path``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: Any, owner: type) -> Path:
        return Path(folder.path, self._name)


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one study and the places in it.

    Functions take this and not a Path, so that no other folder is taken for a home and none needs to know its layout.
    """

    path: Path

    sources = PathBelow("sources")  # fetched data sets, verified against their digests
    items = PathBelow("items")  # items as they are asked, one Parquet file per benchmark
    transcripts = PathBelow("transcripts")  # what was asked and answered: costs money, is never deleted
    responses = PathBelow("responses")
    judgements = PathBelow("judgements")
    scored = PathBelow("scored")
    harmonised = PathBelow("harmonised")
    estimates = PathBelow("estimates")  # numbers with intervals
    cross_benchmark = PathBelow("cross_benchmark")
    leaderboard = PathBelow(LEADERBOARD)  # the file analysts open
    board_lock = PathBelow(".leaderboard.lock")  # held by who builds it
    report = PathBelow("report")
    page = PathBelow("report/index.html")  # the page that users open
    status = PathBelow(STATUS)  # tables about the study itself: its models and the state of their partitions
    cache = PathBelow("cache")
    ledger = PathBelow("ledger")  # what was spent
    batches = PathBelow("batches")  # submitted and paid, not fetched yet
    capabilities = PathBelow("capabilities")  # of the models, as they were probed
    imported = PathBelow("imported")  # questions of imported logs
    training = PathBelow("training")  # models, runs, and the curve of patched weights
    people = PathBelow("people")  # answers of human respondents
    audits = PathBelow("audits")  # what labels say of the reader model

    def __truediv__(self, key: str | Path) -> Path:
        return self.path / key

    def key(self, path: Path) -> str:
        """Return what ``path`` is called below the home, as in a store."""
        return path.relative_to(self.path).as_posix()

    def __str__(self) -> str:
        return str(self.path)

    @property
    def dagster(self) -> Path:
        """``DAGSTER_HOME`` of this study: the user's where it is set."""
        own = os.environ.get("DAGSTER_HOME")
        return Path(own).expanduser().absolute() if own else self.path / "dagster"

    @property
    def existing(self) -> Path:
        """The home, or the nearest folder above it that is there already."""
        return next(each for each in (self.path, *self.path.parents) if each.exists())
