"""What the store has of a partition, brought into the partition's folder. Nothing here writes to the store."""

from __future__ import annotations

import contextlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from metacog_pipeline.checksums import is_sealed
from metacog_pipeline.files import put_aside, replacing, sha256_hex, write_text
from metacog_pipeline.storage.store import ChangedError, Listed, Store
from metacog_pipeline.transcripts.folder import PartitionFolder, write_manifest
from metacog_pipeline.transcripts.lease import HEAD, DamagedError, Head
from metacog_pipeline.transcripts.segments import newest, segment_name, segment_number

NOTE = ".shared.json"
AT_ONCE = 8  # objects read at the same time
_LOOKS = 5
_PIECE = re.compile(r"journal-([0-9]{6,18})\.([0-9]{6,18})\.jsonl")


def piece_name(session: int, place: int) -> str:
    """Return the name of the ``place``-th group commit of a session."""
    return f"journal-{session:06d}.{place:06d}.jsonl"


def piece_of(one: Listed) -> tuple[int, int]:
    """Return the session a piece belongs to and which of its group commits it is; zeros for anything else."""
    found = _PIECE.fullmatch(one.key.rpartition("/")[2])
    return (int(found[1]), int(found[2])) if found else (0, 0)


class Note:
    """What a folder has of the store, so that only what changed is read again. Lost, everything is read again."""

    def __init__(self, folder: PartitionFolder) -> None:
        self._path = folder / NOTE
        self.head = ""
        self.copy: tuple[str, str] | None = None
        self._segments: dict[str, list[Any]] = {}
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            said = json.loads(self._path.read_bytes())
            copy = (str(said["copy"][0]), str(said["copy"][1])) if said["copy"] else None
            self.head, self._segments, self.copy = str(said["head"]), dict(said["segments"]), copy

    def has(self, path: Path) -> bool:
        """Whether the session ``path`` stands in the store as one object, as it is here."""
        return path.stat().st_size in self._segments.get(path.name, [])[:1]

    def holds(self, path: Path, listed: Listed) -> bool:
        """Whether ``path`` is the object that is listed."""
        known = self._segments.get(path.name)
        return known == [listed.size, listed.version] and path.exists() and path.stat().st_size == listed.size

    def add(self, path: Path, version: str) -> None:
        """Note that ``path`` stands in the store as one object."""
        self._segments[path.name] = [path.stat().st_size, version]

    def keep(self, head: str, copy: tuple[str, str] | None) -> None:
        """Write it down."""
        self.head, self.copy = head, copy
        said = {"head": head, "copy": copy, "segments": self._segments}
        with contextlib.suppress(OSError):
            write_text(self._path, json.dumps(said))


class Mirror:
    """Reads one partition's objects into its folder.

    ``adopting``: lines that only the folder has become a session of their own, which its holder brings to the store; a mere
    reader leaves a file alone that has more than the store.
    """

    def __init__(self, store: Store, folder: PartitionFolder, note: Note, *, adopting: bool) -> None:
        self._store, self._prefix, self._folder, self._note = store, folder.key, folder, note
        self._adopting = adopting
        self._numbers: set[int] = set()

    def pieces(self, session: int) -> list[Listed]:
        """Return the pieces of a session in order."""
        return sorted(
            (one for one in self._store.listed(self._prefix) if piece_of(one)[0] == session), key=piece_of
        )

    def open_sessions(self) -> set[int]:
        """Return the sessions that have pieces and did not end."""
        listed = self._store.listed(self._prefix)
        whole = {segment_number(Path(one.key)) for one in listed}
        ended = {piece_of(one)[0] for one in listed if not one.size}
        return {piece_of(one)[0] for one in listed} - whole - ended - {0}

    def pull(self, head: Head, *, journals: bool = True) -> None:
        """Bring journals, copy and manifest into the folder. Raises ``StoreError`` naming what is missing or damaged."""
        for left in range(_LOOKS if journals else 0, 0, -1):
            try:
                self._pull_journals()
                break
            except ChangedError:  # its writer put a whole session in place of pieces meanwhile
                if left == 1:
                    raise
        self._pull_copy(head)
        if head.manifest is not None:
            write_manifest(self._folder, head.manifest)

    def _pull_journals(self) -> None:
        listed = self._store.listed(self._prefix)
        whole = {segment_number(Path(one.key)): one for one in listed}
        pieces: dict[int, list[Listed]] = {}
        for one in listed:
            pieces.setdefault(piece_of(one)[0], []).append(one)
        self._numbers = (whole.keys() | pieces.keys()) - {0}
        for session in sorted(self._numbers):
            self._pull_session(session, whole.get(session), pieces.get(session, []))

    def _pull_session(self, session: int, whole: Listed | None, pieces: list[Listed]) -> None:
        path = self._folder / segment_name(session)
        if whole is not None and self._note.holds(path, whole):
            return
        wanted = [whole] if whole is not None else self._in_order(session, pieces)
        with ThreadPoolExecutor(AT_ONCE) as readers:
            content = b"".join(readers.map(self._lines, wanted))
        if self._merged(path, content) and whole is not None:
            self._note.add(path, whole.version)

    def _merged(self, path: Path, content: bytes) -> bool:
        """Let ``path`` hold what the store has; what only stands here is kept first. Return whether it is so."""
        kept = path.read_bytes() if path.exists() else b""
        if not content.startswith(kept):
            if not self._adopting:
                return False
            whole = acknowledged(kept[len(content) :] if kept.startswith(content) else kept)
            if whole and first_damaged(whole) is None:
                self._write(self._folder / segment_name(max(newest(self._folder), *self._numbers) + 1), whole)
            elif whole:
                put_aside(path)
        if kept != content and content:
            self._write(path, content)
        return True

    def _write(self, path: Path, content: bytes) -> None:
        with replacing(path) as temporary:
            temporary.write_bytes(content)

    def _in_order(self, session: int, pieces: list[Listed]) -> list[Listed]:
        ordered = sorted((one for one in pieces if one.size), key=piece_of)
        for expected, one in enumerate(ordered, start=1):
            if piece_of(one)[1] != expected:
                raise DamagedError(
                    f"{self._store.address}/{self._prefix}/{piece_name(session, expected)}: is missing, though later ones "
                    "are there; restore it, its answers were paid for"
                )
        return ordered

    def _lines(self, one: Listed) -> bytes:
        found = self._store.read(one.key)
        where = f"{self._store.address}/{one.key}"
        if found is None or len(found.content) != one.size:
            raise ChangedError(f"{where}: changed while it was read; run again")
        if (line := first_damaged(found.content)) is not None:
            raise DamagedError(
                f"{where}: line {line} is damaged; restore the object from a version of before, or delete it if the home "
                "that wrote it is still there, and run there"
            )
        return found.content

    def _pull_copy(self, head: Head) -> None:
        path = self._folder.copy
        if head.copy is None or (self._note.copy == head.copy and path.exists()):
            return
        found = self._store.read(f"{self._prefix}/{head.copy[0]}")
        if found is None or sha256_hex(found.content) != head.copy[1]:
            said = "is missing" if found is None else "is damaged"
            raise DamagedError(
                f"{self._store.address}/{self._prefix}/{head.copy[0]}: {said}; delete {HEAD} beside it and run again: the "
                "copy is made anew from the journals"
            )
        self._write(path, found.content)
        self._note.copy = head.copy


def acknowledged(lines: bytes) -> bytes:
    """Return the lines of a journal without a torn end, which was never acknowledged."""
    return lines[: lines.rfind(b"\n") + 1]


def first_damaged(content: bytes) -> int | None:
    """Return the number of the first line that is not whole or not what was written, None where all are."""
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        try:
            is_sealed(line)
        except ValueError:
            return number
        if not line.endswith(b"}\n"):
            return number
    return None
