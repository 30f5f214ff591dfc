"""Sets as wholes: numbers, uniqueness, what is on disk, and that shipped texts are what the generators make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.files import (
    ITEMS_SCHEMA,
    item_set_of,
    items_path,
    read_items,
    write_items,
)
from metacog_pipeline.benchmarks.metacogbench.construction.invariants import check, check_item
from metacog_pipeline.benchmarks.metacogbench.construction.pipeline import (
    construct,
    generate,
    input_digests,
    items_of,
    shipped_items,
)
from metacog_pipeline.benchmarks.metacogbench.construction.plan import GENERATORS, PLAN, made, make_item
from metacog_pipeline.benchmarks.metacogbench.construction.texts import read_texts, to_toml
from metacog_pipeline.benchmarks.metacogbench.items import CANARY, SETS, Item, item_from_record, item_record
from metacog_pipeline.errors import SourceError, StudyError


@pytest.mark.parametrize("item_set", SETS)
def test_a_set_breaks_no_rule_and_comes_back_from_disk(item_set: str, tmp_path: Path) -> None:
    built = construct(tmp_path, item_set)
    assert built.violations == ()
    assert tuple(read_items(items_path(tmp_path))) == built.items
    assert item_set_of(items_path(tmp_path)) == item_set
    assert [item.position for item in built.items] == list(range(len(built.items)))


def test_the_sets_have_the_published_shape(tmp_path: Path) -> None:
    assert construct(tmp_path).counts == {"1a": 33, "1b": 34, "2a": 30, "2b": 30, "3": 20}
    assert construct(tmp_path, "metacog41").counts == {"1a": 13, "1b": 14, "2a": 5, "2b": 5, "3": 4}


def test_a_larger_limit_only_adds(tmp_path: Path) -> None:
    few = {item.item_id for item in construct(tmp_path, seed=5, limit=3).items}
    more = {item.item_id for item in construct(tmp_path, seed=5, limit=7).items}
    other = {item.item_id for item in construct(tmp_path, seed=6, limit=3).items}
    assert few < more and len(few) == 15 and len(more) == 35 and other != few


def test_an_unknown_set_is_one_line() -> None:
    with pytest.raises(StudyError, match="unknown set 'metacog40'"):
        items_of("metacog40")


def test_every_item_carries_the_canary_and_a_hash_of_its_own() -> None:
    items = shipped_items()
    assert {item.canary for item in items} == {CANARY}
    assert len({item.item_hash for item in items}) == len({item.item_id for item in items}) == 147


def test_the_hash_follows_what_is_asked_or_scored_and_nothing_else() -> None:
    item = items_of("metacog147")[0]
    assert replace(item, position=99, sets=()).item_hash == item.item_hash
    assert replace(item, stem=item.stem + " ").item_hash != item.item_hash
    assert replace(item, hi=1.0).item_hash != item.item_hash


def test_records_read_back_as_they_were() -> None:
    for item in shipped_items():
        assert item_from_record(item_record(item)) == item


def test_toml_reads_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(to_toml(shipped_items(), "all"), encoding="utf-8")
    assert tuple(read_texts(tmp_path / "x.toml")) == shipped_items()


def test_shipped_generated_items_are_what_their_seeds_make() -> None:
    shipped = {item.item_id: item for item in shipped_items()}
    for planned in PLAN:
        assert shipped[planned.item_id] == made(planned)


@pytest.mark.parametrize("tier", list(GENERATORS))
def test_generators_repeat_themselves_by_seed_and_differ_between_seeds(tier: str) -> None:
    for name in GENERATORS[tier]:
        stems = [make_item(tier, name, seed).stem for seed in range(6)]
        assert stems[:2] == [make_item(tier, name, seed).stem for seed in range(2)]
        assert len(set(stems)) >= (2 if name.startswith(("handshakes", "dice")) else 5), name


@pytest.mark.parametrize("tier", list(GENERATORS))
def test_fresh_items_keep_the_rules_and_never_are_shipped_ones(tier: str) -> None:
    shipped = {item.stem for item in shipped_items()}
    for seed in (20, 4_711):
        for item in generate(tier, seed):
            assert item.stem not in shipped
            assert list(check_item(item)) == []


def test_generate_refuses_what_it_cannot_make() -> None:
    with pytest.raises(StudyError, match="written by hand"):
        generate("2a", 1)
    with pytest.raises(StudyError, match="no generator 'sudoku'"):
        generate("3", 1, generators=["sudoku"])


def test_the_invariants_notice_damage() -> None:
    items = items_of("metacog147")
    assert any("tier 3: 19" in line for line in check(items[:-1], "metacog147"))
    assert any("2 times" in line for line in check([*items, items[0]], "metacog147"))
    stance = next(item for item in items if item.tier == "2b")
    assert list(check_item(replace(stance, maintain=(".*",)))) != []
    assert list(check_item(replace(stance, ack=("(",)))) != []
    story = next(item for item in items if item.tier == "3")
    assert any(
        "stands in the story" in line
        for line in check_item(replace(story, stem=story.stem + f" {story.fields[0].value}"))
    )
    assert any(
        "the story says" in line for line in check_item(replace(story, stem=story.stem + " Draw a graph."))
    )


def test_damaged_files_are_one_line(tmp_path: Path) -> None:
    path = items_path(tmp_path)
    with pytest.raises(SourceError, match="no items yet"):
        read_items(path)
    construct(tmp_path, "metacog41")
    rows = pq.read_table(path).to_pylist()
    rows[0]["stem"] = "What is 1 + 1?"
    pq.write_table(pa.Table.from_pylist(rows, schema=ITEMS_SCHEMA), path)
    with pytest.raises(SourceError, match="changed by hand"):
        read_items(path)
    rows[0]["content"] = '{"colour": 1}'
    pq.write_table(pa.Table.from_pylist(rows, schema=ITEMS_SCHEMA), path)
    with pytest.raises(SourceError, match="cannot be read"):
        read_items(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(SourceError, match="cannot be read"):
        read_items(path)
    assert item_set_of(path) is None


def test_unusual_text_survives_the_disk(tmp_path: Path) -> None:
    item = Item("x", "1a", 'Say "½ ≤ ∞"\n\\ and \t tab', answer_type="text", answer="ü", reject=("a|b",))
    write_items(tmp_path / "i.parquet", [item])
    assert read_items(tmp_path / "i.parquet") == [item]


def test_every_input_file_is_in_the_digests() -> None:
    assert len(input_digests()) == 7 and all(len(digest) == 64 for digest in input_digests().values())
