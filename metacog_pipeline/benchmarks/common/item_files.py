"""Items on disk: Parquet with an explicit schema, each row with its item's hash. A file is whole or absent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import replacing


class Hashed(Protocol):
    """An item that knows the digest of what it asks."""

    @property
    def item_id(self) -> str:
        """What it is called; unique in its file."""

    @property
    def item_hash(self) -> str:
        """SHA-256 over everything that decides how the item is asked and scored."""


ItemT = TypeVar("ItemT", bound=Hashed)


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
    """Write one row an item, ``item_hash`` among its columns; readers see the old file or the new one."""
    table = pa.Table.from_pylist(rows, schema=schema)
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_rows(
    path: Path, schema: pa.Schema, item_of: Callable[[dict[str, Any]], ItemT], build: str = "metacog run"
) -> list[ItemT]:
    """Return the item of each row, in file order.

    Parameters
    ----------
    item_of
        Row → item; a ValueError, TypeError or RecursionError says that the row was never written by us.
    build
        The command that builds the items.

    Raises
    ------
    SourceError
        If the file is missing, torn, of another schema, or a row's ``item_hash`` is not that of its item.
    """
    try:
        table = pq.read_table(path, partitioning=None)
    except FileNotFoundError:
        raise SourceError(f"{path}: no items yet; build them first ({build})") from None
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path}: cannot be read ({error}); delete it and build the items again") from None
    if not table.schema.equals(schema):
        raise SourceError(
            f"{path}: the columns are not those of this version; delete it and build the items again"
        )
    items = []
    for row in table.to_pylist():
        try:
            item = item_of(row)
            unchanged = item.item_hash == row["item_hash"]
        except (ValueError, TypeError, RecursionError):
            unchanged = False
        if not unchanged:
            raise SourceError(
                f"{path}: {row['item_id']} was changed by hand; delete the file and build the items again"
            )
        items.append(item)
    return items
