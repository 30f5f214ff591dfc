"""A folder that many hosts see, as a store."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing, sync_folder
from metacog_pipeline.storage.mounts import refuse_unlocked
from metacog_pipeline.storage.store import ABSENT, ChangedError, Listed, Stored, checked, is_key


class FolderStore:
    """Objects are files below ``path``; conditions are held by a lock and a link, versions are what a new file changes."""

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
            root = self._path / checked(prefix)
            for path in sorted(root.rglob("*")):
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    known, key = path.stat(), path.relative_to(self._path).as_posix()
                    if not path.name.startswith(".") and stat.S_ISREG(known.st_mode) and is_key(key):
                        found.append(Listed(key, known.st_size, _version(known)))
        return found

    def put(self, key: str, content: bytes | Path, when: str | None = None) -> str:
        """See `Store`."""
        path = self._path / checked(key)
        data = content if isinstance(content, bytes) else content.read_bytes()
        with self._explained("write"):
            if when is None:
                _replace(path, data)
            elif when == ABSENT:
                _create(path, data)
            else:
                with self._locked():
                    if _differs(path, when, data):
                        raise ChangedError(f"{path}: something else was written there meanwhile")
                    if _version(path.stat()) == when:
                        _replace(path, data)
            return _version(path.stat())

    def delete(self, keys: list[str]) -> None:
        """See `Store`."""
        with self._explained("write"):
            for key in keys:
                (self._path / checked(key)).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = os.open(self._path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"cannot {doing} the store {self.address}: {error.strerror or error}: it must be a folder that every "
                "host may write in"
            ) from error


def _version(known: os.stat_result) -> str:
    return f"{known.st_ino}-{known.st_mtime_ns}-{known.st_size}"  # a file is replaced, never changed


def _differs(path: Path, when: str, data: bytes) -> bool:
    try:
        return _version(path.stat()) != when and path.read_bytes() != data
    except FileNotFoundError:
        return True


def _replace(path: Path, data: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def _create(path: Path, data: bytes) -> None:
    """Write a file that nobody has written, by a link, which fails where the name is taken."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        try:
            os.link(name, path)
        except FileExistsError:
            if path.read_bytes() != data:
                raise ChangedError(f"{path}: is there already") from None
        sync_folder(path.parent)
    finally:
        Path(name).unlink(missing_ok=True)
