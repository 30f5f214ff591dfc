"""Files that are made from answers, between homes: what one host scored another need not score again.

Everything here can be rebuilt, so the last writer of a file wins. A home notes which version of each file it has;
only what changed here is sent, only what changed there is brought.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Iterator

from metacog_pipeline.files import replacing, state_of, write_text
from metacog_pipeline.home import BUILT_FROM, LEADERBOARD, STATUS, Home
from metacog_pipeline.storage.attached import store_of
from metacog_pipeline.storage.store import Store

FOLDERS = ("items", "responses", "judgements", "scored", "harmonised", "estimates", "cross_benchmark")
#: The board, and the note that says what it was built from, with the digest of the file: two of different builds are stale.
FILES = (LEADERBOARD, f"{STATUS}/{BUILT_FROM}")
PREFIX, NOTE = "derived", ".derived.json"
_GONE = (0, 0)
Known = dict[
    str, tuple[tuple[int, int], str]
]  # path below the home: its state here, its version in the store


def bring(home: Home) -> int:
    """Bring what other hosts made into ``home``; return how many files. What changed here and was not sent stays."""
    if (store := store_of(home)) is None:
        return 0
    count = 0
    with _noted(home, store) as known:
        listed = {one.key.removeprefix(f"{PREFIX}/"): one for one in store.listed(PREFIX)}
        for name, one in listed.items():
            path, (state, version) = home / name, known.get(name, (_GONE, ""))
            unchanged = state_of(path) in (_GONE, state)
            if version == one.version or not unchanged or not _travels(name):
                continue
            if (found := store.read(one.key)) is not None:
                with replacing(path) as temporary:
                    temporary.write_bytes(found.content)
                known[name] = (state_of(path), found.version)
                count += 1
        for name in known.keys() - listed.keys():  # taken out of the store since it was noted
            if state_of(home / name) == known.pop(name)[0]:
                (home / name).unlink()
    return count


def send(home: Home) -> int:
    """Put what was made in ``home`` into the store; return how many files. Raises ``StoreError`` where that fails."""
    if (store := store_of(home)) is None:
        return 0
    count = 0
    with _noted(home, store) as known:
        paths = [path for folder in FOLDERS for path in sorted((home / folder).rglob("*"))]
        paths += [home / name for name in FILES]
        here = {home.key(path): path for path in paths if path.is_file() and path.name[0] != "."}
        for name, path in here.items():
            if known.get(name, (_GONE, ""))[0] != (state := state_of(path)):
                known[name] = (state, store.put(f"{PREFIX}/{name}", path))
                count += 1
        removed = sorted(known.keys() - here.keys())
        store.delete([f"{PREFIX}/{name}" for name in removed])
        for name in removed:
            del known[name]
    return count


def _travels(name: str) -> bool:
    return name in FILES or name.split("/")[0] in FOLDERS


@contextlib.contextmanager
def _noted(home: Home, store: Store) -> Iterator[Known]:
    """Yield what is noted of the store, and note what became of that: one process at a time."""
    known: Known = {}  # where the note is missing, damaged, or of another store, all is compared again
    with (home / f"{NOTE}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            said = json.loads((home / NOTE).read_bytes())
            if said["store"] == store.address:
                known = {name: ((int(t), int(n)), str(v)) for name, ((t, n), v) in said["files"].items()}
        yield known
        write_text(home / NOTE, json.dumps({"store": store.address, "files": known}))
