"""Makes a home ready to be written in, or says why it cannot be."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from metacog_pipeline.deploy import INSTANCE_FILE, DeploySection, write_instance_file
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import probe_writing
from metacog_pipeline.home import FOLDERS, Home
from metacog_pipeline.storage.attached import attach
from metacog_pipeline.storage.folders import refuse_unlocked

# "*", "?" and "[" are patterns, and "," separates them, where data sets are searched; "%" and "?" have a meaning of
# their own in the addresses of Dagster's databases; "name=value" folders are read as columns of the data.
ODD_CHARACTERS = "*?,%="


def prepare(home: Home, deploy: DeploySection) -> None:
    """Create the folders and the Dagster configuration.

    Raises ``StudyError`` where the home cannot be used, ``StoreError`` where the disk is full or fails.
    """
    check(home)
    with _one_line(home):
        for name in FOLDERS:
            (home / name).mkdir(parents=True, exist_ok=True)
        if home.dagster == home / "dagster" or not (home.dagster / INSTANCE_FILE).exists():
            home.dagster.mkdir(parents=True, exist_ok=True)
            write_instance_file(home.dagster, deploy)
            probe_writing(home.dagster)  # a folder of the user's own may be mounted to be read only
        attach(home, deploy.store, deploy.dagster_storage if deploy.ledger == "postgres" else None)


def check(home: Home) -> None:
    """Raise StudyError where `prepare` would find no place to write. Leaves no file."""
    if odd := sorted(set(ODD_CHARACTERS) & set(str(home))):
        raise StudyError(
            f"study.home: {home} holds {' '.join(odd)}, which DuckDB or Dagster would misread; choose a folder without"
        )
    with _one_line(home):
        existing = home.existing
        if not existing.is_dir():
            raise StudyError(
                f"study.home: {existing} is a file, not a folder; choose another home or move the file away"
            )
        refuse_unlocked(existing, "study.home")
        probe_writing(existing)


@contextlib.contextmanager
def _one_line(home: Home) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = f"study.home: cannot write to {home} ({error.strerror or error})"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise StoreError(f"{why}; free space or repair the disk") from None
        raise StudyError(f"{why}; choose a folder you can write to") from None
