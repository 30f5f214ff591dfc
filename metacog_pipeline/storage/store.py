"""The interface of a store of objects: read, list, delete, and put whole or not at all, on a condition."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple, Protocol

from metacog_pipeline.errors import StoreError, StudyError

ABSENT = ""  # the version of what is not there
_ADDRESS = re.compile(r"(?:(s3|gs|az|file)://)?([^?#@]*[^?#@/][^?#@]*)")
_KEY = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[\w.=+-]+(?:/[\w.=+-]+)*", re.ASCII)


class ChangedError(StoreError):
    """The key has another version than the writer expected: nothing was written."""


class Listed(NamedTuple):
    """One object: its key below the store's address, its size in bytes, its version."""

    key: str
    size: int
    version: str


class Stored(NamedTuple):
    """The bytes under a key and their version."""

    content: bytes
    version: str


class Store(Protocol):
    """Objects by key: path segments of letters, digits and ``. _ = + -``. What fails is a ``StoreError`` in one line."""

    address: str

    def read(self, key: str) -> Stored | None:
        """Return the object under ``key``, None without one."""
        ...

    def listed(self, prefix: str) -> list[Listed]:
        """Return every object below the folder ``prefix``, by key."""
        ...

    def put(self, key: str, content: bytes | Path, when: str | None = None) -> str:
        """Write ``content`` (bytes, or those of a file) whole and durably; return its version.

        With ``when`` only where the version there is this one, :data:`ABSENT` for no object. Where
        exactly these bytes are there already, an earlier try of this write arrived: that is success. Raises
        ``ChangedError`` if another version is there.
        """
        ...

    def delete(self, keys: list[str]) -> None:
        """Remove these objects; those that are not there are passed over."""
        ...


def is_key(name: str) -> bool:
    """Whether ``name`` can be a key; objects of others are skipped."""
    return _KEY.fullmatch(name) is not None


def checked(key: str) -> str:
    """Return ``key``. Raises ``StoreError`` for one that is no key of a store."""
    if not is_key(key):
        raise StoreError(f"{key!r} cannot name an object of a store")
    return key


def scheme_of(address: str) -> str:
    """Return the kind of an address: file, s3, gs or az. Raises ``StudyError`` for any other."""
    found = _ADDRESS.fullmatch(address) if address.isprintable() else None
    kind = (found[1] or "file") if found else ""
    if not found or (kind == "file" and not Path(found[2]).is_absolute()):
        raise StudyError(  # the address is not shown: it may hold a password
            "deploy.store: no store of this kind; give a folder that all hosts see, from the root, or s3://BUCKET/PREFIX, "
            "gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, without user, password or query: credentials and endpoint go into "
            "environment variables"
        )
    return kind
