"""Sets as wholes: numbers, uniqueness, what is on disk, and that shipped texts are what the generators make."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmark.item_files import read_rows, write_rows
from metacog_pipeline.benchmarks.metacogbench.construction import chosen_items, violations
from metacog_pipeline.benchmarks.metacogbench.construction import shipped as files
from metacog_pipeline.benchmarks.metacogbench.construction.invariants import check, check_item
from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of, shipped_items
from metacog_pipeline.benchmarks.metacogbench.generators import making
from metacog_pipeline.benchmarks.metacogbench.items import (
    CANARY,
    SETS,
    TIERS,
    Item,
    changed,
    item_from_record,
    item_record,
)
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.files import sha256_hex
from tests.tables import every

#: SHA-256 over the ids and hashes of a tier's items: another digest means other items, asked anew by every study.
FROZEN = {
    "1a": "2054c41c2b45a8d61890693016413ddc8145b83495fbc0750842cd325ad82028",
    "1b": "131137c06154cbd5c092926c2e6de6c1d416e63b0e09621e89ec9d0cb213f89a",
    "2a": "6a108b3d815972732c02d9c07723a88f0b4fef3610fbe94df8942bc609397680",
    "2b": "9b4df385c1aa00c3c906acba67165b46059d374be56e2ac774e2319eb6dff396",
    "3": "433177bc2dd31bd68609b2beb536411fb42829ebf94657d423cc42d3c0e28533",
}


@pytest.mark.parametrize("item_set", SETS)
def test_a_set_breaks_no_rule_and_comes_back_from_disk(item_set, tmp_path):
    assert violations(item_set) == ()
    items = chosen_items(item_set)
    write_rows(tmp_path / "items.parquet", items, Item, "")
    assert read_rows(tmp_path / "items.parquet", Item) == items
    assert [item.position for item in items] == list(range(len(items)))
    assert {item.dataset for item in items} == {item_set}


def test_the_sets_have_the_published_shape():
    def counts(item_set: str) -> dict[str, int]:
        return dict(Counter(item.tier for item in chosen_items(item_set)))

    assert counts("metacog147-v1") == {"1a": 33, "1b": 34, "2a": 30, "2b": 30, "3": 20}
    assert counts("metacog147") == {"1a": 33, "1b": 34, "2a": 30 + 20, "2b": 30 + 12, "3": 20}
    assert counts("metacog41") == {"1a": 13, "1b": 14, "2a": 5, "2b": 5, "3": 4}


@every("tier", TIERS)
def test_the_items_are_those_they_always_were(tier):
    first = items_of("metacog147-v1")
    listed = sorted(f"{item.item_id} {item.item_hash}" for item in first if item.tier == tier)
    assert sha256_hex("\n".join(listed)) == FROZEN[tier]


def test_a_larger_limit_only_adds():
    drawn = ((5, 3), (5, 7), (6, 3))
    few, more, other = ({item.item_id for item in chosen_items("metacog147", *each)} for each in drawn)
    assert few < more and len(few) == 15 and len(more) == 35 and other != few


def test_an_unknown_set_is_one_line():
    with pytest.raises(StudyError, match="unknown set 'metacog40'"):
        items_of("metacog40")


def test_every_item_carries_the_canary_and_a_hash_of_its_own():
    items = shipped_items()
    assert {item.canary for item in items} == {CANARY}
    assert len({item.item_hash for item in items}) == len({item.item_id for item in items}) == 209


def test_the_hash_follows_what_is_asked_or_scored_and_nothing_else():
    item = items_of("metacog147")[0]
    assert changed(item, position=99, sets=()).item_hash == item.item_hash
    assert changed(item, stem=item.stem + " ").item_hash != item.item_hash
    assert changed(item, hi=1.0).item_hash != item.item_hash


def test_records_read_back_as_they_were():
    for item in shipped_items():
        assert item_from_record(item_record(item)) == item


def test_toml_reads_back_as_it_was(tmp_path):
    (tmp_path / "x.toml").write_text(files.to_toml(shipped_items(), "all"), encoding="utf-8")
    assert tuple(files.read_texts(tmp_path / "x.toml")) == shipped_items()


def test_shipped_generated_items_are_what_their_seeds_make():
    shipped = {item.item_id: item for item in shipped_items()}
    for planned in making.PLAN:
        assert shipped[planned.item_id] == making.made(planned)


@pytest.mark.parametrize("tier", list(making.GENERATORS))
def test_generators_repeat_themselves_by_seed_and_differ_between_seeds(tier):
    for name in making.GENERATORS[tier]:
        stems = [making.make_item(tier, name, seed).stem for seed in range(6)]
        assert stems[:2] == [making.make_item(tier, name, seed).stem for seed in range(2)]
        assert len(set(stems)) >= (2 if name.startswith(("handshakes", "dice")) else 5), name


@pytest.mark.parametrize("tier", list(making.GENERATORS))
def test_fresh_items_keep_the_rules_and_never_are_shipped_ones(tier):
    shipped = {item.stem for item in shipped_items()}
    for seed in (20, 4_711):
        for item in making.generate(tier, seed):
            assert item.stem not in shipped
            assert list(check_item(item)) == []


def test_generate_refuses_what_it_cannot_make():
    with pytest.raises(StudyError, match="written by hand"):
        making.generate("2a", 1)
    with pytest.raises(StudyError, match="no generator 'sudoku'"):
        making.generate("3", 1, generators=["sudoku"])


def test_the_invariants_notice_damage():
    items = items_of("metacog147")
    assert any("tier 3: 19" in line for line in check(items[:-1], "metacog147"))
    assert any("2 times" in line for line in check([*items, items[0]], "metacog147"))
    stance = next(item for item in items if item.tier == "2b")
    assert list(check_item(changed(stance, maintain=(".*",)))) != []
    assert list(check_item(changed(stance, ack=("(",)))) != []
    story = next(item for item in items if item.tier == "3")
    for more, said in (
        (f" {story.fields[0].value}", "stands in the story"),
        (" Draw a graph.", "the story says"),
    ):
        assert any(said in line for line in check_item(changed(story, stem=story.stem + more)))


@pytest.mark.parametrize("column", ["stem", "answer", "fields"])
def test_an_item_changed_by_hand_is_refused(column, tmp_path):
    path = tmp_path / "items.parquet"
    write_rows(path, chosen_items("metacog41"), Item, "")
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[-1][column] = {"stem": "What is 1 + 1?", "answer": '"2"', "fields": "[{}]"}[column]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    with pytest.raises(SourceError, match="changed by hand"):
        read_rows(path, Item)


def test_unusual_text_survives_the_disk(tmp_path):
    stem = 'Say "½ ≤ ∞"\n\\ and \t tab'
    texts, text_item = (
        ("ü", "1987", "true", '"quoted"', "[1]"),
        Item(item_id="", tier="1a", stem=stem, reject=("a|b",)),
    )
    items = [changed(text_item, item_id=text, answer_type="text", answer=text) for text in texts]
    write_rows(tmp_path / "i.parquet", items, Item, "")
    assert read_rows(tmp_path / "i.parquet", Item) == items
    assert [item.answer for item in items] == list(texts)


def test_numbers_stay_as_they_are_written(tmp_path):
    items = [Item(item_id=f"{hi!r}", tier="1a", stem="?", hi=hi, answer=hi) for hi in (70, 70.5, 70.0)]
    write_rows(tmp_path / "i.parquet", items, Item, "")
    kept = read_rows(tmp_path / "i.parquet", Item)
    assert [repr(item.hi) for item in kept] == [repr(item.answer) for item in kept] == ["70", "70.5", "70.0"]


def test_every_input_file_is_in_the_digests():
    assert len(files.digests()) == 10 and all(len(digest) == 64 for digest in files.digests().values())
