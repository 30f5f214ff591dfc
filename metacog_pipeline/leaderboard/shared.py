"""Boards in the store a home is attached to: one archive, so that any host reads files of one build."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing, write_text
from metacog_pipeline.home import LEADERBOARD, Home
from metacog_pipeline.scoring.staleness import LEADERBOARD as BOARD_NOTE
from metacog_pipeline.storage import derived
from metacog_pipeline.storage.attached import store_of
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.shared import refresh

FOLDER = "boards"
BOARDS = f"{FOLDER}/current.zip"
NOTE = ".board.version"  # of the archive a home sent or brought last
FILES = (LEADERBOARD, f"study/{BOARD_NOTE}")  # the last says what they were built from


def catch_up(study: Study) -> None:
    """Bring what other hosts kept, made and published into the home of a study with a store; else do nothing."""
    if study.deploy.store is not None:
        _bring(study)
        fetch(study.home)


@contextlib.contextmanager
def among_hosts(study: Study) -> Iterator[None]:
    """Begin with all that other hosts kept and made, and bring them what is made meanwhile. Raises as `catch_up`."""
    if study.deploy.store is None:
        yield
        return
    _bring(study)
    try:
        yield
    finally:
        derived.send(study.home)


def _bring(study: Study) -> None:
    study.prepare()
    refresh(study.home)
    derived.bring(study.home)


def publish(home: Home) -> None:
    """Put the boards of ``home`` into the store it is attached to, in place of those there; nothing for a plain home."""
    store = store_of(home)
    if store is None:
        return
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:  # DuckDB compresses its own
        for name in FILES:
            if (home / name).is_file():
                # Without times of change: equal boards are equal archives.
                file.writestr(zipfile.ZipInfo(name), (home / name).read_bytes())
    write_text(home / NOTE, store.put(BOARDS, content.getvalue()))


def fetch(home: Home) -> None:
    """Bring the boards in the store of ``home`` into it, where they are others than it had; StoreError where damaged."""
    store, note = store_of(home), home / NOTE
    if store is None:
        return
    version = next((one.version for one in store.listed(FOLDER) if one.key == BOARDS), None)
    known = note.read_text("utf-8") if home.leaderboard.is_file() and note.is_file() else None
    found = None if version in (None, known) else store.read(BOARDS)
    if found is None:
        return
    try:
        with zipfile.ZipFile(io.BytesIO(found.content)) as file:
            contents = {name: file.read(name) for name in FILES if name in file.namelist()}
    except (zipfile.BadZipFile, EOFError):
        raise StoreError(
            f"{store.address}/{BOARDS}: is damaged; run metacog run on any host: it publishes the boards again"
        ) from None
    (home / FILES[-1]).unlink(
        missing_ok=True
    )  # until all of them are there, nothing says that the board is current
    for name, content in contents.items():
        with replacing(home / name) as temporary:
            temporary.write_bytes(content)
    write_text(note, found.version)
