"""The folder of one partition: its name and place, its lock, its manifest."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.files import probe_writing, sync, write_text
from metacog_pipeline.home import Home, PathBelow
from metacog_pipeline.llm.spec import SLUG_PATTERN

MANIFEST_NAME, COPY_NAME = "partition.json", "transcripts.parquet"
_SLUG = SLUG_PATTERN.strip("^$")
_KEY = re.compile(rf"transcripts/benchmark=({_SLUG})/model=({_SLUG})/run=([1-9][0-9]{{0,17}})")
# fields that a manifest had before
_SEALED = ("layout", "sha256")
# a judge's partitions have the name of its benchmark with this ending
JUDGEMENTS = "_judgements"


class PartitionBusyError(StoreError):
    """Another process, or another host, is asking this partition right now."""


@dataclass(frozen=True)
class PartitionFolder:
    """Where a home keeps the answers of one partition. Raises ``StoreError`` for what cannot be a folder's name."""

    home: Home
    benchmark: str
    model: str
    run: int

    manifest = PathBelow(MANIFEST_NAME)
    # of all journals, for readers
    copy = PathBelow(COPY_NAME)
    # held while a process writes here
    lock = PathBelow(".lock")

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise StoreError(
                f"{self.key} cannot name a folder: use a-z, 0-9, '.', '_', '-', at most 64, and runs from 1 on"
            )

    @property
    def key(self) -> str:
        """What it is called below the home, as in a store."""
        return f"transcripts/benchmark={self.benchmark}/model={self.model}/run={self.run}"

    @property
    def path(self) -> Path:
        """The folder itself."""
        return self.home / self.key

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def __str__(self) -> str:
        return str(self.path)


def folder_called(home: Home, key: str) -> PartitionFolder | None:
    """Return the partition's folder under ``key`` in ``home``; None where ``key`` names no partition."""
    found = _KEY.fullmatch(key)
    return PartitionFolder(home, found[1], found[2], int(found[3])) if found else None


def kept_folders(home: Home, benchmark: str = "*", model: str = "*") -> list[PartitionFolder]:
    """Return the partition folders of ``home``, of one benchmark or model or of all, in the order of their names."""
    there = sorted(home.transcripts.glob(f"benchmark={benchmark}/model={model}/run=*"))
    return [folder for path in there if (folder := folder_called(home, home.key(path))) is not None]


def make_folder(folder: PartitionFolder) -> None:
    """Make ``folder`` and its missing parents so that they survive a power cut."""
    missing = [path for path in (folder.path, *folder.path.parents) if not path.exists()]
    folder.path.mkdir(parents=True, exist_ok=True)
    for path in reversed(missing):
        sync(path.parent)


@contextlib.contextmanager
def locked(folder: PartitionFolder) -> Iterator[None]:
    """Hold the lock of ``folder``, made if missing. The system releases it when the process ends, however it ends."""
    with contextlib.ExitStack() as held:
        try:
            make_folder(folder)
            descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT, 0o644)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Where nothing can be kept this says so before answers are paid for that would be lost.
            probe_writing(folder.path)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
            raise PartitionBusyError(
                f"{folder} is in use by process {holder}: wait until it has finished, or stop it, and run again"
            ) from error
        except OSError as error:
            raise StoreError(
                f"cannot keep answers in {folder}: {error.strerror}: free space, or choose a folder you may write in, on a "
                "file system with file locks, and run again"
            ) from error
        yield


def judgements_of(benchmark: str) -> str:
    """Return the name under which the judgements about a benchmark's answers are kept."""
    return f"{benchmark}{JUDGEMENTS}"


def read_manifest(folder: PartitionFolder) -> dict[str, object]:
    """Return what :func:`write_manifest` kept in ``folder``, empty when nothing was."""
    path = folder.manifest
    try:
        kept = dict(json.loads(path.read_bytes()))
        content = {name: kept[name] for name in kept if name not in _SEALED}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, RecursionError):
        # All that is in it follows from the journals: the next run looks through and asks nothing it has an answer to.
        why = f"{path} is damaged; metacog run writes it again and asks nothing that is answered"
        return {"state": "failed", "message": why}
    # it is printed, and may hold words of a provider
    if isinstance(content.get("message"), str):
        content["message"] = one_line(content["message"])
    return content


def write_manifest(folder: PartitionFolder, content: Mapping[str, object]) -> None:
    """Replace the manifest of ``folder`` whole. Raises ``StoreError`` when it cannot be written."""
    path = folder.manifest
    try:
        write_text(path, json.dumps(content, indent=2, sort_keys=True) + "\n")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}: free space and run again") from error
