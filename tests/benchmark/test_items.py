"""Items of a study: current while nothing they were built from changed, read once for each version of their file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.common.items import inputs_current, kept_digest, kept_items, note_inputs
from metacog_pipeline.errors import SourceError


@dataclass(frozen=True, slots=True)
class Item:
    item_id: str
    item_hash: str


READ: list[Path] = []


def read(path: Path, limit: int | None = None) -> list[Item]:
    READ.append(path)
    return [Item(line, f"hash of {line}") for line in path.read_text("utf-8").split()][:limit]


def write(path: Path, text: str, changed_ns: int) -> None:
    path.write_text(text, "utf-8")
    os.utime(path, ns=(changed_ns, changed_ns))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "some.parquet"
    write(path, "a b", 1_000_000)
    READ.clear()
    return path


def test_items_are_current_while_their_inputs_are_the_noted_ones(path: Path) -> None:
    assert not inputs_current(path, lambda: "x")
    note_inputs(path, "x")
    assert (path.parent / "some.inputs.json").read_text("utf-8") == '{"made_from":"x"}\n'
    assert inputs_current(path, lambda: "x")
    assert not inputs_current(path, lambda: "y")


def test_without_items_nothing_is_current_and_inputs_are_not_looked_at(path: Path) -> None:
    note_inputs(path, "x")
    path.unlink()
    assert not inputs_current(path, lambda: pytest.fail("looked at"))


def test_a_file_is_read_once_until_it_changes(path: Path) -> None:
    first = kept_items(path, read)
    assert kept_items(path, read) == first == [Item("a", "hash of a"), Item("b", "hash of b")]
    assert kept_digest(path, read) and len(READ) == 1
    write(path, "a c", 2_000_000)
    assert [item.item_id for item in kept_items(path, read)] == ["a", "c"]
    assert len(READ) == 2


def test_what_a_caller_does_to_its_list_reaches_nobody_else(path: Path) -> None:
    kept_items(path, read).clear()
    assert len(kept_items(path, read)) == 2


def test_the_digest_is_that_of_the_items_asked(path: Path) -> None:
    whole, one = kept_digest(path, read), kept_digest(path, read, 1)
    assert whole != one == kept_digest(path, read, 1)
    write(path, "a", 3_000_000)
    assert kept_digest(path, read) == one


def test_items_that_are_not_built_are_one_line(tmp_path: Path) -> None:
    for ask in (kept_items, kept_digest):
        with pytest.raises(SourceError, match="the items are not built yet; run `metacog run`"):
            ask(tmp_path / "none.parquet", read)
