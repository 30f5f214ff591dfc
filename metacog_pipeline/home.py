"""Where a study keeps what it writes. Everything but ``transcripts/`` can be deleted and rebuilt."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metacog_pipeline import instance_file
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import probe_writing, write_text
from metacog_pipeline.storage.attached import attach
from metacog_pipeline.storage.mounts import refuse_unlocked

if TYPE_CHECKING:
    from metacog_pipeline.deploy import DeploySection

# "*", "?" and "[" are patterns, and "," separates them, where data sets are searched; "%" and "?" have a meaning of
# their own in the addresses of Dagster's databases; "name=value" folders are read as columns of the data.
ODD_CHARACTERS = "*?,%="

FOLDERS = (
    *("sources", "items", "transcripts", "responses", "judgements", "scored", "harmonised"),
    *("estimates", "cross_benchmark", "report", "dagster", "study"),
)
VERSION_FILE, LAYOUT = "version", "0.2"  # of the folders above; transcripts are the same in 0.1


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one study; ``variables`` are those its runs need, wherever they are worked on."""

    path: Path
    deploy: DeploySection | None = None
    variables: tuple[str, ...] = ()

    @property
    def sources(self) -> Path:
        """Fetched data sets, verified against their digests."""
        return self.path / "sources"

    @property
    def items(self) -> Path:
        """Items as they are asked, one Parquet file per benchmark."""
        return self.path / "items"

    @property
    def transcripts(self) -> Path:
        """What was asked and answered. Costs money; never deleted by the pipeline."""
        return self.path / "transcripts"

    @property
    def observations(self) -> Path:
        """Parsed answers."""
        return self.path / "observations"

    @property
    def estimates(self) -> Path:
        """Numbers with intervals."""
        return self.path / "estimates"

    @property
    def leaderboard(self) -> Path:
        """The DuckDB file analysts open."""
        return self.path / "leaderboard.duckdb"

    @property
    def dagster(self) -> Path:
        """``DAGSTER_HOME`` of this study: the user's where it is set."""
        own = os.environ.get("DAGSTER_HOME")
        return Path(own).expanduser().absolute() if own else self.path / "dagster"

    @property
    def status(self) -> Path:
        """Tables about the study itself: its models and the state of their partitions."""
        return self.path / "study"

    @property
    def older(self) -> str | None:
        """What to say of a home that version 0.1 wrote; None for one of this version, and for one without answers."""
        if (self.path / VERSION_FILE).exists() or not any(self.transcripts.glob("benchmark=*")):
            return None
        return (
            f"{self.path}: written by version 0.1; its answers are used as they are, everything else is made anew; "
            "observations/ is not read any more and may be deleted"
        )

    def prepare(self) -> None:
        """Create the folders and the Dagster configuration.

        Raises
        ------
        StudyError
            If the home is a file or cannot be created, or its path cannot be used by all that work on it.
        StoreError
            If the disk is full or fails.
        """
        self.check()
        try:
            for name in FOLDERS:
                (self.path / name).mkdir(parents=True, exist_ok=True)
            if self.dagster == self.path / "dagster" or not (self.dagster / instance_file.NAME).exists():
                self.dagster.mkdir(parents=True, exist_ok=True)
                instance_file.fill(self.dagster, self.deploy, self.variables)
                probe_writing(self.dagster)  # a folder of the user's own may be mounted to be read only
            write_text(self.path / VERSION_FILE, f"{LAYOUT}\n")
            if self.deploy is not None:
                shares_money = self.deploy.ledger == "postgres"
                attach(self.path, self.deploy.store, self.deploy.dagster_storage if shares_money else None)
        except OSError as error:
            raise self._unwritable(error) from None

    def check(self) -> None:
        """Raise StudyError where `prepare` would find no place to write. Leaves nothing behind."""
        self._refuse_odd_path()
        try:
            existing = self.existing
            if not existing.is_dir():
                raise StudyError(
                    f"study.home: {existing} is a file, not a folder; choose another home or move the file away"
                )
            refuse_unlocked(existing, "study.home")
            probe_writing(existing)
        except OSError as error:
            raise self._unwritable(error) from None

    @property
    def existing(self) -> Path:
        """The home, or the nearest folder above it that is there already."""
        return next(each for each in (self.path, *self.path.parents) if each.exists())

    def _unwritable(self, error: OSError) -> StudyError | StoreError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            return StoreError(
                f"study.home: cannot write to {self.path} ({error.strerror}); free space or mend the disk"
            )
        return StudyError(
            f"study.home: cannot write to {self.path} ({error.strerror or error}); choose a folder you can write to"
        )

    def _refuse_odd_path(self) -> None:
        odd = sorted(set(ODD_CHARACTERS) & set(str(self.path)))
        if odd:
            raise StudyError(
                f"study.home: {self.path} holds {' '.join(odd)}, which DuckDB or Dagster would misread; choose a folder "
                "without"
            )
