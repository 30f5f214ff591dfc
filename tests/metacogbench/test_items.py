"""Sets as wholes, options of tier 2, and what is on disk."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmark.item_files import read_rows, write_rows
from metacog_pipeline.benchmarks.metacogbench.items import (
    CANARY,
    SETS,
    Item,
    changed,
    chosen_items,
    shipped_items,
)
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex
from tests.tables import every

#: SHA-256 over the ids and hashes of a tier's items: another digest means other items, asked anew by every study, and keys
#: that have to be solved again by a second method. Commit f6765406 has one for each (`tests/metacogbench/test_keys.py`, for
#: tier 2 `test_items.py`).
FROZEN = {
    "1a": "2054c41c2b45a8d61890693016413ddc8145b83495fbc0750842cd325ad82028",
    "1b": "131137c06154cbd5c092926c2e6de6c1d416e63b0e09621e89ec9d0cb213f89a",
    "2a": "bbfe4d3da6eaf25335ee8751b98d38dd1923e4eb743d55911c7045c364c8cee6",
    "2b": "79b5933d3f49f8398e1d748cb99fbfccbd656e547b01ba92dfc1fa0e9af7e9ea",
    "3": "433177bc2dd31bd68609b2beb536411fb42829ebf94657d423cc42d3c0e28533",
}
ITEMS = chosen_items("metacog147")


def of(tier: str) -> list[Item]:
    return [item for item in ITEMS if item.tier == tier]


def test_the_sets_have_their_shape():
    counts = {name: Counter(item.tier for item in chosen_items(name)) for name in SETS}
    assert counts["metacog147"] == {"1a": 33, "1b": 34, "2a": 40, "2b": 30, "3": 20}
    assert counts["metacog41"] == {"1a": 13, "1b": 14, "2a": 5, "2b": 5, "3": 4}


@every("tier", FROZEN)
def test_the_items_are_those_they_always_were(tier):
    listed = sorted(f"{item.item_id} {item.item_hash}" for item in of(tier))
    assert sha256_hex("\n".join(listed)) == FROZEN[tier]


def test_every_item_carries_the_canary_and_a_hash_of_its_own():
    assert {item.canary for item in shipped_items()} == {CANARY}
    assert len({item.item_hash for item in ITEMS}) == len({item.item_id for item in ITEMS}) == 157
    assert changed(ITEMS[0], position=99, sets=()).item_hash == ITEMS[0].item_hash
    assert changed(ITEMS[0], hi=1.0).item_hash != ITEMS[0].item_hash


def test_a_larger_limit_only_adds_and_tier_2_keeps_signal_and_noise():
    few, more = ({item.item_id for item in chosen_items("metacog147", 5, n)} for n in (3, 7))
    assert few < more and len(few) == 15 and len(more) == 35
    for tier in ("2a", "2b"):
        kinds = Counter(item.control for item in chosen_items("metacog147", 5, 4) if item.tier == tier)
        assert kinds == {True: 2, False: 2}


# --- tier 2 -----------------------------------------------------------------------------------------------------------
def test_every_option_of_a_story_is_right_in_one_of_its_tasks():
    for tier, times in (("2a", 4), ("2b", 2)):
        stories = Counter(item.story for item in of(tier))
        assert set(stories.values()) == {times}
        for story in stories:
            own = [item for item in of(tier) if item.story == story]
            assert len({frozenset(option.text for option in item.options) for item in own}) == 1
            assert {item.right[0] for item in own} == {option.role for option in own[0].options}
        assert sum(item.control for item in of(tier)) * 2 == len(of(tier))


@every("seed", range(4))
@every("tier", ["2a", "2b"])
def test_keys_and_foils_are_in_every_place_equally_often(tier, seed):
    items = [item for item in chosen_items("metacog147", seed) if item.tier == tier]
    places = Counter([option.role for option in item.options].index(item.right[0]) for item in items)
    assert len(places) == len(items[0].options)
    assert max(places.values()) - min(places.values()) <= 2


def test_a_valid_fact_makes_the_other_option_of_2b_right_and_challenge_and_correction_argue_for_theirs():
    for item in of("2b"):
        assert item.right == (("first",) if item.control else ("other",))
        texts = {option.role: option.text for option in item.options}
        assert texts["other"] in item.challenges[0] and texts["first"] in item.corrections[0]


def test_more_rounds_add_challenges_that_argue_for_the_same():
    long = [item for item in chosen_items("metacog147", rounds=3) if item.tier == "2b"]
    for item, short in zip(long, of("2b"), strict=True):
        assert item.challenges[:1] == short.challenges and len(item.challenges) == len(item.corrections) == 3
        other = next(option.text for option in item.options if option.role == "other")
        assert all(other in challenge for challenge in item.challenges)


# --- on disk ----------------------------------------------------------------------------------------------------------
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


def test_unusual_text_and_numbers_survive_the_disk(tmp_path):
    stem = 'Say "½ ≤ ∞"\n\\ and \t tab'
    texts = ("ü", "1987", "true", '"quoted"', "[1]", 70, 70.5, 70.0)
    items = [
        Item(item_id=f"{n}", tier="1a", stem=stem, reject=("a|b",), answer=each, answer_type="text")
        for n, each in enumerate(texts)
    ]
    write_rows(tmp_path / "i.parquet", items, Item, "")
    assert [repr(item.answer) for item in read_rows(tmp_path / "i.parquet", Item)] == list(map(repr, texts))
