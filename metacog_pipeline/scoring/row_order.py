"""Rows in the order of some of their columns, sooner than polars sorts them by several words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

_LARGEST = 2**62  # of whole numbers that are added up in 64 bits


def ordered(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the rows in the order of the columns ``by`` (`in_order`); equal ones as they stood."""
    whole = rows.rechunk()  # rows are picked from one piece in a tenth of the time
    return whole[in_order(whole.select(by))]


def in_order(rows: pl.DataFrame) -> NDArray[np.int64]:
    """Return the places of the rows in the order of their columns, the first one first; nothing stands before anything.

    Columns are words, or whole numbers from 0. What a row holds is put into one number, for that is sorted in a fifth to a
    half of the time of several words.
    """
    key, size = np.zeros(rows.height, dtype=np.int64), 1
    for column in rows:
        found = column.unique()
        if len(found) < 2:
            continue
        numbered = column
        if column.dtype == pl.String:
            numbered = column.cast(pl.Enum(found.drop_nulls().sort())).to_physical()
        own = numbered.cast(pl.Int64).fill_null(-1).to_numpy() + 1
        most = int(own.max()) + 1
        if size * most > _LARGEST:  # only as many numbers as there are rows
            key, size = np.unique(key, return_inverse=True)[1], rows.height
        key, size = key * most + own, size * most
    return np.argsort(key, kind="stable")
