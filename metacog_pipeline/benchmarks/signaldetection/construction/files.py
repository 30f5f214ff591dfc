"""Items on disk: Parquet with an explicit schema. The file is whole or absent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.benchmarks.signaldetection.items import Item
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import replacing

ITEMS_FILE = "signaldetection.parquet"

ITEMS_SCHEMA = pa.schema(
    [
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("task", pa.string(), nullable=False),
        pa.field("stimulus", pa.int8(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("source_row", pa.int32(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("item_hash", pa.string(), nullable=False),
    ],
    metadata={"metacog_schema_version": "1"},
)


def items_path(home: Path) -> Path:
    """Return where the items of a study are kept."""
    return home / "items" / ITEMS_FILE


def write_items(path: Path, items: Sequence[Item]) -> None:
    """Write the items to Parquet; readers see the old file or the new one."""
    rows = [{**asdict(item), "item_hash": item.item_hash} for item in items]
    table = pa.Table.from_pylist(rows, schema=ITEMS_SCHEMA)
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_items(path: Path) -> list[Item]:
    """Read items from Parquet, in file order.

    Raises
    ------
    SourceError
        If the file is missing, torn, of another schema, or a row's ``item_hash`` is not that of its text.
    """
    try:
        table = pq.read_table(path, partitioning=None)
    except FileNotFoundError:
        raise SourceError(f"{path}: no items yet; build them first (metacog run)") from None
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path}: cannot be read ({error}); delete it and build the items again") from None
    if not table.schema.equals(ITEMS_SCHEMA):
        raise SourceError(
            f"{path}: the columns are not those of this version; delete it and build the items again"
        )
    items = []
    for row in table.to_pylist():
        digest = row.pop("item_hash")
        item = Item(**row)
        if item.item_hash != digest:
            raise SourceError(
                f"{path}: {item.item_id} was changed by hand; delete the file and build the items again"
            )
        items.append(item)
    return items
