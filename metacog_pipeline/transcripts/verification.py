"""Whether the answers of a partition are what was kept: journals by their checksums, the Parquet copy by the journals."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import put_aside
from metacog_pipeline.transcripts import parquet
from metacog_pipeline.transcripts.folder import PartitionFolder, read_manifest, write_manifest
from metacog_pipeline.transcripts.journal import scanned, segment_sizes, segments, write_segment
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA
from metacog_pipeline.transcripts.shared import writing


@dataclass(slots=True)
class Checked:
    """The files of one partition's folder."""

    folder: PartitionFolder
    records: int = 0
    # Ends that were never acknowledged.
    torn: int = 0
    damage: list[str] = field(default_factory=list)
    # Segments, with how many of their lines cannot be read.
    damaged: dict[Path, int] = field(default_factory=dict)
    # None without a copy, or before the next run brings it up to date.
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
            elif line.torn:
                found.torn += 1
            else:
                found.damaged[path] = found.damaged.get(path, 0) + 1
                found.damage.append(f"{path}: line {line.number} {line.problem.partition(': ')[0]}")
    try:
        found.copy_sound = _copy_sound(found)
        if found.copy_sound is False:
            found.damage.append(f"{folder.copy}: does not hold what the journals say")
    except StoreError as error:
        found.copy_sound = False
        found.damage.append(str(error).partition(": ")[0])
    return found


def _copy_sound(found: Checked) -> bool | None:
    footer = parquet.read_footer(found.folder.copy)
    if footer is None:
        return None
    # every page has a checksum
    rows = parquet.current_table(found.folder.copy, ARROW_SCHEMA.names)
    if found.damaged or not footer.covers(segment_sizes(found.folder)):
        # the next run makes it again
        return None
    return bool(rows.equals(parquet.copied(found.folder, None)))


def repair(found: Checked) -> Repaired:
    """Rename damaged files and rebuild what can be rebuilt; the next run asks what is lost."""
    folder = found.folder
    aside: list[Path] = []
    recovered = 0
    with writing(folder):
        try:
            if found.copy_sound is False and folder.copy.exists():
                aside.append(put_aside(folder.copy))
            for path in found.damaged:
                # Every line of it that can be read goes to a new segment.
                write_segment(folder, [line.record for line in scanned(path) if line.record is not None])
                aside.append(put_aside(path))
            if found.copy_sound is False or found.damaged:
                # And answers of the others, where a sound copy has them.
                saved = parquet.only_copied(folder)
                write_segment(folder, saved)
                recovered = len(saved)
                parquet.compact_folder(folder, None)
            if (
                aside and folder.manifest.exists()
                # the next run opens the partition and asks what is missing
            ):
                known = read_manifest(folder)
                write_manifest(folder, {**known, "state": "incomplete", "fingerprint": None})
        except OSError as error:
            raise StoreError(
                f"cannot repair {folder}: {error.strerror or error}: free space or fix permissions and repair again"
            ) from error
    return Repaired(tuple(aside), recovered, max(0, sum(found.damaged.values()) - recovered))
