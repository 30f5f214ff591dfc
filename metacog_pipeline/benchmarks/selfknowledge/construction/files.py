"""Items on disk: Parquet with an explicit schema. The file is whole or absent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from metacog_pipeline.benchmarks.common.item_files import read_rows, write_rows
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK, Item

ITEMS_FILE = f"{BENCHMARK}.parquet"

# Questions and answers are maps by language: `questions['ko']` in SQL.
ITEMS_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("item_id", "dataset", "split")),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("questions", pa.map_(pa.string(), pa.string()), nullable=False),
        pa.field("answers", pa.map_(pa.string(), pa.list_(pa.string())), nullable=False),
        *(
            pa.field(name, pa.string(), nullable=False)
            for name in ("question_id", "event_id", "topic", "difficulty", "source")
        ),
        pa.field("source_row", pa.int32(), nullable=False),
        pa.field("item_hash", pa.string(), nullable=False),
    ],
    metadata={"metacog_schema_version": "1"},
)


def items_path(home: Path) -> Path:
    """Return where the items of a study are kept."""
    return home / "items" / ITEMS_FILE


def write_items(path: Path, items: Sequence[Item]) -> None:
    """Write the items to Parquet; readers see the old file or the new one."""
    write_rows(
        path, [{name: getattr(item, name) for name in ITEMS_SCHEMA.names} for item in items], ITEMS_SCHEMA
    )


def read_items(path: Path) -> list[Item]:
    """Read items from Parquet, in file order.

    Raises
    ------
    SourceError
        If the file is missing, torn, of another schema, or a row's ``item_hash`` is not that of its question.
    """
    return read_rows(path, ITEMS_SCHEMA, _item)


def _item(row: dict[str, Any]) -> Item:
    known = {name: value for name, value in row.items() if name != "item_hash"}
    known["questions"] = tuple(known["questions"])
    known["answers"] = tuple((language, tuple(each)) for language, each in known["answers"])
    return Item(**known)
