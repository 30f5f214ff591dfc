"""Rows kept under the digest of what they were computed from: one digest for a file, or one a row (column ``made_from``).

Such a file may be deleted at any time. Its mark is a digest of its bytes and of what it was made from, compared before
anything is read: one that was damaged, changed by hand, made from something else or written by something else is left
unread, so that what it held is computed again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence, Set
from io import BytesIO
from pathlib import Path

import polars as pl

from metacog_pipeline.files import replacing
from metacog_pipeline.study.frames import MARK

KEY = "made_from"
MOST_PARTS = 8  # beside a file: each is opened and decoded on its own
_FEW = 4  # times as many rows as are added, or more, stay as they are
_BLANK = b"0" * 64  # stands for the mark while the digest is taken
_BETWEEN = 2  # bytes of Parquet's metadata between a name and its value: kind and length


def computed_once(
    paths: Sequence[Path], made_from: str, compute: Callable[[], Sequence[pl.DataFrame]]
) -> list[pl.DataFrame]:
    """Return the frames kept at ``paths``; computed anew where one of them is not whole or was made from something else."""
    kept = [frame for path in paths if (frame := read_whole(path, made_from)) is not None]
    if len(kept) < len(paths):
        kept = list(compute())
        for frame, path in zip(kept, paths, strict=True):
            write_kept(frame, path, made_from)
    return kept


def read_kept(path: Path, schema: pl.Schema | None = None) -> pl.DataFrame:
    """Return the rows kept at ``path`` and in its parts, each under a digest of its own; of no file that was changed.

    Files of another schema are left out; without one, all are as the first.
    """
    rows = pl.DataFrame(schema=schema)
    for each in (path, *_parts(path)):
        found = read_whole(each)
        if found is None or found.schema != (schema or found.schema):
            continue
        schema = found.schema
        if rows.height:  # two processes may have computed the same
            rows = rows.filter(~pl.col(KEY).is_in(found[KEY].unique().implode()))
        rows = pl.concat([rows, found]) if rows.height else found
    return rows


def read_wanted(
    path: Path, wanted: Set[str], schema: pl.Schema | None = None
) -> tuple[pl.DataFrame, Set[str]]:
    """Return the rows that `read_kept` finds under the digests ``wanted``, and which of these there are."""
    rows = read_kept(path, schema)
    there: Set[str] = set(rows[KEY].unique()) if rows.width else set()
    if there - wanted:
        rows = rows.filter(pl.col(KEY).is_in(list(wanted)))
    return rows, there & wanted


def add_kept(new: pl.DataFrame, old: pl.DataFrame, path: Path) -> None:
    """Keep ``new`` rows beside the ``old`` ones that were read: in a part of their own while both are few.

    Pairs of 80 models are 40 times as many as those of one more. Else all are written, but not what nobody asked for.
    """
    parts = _parts(path)
    if len(parts) < MOST_PARTS and _FEW * new.height <= old.height:
        write_kept(new, path.with_suffix(f".{len(parts) + 1}{path.suffix}"))
        return
    write_kept(pl.concat([old, new]), path)
    for each in parts:
        each.unlink(missing_ok=True)


def _parts(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.stem}.[0-9]{path.suffix}"))


def read_whole(path: Path, made_from: str = "") -> pl.DataFrame | None:
    """Return what was made from ``made_from`` and kept at ``path``; None where it is not there, or not what was written."""
    data = _whole(path, made_from)
    return None if data is None else pl.read_parquet(BytesIO(data))


def read_rows(
    paths: Sequence[Path], made_from: Sequence[str], columns: Sequence[str] | None = None
) -> tuple[list[int], pl.DataFrame]:
    """Return the rows kept at ``paths``, one a file, and the places of their files; those are left out that are not there
    or not what was written. Read together they take a third of the time of one after another; ``columns`` None: all."""
    found = {
        place: _whole(path, mark) for place, (path, mark) in enumerate(zip(paths, made_from, strict=True))
    }
    whole = {place: data for place, data in found.items() if data is not None}
    named = None if columns is None else list(columns)
    return list(whole), pl.read_parquet(list(whole.values()), columns=named) if whole else pl.DataFrame()


def _whole(path: Path, made_from: str) -> bytes | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = data.rfind(MARK.encode()) + len(MARK) + _BETWEEN
    end = start + len(_BLANK)
    return data if _digest(data[:start] + _BLANK + data[end:], made_from) == data[start:end] else None


def write_kept(rows: pl.DataFrame, path: Path, made_from: str = "") -> None:
    """Keep ``rows`` instead of what was there."""
    file = BytesIO()
    # LZ4 is written and read in half the time; nobody asks such a file for a part of its rows by their statistics.
    rows.write_parquet(file, compression="lz4", statistics=False, metadata={MARK: _BLANK.decode()})
    data = file.getvalue()
    start = data.rindex(_BLANK)
    with replacing(path) as temporary:
        temporary.write_bytes(data[:start] + _digest(data, made_from) + data[start + len(_BLANK) :])


def _digest(data: bytes, made_from: str) -> bytes:
    found = hashlib.sha256(f"{made_from}\n".encode())
    found.update(data)
    return found.hexdigest().encode()
