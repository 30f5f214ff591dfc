"""Many small files read as one: to open one takes a millisecond, however little it holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from metacog_pipeline.study.frames import read_frame, read_frames
from metacog_pipeline.study.kept import KEY, add_kept, read_wanted

MANY = 20  # files, fewer of which are read as soon
_LARGEST = 2**26  # bytes, more of which take longer to read than to be opened


def read_many(paths: Sequence[Path], marks: Sequence[str | None], kept: Path) -> pl.DataFrame:
    """Return what `read_frames` does; the rows of files that are as they were come from ``kept``.

    Parameters
    ----------
    paths, marks
        The files, and of each the digest of what it was made from.
    kept
        Holds what was read before (`study.kept`), with its parts.

    Raises
    ------
    SourceError
        When a file that has to be read is damaged.
    """
    if len(paths) < MANY or not all(marks) or sum(path.stat().st_size for path in paths) > _LARGEST:
        return read_frames(paths)
    places = {
        f"{path.parent.name}/{path.name} {mark}": n
        for n, (path, mark) in enumerate(zip(paths, marks, strict=True))
    }
    found, there = read_wanted(kept, places.keys())
    new = [
        read_frame(paths[n]).with_columns(pl.lit(key).alias(KEY))
        for key, n in places.items()
        if key not in there
    ]
    if new and not found.width:
        found = new[0].clear()
    if any(each.schema != found.schema for each in new):
        return read_frames(paths)
    if new:
        added = pl.concat(new)
        add_kept(added, found, kept)
        found = pl.concat([found, added])
    place = found[KEY].replace_strict(places, return_dtype=pl.Int64)
    whole = found.drop(KEY)
    return whole if place.is_sorted() else whole[np.argsort(place.to_numpy(), kind="stable")]
