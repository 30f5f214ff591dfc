"""Items on disk: Parquet with an explicit schema. The file is whole or absent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.benchmarks.metacogbench.items import Item, item_from_record, item_record
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, replacing

ITEMS_FILE = "metacogbench.parquet"

# What analysts filter by stands in columns; `content` is the whole item as JSON.
_TEXT_COLUMNS = (
    "item_id",
    "tier",
    "family",
    "level",
    "domain",
    "difficulty",
    "structure",
    "bet_rule",
    "twin_of",
    "stem",
)
ITEMS_SCHEMA = pa.schema(
    [
        pa.field("item_set", pa.string(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
        *(pa.field(name, pa.string(), nullable=False) for name in _TEXT_COLUMNS),
        pa.field("answer", pa.string(), nullable=True),
        pa.field("content", pa.string(), nullable=False),
        pa.field("item_hash", pa.string(), nullable=False),
        pa.field("canary", pa.string(), nullable=False),
    ],
    metadata={"metacog_schema_version": "1"},
)


def items_path(home: Path) -> Path:
    """Return where the items of a study are kept."""
    return home / "items" / ITEMS_FILE


def write_items(path: Path, items: Sequence[Item], item_set: str = "metacog147") -> None:
    """Write the items to Parquet; readers see the old file or the new one."""
    rows = [
        {
            "item_set": item_set,
            "position": item.position,
            **{name: getattr(item, name) for name in _TEXT_COLUMNS},
            "answer": None if item.answer is None else str(item.answer),
            "content": canonical_json(item_record(item)),
            "item_hash": item.item_hash,
            "canary": item.canary,
        }
        for item in items
    ]
    table = pa.Table.from_pylist(rows, schema=ITEMS_SCHEMA)
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_items(path: Path) -> list[Item]:
    """Read items from Parquet, in file order.

    Raises
    ------
    SourceError
        If the file is missing, torn, of another schema, or a row's ``item_hash`` is not that of its content.
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
    return [_item(path, row) for row in table.to_pylist()]


def item_set_of(path: Path) -> str | None:
    """Return the name of the set a file holds; None without a readable file."""
    try:
        column = pq.read_table(path, columns=["item_set"], partitioning=None)["item_set"]
    except (OSError, pa.ArrowException, KeyError):
        return None
    return str(column[0]) if len(column) else None


def _item(path: Path, row: dict[str, str]) -> Item:
    try:
        item = item_from_record(json.loads(row["content"]))
    except (ValueError, TypeError, AttributeError) as error:
        raise SourceError(
            f"{path}: {row['item_id']} cannot be read ({error}); build the items again"
        ) from None
    shown = (getattr(item, name) == row[name] for name in _TEXT_COLUMNS)
    if item.item_hash != row["item_hash"] or not all(shown):
        raise SourceError(
            f"{path}: {row['item_id']} was changed by hand; delete the file and build the items again"
        )
    return item
