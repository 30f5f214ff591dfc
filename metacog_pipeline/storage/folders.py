"""A folder that many hosts see, as a store."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import replacing
from metacog_pipeline.storage.store import ABSENT, ChangedError, Listed, Stored, checked, is_key

MOUNTS = Path("/proc/self/mounts")
# Options that keep the locks of a network's file system on one host, and file systems of user space that always do.
_UNLOCKED = re.compile(
    r"(?:nfs|cifs|smb)\S* (?:\S*,)?(?:nolock|local_lock=(?:all|flock)|nobrl)(?:,|$)"
    r"|(?:fuse\.(?:s3fs|goofys|rclone|sshfs|gcsfuse|mount-s3|blobfuse2?)|afs|davfs) "
)


class FolderStore:
    """Objects are files below ``path``, replaced whole; one writer at a time in each folder, by a lock of files."""

    def __init__(self, path: Path) -> None:
        self.address = str(path)
        self._path = path
        refuse_unlocked(path, "deploy.store")
        with self._explained("use"):
            path.mkdir(parents=True, exist_ok=True)

    def read(self, key: str) -> Stored | None:
        """See `Store`."""
        with self._explained("read"):
            try:
                with (self._path / checked(key)).open("rb") as file:
                    return Stored(file.read(), _version(os.fstat(file.fileno())))
            except FileNotFoundError:
                return None

    def listed(self, prefix: str) -> list[Listed]:
        """See `Store`."""
        found = []
        with self._explained("list"):
            for path in sorted((self._path / checked(prefix)).rglob("*")):
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    known, key = path.stat(), path.relative_to(self._path).as_posix()
                    if not path.name.startswith(".") and stat.S_ISREG(known.st_mode) and is_key(key):
                        found.append(Listed(key, known.st_size, _version(known)))
        return found

    def put(self, key: str, content: bytes | Path, when: str | None = None) -> str:
        """See `Store`."""
        path = self._path / checked(key)
        data = content if isinstance(content, bytes) else content.read_bytes()
        with self._explained("write"), _locked(path.parent):
            standing = None if when is None else self.read(key)
            if when is None or when == (ABSENT if standing is None else standing.version):
                with replacing(path) as temporary:
                    temporary.write_bytes(data)
            elif standing is None or standing.content != data:
                raise ChangedError(f"{path}: something else was written there meanwhile")
            return _version(path.stat())

    def delete(self, keys: list[str]) -> None:
        """See `Store`."""
        with self._explained("write"):
            for key in keys:
                (self._path / checked(key)).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"cannot {doing} the store {self.address}: {error.strerror or error}: it must be a folder that every "
                "host may write in"
            ) from error


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _version(known: os.stat_result) -> str:
    return f"{known.st_ino}-{known.st_mtime_ns}-{known.st_size}"  # a file is replaced, never changed


def refuse_unlocked(path: Path, key: str, mounts: Path = MOUNTS) -> None:
    """Raise ``StudyError`` where ``path`` (of the key ``key``) lies on a file system without locks between hosts."""
    found, place = Path(), ""
    with contextlib.suppress(OSError):  # no such list on this system
        for line in mounts.read_text("utf-8", "surrogateescape").splitlines():
            _, point, kind, options, *_ = [*line.split(" "), "", "", ""]
            folder = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), point))
            if path.resolve().is_relative_to(folder) and len(folder.parts) >= len(found.parts):
                found, place = folder, f"{kind} {options}"
    if _UNLOCKED.match(place):
        raise StudyError(
            f"{key}: {path} lies on {found} ({place.partition(' ')[0]}), whose locks do not hold between hosts, so two "
            "writers could lose answers; choose a local disk, a file system with locks, or an object store"
        )
