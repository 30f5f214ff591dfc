"""Parquet of unknown origin, read within bounds: a few kilobytes may claim, and unpack to, any number of bytes.

A text that is repeated is once in the file and once in memory (`read_dictionary`), is counted as often as it is in the
table, and rows are handed out in pieces that are small when they are unpacked.
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
    """Yield the rows of a file, or of its ``columns``, each piece `PIECE` bytes at most or one row.

    Raises ``TooLargeError`` if the file claims or proves to hold far more than it can, or more than `MOST_UNPACKED`, and
    ``ArrowException``, ``OSError``, ``ValueError`` if it cannot be read.
    """
    unpacked = 0
    with pa.OSFile(str(source)) if isinstance(source, Path) else pa.BufferReader(source) as file:
        metadata = pq.read_metadata(file)
        most = min(MOST_UNPACKED, max(UNPACKED_ALWAYS, TIGHTEST * file.size()))
        if _claimed(metadata) > most:
            raise TooLargeError(f"larger than {most} bytes unpacked")
        described = map(metadata.schema.column, range(metadata.num_columns))
        texts = [each.path for each in described if each.physical_type == "BYTE_ARRAY"]
        names = None if columns is None else list(columns)
        for batch in pq.ParquetFile(file, read_dictionary=texts).iter_batches(rows, columns=names):
            unpacked += sum(map(_bytes, batch.columns))
            if unpacked > MOST_UNPACKED:
                raise TooLargeError(f"larger than {MOST_UNPACKED} bytes unpacked")
            yield from _pieces(batch)


def _claimed(metadata: pq.FileMetaData) -> int:
    """Return the bytes that the file says its pages have; of lists, the number of their values counts."""
    claimed = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for number in range(metadata.num_columns):
            column, nested = group.column(number), metadata.schema.column(number).max_repetition_level > 0
            claimed += max(column.total_uncompressed_size, 8 * column.num_values if nested else 0)
    return claimed


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.num_rows <= 1 or sum(map(_bytes, batch.columns)) <= PIECE:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _pieces(batch.slice(0, half))
    yield from _pieces(batch.slice(half))


def _bytes(array: pa.Array) -> int:
    """Return about how many bytes the values of an array are when each is a copy of its own."""
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
