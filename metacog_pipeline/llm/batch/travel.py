"""Batches between hosts: what one host submitted another collects, and submits it not again.

A record goes to the store with every change, before what it announces happens: a host that finds a batch ``submitting``
looks for its mark at the provider, as the host that wrote it would.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing
from metacog_pipeline.home import Home
from metacog_pipeline.storage.attached import store_of

if TYPE_CHECKING:
    from metacog_pipeline.storage.store import Store

RECORD = "record.json"
State = Literal["written", "submitting", "submitted", "collected", "done", "refused", "given up"]


def send(home: Home, *paths: Path) -> None:
    """Put these files of a batch into the store of ``home``. Raises ``StoreError``."""
    if (store := store_of(home)) is None:
        return
    for path in paths:
        if path.exists():
            store.put(home.key(path), path)


def take_away(home: Home, *paths: Path) -> None:
    """Remove these files of a batch from the store. Raises ``StoreError``."""
    if (store := store_of(home)) is not None:
        store.delete([home.key(path) for path in paths])


def bring(home: Home, store: Store) -> None:
    """Bring every batch that another host knows better into ``home``. Raises ``StoreError``."""
    listed: dict[str, list[str]] = {}
    for one in store.listed(home.batches.name):
        mark, _, name = one.key.removeprefix(f"{home.batches.name}/").partition("/")
        listed.setdefault(mark, []).append(name)
    for mark, names in listed.items():
        folder = home.batches / mark
        found = store.read(f"{home.key(folder)}/{RECORD}") if RECORD in names else None
        if found is None or _rank(found.content) <= _rank_here(folder / RECORD):
            continue
        for name in sorted(
            names, key=lambda each: each == RECORD
        ):  # the record last: it says that the rest is there
            content = found.content if name == RECORD else _content(store, f"{home.key(folder)}/{name}")
            with replacing(folder / name) as temporary:
                temporary.write_bytes(content)


def _content(store: Store, key: str) -> bytes:
    found = store.read(key)
    if found is None:
        raise StoreError(f"{store.address}/{key}: was taken away while it was read; run again")
    return found.content


def _rank_here(record: Path) -> int:
    try:
        return _rank(record.read_bytes())
    except FileNotFoundError:
        return -1


def _rank(record: bytes) -> int:
    """Return how far a batch is; a record that cannot be read is told by whoever reads it."""
    states: tuple[str, ...] = get_args(State)
    return max(
        (place for place, state in enumerate(states) if f'"state": "{state}"'.encode() in record), default=0
    )
