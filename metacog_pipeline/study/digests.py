"""Digests of everything in a home that is made from answers and sources, noted when the boards are published.

Journals and manifests carry checksums (`transcripts.verification`) and the ledger is compared with the answers; all other
files (sources, items, Parquet copies of answers, responses, estimates, caches, boards, report) are compared with what was
noted. They can be made again, so a difference costs nothing but a run; what no run makes again is named, and stays. What
was made since work on a home began (`begin`), and is not published yet, is no damage.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline.checksums import is_sealed, seal
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import ASIDE, canonical_json, file_sha256, put_aside, write_text
from metacog_pipeline.home import KEPT, Home
from metacog_pipeline.transcripts.folder import COPY_NAME, MANIFEST_NAME
from metacog_pipeline.transcripts.journal import segment_number

NOTE = "digests.json"
_ELSEWHERE = ("ledger", "dagster")
_BEGUN = ".unpublished"
_AT_END = "METACOG_NOTED_AT_END"  # set for the processes of whoever notes everything at the end
_UNHASHED = (NOTE,)
_BY_HAND = "; no run makes it again: copy it back, or import it once more"


@dataclass(frozen=True, slots=True)
class Compared:
    """Files as they were noted (``same``), changed or gone since (``damage``, one line each), and made since (``new``).

    ``by_hand`` are the damaged ones that no run makes again.
    """

    same: int
    damage: dict[Path, str]
    new: int
    by_hand: frozenset[Path]


def begin(home: Home) -> bool:
    """Write down that files are made anew from now on, until all are noted; return whether nothing said so before."""
    with contextlib.suppress(OSError):  # there already, or a full disk, of which the work says more
        home.status.mkdir(parents=True, exist_ok=True)
        os.close(os.open(home.status / _BEGUN, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        return True
    return False


@contextlib.contextmanager
def noted_at_end(home: Home) -> Iterator[None]:
    """Have all that is made in the block noted once, at its end; in a block that fails it stays what was made since."""
    os.environ[_AT_END] = "1"
    try:
        yield
    finally:
        del os.environ[_AT_END]
    note(home)


@contextlib.contextmanager
def publishing(home: Home, below: Path | None = None) -> Iterator[None]:
    """Have what is made (``below``) noted at the end, unless all is later (`noted_at_end`)."""
    alone = begin(home)
    yield
    if _AT_END in os.environ:
        return
    note(home, below)
    if alone:
        (home.status / _BEGUN).unlink(missing_ok=True)


def note(home: Home, below: Path | None = None) -> None:
    """Note the digest of every derived file; one whose size and time of change are as noted is not read again.

    With ``below``, a folder of the home or a file in it, only what is there is looked at, and what was noted of all else
    stands.
    """
    before = _noted(home) or {}
    if not before:  # of a damaged note nothing stands
        below = None
    if below is None:
        # Before any file is looked at: what is made later is not noted here.
        (home.status / _BEGUN).unlink(missing_ok=True)
    own = "" if below is None else below.relative_to(home.path).as_posix()
    within = f"{own}/" if own else ""
    found = {name: row for name, row in before.items() if name != own and not name.startswith(within)}
    for name, path in _derived(home, below):
        with contextlib.suppress(FileNotFoundError):
            state = os.stat(path)  # noqa: PTH116  # a Path for each of tens of thousands takes longer than the question
            row = before.get(name)
            known = (
                row[2] if row and row[:2] == [state.st_size, state.st_mtime_ns] else file_sha256(Path(path))
            )
            found[name] = [state.st_size, state.st_mtime_ns, known]
    if found != before:
        with contextlib.suppress(OSError):  # a run on a full disk has said so; the next one notes again
            write_text(home.status / NOTE, seal(canonical_json(found).encode()).decode())


def note_again(home: Home, *folders: Path) -> None:
    """Note what a command wrote below ``folders`` since the boards were published; nothing where they never were."""
    for each in folders if _noted(home) else ():
        note(home, each)


def compare(home: Home) -> Compared:
    """Read every derived file and compare it with what was noted. Raises ``StoreError`` when one cannot be opened."""
    noted = _noted(home)
    damage: dict[Path, str] = {}
    if noted is None:
        noted = {}
        damage[home.status / NOTE] = "is damaged, so that what was published cannot be compared"
    present = {name: Path(path) for name, path in _derived(home)}
    since = _begun(home)
    new = len(present.keys() - noted.keys())
    for name, row in noted.items():
        path = present.get(name)
        lost = _BY_HAND if _made_by_no_run(name) else ""
        if path is None:
            damage[home.path / name] = f"is gone{lost}"
            continue
        try:
            if file_sha256(path) == row[2]:
                continue
            if path.stat().st_mtime_ns >= since and not lost:
                new += 1
            else:
                damage[path] = f"is not what was published{lost}"
        except OSError as error:
            raise StoreError(
                f"{path}: cannot be read ({error.strerror}): check its permissions and the disk"
            ) from None
    same = len(present) - new - sum(path.exists() for path in damage) if noted else 0
    by_hand = {home.path / name for name in noted if _made_by_no_run(name)} & damage.keys()
    return Compared(same, damage, new, frozenset(by_hand))


def _begun(home: Home) -> float:
    """Return since when files are made anew that are not noted yet, in nanoseconds; infinity where none are."""
    try:
        return (home.status / _BEGUN).stat().st_mtime_ns
    except FileNotFoundError:
        return math.inf


def repair(compared: Compared) -> list[Path]:
    """Put changed files aside, so that the next run makes them anew; return where they are.

    Copies of answers are left to `transcripts.verification.repair`, which makes them at once, and what no run makes again
    to whoever has another copy of it.
    """
    return [
        put_aside(path)
        for path in compared.damage
        if path.exists() and path.name != COPY_NAME and path not in compared.by_hand
    ]


def _made_by_no_run(name: str) -> bool:
    """Whether a file, by its path below the home, comes back by no run; answers have copies of their own."""
    return name.partition("/")[0] in KEPT and not name.endswith(f"/{COPY_NAME}")


def _derived(home: Home, below: Path | None = None) -> Iterator[tuple[str, str]]:
    """Yield name and path of each derived file (``below``): as text, for there are tens of thousands."""
    root = str(home.path)
    if below is not None and below.is_file():
        yield below.relative_to(home.path).as_posix(), str(below)
        return
    folders = [root if below is None else str(below)]
    while folders:
        place = folders.pop()
        within = "" if place == root else f"{place[len(root) + 1 :]}/".replace(os.sep, "/")
        skipped = _ELSEWHERE if place == root else _UNHASHED if place == str(home.status) else ()
        with contextlib.suppress(OSError), os.scandir(place) as entries:  # gone meanwhile, or not to be read
            for entry in entries:
                name = entry.name
                if name in skipped:
                    continue
                if entry.is_dir():
                    if not entry.is_symlink():
                        folders.append(entry.path)
                elif _is_derived(name):
                    yield within + name, entry.path


def _is_derived(name: str) -> bool:
    """Whether a file of this name is made from answers or sources: not hidden, put aside, a manifest or a journal."""
    if name.startswith(".") or ASIDE in name or name == MANIFEST_NAME:
        return False
    return not (name.startswith("journal-") and segment_number(Path(name)))


def _noted(home: Home) -> dict[str, list[Any]] | None:
    """Return the notes; none of them where nothing was published, None where they are damaged."""
    try:
        line = (home.status / NOTE).read_bytes()
    except FileNotFoundError:
        return {}
    try:
        content = json.loads(line)
        if is_sealed(line):
            del content["crc32"]
        rows = {str(name): list(row) for name, row in content.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return rows if all(len(row) == 3 for row in rows.values()) else None
