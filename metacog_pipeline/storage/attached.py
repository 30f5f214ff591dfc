"""Which store and ledger a home is attached to: written when the home is prepared, read wherever its folder is known."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import secrets
import socket
from pathlib import Path
from typing import NamedTuple

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import write_text
from metacog_pipeline.home import Home
from metacog_pipeline.storage.folders import FolderStore
from metacog_pipeline.storage.store import ABSENT, ChangedError, Store, checked, scheme_of

FILE_NAME = "deploy.json"


class Attachment(NamedTuple):
    """``store`` an address, ``ledger`` the NAME of the variable with a Postgres address; ``identity`` of this home."""

    store: str | None = None
    ledger: str | None = None
    identity: str = ""


def attachment(home: Home) -> Attachment:
    """Return what ``home`` is attached to; a damaged file is an error: answers kept elsewhere must not be asked again."""
    path = home / FILE_NAME
    try:
        found = Attachment(**json.loads(path.read_bytes()))
        if not found.identity or not all(value is None or isinstance(value, str) for value in found):
            raise ValueError("not what was written")
    except (FileNotFoundError, NotADirectoryError):
        return Attachment()
    except (OSError, ValueError, TypeError, RecursionError):
        raise StoreError(
            f"{path}: is damaged; delete it and run again, it is rewritten from the study file"
        ) from None
    return found


def attach(home: Home, store: str | None, ledger: str | None) -> None:
    """Write down what ``home`` is attached to; check the store where that is new."""
    path = home / FILE_NAME
    if store is None and ledger is None:
        path.unlink(missing_ok=True)
        return
    known = Attachment()
    with contextlib.suppress(StoreError):
        known = attachment(home)
    identity = known.identity or secrets.token_hex(8)
    if store is not None and store != known.store:
        probe(open_store(store), f"{identity}-{os.getpid()}")
    wanted = Attachment(store, ledger, identity)
    if wanted != known:
        write_text(path, json.dumps(wanted._asdict()))


def store_of(home: Home) -> Store | None:
    """Return the store ``home`` is attached to, None for a plain home. Raises as `attachment` and `open_store`."""
    address = attachment(home).store
    return None if address is None else _opened(address, os.getpid())


@functools.lru_cache(maxsize=8)
def _opened(address: str, process: int) -> Store:
    return open_store(address)  # one for each process: connections do not survive a fork


def open_store(address: str) -> Store:
    """Return the store at ``address``: a folder (plain path or ``file://``) or an object store."""
    if scheme_of(address) == "file":
        return FolderStore(Path(address.removeprefix("file://")).resolve())
    from metacog_pipeline.storage.objects import ObjectStore  # its library is an extra

    return ObjectStore(address)


def probe(store: Store, mark: str) -> None:
    """Raise ``StoreError`` where ``store`` cannot be written or ignores the condition of a write: it could lose answers."""
    key = f"probe/{checked(mark)}"
    version = store.put(key, b"1", ABSENT)
    refused = 0
    for content, when in ((b"2", ABSENT), (b"3", version), (b"4", version)):
        try:
            store.put(key, content, when)
        except ChangedError:
            refused += 1
    store.delete([key])
    if refused != 2:
        raise StoreError(
            f"{store.address}: this store ignores conditional puts (If-Match, If-None-Match), so two hosts could overwrite "
            "each other's answers; choose one that has them"
        )


def holder_name(home: Home) -> str:
    """Return what names this home on this host: two processes of one name exclude each other by a lock of files."""
    name, inode = home.path.resolve().name, (home / FILE_NAME).stat().st_ino
    return f"{socket.gethostname()}:{name}:{attachment(home).identity}:{inode}"
