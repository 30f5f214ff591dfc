"""Parquet of unknown origin, read within bounds: a few kilobytes may claim, and unpack to, any number of bytes.

A value that is repeated stands once in the file and once in memory (`read_dictionary`), is counted as often as it stands in
the table, and rows are handed out in pieces that are small when they are unpacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metacog_pipeline.files import TIGHTEST, UNPACKED_ALWAYS, TooLargeError

MOST_UNPACKED = 4 * 2**30  # bytes of all rows as Python holds them, about; as much as of text
PIECE = 64 * 2**20


def batches(
    source: Path | pa.Buffer, columns: Sequence[str] | None = None, rows: int = 65_536
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, or of those of its ``columns``, each piece `PIECE` bytes at most or a row.

    Raises ``TooLargeError`` if the file says or proves to hold far more than it can, or more than `MOST_UNPACKED`. Raises
    ``ArrowException``, ``OSError``, ``ValueError`` if it cannot be read.
    """
    unpacked = 0
    for batch in _read(source, None if columns is None else list(columns), rows):
        unpacked += _size(batch)
        if unpacked > MOST_UNPACKED:
            raise TooLargeError(f"larger than {MOST_UNPACKED} bytes unpacked")
        yield from _pieces(batch)


def names_of(path: Path) -> list[str]:
    """Return the columns of a file in Parquet, or in Arrow's stream (``.arrow``)."""
    if path.suffix != ".arrow":
        return list(pq.read_schema(path).names)
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
        return list(stream.schema.names)


def rows_of(path: Path) -> int:
    """Return how many rows a file says it has; 0 where it does not say."""
    return 0 if path.suffix == ".arrow" else int(pq.read_metadata(path).num_rows)


def _read(source: Path | pa.Buffer, columns: list[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
    if isinstance(source, Path) and source.suffix == ".arrow":
        with pa.OSFile(str(source)) as plain, pa.ipc.open_stream(plain) as stream:
            for batch in stream:
                yield batch if columns is None else batch.select(columns)
        return
    with pa.OSFile(str(source)) if isinstance(source, Path) else pa.BufferReader(source) as file:
        metadata = pq.read_metadata(file)
        most = min(MOST_UNPACKED, max(UNPACKED_ALWAYS, TIGHTEST * file.size()))
        if _claimed(metadata) > most:
            raise TooLargeError(f"larger than {most} bytes unpacked")
        described = map(metadata.schema.column, range(metadata.num_columns))
        texts = [each.path for each in described if each.physical_type == "BYTE_ARRAY"]
        yield from pq.ParquetFile(file, read_dictionary=texts).iter_batches(rows, columns=columns)


def _claimed(metadata: pq.FileMetaData) -> int:
    """Return the bytes that the file says its pages have; of lists, the number of their values counts."""
    claimed = 0
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            column = metadata.row_group(group).column(number)
            nested = metadata.schema.column(number).max_repetition_level > 0
            claimed += max(column.total_uncompressed_size, 8 * column.num_values if nested else 0)
    return claimed


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.num_rows <= 1 or _size(batch) <= PIECE:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _pieces(batch.slice(0, half))
    yield from _pieces(batch.slice(half))


def _size(batch: pa.RecordBatch) -> int:
    return sum(map(_bytes, batch.columns))


def _bytes(array: pa.Array) -> int:
    """Return about how many bytes the values of an array are when each stands for itself."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        if pa.types.is_primitive(kind.value_type):
            return 8 * len(array)
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return 8 * len(array) + int(pc.sum(lengths).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(map(_bytes, array.flatten()))
    if pa.types.is_map(kind):
        return 8 * len(array) + _bytes(array.items)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return 8 * len(array) + _bytes(pc.list_flatten(array))
    return int(array.nbytes)
