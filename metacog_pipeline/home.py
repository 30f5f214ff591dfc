"""Where a study keeps what it writes. Everything but ``transcripts/`` can be deleted and rebuilt."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

FOLDERS = (  # those that every home has
    *("sources", "items", "transcripts", "responses", "judgements", "scored", "harmonised"),
    *("estimates", "cross_benchmark", "report", "dagster", "study"),
)
VERSION_FILE, LEADERBOARD, TEXTS = "version", "leaderboard.duckdb", "transcripts.duckdb"


class _Place:
    """The path of one file or folder below a home: the names are told here and nowhere else."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, home: Home, owner: type[Home]) -> Path:
        return home.path / self._name


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one study and the places in it.

    Functions take this and not a Path, so that no other folder is taken for a home and none needs to know its layout.
    """

    path: Path

    sources = _Place("sources")  # fetched data sets, verified against their digests
    items = _Place("items")  # items as they are asked, one Parquet file per benchmark
    choices = _Place("choices")  # conditions that were decided after the first arm
    transcripts = _Place("transcripts")  # what was asked and answered: costs money, is never deleted
    responses = _Place("responses")
    judgements = _Place("judgements")
    scored = _Place("scored")
    harmonised = _Place("harmonised")
    estimates = _Place("estimates")  # numbers with intervals
    cross_benchmark = _Place("cross_benchmark")
    leaderboard = _Place(LEADERBOARD)  # the file analysts open
    texts = _Place(TEXTS)  # prompts and replies beside it
    board_lock = _Place(".leaderboard.lock")  # held by who builds it
    report = _Place("report")
    status = _Place("study")  # tables about the study itself: its models and the state of their partitions
    cache = _Place("cache")
    ledger = _Place("ledger")  # what was spent
    batches = _Place("batches")
    capabilities = _Place("capabilities")  # of the models, as they were probed
    imported = _Place("imported")  # questions of other people's logs
    people = _Place("people")
    reproduced = _Place("reproduced")
    version = _Place(VERSION_FILE)

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
        if self.version.exists() or not any(self.transcripts.glob("benchmark=*")):
            return None
        return (
            f"{self.path}: written by version 0.1; its answers are used as they are, everything else is made anew; "
            "observations/ is not read any more and may be deleted"
        )
