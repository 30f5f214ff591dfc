"""Tables of counts somebody else made: one row per cell.

They have the columns ``nR_S1`` and ``nR_S2``, each a list of 2 K numbers (joined by ``;``, commas or blanks), or the wide
columns ``nR_S1_1`` … ``nR_S1_2K`` and ``nR_S2_1`` …; every other column is kept to name the cell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.errors import StudyError
from metacog_pipeline.stats.counts import Counts, counts
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.resampling import Patterns

LARGEST_COUNT = 1e15
_WIDE = re.compile(r"nr_s([12])_(\d{1,4})")
_NUMBER = re.compile(r"[^\s;,\[\]()]+")


@dataclass(frozen=True, slots=True)
class CountTable:
    """Cells of one K to be fitted.

    Attributes
    ----------
    names
        One mapping of id column to text per cell; None where the column is empty.
    table
        Their counts, raw.
    areas
        AUROC2 from trials, one per cell, or None where the counts are all there is.
    patterns
        Of trials that come several to an item: the items of each cell over its 4 K counts, S1 first; else None.
    """

    names: tuple[Mapping[str, str | None], ...]
    table: Counts
    areas: tuple[Estimate, ...] | None = None
    patterns: tuple[Patterns, ...] | None = None


def has_counts(frame: pl.DataFrame) -> bool:
    """Whether the frame is one of counts, by its columns."""
    plain = [name.lower() for name in frame.columns]
    return {"nr_s1", "nr_s2"} <= set(plain) or any(_WIDE.fullmatch(name) for name in plain)


def cells_from_counts(path: Path, frame: pl.DataFrame) -> list[CountTable]:
    """Return the cells of a table of counts, those with equal K together, in the order of their first row.

    Raises StudyError naming the row and column that holds no counts.
    """
    sides, used = _count_columns(path, frame)
    ids = [name for name in frame.columns if name not in used]
    names = names_of(frame, ids)
    by_length: dict[int, list[int]] = {}
    for row, (first, second) in enumerate(zip(*sides, strict=True)):
        try:
            counts(first, second)
        except ValueError as error:
            raise StudyError(f"{path} row {row + 1}: {error}; correct the counts") from None
        if max(*first, *second) > LARGEST_COUNT:
            raise StudyError(f"{path} row {row + 1}: a count is above {LARGEST_COUNT:g}; correct the counts")
        by_length.setdefault(len(first), []).append(row)
    return [
        CountTable(
            tuple(names[row] for row in rows),
            counts([sides[0][row] for row in rows], [sides[1][row] for row in rows]),
        )
        for rows in by_length.values()
    ]


def _count_columns(
    path: Path, frame: pl.DataFrame
) -> tuple[tuple[list[list[float]], list[list[float]]], set[str]]:
    """Return the count vectors of either stimulus by row, and the columns they came from."""
    lower = {name.lower(): name for name in frame.columns}
    joined = [[lower[name]] for name in ("nr_s1", "nr_s2") if name in lower]
    columns = joined if len(joined) == 2 else _wide_columns(path, frame)
    first, second = (
        [
            [
                number
                for name, value in zip(names, row, strict=True)
                for number in _vector(path, place, name, value)
            ]
            for place, row in enumerate(frame.select(names).iter_rows())
        ]
        for names in columns
    )
    return (first, second), {name for names in columns for name in names}


def _wide_columns(path: Path, frame: pl.DataFrame) -> list[list[str]]:
    """Return the columns of either stimulus in the order of their numbers."""
    wide: dict[str, dict[int, str]] = {"1": {}, "2": {}}
    for name in frame.columns:
        if match := _WIDE.fullmatch(name.lower()):
            wide[match[1]][int(match[2])] = name
    if sorted(wide["1"]) != sorted(wide["2"]) or len(wide["1"]) != max(wide["1"]) - min(wide["1"]) + 1:
        raise StudyError(
            f"{path}: nR_S1_… and nR_S2_… must be numbered alike and without gaps; rename the columns"
        )
    return [[side[place] for place in sorted(side)] for side in wide.values()]


def _vector(path: Path, row: int, column: str, value: Any) -> list[float]:
    parts = (
        value if isinstance(value, list) else _NUMBER.findall("" if value is None else str(value)[:100_000])
    )
    try:
        return [float(part) for part in parts]
    except (TypeError, ValueError):
        shown = str(value)[:40]
        raise StudyError(
            f"{path} row {row + 1}: {column} is {shown!r}: 2 K numbers joined by ; are needed"
        ) from None


def names_of(frame: pl.DataFrame, columns: Sequence[str]) -> list[dict[str, str | None]]:
    """Return the cells of ``columns`` as text, row by row."""
    return [
        {name: None if value is None else str(value)[:200] for name, value in zip(columns, row, strict=True)}
        for row in frame.select(columns).iter_rows()
    ] or [{} for _ in range(frame.height)]
