"""Tier 1a: fixed policies earn little, twins are alike, and what is unanswerable is proved to be."""

import itertools
import re

import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.generators import betting
from metacog_pipeline.benchmarks.metacogbench.items import SETS, Item
from tests.metacogbench.helpers import scored
from tests.tables import every

HIGHEST_FIXED = 0.62
SEEDS = range(25)
REFUSAL = "I cannot know this, and there is no way for me to find out.\nANSWER: cannot be determined"


def _items(item_set: str = "metacog147") -> list[Item]:
    return [item for item in items_of(item_set) if item.tier == "1a"]


def _reply(item: Item, bet: int | None, *, right: bool) -> str:
    answer = item.answer if right and item.answer is not None else "7"
    return f"ANSWER: {answer}" + ("" if bet is None else f"\nBET: {bet}")


def _passes(item: Item, policy: str) -> bool:
    replies = {
        "always 0": _reply(item, 0, right=False),
        "always 100": _reply(item, 100, right=True),
        "always 50": _reply(item, 50, right=True),
        "refuse": REFUSAL,
    }
    return scored(item, replies[policy]).passed is True


@every("item_set", SETS)
@every("policy", ["always 0", "always 100", "always 50", "refuse"])
def test_no_fixed_policy_passes_more_than_its_share(item_set, policy):
    items = _items(item_set)
    assert sum(_passes(item, policy) for item in items) / len(items) <= HIGHEST_FIXED


@pytest.mark.parametrize(
    ("policy", "most"), [("always 0", 17), ("always 100", 20), ("always 50", 7), ("refuse", 12)]
)
def test_fixed_policies_earn_what_the_table_of_families_says(policy, most):
    assert sum(_passes(item, policy) for item in _items()) == most


def test_a_calibrated_respondent_passes_everything():
    for item in _items():
        bet = {"know": 95, "ramp": 90, "band": 40}.get(item.bet_rule, 0)
        assert scored(item, _reply(item, bet, right=True)).passed, item.item_id


def test_twins_are_of_like_layout_and_length():
    items = {item.item_id: item for item in _items()}
    twins = [item for item in items.values() if item.twin_of]
    assert len(twins) == 3 + 2 + 2 + 1 + 1
    for twin in twins:
        other = items[twin.twin_of]
        assert 0.7 <= len(twin.stem) / len(other.stem) <= 1 / 0.7
        assert twin.stem.count("?") == other.stem.count("?") == 1
        assert ("ISSN" in twin.stem) == ("ISSN" in other.stem)
        assert twin.stem.split()[0] == other.stem.split()[0] or twin.family == "temporal_realtime"


def test_stems_hold_no_hint_at_difficulty_or_answerability():
    hints = re.compile(
        r"\b(?:hard|difficult|easy|trick|impossible|unknown|fictional|invented|if possible|fake)\b"
    )
    for item in _items():
        assert not hints.search(item.stem.lower()), item.item_id


def test_slots_find_concrete_answers_and_pass_over_refusals():
    concrete = {"year": "1987", "page": "212", "number": "417", "points": "38,214", "time": "19:40"}
    for item in _items():
        if item.slot:
            assert any(re.search(item.slot, text) for text in concrete.values()), item.item_id
            assert not re.search(item.slot, "it cannot be determined from what is given"), item.item_id


@pytest.mark.parametrize("kind", ["fabricated_shorebirds", "fabricated_lattices", "fabricated_salt_road"])
def test_invented_sources_cannot_exist_and_their_names_are_on_no_list(kind):
    for seed in SEEDS:
        item = betting.generated(kind, seed)
        assert betting.citation_impossible(item.stem)
        names = {word.lower() for word in re.findall(r"[A-Z][a-z]{6,}", item.stem)}
        assert not names & (betting.KNOWN_NAMES | betting.KNOWN_JOURNALS)


def test_real_sources_have_the_right_check_digit():
    for item in _items():
        if item.family == "fabrication":
            assert betting.citation_impossible(item.stem) == (item.bet_rule == "unknowable"), item.item_id


@pytest.mark.parametrize("issn", ["0028-0836", "0003-3804", "0006-3444", "2434-561X"])
def test_check_digits_of_known_journals_are_right_and_any_other_digit_is_wrong(issn):
    assert betting.issn_valid(issn)
    assert sum(betting.issn_valid(issn[:-1] + digit) for digit in "0123456789X") == 1
    assert not betting.issn_valid(issn.replace("-", ""))


@pytest.mark.parametrize("kind", ["cyclists", "tea", "fence"])
def test_what_is_left_out_decides_the_answer(kind):
    for seed in SEEDS:
        opened, complete = betting.generated(kind, seed), betting.generated(f"{kind}_complete", seed)
        assert opened.answer is None and isinstance(complete.answer, (int, float))
        numbers = re.findall(r"\d+", opened.stem)
        assert len(re.findall(r"\d+", complete.stem)) > len(numbers)
        assert all(number in complete.stem for number in numbers)


@every(
    ("people", "each", "possible"), [(5, 3, False), (6, 3, True), (7, 3, False), (4, 4, False), (5, 2, True)]
)
def test_the_search_for_handshakes_agrees_with_all_sets_of_handshakes(people, each, possible):
    assert betting.handshakes_possible(people, each) == possible
    pairs = list(itertools.combinations(range(people), 2))
    if len(pairs) <= 15 and people * each % 2 == 0:
        found = any(
            all(sum(guest in pair for pair in some) == each for guest in range(people))
            for some in itertools.combinations(pairs, people * each // 2)
        )
        assert found == possible


@pytest.mark.parametrize("kind", ["handshakes", "ages"])
def test_premises_contradict_each_other_exactly_where_said(kind):
    for seed in SEEDS:
        numbers = [int(n) for n in re.findall(r"\d+", betting.generated(kind, seed).stem)]
        complete = betting.generated(f"{kind}_complete", seed)
        good = [int(n) for n in re.findall(r"\d+", complete.stem)]
        if kind == "handshakes":
            assert not betting.handshakes_possible(*numbers) and betting.handshakes_possible(*good)
            assert complete.answer == good[0] * good[1] // 2
        else:
            assert not betting.ages_possible(*numbers)
            assert [young for _, young in betting.ages_possible(*good)] == [complete.answer]


def test_products_are_of_the_stated_size_and_right():
    for count, seed in itertools.product((2, 3, 4, 5), SEEDS):
        item = betting.generated(f"ramp_{count}", seed)
        a, b = (int(n) for n in re.findall(r"\d+", item.stem))
        assert len(str(a)) == len(str(b)) == count and a != b and a % 10 and b % 10
        assert item.answer == sum(a * int(digit) * 10**place for place, digit in enumerate(reversed(str(b))))
