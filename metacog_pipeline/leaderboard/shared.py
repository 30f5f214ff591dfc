"""Boards in the store a home is attached to: every build a version of its own, and a pointer to the one that stands."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import file_sha256, replacing, sha256_hex, write_text
from metacog_pipeline.home import LEADERBOARD, TEXTS, Home
from metacog_pipeline.scoring.staleness import LEADERBOARD as BOARD_NOTE
from metacog_pipeline.storage import derived
from metacog_pipeline.storage.attached import store_of
from metacog_pipeline.storage.store import ABSENT, ChangedError, Store
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.shared import refresh

FOLDER, NOTE = "boards", ".board.json"
POINTER = f"{FOLDER}/current.json"
FILES = (LEADERBOARD, TEXTS, f"study/{BOARD_NOTE}")  # the last says what they were built from
KEPT = 3  # versions; who reads one while the next is published still finds it
_TRIES = 10
Version = dict[str, list[str]]  # name of a file: its key and digest


def catch_up(study: Study) -> None:
    """Bring what other hosts kept, made and published into the home of a study with a store; else do nothing.

    Raises
    ------
    StoreError, StudyError
        If the home or the store cannot be used.
    """
    if study.deploy.store is None:
        return
    study.prepare()
    refresh(study.home)
    derived.bring(study.home)
    fetch(study.home)


@contextlib.contextmanager
def among_hosts(study: Study) -> Iterator[None]:
    """Begin with all that other hosts kept and made, and bring them what is made meanwhile. Raises as `catch_up`."""
    if study.deploy.store is None:
        yield
        return
    study.prepare()
    refresh(study.home)
    derived.bring(study.home)
    try:
        yield
    finally:
        derived.send(study.home)


def publish(home: Home) -> None:
    """Put the boards of ``home`` into the store it is attached to and let the pointer say so; nothing for a plain home.

    Raises
    ------
    StoreError
        If the store cannot be written.
    """
    store = store_of(home)
    if store is None:
        return
    digests = {name: file_sha256(home / name) for name in FILES if (home / name).is_file()}
    for _ in range(_TRIES):
        published, version = _pointer(store)
        if {name: known[1] for name, known in published.items()} == digests:
            _note(home, published)
            return
        number = 1 + max((_number(one.key) for one in store.listed(FOLDER)), default=0)
        made = {
            name: [f"{FOLDER}/{number:06d}-{digest[:16]}/{name}", digest] for name, digest in digests.items()
        }
        for name, (key, _) in made.items():
            store.put(key, home / name)
        with contextlib.suppress(ChangedError):
            store.put(POINTER, json.dumps(made, sort_keys=True).encode(), version)
            _note(home, made)
            store.delete([one.key for one in store.listed(FOLDER) if 0 < _number(one.key) <= number - KEPT])
            return
    raise StoreError(f"{store.address}/{POINTER}: others publish boards all the time; run again")


def fetch(home: Home) -> None:
    """Bring the boards that stand in the store of ``home`` into it, where they are others than it had."""
    store = store_of(home)
    published = {} if store is None else standing(store)
    if store is None or not published or _noted(home) == published:
        return
    (home / FILES[-1]).unlink(missing_ok=True)
    for name, (key, digest) in published.items():
        if name not in FILES:
            continue
        found = store.read(key)
        if found is None or sha256_hex(found.content) != digest:
            said = "is missing" if found is None else "is damaged"
            raise StoreError(
                f"{store.address}/{key}: {said}; run metacog run on any host: it publishes the boards again"
            )
        with replacing(home / name) as temporary:
            temporary.write_bytes(found.content)
    _note(home, published)


def standing(store: Store) -> Version:
    """Return key and digest of each file of the boards that stand in ``store``; nothing before the first."""
    return _pointer(store)[0]


def _pointer(store: Store) -> tuple[Version, str]:
    found = store.read(POINTER)
    if found is None:
        return {}, ABSENT
    return _parsed(found.content), found.version


def _parsed(content: bytes) -> Version:
    """Return what a pointer says; nothing for a damaged one: the next build writes another."""
    try:
        return {str(name): [str(key), str(digest)] for name, (key, digest) in json.loads(content).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _note(home: Home, published: Version) -> None:
    write_text(home / NOTE, json.dumps(published))


def _noted(home: Home) -> Version:
    try:
        return _parsed((home / NOTE).read_bytes()) if home.leaderboard.is_file() else {}
    except OSError:
        return {}


def _number(key: str) -> int:
    name = key.removeprefix(f"{FOLDER}/").partition("-")[0]
    return int(name) if name.isdecimal() else 0
