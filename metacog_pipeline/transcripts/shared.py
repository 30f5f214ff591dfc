"""A partition's answers in the store of several hosts, so that any of them can go on where another stopped."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass

from metacog_pipeline.checksums import is_sealed
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import file_sha256, put_aside, sha256_hex, write_changed
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import records
from metacog_pipeline.storage.attached import holder_name, store_of
from metacog_pipeline.storage.store import ABSENT, ChangedError, Listed, Store
from metacog_pipeline.transcripts.folder import (
    PartitionBusyError,
    PartitionFolder,
    folder_called,
    locked,
    read_manifest,
    write_manifest,
)
from metacog_pipeline.transcripts.journal import (
    newest,
    segment_name,
    segment_number,
    segments,
    write_segment,
)
from metacog_pipeline.transcripts.parquet import only_copied

# The lease, the manifest and the name of the copy: one put changes all of them.
HEAD = "head.json"
LEASE_S = max(1.0, float(os.environ.get("METACOG_LEASE_S", "60")))
AT_ONCE = 8  # objects read at the same time
# What one group commit kept, or all of a session which a home had before the store. Neither is ever deleted.
_OBJECT = re.compile(r"journal-([0-9]{6,18})(?:\.([0-9]{6,18}))?\.jsonl")


class LeaseLostError(StoreError):
    """Another host took the partition over: nothing may be written any more."""


class DamagedError(StoreError):
    """An object of one partition is damaged or missing; others are not concerned."""


@dataclass(frozen=True, config={"extra": "forbid"})
class Head:
    """The content of ``head.json``. ``holder`` None when the partition was left in order; ``copy`` name and digest."""

    token: int = 0
    holder: str | None = None
    until: float = 0.0
    manifest: dict[str, Any] | None = None
    copy: tuple[str, str] | None = None


def read_head(store: Store, folder: PartitionFolder) -> tuple[Head, str]:
    """Return the head of a partition and its version. Raises ``DamagedError``."""
    found = store.read(f"{folder.key}/{HEAD}")
    if found is None:
        return Head(), ABSENT
    try:
        return Head(**json.loads(found.content)), found.version
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError(
            f"{store.address}/{folder.key}/{HEAD}: is damaged; delete it and run again: the answers next to it are kept"
        ) from error


@contextlib.contextmanager
def writing(folder: PartitionFolder) -> Iterator[SharedPartition | None]:
    """Hold the lock of ``folder`` and, where its home is attached to a store, its lease there: yielded, else None."""
    with locked(folder):
        store = store_of(folder.home)
        if store is None:
            # What was only in the Parquet copy goes to a journal.
            write_segment(folder, only_copied(folder))
            yield None
            return
        shared = SharedPartition(store, folder)
        try:
            shared.open()
            records.bring(folder.home, store)
            yield shared
            # The store gets what the folder has, unless writing to it failed.
            shared.publish()
        finally:
            shared.close()


# Held by conditional puts: whoever changes the head must name the version it read, so a holder that slept while another
# took over fails at its next write, whatever its clock says. Pieces are written one after another, so whoever takes
# over writes an empty one after the last: a holder that slept finds the place taken and can keep nothing.
class SharedPartition:
    """The only writer of one partition in the store, from `open` to `close`; its lease is renewed by a thread meanwhile."""

    def __init__(self, store: Store, folder: PartitionFolder) -> None:
        self._store, self._folder = store, folder
        self._holder = holder_name(folder.home)
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._head, self._version = Head(), ABSENT
        self._begun = self._failed = False
        self._pieces = 0

    def open(self) -> None:
        """Take the lease, end the sessions of holders that died, and bring everything into the folder."""
        before, self._version = self._free()
        token = max(before.token, newest(self._folder)) + 1
        self._head = replace(before, token=token, holder=self._holder)
        try:
            self._change()
        except LeaseLostError:
            raise self._busy(read_head(self._store, self._folder)[0]) from None
        threading.Thread(target=self._renew, name="lease", daemon=True).start()
        sessions = _sessions(self._store, self._folder)
        if before.holder is not None:
            sessions.setdefault(before.token, {})
        for number, objects in sessions.items():
            if 0 not in objects and all(one.size for one in objects.values()):
                self._fence(number, max(objects, default=0) + 1)
        pull(self._store, self._folder, before)
        write_segment(self._folder, only_copied(self._folder))
        if (last := newest(self._folder)) >= token:
            self._change(token=last + 1)

    def begin(self) -> int:
        """Return the number of the session to write now; each time another."""
        if self._begun:
            self._change(token=self._head.token + 1)
        self._begun, self._pieces = True, 0
        return self._head.token

    def push(self, lines: bytes) -> None:
        """Keep the lines of a group commit as the next piece. Raises ``LeaseLostError`` where its place is taken."""
        self._failed = True
        try:
            self._store.put(self._key(_piece_name(self._head.token, self._pieces + 1)), lines, ABSENT)
        except ChangedError:
            raise self._lost() from None
        self._failed = False
        self._pieces += 1

    def publish(self) -> None:
        """Bring journals, copy and manifest of the folder into the store and give the lease back: one put of the head."""
        # whoever wrote heard of it; the lease ends by itself
        if self._failed:
            return
        # a whole session goes before its pieces: only who holds the lease may write one
        self._change()
        there = _sessions(self._store, self._folder)
        for path in segments(self._folder):
            if segment_number(path) not in there:
                self._upload(path)
        old, copy = self._head.copy, self._copy()
        self.close()
        self._change(holder=None, manifest=read_manifest(self._folder) or None, copy=copy)
        if old is not None and old != copy:
            self._store.delete([self._key(old[0])])

    def close(self) -> None:
        """Stop renewing the lease."""
        self._ended.set()

    def _free(self) -> tuple[Head, str]:
        """Return the head and its version once no process holds the lease."""
        found, watched = read_head(self._store, self._folder), time.monotonic() + LEASE_S
        # Clocks of hosts differ: a holder who has not renewed for as long as a lease lasts is gone as well.
        while self._held(found[0]) and time.monotonic() < watched:
            time.sleep(min(1.0, LEASE_S / 10))
            before, found = found, read_head(self._store, self._folder)
            if found[1] != before[1] and self._held(found[0]):
                raise self._busy(found[0])
        return found

    def _held(self, head: Head) -> bool:
        return head.holder not in (None, self._holder) and head.until > time.time()

    def _change(self, **fields: Any) -> None:
        """Write the head with these fields, renewed. Raises ``LeaseLostError`` where another host wrote it."""
        with self._lock:
            wanted = replace(self._head, until=time.time() + LEASE_S, **fields)
            content = json.dumps(asdict(wanted), sort_keys=True).encode()
            try:
                self._version = self._store.put(self._key(HEAD), content, self._version)
            except ChangedError:
                raise self._lost() from None
            self._head = wanted

    def _renew(self) -> None:
        while not self._ended.wait(LEASE_S / 3):
            # Whether it is lost, or the store only away for a while, the next write finds out.
            with contextlib.suppress(StoreError), self._lock:
                if not self._ended.is_set():
                    self._change()

    def _busy(self, head: Head) -> PartitionBusyError:
        left = max(0.0, head.until - time.time())
        return PartitionBusyError(
            f"{self._folder.key} is being asked by {head.holder or 'another host'}, whose lease ends in {left:.0f} s "
            "unless renewed: wait until it has finished, and run again"
        )

    def _lost(self) -> LeaseLostError:
        return LeaseLostError(
            f"{self._folder.key}: another host took this partition over while this one paused; what is not kept in the "
            "store stays in this home and is added when it is run here again"
        )

    def _key(self, name: str) -> str:
        return f"{self._folder.key}/{name}"

    def _upload(self, path: Path) -> None:
        """Put a session that the store does not have as one object, without a torn end."""
        content = _acknowledged(path.read_bytes())
        _require_whole(content, str(path), "metacog doctor STUDY --kept --repair keeps what can be read")
        if content:
            self._store.put(self._key(path.name), content, ABSENT)

    def _copy(self) -> tuple[str, str] | None:
        """Put the Parquet copy of the folder where the store has another; return its name and digest."""
        path, known = self._folder.copy, self._head.copy
        digest = file_sha256(path) if path.exists() else None
        if digest is None or (known is not None and known[1] == digest):
            return known
        name = f"copy-{self._head.token:06d}-{digest[:16]}.parquet"
        self._store.put(self._key(name), path, ABSENT)
        return name, digest

    def _fence(self, session: int, place: int) -> None:
        """Write an empty piece after the last of a session, so that its holder, should it wake, keeps nothing."""
        while True:
            try:
                self._store.put(self._key(_piece_name(session, place)), b"", ABSENT)
                return
            except ChangedError:  # it wrote one more meanwhile
                place += 1


def pull(store: Store, folder: PartitionFolder, head: Head) -> None:
    """Bring journals, copy and manifest of a partition into its folder, whose lock is held; the store is only read."""
    sessions = _sessions(store, folder)
    for number, objects in sorted(sessions.items()):
        path, own = folder / segment_name(number), b""
        # Objects are written once: of a session whose file is as long as they are nothing is read again.
        if (path.stat().st_size if path.exists() else 0) == sum(one.size for one in objects.values()):
            continue
        content = _read(store, folder, number, objects)
        if path.exists():
            own = path.read_bytes()
        # Lines that only the folder has become a session of their own, which the next writer brings to the store.
        if not content.startswith(own):
            _adopt(folder, path, own.removeprefix(content), max(sessions))
        if content:
            write_changed(path, content)
    if head.copy is not None and not (folder.copy.exists() and file_sha256(folder.copy) == head.copy[1]):
        write_changed(folder.copy, _copied(store, f"{folder.key}/{head.copy[0]}", head.copy[1]))
    if head.manifest is not None:
        write_manifest(folder, head.manifest)


def _sessions(store: Store, folder: PartitionFolder) -> dict[int, dict[int, Listed]]:
    """Return the objects of each session by group commit; where there is a whole session, that alone, as 0."""
    found: dict[int, dict[int, Listed]] = {}
    for one in store.listed(folder.key):
        if match := _OBJECT.fullmatch(one.key.rpartition("/")[2]):
            found.setdefault(int(match[1]), {})[int(match[2] or 0)] = one
    return {number: {0: objects[0]} if 0 in objects else objects for number, objects in found.items()}


def _piece_name(session: int, place: int) -> str:
    return f"journal-{session:06d}.{place:06d}.jsonl"


def _read(store: Store, folder: PartitionFolder, session: int, objects: dict[int, Listed]) -> bytes:
    """Return the lines of a session. Raises ``DamagedError`` where a piece is damaged or missing before later ones."""
    filled = {place: one for place, one in sorted(objects.items()) if one.size}
    for place in range(1, max(filled, default=0) + 1):
        if place not in objects:
            raise DamagedError(
                f"{store.address}/{folder.key}/{_piece_name(session, place)}: is missing, though later ones are there; "
                "restore it, its answers were paid for"
            )
    with ThreadPoolExecutor(AT_ONCE) as readers:
        return b"".join(readers.map(lambda one: _lines(store, one), filled.values()))


def _lines(store: Store, one: Listed) -> bytes:
    found = store.read(one.key)
    where = f"{store.address}/{one.key}"
    if found is None or len(found.content) != one.size:
        raise ChangedError(f"{where}: changed while it was read; run again")
    _require_whole(
        found.content,
        where,
        "restore the object from a version of before, or delete it if the home that wrote it is still there, and run there",
    )
    return found.content


def _copied(store: Store, key: str, digest: str) -> bytes:
    found = store.read(key)
    if found is None or sha256_hex(found.content) != digest:
        raise DamagedError(
            f"{store.address}/{key}: {'is missing' if found is None else 'is damaged'}; delete {HEAD} next to it and run "
            "again: the copy is made from the journals"
        )
    return found.content


def _adopt(folder: PartitionFolder, path: Path, own: bytes, last: int) -> None:
    """Keep lines that only ``path`` has as a session above ``last``, the highest of the store, and free the path."""
    own = _acknowledged(own)
    try:
        _require_whole(own, str(path), "")
    except DamagedError:
        put_aside(path)
        return
    if own:
        write_changed(folder / segment_name(max(newest(folder), last) + 1), own)
        path.unlink()


def _acknowledged(lines: bytes) -> bytes:
    """Return the lines of a journal without a torn end, which was never acknowledged."""
    return lines[: lines.rfind(b"\n") + 1]


def _require_whole(content: bytes, where: str, advice: str) -> None:
    """Raise ``DamagedError`` for the first line that is not whole or not as it was written."""
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        with contextlib.suppress(ValueError):
            is_sealed(line)
            if line.endswith(b"}\n"):
                continue
        raise DamagedError(f"{where}: line {number} is damaged; {advice}")


def refresh(home: Home) -> None:
    """Bring what other hosts kept into ``home``, so that it plans, scores and counts money with all there is."""
    store = store_of(home)
    if store is None:
        return
    records.bring(home, store)
    for one in store.listed("transcripts"):
        prefix, _, name = one.key.rpartition("/")
        folder = folder_called(home, prefix) if name == HEAD else None
        if folder is None:
            continue
        # Takes no lease; a partition that is written here is passed over.
        with contextlib.suppress(PartitionBusyError), locked(folder):
            try:
                pull(store, folder, read_head(store, folder)[0])
            except DamagedError as error:
                if (known := read_manifest(folder)).get("model"):
                    problem = {"state": "failed", "message": str(error), "fingerprint": None}
                    write_manifest(folder, {**known, **problem})
