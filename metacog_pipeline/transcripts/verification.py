"""Whether the answers of a partition are what was kept: journals by their checksums, the Parquet copy by the journals.

`check` looks and changes nothing. `repair` puts damaged files aside, under their name and ``.damaged``, keeps every line
and row that can be read, and makes the copy again.
"""

from __future__ import annotations

import filecmp
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from metacog_pipeline.checksums import is_sealed
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import put_aside, replacing
from metacog_pipeline.transcripts import parquet
from metacog_pipeline.transcripts.folder import (
    COPY_NAME,
    PartitionFolder,
    manifest_sound,
    read_manifest,
    write_manifest,
)
from metacog_pipeline.transcripts.journal import Line, newest, scanned, segment_name, segment_sizes, segments
from metacog_pipeline.transcripts.schema import SCHEMA_VERSION
from metacog_pipeline.transcripts.shared import writing


@dataclass(slots=True)
class Checked:
    """What stands in one partition's folder.

    ``records`` lines that can be read, ``unsealed`` of them from versions without checksums; ``torn`` ends that were never
    acknowledged; ``damage`` one line of text each; ``damaged`` segments with their unreadable lines; ``copy_sound`` whether
    the Parquet copy holds what the journals say, None without a copy or before the next run brings it up to date;
    ``copy_exact`` whether it does so byte by byte.
    """

    folder: PartitionFolder
    records: int = 0
    unsealed: int = 0
    torn: int = 0
    damage: list[str] = field(default_factory=list)
    damaged: dict[Path, list[int]] = field(default_factory=dict)
    copy_sound: bool | None = None
    copy_exact: bool = False

    def compare_copy(self, changed: Mapping[Path, str]) -> None:
        """Take the copy for damaged where it is not what was published; ``changed`` says of files what became of them.

        One that is, byte by byte, what the journals make now is sound: it was made since.
        """
        path = self.folder.copy
        if path in changed and self.copy_sound is not False and not self.copy_exact:
            self.copy_sound = False
            self.damage.append(f"{path}: {changed[path]}")


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of a partition: files put aside, answers of damaged lines that the copy still had, and those lost."""

    aside: tuple[Path, ...]
    recovered: int
    lost: int


def check(folder: PartitionFolder) -> Checked:
    """Read every line and every row kept in ``folder``; change nothing.

    Memory is bounded by the keys of the partition. Raises ``StoreError`` where a file cannot be opened.
    """
    found = Checked(folder)
    for path in segments(folder):
        for line in scanned(path):
            _count(found, path, line)
    _check_copy(found)
    if not manifest_sound(folder):
        found.damage.append(f"{folder.manifest}: is damaged")
    return found


def _count(found: Checked, path: Path, line: Line) -> None:
    if line.torn:
        found.torn += 1
    elif line.record is None:
        found.damaged.setdefault(path, []).append(line.number)
        found.damage.append(f"{path}: line {line.number} {line.problem.partition(': ')[0]}")
    else:
        found.records += 1
        found.unsealed += not is_sealed(line.content)


def _check_copy(found: Checked) -> None:
    path = found.folder.copy
    try:
        footer = parquet.read_footer(path)
        if footer is None:
            return
        if (
            found.damaged
            or footer.segments != segment_sizes(found.folder)
            or footer.version != SCHEMA_VERSION
        ):
            for _ in parquet.stored_rows(path):  # every page has a checksum; the next run makes the copy anew
                pass
            return
        with tempfile.TemporaryDirectory() as scratch:
            again = Path(scratch) / COPY_NAME
            parquet.write_again(found.folder, again)
            found.copy_exact = filecmp.cmp(path, again, shallow=False)
            found.copy_sound = found.copy_exact or _same(path, again)
    except StoreError as error:
        found.copy_sound = False
        found.damage.append(str(error).partition(": ")[0])
        return
    if not found.copy_sound:
        found.damage.append(f"{path}: does not hold what the journals say")


def _same(one: Path, other: Path) -> bool:
    """Whether two copies, one of which another version of pyarrow wrote, are equal in rows and footer."""
    with parquet.opened(one) as a, parquet.opened(other) as b:
        if a.metadata.created_by == b.metadata.created_by:
            return False
        if a.num_row_groups != b.num_row_groups or not a.schema_arrow.equals(
            b.schema_arrow, check_metadata=True
        ):
            return False
        return all(a.read_row_group(n).equals(b.read_row_group(n)) for n in range(a.num_row_groups))


def repair(found: Checked) -> Repaired:
    """Put what is damaged aside and make again what can be made; the next run asks what is lost.

    Of a damaged segment every line that can be read is written to a new segment, and the answers of the others come from
    the Parquet copy where that is sound. Raises ``StoreError`` when another process is asking the partition, or the disk is
    full.
    """
    folder = found.folder
    aside: list[Path] = []
    with writing(folder):
        try:
            copy = folder.copy
            if found.copy_sound is False and copy.exists():
                aside.append(put_aside(copy))
            for path in found.damaged:
                _rescue(folder, path)
                aside.append(put_aside(path))
            recovered = 0
            if found.copy_sound is False or found.damaged:
                before = _carried(copy)
                parquet.compact_folder(folder, None)
                recovered = _carried(copy) - before
            _forget(folder, aside)
        except OSError as error:
            raise StoreError(
                f"cannot repair {folder}: {error.strerror or error}: free space or fix permissions and repair again"
            ) from error
    unreadable = sum(map(len, found.damaged.values()))
    return Repaired(tuple(aside), recovered, max(0, unreadable - recovered))


def _carried(copy: Path) -> int:
    """Return how many rows of the copy stand in no segment."""
    footer = parquet.read_footer(copy)
    return 0 if footer is None else footer.carried


def _rescue(folder: PartitionFolder, damaged: Path) -> None:
    """Write every line of a segment that can be read, byte for byte, to a segment of its own."""
    with replacing(folder / segment_name(newest(folder) + 1)) as temporary, temporary.open("wb") as out:
        for line in scanned(damaged):
            if line.record is not None:
                out.write(line.content.removesuffix(b"\n") + b"\n")


def _forget(folder: PartitionFolder, aside: list[Path]) -> None:
    """Let the next run open the partition: it asks what is missing and marks what is superseded."""
    manifest = folder.manifest
    if not manifest.exists():
        return
    known = read_manifest(folder)
    if manifest_sound(folder):
        if aside:
            write_manifest(folder, {**known, "state": "incomplete", "fingerprint": None})
    else:
        aside.append(put_aside(manifest))
