"""Tier 1b: every computed answer agrees with a second computation, and the matcher takes it and nothing near it."""

import itertools
import math
import re
from fractions import Fraction

import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.generators import exact
from metacog_pipeline.benchmarks.metacogbench.items import Item
from tests.metacogbench.helpers import scored
from tests.tables import every

SEEDS = range(25)


def _items() -> list[Item]:
    return [item for item in items_of("metacog147") if item.tier == "1b"]


def _reply(answer: object) -> str:
    return f"PRE_CONFIDENCE: 70\nANSWER: {answer}\nPOST_CONFIDENCE: 80"


@every("generator", list(exact.EXACT))
def test_both_computations_agree_on_many_seeds(generator):
    for seed in SEEDS:
        item = exact.generated(generator, seed)
        assert item.answer is not None and scored(item, _reply(item.answer)).correct


def test_right_answers_count_and_wrong_ones_do_not():
    for item in _items():
        assert scored(item, _reply(item.answer)).correct, item.item_id
        for form in item.accept:
            assert scored(item, _reply(form)).correct, (item.item_id, form)
        if item.answer_type == "number":
            assert isinstance(item.answer, (int, float))
            wrong: object = item.answer + max(1, 3 * item.abs_tol)
        else:
            wrong = {"choice": "D", "text": "Atlantis"}[item.answer_type]
        assert not scored(item, _reply(wrong)).correct, item.item_id


def test_rejected_forms_are_wrong():
    for item in _items():
        for form in item.reject:
            assert not scored(item, _reply(form)).correct, (item.item_id, form)


def test_topic_lines_do_not_give_numbers_or_names_away():
    for item in _items():
        assert 3 <= len(item.topic_line.split()) <= 16
        numbers = set(re.findall(r"\d+", item.stem)) & set(re.findall(r"\d{2,}", item.topic_line))
        assert not numbers, item.item_id


@pytest.mark.parametrize("word", ["digits of pi"])
def test_two_ways_to_pi_agree_far_out(word):
    machin = str(exact.pi_machin(520))
    assert machin[:500] == "".join(map(str, exact.pi_spigot(500))), word
    assert machin[:16] == "3141592653589793"


def test_knights_and_knaves_have_exactly_one_solution_by_reading_the_text_anew():
    for count, seed in itertools.product((2, 4), range(40)):
        item = exact.generated(f"knights_{count}", seed)
        names = exact.NAMES["speakers"][:count]
        said = re.findall(r'(\w+) says: "([^"]+)"', item.stem)
        fitting = [
            w
            for w in itertools.product("KN", repeat=count)
            if all((_holds(t, names, i, w)) == (w[i] == "K") for i, (_, t) in enumerate(said))
        ]
        assert len(said) == count and ["".join(w) for w in fitting] == [item.answer]


def _holds(text: str, names: list[str], me: int, world: tuple[str, ...]) -> bool:
    at = {name: world[i] for i, name in enumerate(names)} | {"I": world[me]}
    if match := re.fullmatch(r"(\w+) is a knave\.", text):
        return at[match[1]] == "N"
    if match := re.fullmatch(r"(\w+) and I are of the same kind\.", text):
        return at[match[1]] == world[me]
    if match := re.fullmatch(r"Exactly (\d+) of us (?:is a knight|are knights)\.", text):
        return world.count("K") == int(match[1])
    match = re.fullmatch(r"(\w+) is a knave, or (\w+) (?:is|am) a knight, or both\.", text)
    assert match, text
    return at[match[1]] == "N" or at[match[2]] == "K"


def test_the_syllogism_holds_in_every_small_world_and_its_rivals_do_not():
    # A person is (weaver, singer, owns a bell).
    kinds = list(itertools.product((False, True), repeat=3))
    held = {"A": True, "B": True, "C": True, "D": True}
    for size in (1, 2, 3):
        for world in itertools.combinations_with_replacement(kinds, size):
            if any(w and s for w, s, _ in world) and all(b for _, s, b in world if s):
                held["A"] &= all(b for w, _, b in world if w)
                held["B"] &= any(b for w, _, b in world if w)
                held["C"] &= not any(w and not b for w, _, b in world)
                held["D"] &= any(s and not w for w, s, _ in world)
    item = next(item for item in _items() if item.item_id == "predict.syllogism")
    assert [letter for letter, holds in held.items() if holds] == [item.answer]


def test_nested_fractions_and_tests_agree_with_the_text():
    for seed in SEEDS:
        item = exact.generated("nested_fraction", seed)
        terms = [int(n) for n in re.findall(r"\d+", item.stem.split("numerator of ")[1]) if n != "1"]
        value = Fraction(terms[-1])
        for term in reversed(terms[:-1]):
            value = term + 1 / value
        assert value.numerator == item.answer
        item = exact.generated("bayes", seed)
        ill, hit, false = (int(n) for n in re.findall(r"\d+", item.stem.replace("1000", ""))[:3])
        share = ill * hit / (ill * hit + (1000 - ill) * false)
        assert isinstance(item.answer, float) and math.isclose(item.answer, 100 * share, abs_tol=0.051)
