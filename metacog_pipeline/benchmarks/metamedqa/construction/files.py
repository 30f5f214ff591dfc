"""Items on disk: Parquet with an explicit schema, and the published JSON Lines layout. Files are whole or absent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.benchmarks.metamedqa.construction.build import published_layout
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item, Kind, Letter
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import replacing, write_text
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
    table = pa.Table.from_pylist([_to_row(item) for item in items], schema=ITEMS_SCHEMA)
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
        raise SourceError(
            f"{path}: no items yet; build them first (metacog run, or metacog metamedqa build)"
        ) from None
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path}: cannot be read ({error}); delete it and build the items again") from None
    if not table.schema.equals(ITEMS_SCHEMA):
        raise SourceError(
            f"{path}: the columns are not those of this version; delete it and build the items again"
        )
    return [_from_row(row, path) for row in table.to_pylist()]


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


def _from_row(row: Mapping[str, Any], path: Path) -> Item:
    a, b, c, d, e, f = (row[name] for name in _OPTION_COLUMNS)
    item = Item(
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
    if item.item_hash != row["item_hash"]:
        raise SourceError(
            f"{path}: {item.item_id} was changed by hand; delete the file and build the items again"
        )
    return item


def write_jsonl(path: Path, items: Sequence[Item]) -> None:
    """Write the items in the published layout, one object per line, ids and source rows beside it."""
    write_rows(path, [published_layout(item) for item in items])


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest as JSON with sorted keys."""
    write_text(path, json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=True) + "\n")
