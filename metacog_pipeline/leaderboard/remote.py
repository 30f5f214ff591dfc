"""Boards that stand in a store, read where they are: DuckDB fetches the blocks that a query needs, and no more."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import duckdb
from fsspec import AbstractFileSystem

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.home import LEADERBOARD, Home
from metacog_pipeline.leaderboard.database import identifier, text
from metacog_pipeline.leaderboard.shared import FOLDER, standing
from metacog_pipeline.storage.attached import store_of
from metacog_pipeline.storage.store import Store

BLOCK = 1 << 18  # of a DuckDB file: what it reads at once


class _Object(io.RawIOBase):
    def __init__(self, store: Store, key: str, size: int) -> None:
        self._store, self._key, self._size, self._at = store, key, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self._size - self._at)
        if length <= 0:
            return 0
        found = self._store.part(self._key, self._at, length)
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)


class Boards(AbstractFileSystem):  # type: ignore[misc]
    """What stands below ``boards/`` of a store, as DuckDB reads files; nothing is written. Objects never change."""

    protocol = "metacog-boards"
    cachable = False

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._sizes = {one.key: one.size for one in store.listed(FOLDER)}

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return the size of an object. FileNotFoundError where there is none."""
        key = self._strip_protocol(path)
        if key not in self._sizes:
            raise FileNotFoundError(path)
        return {"name": key, "size": self._sizes[key], "type": "file", "mtime": 0}

    def _open(self, path: str, mode: str = "rb", **_: Any) -> io.BufferedReader:
        if mode != "rb":
            raise PermissionError(f"{path}: boards in a store are only read")
        key = self._strip_protocol(path)
        return io.BufferedReader(_Object(self._store, key, self.info(path)["size"]), BLOCK)


def attach_published(connection: duckdb.DuckDBPyConnection, home: Home, names: Mapping[str, str]) -> bool:
    """Attach the boards that stand in the store ``home`` is attached to: ``names`` says file → database.

    False where none stand there.

    Raises
    ------
    StoreError
        If the store cannot be read, or what stands there is no board.
    """
    store = store_of(home)
    found = {} if store is None else standing(store)
    if store is None or LEADERBOARD not in found:
        return False
    connection.register_filesystem(Boards(store))
    for name in names.keys() & found.keys():
        try:
            address = text(f"{Boards.protocol}://{found[name][0]}")
            connection.execute(f"attach {address} as {identifier(names[name])} (read_only)")
        except duckdb.Error as error:
            raise StoreError(
                f"{store.address}/{found[name][0]}: not readable as a DuckDB file ({one_line(str(error), 200)}); "
                "run metacog run on any host: it publishes the boards anew"
            ) from None
    return True
