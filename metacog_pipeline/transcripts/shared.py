"""A partition's answers in the store of several hosts, so that any of them can go on where another stopped.

Below the partition's own name there stand::

    head.json                    the lease, the manifest and the name of the copy: one put changes all of them
    journal-000003.000017.jsonl  what one group commit of session 3 kept; written once, where nothing stands
    journal-000003.jsonl         all of session 3, which a home had before the store (or version 0.3 joined its pieces)
    copy-000003-….parquet        the Parquet copy that the head names

The number of a session is the token of its lease. Pieces are written one after another, so whoever takes over a session
that did not end writes an empty piece after the last: a holder that slept finds the place taken and can keep nothing.
A home holds the same journals as a plain one: sessions are files there, and each piece was on its writer's disk first.
No object of answers is ever deleted or replaced.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from metacog_pipeline.checksums import is_sealed
from metacog_pipeline.files import file_sha256, put_aside, replacing, sha256_hex, write_text
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import travel
from metacog_pipeline.storage.attached import holder_name, store_of
from metacog_pipeline.storage.store import ABSENT, ChangedError, Listed, Store
from metacog_pipeline.transcripts.folder import PartitionFolder, folder_called, read_manifest, write_manifest
from metacog_pipeline.transcripts.journal import newest, segment_name, segment_number, segments
from metacog_pipeline.transcripts.lease import HEAD, DamagedError, Head, Lease, read_head
from metacog_pipeline.transcripts.lock import PartitionBusyError, locked

NOTE = ".shared.json"
AT_ONCE = 8  # objects read at the same time
_OBJECT = re.compile(r"journal-([0-9]{6,18})(?:\.([0-9]{6,18}))?\.jsonl")


@contextlib.contextmanager
def writing(folder: PartitionFolder) -> Iterator[SharedPartition | None]:
    """Hold the lock of ``folder`` and, where its home is attached to a store, its lease there: yielded, else None.

    On entry the folder gets all the store has, on exit the store what the folder has, unless writing to it failed. Raises
    ``PartitionBusyError`` if another process or host holds it, ``LeaseLostError`` if another host took it over meanwhile,
    ``StoreError`` if folder or store cannot be used or an object is damaged.
    """
    with locked(folder):
        store = store_of(folder.home)
        if store is None:
            yield None
            return
        shared = SharedPartition(store, folder)
        try:
            shared.open()
            travel.bring(folder.home, store)
            yield shared
            shared.publish()
        finally:
            shared.close()


class SharedPartition:
    """The only writer of one partition in the store, from `open` to `close`."""

    def __init__(self, store: Store, folder: PartitionFolder) -> None:
        self._store, self._folder = store, folder
        self._lease = Lease(store, folder.key, holder_name(folder.home))
        self._begun = self._failed = False
        self._pieces = 0

    def open(self) -> None:
        """Take the lease, end the sessions of holders that died, and bring everything into the folder."""
        before = self._lease.take(newest(self._folder))
        sessions = _sessions(self._store, self._folder)
        if before.holder is not None:
            sessions.setdefault(before.token, [])
        for number, objects in sessions.items():
            if all(_place(one) and one.size for one in objects):
                self._fence(number, len(objects) + 1)
        pull(self._store, self._folder, before, adopting=True)
        if (last := newest(self._folder)) >= self._lease.head.token:
            self._lease.change(token=last + 1)

    def begin(self) -> int:
        """Return the number of the session to write now; each time another."""
        if self._begun:
            self._lease.change(token=self._lease.head.token + 1)
        self._begun, self._pieces = True, 0
        return self._lease.head.token

    def push(self, lines: bytes) -> None:
        """Keep the lines of a group commit as the next piece. Raises ``LeaseLostError`` where its place is taken."""
        self._failed = True
        try:
            self._store.put(self._key(_piece_name(self._lease.head.token, self._pieces + 1)), lines, ABSENT)
        except ChangedError:
            raise self._lease.lost() from None
        self._failed = False
        self._pieces += 1

    def publish(self) -> None:
        """Bring journals, copy and manifest of the folder into the store and give the lease back: one put of the head."""
        if self._failed:  # whoever wrote heard of it; the lease ends by itself
            return
        self._lease.change()  # a whole session goes before its pieces: only who holds the lease may write one
        there = _sessions(self._store, self._folder)
        for path in segments(self._folder):
            if segment_number(path) not in there:
                self._upload(path)
        old, copy = self._lease.head.copy, self._copy()
        self._lease.close()
        self._lease.change(holder=None, manifest=read_manifest(self._folder) or None, copy=copy)
        if old is not None and old != copy:
            self._store.delete([self._key(old[0])])

    def close(self) -> None:
        """Stop renewing the lease."""
        self._lease.close()

    def _key(self, name: str) -> str:
        return f"{self._folder.key}/{name}"

    def _upload(self, path: Path) -> None:
        """Put a session that the store does not have as one object, without a torn end."""
        content = _acknowledged(path.read_bytes())
        if (line := _first_damaged(content)) is not None:
            raise DamagedError(
                f"{path}: line {line} is damaged; metacog verify STUDY --repair keeps what can be read"
            )
        if content:
            self._store.put(self._key(path.name), content, ABSENT)

    def _copy(self) -> list[str] | None:
        path, known = self._folder.copy, self._lease.head.copy
        if not path.exists():
            return known
        digest = file_sha256(path)
        if known is not None and known[1] == digest:
            return known
        name = f"copy-{self._lease.head.token:06d}-{digest[:16]}.parquet"
        self._store.put(self._key(name), path, ABSENT)
        return [name, digest]

    def _fence(self, session: int, place: int) -> None:
        """Write an empty piece after the last of a session, so that its holder, should it wake, keeps nothing."""
        while True:
            try:
                self._store.put(self._key(_piece_name(session, place)), b"", ABSENT)
                return
            except ChangedError:  # it wrote one more meanwhile
                place += 1


def pull(store: Store, folder: PartitionFolder, head: Head, *, adopting: bool) -> None:
    """Bring journals, copy and manifest of a partition into its folder; nothing is written to the store.

    ``adopting``: lines that only the folder has become a session of their own, which its holder brings to the store; a mere
    reader leaves a file alone that has more than the store. Raises ``StoreError`` naming what is missing or damaged.
    """
    note = _read_note(folder)
    sessions = _sessions(store, folder)
    for number, objects in sorted(sessions.items()):
        path = folder / segment_name(number)
        mark, size = sha256_hex(json.dumps(objects)), sum(one.size for one in objects)
        if note.get(path.name) == mark and (path.stat().st_size if path.exists() else 0) == size:
            continue
        content = _read(store, folder, number, objects)
        own = path.read_bytes() if path.exists() else b""
        if not content.startswith(own):
            if not adopting:
                continue
            _adopt(folder, path, own.removeprefix(content), max(sessions))
        if content != own and content:
            _replace(path, content)
        note[path.name] = mark
    if head.copy is not None and (note.get("copy") != head.copy or not folder.copy.exists()):
        _pull_copy(store, folder, head.copy)
        note["copy"] = head.copy
    if head.manifest is not None:
        write_manifest(folder, head.manifest)
    with contextlib.suppress(OSError):  # without it everything is read again
        write_text(folder / NOTE, json.dumps(note))


def _read_note(folder: PartitionFolder) -> dict[str, Any]:
    """Return what the folder has of the store, so that only what changed is read again."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads((folder / NOTE).read_bytes())
        if isinstance(found, dict):
            return found
    return {}


def _sessions(store: Store, folder: PartitionFolder) -> dict[int, list[Listed]]:
    """Return the objects of each session in order; where there is a whole session, that alone counts."""
    found: dict[int, list[Listed]] = {}
    for one in store.listed(folder.key):
        if match := _OBJECT.fullmatch(one.key.rpartition("/")[2]):
            found.setdefault(int(match[1]), []).append(one)
    for objects in found.values():
        objects.sort(key=_place)
        if _place(objects[0]) == 0:
            del objects[1:]
    return found


def _piece_name(session: int, place: int) -> str:
    return f"journal-{session:06d}.{place:06d}.jsonl"


def _place(one: Listed) -> int:
    """Return which group commit of its session an object is, 0 for a whole session."""
    found = _OBJECT.fullmatch(one.key.rpartition("/")[2])
    return int(found[2] or 0) if found else 0


def _read(store: Store, folder: PartitionFolder, session: int, objects: list[Listed]) -> bytes:
    """Return the lines of a session. Raises ``DamagedError`` where a piece is damaged or missing before later ones."""
    for expected, one in enumerate(objects, start=1):
        if one.size and _place(one) not in (0, expected):
            raise DamagedError(
                f"{store.address}/{folder.key}/{_piece_name(session, expected)}: is missing, though later ones are there; "
                "restore it, its answers were paid for"
            )
    with ThreadPoolExecutor(AT_ONCE) as readers:
        return b"".join(readers.map(lambda one: _lines(store, one), [one for one in objects if one.size]))


def _lines(store: Store, one: Listed) -> bytes:
    found = store.read(one.key)
    where = f"{store.address}/{one.key}"
    if found is None or len(found.content) != one.size:
        raise ChangedError(f"{where}: changed while it was read; run again")
    if (line := _first_damaged(found.content)) is not None:
        raise DamagedError(
            f"{where}: line {line} is damaged; restore the object from a version of before, or delete it if the home "
            "that wrote it is still there, and run there"
        )
    return found.content


def _adopt(folder: PartitionFolder, path: Path, own: bytes, last: int) -> None:
    """Keep lines that only stand in ``path`` as a session above ``last``, the highest of the store, and free the path."""
    own = _acknowledged(own)
    if own and _first_damaged(own) is None:
        _replace(folder / segment_name(max(newest(folder), last) + 1), own)
        path.unlink()
    elif own:
        put_aside(path)


def _pull_copy(store: Store, folder: PartitionFolder, copy: list[str]) -> None:
    name, digest = copy
    found = store.read(f"{folder.key}/{name}")
    if found is None or sha256_hex(found.content) != digest:
        problem = "is missing" if found is None else "is damaged"
        raise DamagedError(
            f"{store.address}/{folder.key}/{name}: {problem}; delete {HEAD} beside it and run again: the copy is made "
            "from the journals"
        )
    _replace(folder.copy, found.content)


def _replace(path: Path, content: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _acknowledged(lines: bytes) -> bytes:
    """Return the lines of a journal without a torn end, which was never acknowledged."""
    return lines[: lines.rfind(b"\n") + 1]


def _first_damaged(content: bytes) -> int | None:
    """Return the number of the first line that is not whole or not as it was written, None where all are."""
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        with contextlib.suppress(ValueError):
            is_sealed(line)
            if line.endswith(b"}\n"):
                continue
        return number
    return None


def refresh(home: Home) -> None:
    """Bring what other hosts kept into ``home``, so that it plans, scores and counts money with all there is.

    Takes no lease; a partition that is written here is passed over. One with a damaged object is written down as failed,
    with the reason, and the others are brought; its own next run says it again. Raises ``StoreError`` where the store
    cannot be reached.
    """
    store = store_of(home)
    if store is None:
        return
    travel.bring(home, store)
    for one in store.listed("transcripts"):
        prefix, _, name = one.key.rpartition("/")
        folder = folder_called(home, prefix) if name == HEAD else None
        if folder is None:
            continue
        try:
            with locked(folder):
                _refresh(store, folder)
        except PartitionBusyError:
            continue


def _refresh(store: Store, folder: PartitionFolder) -> None:
    try:
        pull(store, folder, read_head(store, folder.key)[0], adopting=False)
    except DamagedError as error:
        if (known := read_manifest(folder)).get("model"):
            problem = {"state": "failed", "message": str(error), "fingerprint": None}
            write_manifest(folder, {**known, **problem})
