"""Items on disk: Parquet with an explicit schema. The file is whole or absent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.benchmarks.common.item_files import read_rows, write_rows
from metacog_pipeline.benchmarks.metacogbench.items import Item, item_from_record, item_record
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json

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
    write_rows(path, rows, ITEMS_SCHEMA)


def read_items(path: Path) -> list[Item]:
    """Read items from Parquet, in file order.

    Raises
    ------
    SourceError
        If the file is missing, torn, of another schema, or a row's ``item_hash`` is not that of its content.
    """
    return read_rows(path, ITEMS_SCHEMA, partial(_item, path))


def item_set_of(path: Path) -> str | None:
    """Return the name of the set a file holds; None without a readable file."""
    try:
        column = pq.read_table(path, columns=["item_set"], partitioning=None)["item_set"]
    except (OSError, pa.ArrowException, KeyError):
        return None
    return str(column[0]) if len(column) else None


def _item(path: Path, row: dict[str, Any]) -> Item:
    try:
        item = item_from_record(json.loads(row["content"]))
    except (ValueError, TypeError, AttributeError) as error:
        raise SourceError(
            f"{path}: {row['item_id']} cannot be read ({error}); build the items again"
        ) from None
    if any(getattr(item, name) != row[name] for name in _TEXT_COLUMNS):
        raise ValueError(f"the columns of {item.item_id} are not those of its content")
    return item
