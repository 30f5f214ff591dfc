"""A partition's answers in the store, so that any host can go on where another stopped.

Below the partition's own name there stand::

    head.json                    the lease, the manifest and the name of the copy: one put changes all of them
    journal-000003.000017.jsonl  what one group commit of session 3 kept; written once, where nothing stands
    journal-000003.jsonl         all of session 3 once it ended, in place of its pieces
    copy-000003-….parquet        the Parquet copy that the head names

The number of a session is the token of its lease. Pieces are written one after another, so whoever takes over a session
that did not end writes an empty piece after the last: a holder that slept finds the place taken and can keep nothing.
A home holds the same journals as a plain one: sessions are files there, and each piece was on its writer's disk first.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from metacog_pipeline.files import file_sha256
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import travel
from metacog_pipeline.storage.attached import holder_name, store_of
from metacog_pipeline.storage.store import ABSENT, ChangedError, Store
from metacog_pipeline.transcripts.folder import PartitionFolder, folder_called, read_manifest, write_manifest
from metacog_pipeline.transcripts.lease import HEAD, DamagedError, Lease, PartitionBusyError, read_head
from metacog_pipeline.transcripts.mirror import (
    Mirror,
    Note,
    acknowledged,
    first_damaged,
    piece_name,
    piece_of,
)
from metacog_pipeline.transcripts.segments import newest, segment_name, segment_number, segments

MOST_PIECES, MOST_BYTES = 512, 32 * 2**20  # of one session; then the next begins: to resume reads few objects


@contextlib.contextmanager
def sharing(folder: PartitionFolder) -> Iterator[SharedPartition | None]:
    """Hold the partition of ``folder`` in the store its home is attached to; yield None for a plain home.

    The caller holds the lock of the folder. On entry the folder gets all the store has, on exit the store what the folder
    has, unless writing to it failed. Raises ``PartitionBusyError`` if another host holds it. Raises ``LeaseLostError`` if
    another host took it over meanwhile. Raises ``StoreError`` if the store cannot be reached or an object is damaged.
    """
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
        self._pieces = self._bytes = 0
        self._note = Note(folder)
        self._mirror = Mirror(store, folder, self._note, adopting=True)

    def open(self) -> None:
        """Take the lease, end the sessions of holders that died, and bring everything into the folder."""
        before = self._lease.take(newest(self._folder))
        open_sessions = self._mirror.open_sessions()
        if before.holder is not None:
            open_sessions.add(before.token)
        for session in sorted(open_sessions):
            self._end(session)
        self._mirror.pull(before)
        if (last := newest(self._folder)) >= self._lease.head.token:
            self._lease.change(token=last + 1)

    def begin(self) -> int:
        """Return the number of the session to write now; each time another."""
        if self._begun:
            self._lease.change(token=self._lease.head.token + 1)
        self._begun = True
        self._pieces = self._bytes = 0
        return self._lease.head.token

    def push(self, lines: bytes) -> None:
        """Keep the lines of a group commit as the next piece. Raises ``LeaseLostError`` where its place is taken."""
        self._failed = True
        self._lease.hold()
        try:
            place = piece_name(self._lease.head.token, self._pieces + 1)
            self._store.put(self._key(place), lines, ABSENT)
        except ChangedError:
            raise self._lease.gone() from None
        self._failed = False
        self._pieces += 1
        self._bytes += len(lines)

    @property
    def full(self) -> bool:
        """Whether the session should end, so that nobody who resumes reads thousands of pieces."""
        return self._pieces >= MOST_PIECES or self._bytes >= MOST_BYTES

    def end(self) -> None:
        """Put the session that was written as one object in place of its pieces."""
        if self._pieces:
            self._whole(self._lease.head.token)

    def publish(self) -> None:
        """Bring journals, copy and manifest of the folder into the store and give the lease back: one put of the head."""
        if self._failed:  # whoever wrote heard of it; the lease ends by itself
            return
        for path in segments(self._folder):
            if not self._note.has(path):
                self._whole(segment_number(path))
        old, copy = self._lease.head.copy, self._copy()
        manifest = read_manifest(self._folder) or None
        token = max(self._lease.head.token, newest(self._folder))
        version = self._lease.release(token=token, holder=None, manifest=manifest, copy=copy)
        if old is not None and old != copy:
            self._store.delete([self._key(old[0])])
        self._note.keep(version, copy)

    def close(self) -> None:
        """Stop renewing the lease."""
        self._lease.close()

    def _key(self, name: str) -> str:
        return f"{self._folder.key}/{name}"

    def _copy(self) -> tuple[str, str] | None:
        path, known = self._folder.copy, self._lease.head.copy
        if not path.exists():
            return known
        digest = file_sha256(path)
        if known is not None and known[1] == digest:
            return known
        name = f"copy-{self._lease.head.token:06d}-{digest[:16]}.parquet"
        self._lease.hold()
        self._store.put(self._key(name), path, ABSENT)
        return name, digest

    def _whole(self, session: int) -> None:
        """Put the folder's session as one object, then remove its pieces, but not an empty one that ends it."""
        path = self._folder / segment_name(session)
        content = acknowledged(path.read_bytes())
        if not content:
            return
        if (line := first_damaged(content)) is not None:
            raise DamagedError(
                f"{path}: line {line} is damaged; metacog verify STUDY --repair keeps what can be read"
            )
        self._lease.hold()
        pieces = [one.key for one in self._mirror.pieces(session) if one.size]
        try:
            version = self._store.put(self._key(path.name), content, ABSENT)
        except ChangedError:  # put by its own holder meanwhile, with lines never acknowledged: read next time
            return
        self._note.add(path, version)
        self._store.delete(pieces)

    def _end(self, session: int) -> None:
        """Write an empty piece after the last of a session, so that its holder, should it wake, keeps nothing."""
        while True:
            pieces = self._mirror.pieces(session)
            if pieces and not pieces[-1].size:
                return
            after = piece_of(pieces[-1])[1] + 1 if pieces else 1
            with contextlib.suppress(ChangedError):  # it wrote one more meanwhile
                self._store.put(self._key(piece_name(session, after)), b"", ABSENT)


def damaged_objects(home: Home) -> tuple[int, list[str]]:
    """Return how many partitions the store of ``home`` has, and of each that is damaged why; reads every object.

    Raises ``StoreError`` where the store cannot be reached.
    """
    store = store_of(home)
    if store is None:
        return 0, []
    keys = sorted({one.key.rpartition("/")[0] for one in store.listed("transcripts")})
    folders = [folder for key in keys if (folder := folder_called(home, key)) is not None]
    damage = []
    for folder in folders:
        with tempfile.TemporaryDirectory() as scratch:
            apart = replace(folder, home=Home(Path(scratch)))
            try:
                Mirror(store, apart, Note(apart), adopting=False).pull(read_head(store, folder.key)[0])
            except DamagedError as error:
                damage.append(str(error))
    return len(folders), damage


def refresh(home: Home) -> None:
    """Bring what other hosts kept into ``home``, so that it plans, scores and counts money with all there is.

    Of a partition that was left in order its copy, of one under way its journals. Takes no lease; a partition that is
    written here is passed over. One with a damaged object is written down as failed, with the reason, and the others are
    brought; its own next run says it again. Raises ``StoreError`` where the store cannot be reached.
    """
    from metacog_pipeline.transcripts.lock import locked

    store = store_of(home)
    if store is None:
        return
    travel.bring(home, store)
    for one in store.listed("transcripts"):
        prefix, _, name = one.key.rpartition("/")
        folder = folder_called(home, prefix) if name == HEAD else None
        if folder is None or (note := Note(folder)).head == one.version:
            continue
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(locked(folder))
            except PartitionBusyError:
                continue
            try:
                head, version = read_head(store, prefix)
                mirror = Mirror(store, folder, note, adopting=False)
                mirror.pull(head, journals=head.holder is not None or head.copy is None)
                note.keep(version, head.copy)
            except DamagedError as error:
                if (known := read_manifest(folder)).get("model"):
                    said = {"state": "failed", "message": str(error), "fingerprint": None}
                    write_manifest(folder, {**known, **said})
