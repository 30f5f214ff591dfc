"""Writing a journal: an answer is acknowledged after it is on the disk, many answers share one fsync."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import sync_folder
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.lines import encode_line
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.segments import Location, newest, segment_name

__all__ = ["Journal", "make_folder"]


class _Waiting(NamedTuple):
    line: bytes
    durable: asyncio.Future[Location]


class Shared(Protocol):
    """Where group commits are put beside the disk, and who numbers the sessions then."""

    @property
    def full(self) -> bool: ...

    def begin(self) -> int: ...

    def push(self, lines: bytes) -> None: ...

    def end(self) -> None: ...


class Journal:
    """The segment one session writes in ``folder``; older segments are never touched.

    With ``shared`` an answer is acknowledged when it is on the disk and in the store.

    The file is made when the first record arrives, so a session that keeps nothing leaves nothing. Records that
    arrive while an fsync is running are written together before the next one. Writing happens in a thread of its
    own and does not need the event loop: what was handed over is written even if the loop stops.

    When writing fails once, the journal stays failed: everything unacknowledged and everything later raises
    ``StoreError``. A part of the failed batch may stay behind as a torn end, which readers pass over.
    """

    def __init__(self, folder: PartitionFolder, shared: Shared | None = None) -> None:
        self._folder = folder
        self._shared = shared
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._busy = False
        self._closed = False
        self._failure: str | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")
        self._path: Path | None = None
        self._descriptor = -1
        self._size = 0

    def submit(self, record: Record) -> asyncio.Future[Location]:
        """Hand over ``record``; the future ends when it is durable, with the place of its line.

        Cancelling it does not take the record back. It raises ``StoreError``, naming the file and what to do, when the
        record could not be written, and so does this once another was not.
        """
        line = encode_line(record)
        durable: asyncio.Future[Location] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the journal is closed")
            if self._failure is not None:
                raise StoreError(self._failure)
            self._waiting.append(_Waiting(line, durable))
            if not self._busy:
                self._busy = True
                self._worker.submit(self._drain)
        return durable

    def close(self) -> None:
        """Wait until everything handed over is durable (or has failed), then close the file."""
        with self._lock:
            self._closed = True
        self._worker.shutdown(wait=True)
        self._end()

    def _drain(self) -> None:
        """Write what waits, batch by batch, until nothing waits. Runs in the worker thread."""
        while True:
            with self._lock:
                batch, self._waiting = self._waiting, []
                if not batch:
                    self._busy = False
                    return
            if self._failure is None:
                self._write(batch)
            _settle(batch, self._places(batch), self._failure)

    def _write(self, batch: list[_Waiting]) -> None:
        try:
            if self._shared is not None and self._shared.full:
                self._end()
                self._shared.end()
            if self._descriptor < 0:
                self._create()
            lines = b"".join(waiting.line for waiting in batch)
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
            if self._shared is not None:
                self._shared.push(lines)
        except Exception as error:  # whatever it is, those who wait must hear of it
            reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)
            with self._lock:
                self._failure = (
                    str(error)
                    if isinstance(error, StoreError)
                    else (
                        f"cannot write {self._path or self._folder}: {reason}: free space or mend the disk and run "
                        "again; every acknowledged answer is kept"
                    )
                )

    def _create(self) -> None:
        make_folder(self._folder)
        number = newest(self._folder) + 1 if self._shared is None else self._shared.begin()
        self._size = 0
        self._path = self._folder / segment_name(number)
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        sync_folder(self._folder.path)

    def _end(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _places(self, batch: list[_Waiting]) -> list[Location]:
        places = []
        for waiting in batch:
            places.append(Location(self._path or self._folder.path, self._size, len(waiting.line)))
            self._size += len(waiting.line)
        return places


def _settle(batch: list[_Waiting], places: list[Location], failure: str | None) -> None:
    """Tell those who wait, each loop in one call."""
    loops = {waiting.durable.get_loop() for waiting in batch}
    for loop in loops:
        ours = [
            (w.durable, place) for w, place in zip(batch, places, strict=True) if w.durable.get_loop() is loop
        ]
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits there any more
            loop.call_soon_threadsafe(_tell, ours, failure)


def _tell(waiting: list[tuple[asyncio.Future[Location], Location]], failure: str | None) -> None:
    for durable, place in waiting:
        if durable.done():  # whoever waited was cancelled
            continue
        if failure is None:
            durable.set_result(place)
        else:
            durable.set_exception(StoreError(failure))


def make_folder(folder: PartitionFolder) -> None:
    """Make ``folder`` and its missing parents so that they survive a crash."""
    missing = [path for path in (folder.path, *folder.path.parents) if not path.exists()]
    folder.path.mkdir(parents=True, exist_ok=True)
    for path in reversed(missing):
        sync_folder(path.parent)
