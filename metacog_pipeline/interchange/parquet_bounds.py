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


def batches(source: Path | pa.Buffer, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, or of its ``columns``, each piece `PIECE` bytes at most or one row.

    Raises ``TooLargeError`` if the file claims or proves to hold far more than it can, or more than `MOST_UNPACKED`, and
    ``ArrowException``, ``OSError``, ``ValueError`` if it cannot be read.
    """
    unpacked = 0
    with pa.OSFile(str(source)) if isinstance(source, Path) else pa.BufferReader(source) as file:
        metadata, claimed = pq.read_metadata(file), 0
        described = [metadata.schema.column(number) for number in range(metadata.num_columns)]
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            for number, kind in enumerate(described):  # of lists, the number of their values counts
                column = group.column(number)
                values = 8 * column.num_values if kind.max_repetition_level else 0
                claimed += max(column.total_uncompressed_size, values)
        most = min(MOST_UNPACKED, max(UNPACKED_ALWAYS, TIGHTEST * file.size()))
        if claimed > most:
            raise TooLargeError(f"larger than {most} bytes unpacked")
        texts = [each.path for each in described if each.physical_type == "BYTE_ARRAY"]
        reader = pq.ParquetFile(file, read_dictionary=texts)
        for batch in reader.iter_batches(columns=None if columns is None else list(columns)):
            size = sum(map(_bytes, batch.columns))
            unpacked += size
            if unpacked > MOST_UNPACKED:
                raise TooLargeError(f"larger than {MOST_UNPACKED} bytes unpacked")
            step = max(1, batch.num_rows * PIECE // max(size, 1) // 2)
            yield from (batch.slice(start, step) for start in range(0, batch.num_rows, step))


def _bytes(array: pa.Array) -> int:
    # as Python holds them: each value is a copy of its own, however often it is in the file
    kind = array.type
    if pa.types.is_dictionary(kind) and not pa.types.is_primitive(kind.value_type):
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return 8 * len(array) + int(pc.sum(lengths).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(map(_bytes, array.flatten()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return 8 * len(array) + _bytes(array.items if pa.types.is_map(kind) else pc.list_flatten(array))
    return int(array.nbytes)
