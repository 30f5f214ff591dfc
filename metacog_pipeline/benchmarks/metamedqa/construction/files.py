"""Items on disk: Parquet with an explicit schema, and the published JSON Lines layout. Files are whole or absent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from metacog_pipeline.benchmarks.common import item_files
from metacog_pipeline.benchmarks.metamedqa.construction.build import published_layout
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item, Kind, Letter
from metacog_pipeline.files import write_text
from metacog_pipeline.sources import write_rows

ITEMS_FILE = "metamedqa.parquet"
MANIFEST_FILE = "metamedqa.manifest.json"
_OPTION_COLUMNS = tuple(f"option_{letter.lower()}" for letter in LETTERS)

ITEMS_SCHEMA = pa.schema(
    [
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("question", pa.string(), nullable=False),
        *(pa.field(name, pa.string(), nullable=False) for name in _OPTION_COLUMNS),
        pa.field("target", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("meta_info", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("source_index", pa.int32()),
        pa.field("source_target", pa.string()),
        pa.field("edit_kind", pa.string()),
        pa.field("tags", pa.list_(pa.field("element", pa.string(), nullable=False)), nullable=False),
        pa.field("item_hash", pa.string(), nullable=False),
    ],
    metadata={"metacog_schema_version": "1"},
)


def items_path(home: Path) -> Path:
    """Return where the items of a study are kept."""
    return home / "items" / ITEMS_FILE


def write_items(path: Path, items: Sequence[Item]) -> None:
    """Write the items to Parquet; readers see the old file or the new one."""
    item_files.write_rows(path, [_to_row(item) for item in items], ITEMS_SCHEMA)


def read_items(path: Path) -> list[Item]:
    """Read items from Parquet, in file order.

    Raises
    ------
    SourceError
        If the file is missing, torn, of another schema, or a row's ``item_hash`` is not that of its text.
    """
    return item_files.read_rows(path, ITEMS_SCHEMA, _from_row, "metacog run, or metacog metamedqa build")


def _to_row(item: Item) -> dict[str, Any]:
    return {
        "item_id": item.item_id,
        "position": item.position,
        "question": item.question,
        **dict(zip(_OPTION_COLUMNS, item.options, strict=True)),
        "target": item.target,
        "kind": item.kind,
        "meta_info": item.meta_info,
        "dataset": item.dataset,
        "source_index": item.source_index,
        "source_target": item.source_target,
        "edit_kind": item.edit_kind,
        "tags": list(item.tags),
        "item_hash": item.item_hash,
    }


def _from_row(row: Mapping[str, Any]) -> Item:
    a, b, c, d, e, f = (row[name] for name in _OPTION_COLUMNS)
    return Item(
        item_id=row["item_id"],
        position=row["position"],
        question=row["question"],
        options=(a, b, c, d, e, f),
        target=cast(Letter, row["target"]),
        kind=cast(Kind, row["kind"]),
        meta_info=row["meta_info"],
        dataset=row["dataset"],
        source_index=row["source_index"],
        source_target=row["source_target"],
        edit_kind=row["edit_kind"],
        tags=tuple(row["tags"]),
    )


def write_jsonl(path: Path, items: Sequence[Item]) -> None:
    """Write the items in the published layout, one object per line, ids and source rows beside it."""
    write_rows(path, [published_layout(item) for item in items])


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest as JSON with sorted keys."""
    write_text(path, json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=True) + "\n")
