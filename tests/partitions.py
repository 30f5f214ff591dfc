"""Folders of partitions for tests that need no study."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.transcripts.folder import PartitionFolder, kept_folders
from metacog_pipeline.transcripts.journal import read_segment, segments
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import PartitionStore


def without_seal(line: bytes) -> bytes:
    """Return the JSON object in a line of a journal without its checksum, as version 0.2 wrote it."""
    return line[: line.rindex(b',"crc32":')] + b"}"


def folder_in(home: Path, run: int = 1) -> PartitionFolder:
    """Return the folder of a partition in a home at ``home``, made and empty."""
    made = PartitionFolder(Home(home), "b", "m", run)
    made.path.mkdir(parents=True)
    return made


def only_folder(home: Path) -> PartitionFolder:
    """Return the folder of the one partition that a home has."""
    (found,) = kept_folders(Home(home))
    return found


def keep(folder: PartitionFolder, *records: Record, compact: bool = False) -> None:
    """Keep ``records`` in one session."""

    async def session(store: PartitionStore) -> None:
        await asyncio.gather(*(store.keep(record) for record in records))

    with PartitionStore(folder) as store:
        asyncio.run(session(store))
        if compact:
            store.compact()


def read_records(folder: PartitionFolder) -> Iterator[Record]:
    """Yield every record in the journals of ``folder``, oldest first; the copy is not looked at."""
    return (record for path in segments(folder) for record in read_segment(path))


@pytest.fixture
def folder(tmp_path):
    """The folder of a partition, empty."""
    return folder_in(tmp_path)
