"""Reading journals: every segment of a partition, in order, a line at a time.

A session that was killed leaves at most one torn line, at the end of its segment: it was never acknowledged and is
passed over. Anything else that cannot be read, or whose checksum does not fit, stops the reader with the file and the line,
because it may have been an answer that was paid for.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from metacog_pipeline.checksums import is_sealed
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import file_sha256
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.lines import decode_line
from metacog_pipeline.transcripts.migrations import NewerVersionError
from metacog_pipeline.transcripts.schema import Record

_NAME = re.compile(r"journal-([0-9]{1,18})\.jsonl")
MOST_AT_HAND = 32 * 2**20  # bytes of a segment whose records are remembered once it is written
#: The segment written last: digest of its bytes, what they say.
_at_hand: dict[Path, tuple[str, Sequence[Entry]]] = {}


class Location(NamedTuple):
    """Where a line stands: ``offset`` and ``length`` in bytes within the segment ``path``."""

    path: Path
    offset: int
    length: int


class Entry(NamedTuple):
    """A record and where its line stands."""

    record: Record
    location: Location


class Line(NamedTuple):
    """Line ``number`` (from 1) of a segment: its record, or the ``problem`` with it.

    ``torn`` when it was never acknowledged.
    """

    number: int
    location: Location
    content: bytes
    record: Record | None
    problem: str
    torn: bool


def segment_name(number: int) -> str:
    """Return the file name of segment ``number`` (1, 2, …)."""
    return f"journal-{number:06d}.jsonl"


def newest(folder: PartitionFolder) -> int:
    """Return the number of the last segment in ``folder``, 0 without any."""
    found = segments(folder)
    return segment_number(found[-1]) if found else 0


def segment_number(path: Path) -> int:
    """Return the number in the name of a segment, 0 when ``path`` is not one."""
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else 0


def segments(folder: PartitionFolder) -> list[Path]:
    """Return the journal segments of ``folder`` in the order they were written; none when it does not exist."""
    try:
        found = [path for path in folder.path.iterdir() if _NAME.fullmatch(path.name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(
            f"cannot list {folder}: {error.strerror}: check that it is a readable folder"
        ) from error
    return sorted(found, key=lambda path: (segment_number(path), path.name))


def note(path: Path, digest: str, records: Sequence[Record], lengths: Sequence[int]) -> None:
    """Remember what the lines of a segment say that was just written whole, until it is read for the first time.

    ``digest`` is the SHA-256 of its bytes, ``lengths`` those of its lines: a record is what `decode_line` makes of its own.
    """
    entries, offset = [], 0
    for record, length in zip(records, lengths, strict=True):
        entries.append(Entry(record, Location(path, offset, length)))
        offset += length
    _at_hand.clear()
    _at_hand[path] = digest, entries


def at_hand(path: Path) -> bool:
    """Whether the records of a segment are in memory already: `read_segment` does not decode them."""
    return path in _at_hand


def read_segment(path: Path) -> Iterator[Entry]:
    """Yield the records of one segment with their places, oldest first.

    Raises ``StoreError`` naming the file and the line when a line that is not a torn end cannot be read. One that this
    process has just written is not decoded where its bytes on the disk are those that were written.
    """
    digest, entries = _at_hand.pop(path, ("", ()))
    with contextlib.suppress(OSError):  # said below
        if entries and file_sha256(path) == digest:
            yield from entries
            return
    for line in scanned(path):
        if line.torn:
            return
        if line.record is None:
            raise StoreError(f"{path}: line {line.number} {line.problem}")
        yield Entry(line.record, line.location)


def scanned(path: Path) -> Iterator[Line]:
    """Yield every line of one segment, what cannot be read included; nothing follows a line without a newline.

    Raises ``StoreError`` naming the file when it cannot be opened or read.
    """
    offset = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                whole = line.endswith(b"\n")
                record, problem, torn = None, "", False
                try:
                    record = decode_line(line)
                except NewerVersionError as error:
                    problem = f"is {error}: upgrade metacog_pipeline to read it"
                except ValueError as error:
                    torn = (not whole or not file.peek(1)) and is_torn(line)
                    problem = (
                        f"cannot be read ({error}): restore the file from a copy, or run metacog verify STUDY --repair, "
                        "which keeps what can be read"
                    )
                yield Line(number, Location(path, offset, len(line)), line, record, problem, torn)
                if not whole:  # what another process appends meanwhile would continue this very line
                    return
                offset += len(line)
    except OSError as error:
        raise StoreError(
            f"cannot read {path}: {error.strerror}: check its permissions and the disk"
        ) from error


def is_torn(line: bytes) -> bool:
    """Whether the last line of a segment, which cannot be read, was never acknowledged: a part of it is missing.

    The writer escapes NUL, so raw NUL bytes are blocks that never reached the disk. A line that is whole but for one bit of
    its newline, or of the byte that is NUL now, was acknowledged and has changed since.
    """
    if line.endswith(b"\n"):
        if b"\0" not in line:
            return False
        suspect = line.find(b"\0") if line.count(b"\0") == 1 else -1
    else:
        suspect = len(line) - 1
    mended = bytearray(line)
    for bit in range(8) if suspect >= 0 else ():
        mended[suspect] = line[suspect] ^ 1 << bit
        with contextlib.suppress(ValueError):
            if mended.endswith(b"\n") and is_sealed(bytes(mended)):
                return False
    return True


def read_at(location: Location) -> Record:
    """Return the record whose line stands at ``location``. Raises ``StoreError`` when it is no longer there."""
    try:
        with location.path.open("rb") as file:
            file.seek(location.offset)
            return decode_line(file.read(location.length))
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{location.path}: the record at byte {location.offset} changed while in use ({error}): run again"
        ) from error
