"""Digests of everything in a home that is made from answers and sources, noted when the boards are published.

Journals and manifests carry checksums (`transcripts.verification`) and the ledger is compared with the answers; all other
files (sources, items, Parquet copies of answers, responses, estimates, caches, boards, report) are compared with what was
noted. They can be rebuilt, so a difference costs nothing but a run; what is not reproducible is named, and stays. What was
written since work on a home began (`begin`), and is not published yet, is no damage.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline.checksums import is_sealed, seal
from metacog_pipeline.files import ASIDE, canonical_json, file_sha256, put_aside, write_text
from metacog_pipeline.home import KEPT, Home
from metacog_pipeline.transcripts.folder import COPY_NAME, MANIFEST_NAME
from metacog_pipeline.transcripts.journal import segment_number

NOTE = "digests.json"
_BEGUN = ".unpublished"
_ELSEWHERE = ("ledger", "dagster")  # folders of a home that are checked otherwise
_BY_HAND = "; no run makes it again: copy it back, or import it once more"


@dataclass(frozen=True, slots=True)
class Compared:
    """Files as they were noted (``same``), changed or gone since (``damage``, one line each), and written since (``new``).

    ``by_hand`` are the damaged ones that are not reproducible.
    """

    same: int
    damage: dict[Path, str]
    new: int
    by_hand: frozenset[Path]


def begin(home: Home) -> None:
    """Write down that files change from now on, until they are noted; nothing where that stands there already."""
    with contextlib.suppress(OSError):  # there already, or a full disk, of which the work says more
        home.status.mkdir(parents=True, exist_ok=True)
        (home.status / _BEGUN).touch(exist_ok=False)


def note(home: Home, *below: Path) -> None:
    """Note the digest of every derived file; one whose size and time of change are as noted is not read again.

    With ``below``, folders of the home or files in it, what was noted of all else stands; nothing is noted where nothing
    was published.
    """
    before = _noted(home) or {}
    if below and not before:
        return
    if not below:  # before any file is looked at: what is written later is not noted here
        (home.status / _BEGUN).unlink(missing_ok=True)
    found = {}
    for name, path in _derived(home).items():
        with contextlib.suppress(FileNotFoundError):
            if not below or any(path.is_relative_to(each) for each in below):
                found[name] = _row(path, before.get(name))
            elif name in before:
                found[name] = before[name]
    with contextlib.suppress(OSError):  # a run on a full disk has said so; the next one notes again
        write_text(home.status / NOTE, seal(canonical_json(found).encode()).decode())


def compare(home: Home) -> Compared:
    """Read every derived file and compare it with what was noted. Raises ``OSError`` when one cannot be read."""
    noted, present = _noted(home), _derived(home)
    damage: dict[Path, str] = {}
    if noted is None:
        damage[home.status / NOTE] = "is damaged, so that what was published cannot be compared"
    mark, rows = home.status / _BEGUN, noted or {}
    begun = mark.stat().st_mtime_ns if mark.exists() else math.inf
    same, new = 0, len(present.keys() - rows.keys())
    for name, row in rows.items():
        path, lost = home / name, _BY_HAND if _by_hand(name) else ""
        if name not in present:
            damage[path] = f"is gone{lost}"
        elif file_sha256(path) == row[2]:
            same += 1
        elif path.stat().st_mtime_ns >= begun and not lost:
            new += 1
        else:
            damage[path] = f"is not what was published{lost}"
    return Compared(same, damage, new, frozenset(path for path in damage if _by_hand(home.key(path))))


def repair(compared: Compared) -> list[Path]:
    """Put changed files aside, so that the next run rebuilds them; return where they are.

    Copies of answers are left to `transcripts.verification.repair`, which makes them at once, and what is not reproducible
    to whoever has another copy of it.
    """
    rebuilt = [path for path in compared.damage if path.name != COPY_NAME and path not in compared.by_hand]
    return [put_aside(path) for path in rebuilt if path.exists()]


def _row(path: Path, before: list[Any] | None) -> list[Any]:
    """Return size, time of change and digest of a file."""
    state = path.stat()
    stamp = [state.st_size, state.st_mtime_ns]
    return before if before is not None and before[:2] == stamp else [*stamp, file_sha256(path)]


def _by_hand(name: str) -> bool:
    """Whether a file, by its path below the home, comes back by no run; answers have copies of their own."""
    return name.partition("/")[0] in KEPT and not name.endswith(f"/{COPY_NAME}")


def _derived(home: Home) -> dict[str, Path]:
    """Return the derived files by their paths below the home: none hidden, put aside, a manifest or a journal."""
    found: dict[str, Path] = {}
    for folder, inner, names in os.walk(home.path):
        if folder == str(home.path):
            inner[:] = [each for each in inner if each not in _ELSEWHERE]
        for path in (Path(folder, name) for name in names):
            other = path.name[0] == "." or ASIDE in path.name or path.name in (MANIFEST_NAME, NOTE)
            if not other and not segment_number(path):
                found[home.key(path)] = path
    return found


def _noted(home: Home) -> dict[str, list[Any]] | None:
    """Return the notes; none of them where nothing was published, None where they are damaged."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        if not (path := home.status / NOTE).exists():
            return {}
        content = json.loads(line := path.read_bytes())
        if is_sealed(line):
            del content["crc32"]
        rows = {str(name): list(row) for name, row in content.items()}
        return rows if all(len(row) == 3 for row in rows.values()) else None
    return None
