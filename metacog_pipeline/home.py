"""Where a study keeps what it writes. Everything but what `KEPT` names can be deleted and rebuilt."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

FOLDERS = (  # those that every home has
    *("sources", "items", "transcripts", "responses", "judgements", "scored", "harmonised"),
    *("estimates", "cross_benchmark", "report", "dagster", "study"),
)
# No run makes these again: answers of models and of people, questions that came with them, what was spent, what is
# submitted, and what `metacog train study` trained.
KEPT = ("transcripts", "people", "imported", "ledger", "batches", "training")
VERSION_FILE, LEADERBOARD, TEXTS = "version", "leaderboard.duckdb", "transcripts.duckdb"


class _Folder(Protocol):
    @property
    def path(self) -> Path: ...


class Place:
    """The path of one file or folder below a home or a part of it: its name is told there and nowhere else."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: _Folder, owner: type[_Folder]) -> Path:
        return _joined(folder.path, self._name)


@functools.lru_cache(maxsize=1024)  # a look at many models asks for the places of its home often
def _joined(folder: Path, name: str) -> Path:
    return folder / name


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one study and the places in it.

    Functions take this and not a Path, so that no other folder is taken for a home and none needs to know its layout.
    """

    path: Path

    sources = Place("sources")  # fetched data sets, verified against their digests
    items = Place("items")  # items as they are asked, one Parquet file per benchmark
    choices = Place("choices")  # conditions that were decided after the first arm
    transcripts = Place("transcripts")  # what was asked and answered: costs money, is never deleted
    responses = Place("responses")
    judgements = Place("judgements")
    scored = Place("scored")
    harmonised = Place("harmonised")
    estimates = Place("estimates")  # numbers with intervals
    cross_benchmark = Place("cross_benchmark")
    leaderboard = Place(LEADERBOARD)  # the file analysts open
    texts = Place(TEXTS)  # prompts and replies beside it
    board_lock = Place(".leaderboard.lock")  # held by who builds it
    report = Place("report")
    status = Place("study")  # tables about the study itself: its models and the state of their partitions
    cache = Place("cache")
    ledger = Place("ledger")  # what was spent
    batches = Place("batches")  # submitted and paid, not fetched yet
    capabilities = Place("capabilities")  # of the models, as they were probed
    imported = Place("imported")  # questions of other people's logs
    people = Place("people")  # answers of people
    observations = Place("observations")  # of version 0.1
    reproduced = Place("reproduced")
    version = Place(VERSION_FILE)

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

    @property
    def older(self) -> str | None:
        """What to say of a home that version 0.1 wrote; None for one of this version, and for one without answers."""
        if self.version.exists() or not self.observations.is_dir():
            return None
        return (
            f"{self.path}: written by version 0.1; its answers are used as they are, everything else is made anew; "
            "observations/ is not read any more and may be deleted"
        )
