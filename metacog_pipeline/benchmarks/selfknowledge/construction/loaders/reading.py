"""The rows of a published file, Parquet or JSON, and what a loader makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.benchmarks.selfknowledge.construction.rows import MAX_BYTES, Row
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import Line, read_bytes, read_objects

LONGEST_LINE = 64 * 1024**2  # bytes; TriviaQA with its evidence has lines of several million


@dataclass(frozen=True, slots=True)
class Loaded:
    """The questions of a file and the layout they were found in."""

    rows: tuple[Row, ...]
    layout: str


def read_published(path: Path, columns: Sequence[str], within: Sequence[str] = ()) -> list[Line]:
    """Return the rows of a Parquet or JSON file, packed or not; at least one.

    Parameters
    ----------
    columns
        What is read of a Parquet file; those it lacks are left out, for the loader to miss.
    within
        Names under which a JSON file may keep the list of its rows.
    """
    data = read_bytes(path, MAX_BYTES)
    if data.startswith(b"PAR1"):
        lines = _parquet(path, data, columns)
    else:
        del data
        lines = read_objects(path, within, MAX_BYTES, LONGEST_LINE)
    if not lines:
        raise SourceError(f"{path}: no rows in it; replace the file")
    return lines


def _parquet(path: Path, data: bytes, columns: Sequence[str]) -> list[Line]:
    try:
        rows = pq.ParquetFile(pa.BufferReader(data)).read(columns=list(columns)).to_pylist()
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise SourceError(f"{path}: not a readable Parquet file ({error}); replace it") from None
    return [Line(str(path), number, row) for number, row in enumerate(rows, start=1)]
