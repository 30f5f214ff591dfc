"""Files that are made from answers, between homes: what one host scored another need not score again.

Everything here can be made anew, so the last writer of a file stands and nothing is locked between hosts. A home notes
which version of each file it has; only what changed here is sent, only what changed there is brought.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from metacog_pipeline.files import replacing, write_text
from metacog_pipeline.home import Home
from metacog_pipeline.storage.attached import store_of
from metacog_pipeline.storage.store import Listed, Store

FOLDERS = ("items", "responses", "judgements", "scored", "harmonised", "estimates", "cross_benchmark")
PREFIX, NOTE, LOCK = "derived", ".derived.json", ".derived.lock"
AT_ONCE = 8
State = tuple[int, int]  # size and time of change of a file here
#: By path below the home: its state when it was noted, its version in the store.
Known = dict[str, tuple[State, str]]


def bring(home: Home) -> int:
    """Bring what other hosts made into ``home``; return how many files. What changed here and was not sent stays.

    Raises ``StoreError`` if the store cannot be read.
    """
    return _moved(home, _bring)


def send(home: Home) -> int:
    """Put what was made in ``home`` into the store; return how many files. Raises ``StoreError`` where that fails."""
    return _moved(home, _send)


def _moved(home: Home, move: Callable[[Home, Store, Known, ThreadPoolExecutor], int]) -> int:
    store = store_of(home)
    if store is None:
        return 0
    with _locked(home), ThreadPoolExecutor(AT_ONCE) as pool:
        known = _noted(home, store)
        before = dict(known)
        count = move(home, store, known, pool)
        if known != before:
            write_text(home / NOTE, json.dumps({"store": store.address, "files": known}))
    return count


def _bring(home: Home, store: Store, known: Known, pool: ThreadPoolExecutor) -> int:
    listed = {one.key.removeprefix(f"{PREFIX}/"): one for one in store.listed(PREFIX)}
    wanted = []
    for name, one in listed.items():
        state, version = known.get(name, (None, None))
        here = _state(home / name)
        if version != one.version and (here is None or here == state) and name.split("/")[0] in FOLDERS:
            wanted.append((name, one))
    for name in known.keys() - listed.keys():  # taken out of the store since it was noted
        if _state(home / name) == known.pop(name)[0]:
            (home / name).unlink()

    def fetched(each: tuple[str, Listed]) -> tuple[str, State, str] | None:
        name, one = each
        found = store.read(one.key)
        if found is None:  # taken away meanwhile
            return None
        with replacing(home / name) as temporary:
            temporary.write_bytes(found.content)
        state = _state(home / name)
        return None if state is None else (name, state, found.version)

    made = [each for each in pool.map(fetched, wanted) if each is not None]
    known.update({name: (state, version) for name, state, version in made})
    return len(made)


def _send(home: Home, store: Store, known: Known, pool: ThreadPoolExecutor) -> int:
    changed: list[tuple[str, State]] = []
    here = set()
    for path in (found for folder in FOLDERS for found in sorted((home / folder).rglob("*"))):
        name, state = home.key(path), _state(path)
        if state is None or path.name.startswith("."):
            continue
        here.add(name)
        if known.get(name, (None,))[0] != state:
            changed.append((name, state))
    removed = known.keys() - here
    store.delete([f"{PREFIX}/{name}" for name in sorted(removed)])
    for name in removed:
        del known[name]
    versions = pool.map(lambda each: store.put(f"{PREFIX}/{each[0]}", home / each[0]), changed)
    known.update({name: (state, version) for (name, state), version in zip(changed, versions, strict=True)})
    return len(changed)


def _state(path: Path) -> State | None:
    try:
        known = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (known.st_size, known.st_mtime_ns) if stat.S_ISREG(known.st_mode) else None


def _noted(home: Home, store: Store) -> Known:
    """Return what was noted of this store; nothing where the note is missing or damaged: all is compared again."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        said = json.loads((home / NOTE).read_bytes())
        if said["store"] == store.address:
            return {
                str(name): ((int(size), int(changed)), str(version))
                for name, ((size, changed), version) in said["files"].items()
            }
    return {}


@contextlib.contextmanager
def _locked(home: Home) -> Iterator[None]:
    descriptor = os.open(home / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
