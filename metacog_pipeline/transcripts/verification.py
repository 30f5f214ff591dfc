"""Whether the answers of a partition are what was kept: journals by their checksums, the Parquet copy by the journals.

`check` looks and changes nothing. `repair` puts damaged files aside, under their name and ``.damaged``, keeps every line
and row that can be read, and makes the copy again.
"""

from __future__ import annotations

import filecmp
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from metacog_pipeline.checksums import is_sealed
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import put_aside, replacing
from metacog_pipeline.transcripts import parquet
from metacog_pipeline.transcripts.folder import PartitionFolder, manifest_sound, read_manifest, write_manifest
from metacog_pipeline.transcripts.journal import newest, scanned, segment_name, segment_sizes, segments
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA
from metacog_pipeline.transcripts.shared import writing


@dataclass(slots=True)
class Checked:
    """What stands in one partition's folder.

    ``records`` lines that can be read, ``unsealed`` of them from versions without checksums; ``torn`` ends that were never
    acknowledged; ``damage`` one line of text each; ``damaged`` segments with how many lines cannot be read; ``copy_sound``
    whether the Parquet copy holds what the journals say, None without a copy or before the next run brings it up to date.
    """

    folder: PartitionFolder
    records: int = 0
    unsealed: int = 0
    torn: int = 0
    damage: list[str] = field(default_factory=list)
    damaged: dict[Path, int] = field(default_factory=dict)
    copy_sound: bool | None = None


class Repaired(NamedTuple):
    """What became of a partition: files put aside, answers of damaged lines that the copy still had, and those lost."""

    aside: tuple[Path, ...]
    recovered: int
    lost: int


def check(folder: PartitionFolder) -> Checked:
    """Read every line and every row kept in ``folder``; change nothing. Raises ``StoreError`` for a file that is shut."""
    found = Checked(folder)
    for path in segments(folder):
        for line in scanned(path):
            if line.record is not None:
                found.records += 1
                found.unsealed += not is_sealed(line.content)
            elif line.torn:
                found.torn += 1
            else:
                found.damaged[path] = found.damaged.get(path, 0) + 1
                found.damage.append(f"{path}: line {line.number} {line.problem.partition(': ')[0]}")
    try:
        _check_copy(found)
    except StoreError as error:
        found.copy_sound = False
        found.damage.append(str(error).partition(": ")[0])
    if not manifest_sound(folder):
        found.damage.append(f"{folder.manifest}: is damaged")
    return found


def _check_copy(found: Checked) -> None:
    path, names = found.folder.copy, ARROW_SCHEMA.names
    footer = parquet.read_footer(path)
    if footer is None:
        return
    rows = parquet.current_table(path, names)  # every page has a checksum
    if found.damaged or not parquet.made_from(footer, segment_sizes(found.folder)):
        return  # the next run makes it again
    with tempfile.TemporaryDirectory() as scratch:
        again = Path(scratch) / path.name
        parquet.write(found.folder, again, footer, None, footer.current)
        # Another version of pyarrow writes the same rows in other bytes.
        other = pq.read_metadata(path).created_by != pq.read_metadata(again).created_by
        same = other and rows.equals(parquet.current_table(again, names))
        found.copy_sound = same or filecmp.cmp(path, again, shallow=False)
    if not found.copy_sound:
        found.damage.append(f"{path}: does not hold what the journals say")


def repair(found: Checked) -> Repaired:
    """Put what is damaged aside and make again what can be made; the next run asks what is lost.

    Of a damaged segment every line that can be read is written to a new segment, and the answers of the others come from
    the Parquet copy where that is sound. Raises ``StoreError``.
    """
    folder = found.folder
    aside: list[Path] = []
    recovered = 0
    with writing(folder):
        try:
            if found.copy_sound is False and folder.copy.exists():
                aside.append(put_aside(folder.copy))
            for path in found.damaged:
                _rescue(folder, path)
                aside.append(put_aside(path))
            if found.copy_sound is False or found.damaged:
                before = _carried(folder)
                parquet.compact_folder(folder, None)
                recovered = _carried(folder) - before
            _forget(folder, aside)
        except OSError as error:
            raise StoreError(
                f"cannot repair {folder}: {error.strerror or error}: free space or fix permissions and repair again"
            ) from error
    return Repaired(tuple(aside), recovered, max(0, sum(found.damaged.values()) - recovered))


def _carried(folder: PartitionFolder) -> int:
    """Return how many rows of the copy stand in no segment."""
    footer = parquet.read_footer(folder.copy)
    return 0 if footer is None else footer.carried


def _rescue(folder: PartitionFolder, damaged: Path) -> None:
    """Write every line of a segment that can be read, byte for byte, to a segment of its own."""
    with replacing(folder / segment_name(newest(folder) + 1)) as temporary, temporary.open("wb") as out:
        for line in scanned(damaged):
            if line.record is not None:
                out.write(line.content.removesuffix(b"\n") + b"\n")


def _forget(folder: PartitionFolder, aside: list[Path]) -> None:
    """Let the next run open the partition: it asks what is missing and marks what is superseded."""
    if not manifest_sound(folder):
        aside.append(put_aside(folder.manifest))
    elif aside and folder.manifest.exists():
        write_manifest(folder, {**read_manifest(folder), "state": "incomplete", "fingerprint": None})
