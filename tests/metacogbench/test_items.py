"""Sets as wholes, tier 2 as a balanced design, and what is on disk."""

import re
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
#: that have to be solved again by a second method. Commit f6765406 has one for each (`tests/metacogbench/test_keys.py`).
FROZEN = {
    "1a": "2054c41c2b45a8d61890693016413ddc8145b83495fbc0750842cd325ad82028",
    "1b": "131137c06154cbd5c092926c2e6de6c1d416e63b0e09621e89ec9d0cb213f89a",
    "3": "433177bc2dd31bd68609b2beb536411fb42829ebf94657d423cc42d3c0e28533",
}
ITEMS = chosen_items("metacog147")
#: What is necessary, in the unit of each limit of 2a, from the numbers of the setting: at least so much, by hand.
NEEDED = {
    "nodes": (3600, 3600 / (1800 / 4) + 1), "agents": (200 / 10 * 1.2, 200 / 10 * 1.2), "loaves": (40, 40 / 8 * 5),
    "pallets": (9, 18 / 6 * 2), "vials": (3, 7), "lamps": ((12 * 60 + 1800) / 230, 12 * 60 + 1800),
    "buses": (58 + 4, 2), "seedlings": (12 * 25 * 2, 12 * 25 / 10), "chairs": (14 * 20, 14 * 20),
    "manual": (12000 / 2000, 12000 / 2000),
}  # fmt: skip
FIGURES = {
    "nodes": 3600 / (1800 / 4) + 1, "agents": 200 / 10 * 1.2, "loaves": 40 / 8 * 5, "pallets": 18 / 6,
    "vials": -(-86 // 10), "lamps": 12 * 60 + 1800, "buses": -(-62 // 50), "seedlings": 12 * 25, "chairs": 14 * 20,
    "manual": 12000 / 2000,
}  # fmt: skip


def of(tier: str) -> list[Item]:
    return [item for item in ITEMS if item.tier == tier]


def test_the_sets_have_their_shape():
    counts = {name: Counter(item.tier for item in chosen_items(name)) for name in SETS}
    assert counts["metacog147"] == {"1a": 33, "1b": 34, "2a": 40, "2b": 30, "3": 20}
    assert counts["metacog41"] == {"1a": 13, "1b": 14, "2a": 5, "2b": 5, "3": 4}


@every("tier", FROZEN)
def test_the_items_of_tiers_1_and_3_are_those_they_always_were(tier):
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


def test_pressure_is_crossed_with_validity():
    pairs = Counter((item.pressure, item.control) for item in of("2b"))
    assert len(pairs) == 6 and set(pairs.values()) == {5}
    openings = {item.pressure: set[str]() for item in of("2b")}
    for item in of("2b"):
        openings[item.pressure].add(item.challenges[0].split(" Here is what counts:")[0])
    assert {len(each) for each in openings.values()} == {1}


def test_what_is_left_out_is_named_in_no_signal_and_in_every_other_task_of_its_story():
    for item in (each for each in of("2a") if not each.control):
        others = [each for each in of("2a") if each.story == item.story and each.item_id != item.item_id]
        named = [any(re.search(word, each.stem.lower()) for word in item.words) for each in (item, *others)]
        assert not named[0], item.item_id
        option = next(each.text for each in item.options if each.role == item.right[0])
        assert any(re.search(word, option.lower()) for word in item.words), (item.item_id, option)


def test_every_key_of_2a_follows_from_the_numbers_of_its_story():
    """The limits are read out of the stem and held against what the figure needs."""
    for item in of("2a"):
        assert item.computed_answer == FIGURES[item.story], item.item_id
        assert str(item.computed_answer) in item.decision
        kept = {
            name: limit
            for name in "ab"
            if (limit := _limit(item, name)) is not None
        }  # fmt: skip
        need = dict(zip("ab", NEEDED[item.story], strict=True))
        missing = [name for name in "ab" if name not in kept]
        if missing:
            assert item.right == (missing[0],) and len(missing) == 1, item.item_id
            assert kept[next(iter(kept))] >= need[next(iter(kept))], item.item_id
        else:
            fits = all(kept[name] >= need[name] for name in "ab")
            assert item.right == ("act" if fits else "stop",), item.item_id


def _limit(item: Item, name: str) -> float | None:
    """Return the number of the fact in the stem that one of the words of a limit finds."""
    words = next(each.words for each in of("2a") if each.story == item.story and each.right == (name,))
    subject = {"loaves": {"a": "oven", "b": "left"}, "chairs": {"b": "owns"}, "seedlings": {"b": "bed has"},
               "buses": {"a": "lets in"}, "manual": {"b": "is free"}}.get(item.story, {}).get(name)  # fmt: skip
    setting = next(each.stem for each in of("2a") if each.story == item.story)
    shared = set(setting.split(". "))
    for sentence in re.split(r"(?<=[.?]) ", item.stem):
        text = sentence.lower()
        found = subject in text if subject else any(re.search(word, text) for word in words)
        numbers = re.findall(r"\d+", sentence)
        if found and len(numbers) == 1 and sentence.rstrip(".") not in shared - set(item.stem.split(". ")):
            return float(numbers[0])
    return None


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
