"""Items on disk: what was written comes back, and what anyone else did to the file is one line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.common.item_files import read_rows, write_rows
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex

SCHEMA = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("item_id", "text", "item_hash")],
    metadata={"metacog_schema_version": "1"},
)


@dataclass(frozen=True, slots=True)
class Item:
    item_id: str
    text: str

    @property
    def item_hash(self) -> str:
        if self.text == "unhashable":
            raise TypeError(self.text)
        return sha256_hex(self.text)


def item_of(row: dict[str, Any]) -> Item:
    if row["text"] == "unreadable":
        raise ValueError(row["text"])
    return Item(row["item_id"], row["text"])


def rows_of(items: list[Item]) -> list[dict[str, Any]]:
    return [{**asdict(item), "item_hash": item.item_hash} for item in items]


@settings(max_examples=40)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_items_come_back_in_their_order_and_equal_items_give_equal_bytes(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    items = [Item(f"i{number}", f"{text} ") for number, text in enumerate(texts)]
    path = tmp_path_factory.mktemp("items") / "deeper" / "items.parquet"
    write_rows(path, rows_of(items), SCHEMA)
    first = path.read_bytes()
    assert read_rows(path, SCHEMA, item_of) == items
    write_rows(path, rows_of(items), SCHEMA)
    assert path.read_bytes() == first
    assert [each.name for each in path.parent.iterdir()] == ["items.parquet"]


@pytest.mark.parametrize("text", ["another text", "unreadable", "unhashable"])
def test_a_row_that_is_not_ours_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "items.parquet"
    rows = rows_of([Item("a", "one"), Item("b", "two")])
    write_rows(path, [rows[0], {**rows[1], "text": text}], SCHEMA)
    with pytest.raises(SourceError, match="b was changed by hand"):
        read_rows(path, SCHEMA, item_of)


def test_a_missing_file_names_the_command_that_builds_it(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no items yet; build them first \(metacog run, or so\)"):
        read_rows(tmp_path / "none.parquet", SCHEMA, item_of, "metacog run, or so")


def test_a_torn_file_and_one_of_another_version_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "items.parquet"
    write_rows(path, rows_of([Item("a", "one")]), SCHEMA)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(SourceError, match="cannot be read"):
        read_rows(path, SCHEMA, item_of)
    path.write_bytes(whole)
    pq.write_table(pq.read_table(path).drop_columns(["text"]), path)
    with pytest.raises(SourceError, match="columns are not those"):
        read_rows(path, SCHEMA, item_of)
