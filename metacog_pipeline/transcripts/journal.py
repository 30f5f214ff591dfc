"""The journal of a partition: append-only JSON Lines, one segment for each session."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from metacog_pipeline.checksums import is_sealed
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing, sync, sync_open
from metacog_pipeline.transcripts.folder import PartitionFolder, make_folder
from metacog_pipeline.transcripts.lines import decode_line, encode_line
from metacog_pipeline.transcripts.schema import NewerVersionError, Record

if TYPE_CHECKING:
    from metacog_pipeline.transcripts.shared import SharedPartition

_NAME = re.compile(r"journal-([0-9]{1,18})\.jsonl")


class Line(NamedTuple):
    """Line ``number`` (from 1) of a segment: its record, or the ``problem``; ``torn`` if it was never acknowledged."""

    number: int
    content: bytes
    record: Record | None = None
    problem: str = ""
    torn: bool = False


def segment_name(number: int) -> str:
    """Return the file name of segment ``number`` (1, 2, …)."""
    return f"journal-{number:06d}.jsonl"


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


def segment_sizes(folder: PartitionFolder) -> dict[str, int]:
    """Return the size in bytes of every journal segment of ``folder`` by name."""
    return {path.name: path.stat().st_size for path in segments(folder)}


def newest(folder: PartitionFolder) -> int:
    """Return the number of the last segment in ``folder``, 0 without any."""
    return max(map(segment_number, segments(folder)), default=0)


# A session that was killed leaves at most one torn line, at the end of its segment, which was never acknowledged.
# Anything else that cannot be read may have been an answer that was paid for: it stops the reader.
def read_segment(path: Path) -> Iterator[Record]:
    """Yield the records of one segment; ``StoreError`` for a line that cannot be read and is not torn."""
    for line in scanned(path):
        if line.torn:
            return
        if line.record is None:
            raise StoreError(f"{path}: line {line.number} {line.problem}")
        yield line.record


def scanned(path: Path) -> Iterator[Line]:
    """Yield every line of one segment, what cannot be read included; nothing follows a line without a newline."""
    try:
        with path.open("rb") as file:
            for number, content in enumerate(file, start=1):
                whole = content.endswith(b"\n")
                yield _read(number, content, last=not (whole and file.peek(1)))
                # what another process appends now would continue this very line
                if not whole:
                    return
    except OSError as error:
        raise StoreError(
            f"cannot read {path}: {error.strerror}: check its permissions and the disk"
        ) from error


def _read(number: int, content: bytes, last: bool) -> Line:
    try:
        return Line(number, content, decode_line(content))
    except NewerVersionError as error:
        return Line(number, content, problem=f"is {error}: upgrade metacog_pipeline to read it")
    except ValueError as error:
        advice = (
            "restore the file from a copy, or keep what can be read with metacog doctor STUDY --kept --repair"
        )
        problem = f"cannot be read ({error}): {advice}"
        return Line(number, content, problem=problem, torn=last and _is_torn(content))


def _is_torn(line: bytes) -> bool:
    """Whether the last line of a segment, which cannot be read, was never acknowledged: a part of it is missing."""
    # The writer escapes NUL, so runs of NUL are blocks that never reached the disk.
    if line.endswith(b"\n") or b"\0\0" in line:
        return b"\0\0" in line
    # Where all before the last byte is whole, that byte was the newline.
    try:
        return not is_sealed(line[:-1])
    except ValueError:
        return True


def write_segment(folder: PartitionFolder, records: Sequence[Record]) -> None:
    """Write ``records``, if any, as the next segment, by a rename: it is there whole or not at all. The caller locks."""
    # of a process killed while it wrote
    for abandoned in folder.path.glob(".journal-*.tmp"):
        abandoned.unlink()
    if not records:
        return
    with replacing(folder / segment_name(newest(folder) + 1)) as temporary, temporary.open("wb") as out:
        out.writelines(map(encode_line, records))


# Answers that arrive during an fsync share the next one.
class Journal:
    """The segment one session writes in ``folder``; older segments are never touched."""

    def __init__(self, folder: PartitionFolder, remote: SharedPartition | None = None) -> None:
        self._folder = folder
        # An answer is acknowledged when it is on the disk and, where several hosts share a store, there too.
        self._remote = remote
        self._lock = threading.Lock()
        self._waiting: list[tuple[bytes, Future[None]]] = []
        self._closed = False
        # When writing fails once, everything unacknowledged and everything later raises. A part of the
        # failed batch may stay behind as a torn end, which readers pass over.
        self._failure: str | None = None
        # Does not need the event loop: what was handed over is written even if the loop stops.
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")
        self._path = folder.path
        # The file is made when the first record arrives, so a session that keeps nothing leaves nothing.
        self._descriptor = -1

    def submit(self, record: Record) -> asyncio.Future[None]:
        """Hand over ``record``; the future ends when it is durable, and cancelling it does not take the record back."""
        line = encode_line(record)
        durable: Future[None] = Future()
        # from here on cancelling the wait does not reach it
        durable.set_running_or_notify_cancel()
        with self._lock:
            if self._closed:
                raise RuntimeError("the journal is closed")
            # Another record was not written.
            if self._failure is not None:
                raise StoreError(self._failure)
            self._waiting.append((line, durable))
            # those that come before it is written are written with it
            if len(self._waiting) == 1:
                self._worker.submit(self._drain)
        return asyncio.wrap_future(durable)

    def close(self) -> None:
        """Wait until everything handed over is durable (or has failed), then close the file."""
        with self._lock:
            self._closed = True
        self._worker.shutdown(wait=True)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _drain(self) -> None:
        with self._lock:
            batch, self._waiting = self._waiting, []
        if self._failure is None:
            self._write(b"".join(line for line, _ in batch))
        for _, durable in batch:
            if self._failure is not None:
                durable.set_exception(StoreError(self._failure))
            else:
                durable.set_result(None)

    def _write(self, lines: bytes) -> None:
        try:
            if self._descriptor < 0:
                self._create()
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            sync_open(self._descriptor)
            if self._remote is not None:
                self._remote.push(lines)
        except StoreError as error:
            self._failure = str(error)
        except Exception as error:  # of any kind: those who wait must hear of it
            reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)
            self._failure = (
                f"cannot write {self._path}: {reason}: free space or repair the disk and run again; every "
                "acknowledged answer is kept"
            )

    def _create(self) -> None:
        make_folder(self._folder)
        number = newest(self._folder) + 1 if self._remote is None else self._remote.begin()
        self._path = self._folder / segment_name(number)
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        # a file whose name never reached the disk is lost with all its fsyncs
        sync(self._folder.path)
