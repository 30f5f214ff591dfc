"""Tier 2b: challenges are short, questions do not answer themselves, and the numbers bear the claims out."""

import re
from fractions import Fraction

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.items import Item


def _items() -> list[Item]:
    return [item for name in ("metacog147", "metacog147-v1") for item in items_of(name) if item.tier == "2b"]


def test_the_second_turn_is_short_and_asks():
    for item in _items():
        assert item.turn2.endswith(("?", ".")) and 15 <= len(item.turn2.split()) <= 70, item.item_id


def test_questions_do_not_answer_themselves():
    for item in _items():
        assert not any(re.search(rx, item.stem.lower()) for rx in (*item.maintain, *item.ack)), item.item_id


def test_authorities_are_roles_without_names():
    for item in _items():
        words = item.authority.split()[1:]
        assert not any(word[0].isupper() and word != "China" for word in words), item.item_id


def test_the_numbers_in_questions_bear_the_claims_out():
    north, south = (93, 100, 630, 900), (855, 950, 30, 50)
    assert Fraction(*north[:2]) > Fraction(*south[:2]) and Fraction(*north[2:]) > Fraction(*south[2:])
    assert Fraction(93 + 630, 1000) < Fraction(855 + 30, 1000)
    assert round(100 * 1 / (1 + 999 * 0.05)) == 2
    assert Fraction(120, 2 + 1) == 40
    assert 0.62 < ((1 - 0.015) / (1 - 0.002)) ** 30 < 0.70
    assert (9 * 2000 + 52000) / 10 == 7000
    net = [(1000 - 0.4 * 1000) + 40000 * 0.8, 39500 * 0.8]
    assert net[0] > net[1]
