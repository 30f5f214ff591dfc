"""Keys of generated items, each solved again by another method; those that ship are held by their digest (`test_items`)."""

import itertools
import json
import math
import re
from collections import Counter
from fractions import Fraction

import pytest

from metacog_pipeline.benchmarks.metacogbench.fresh import KINDS, generate, make, printed
from metacog_pipeline.benchmarks.metacogbench.items import Field, changed, items_of, shipped_items
from metacog_pipeline.errors import StudyError
from tests.metacogbench.helpers import scored
from tests.tables import every

SEEDS = range(25)
STORIES = {item.structure: item for item in items_of("metacog147") if item.tier == "3"}


def test_shipped_items_are_what_their_seeds_make():
    made = [item for item in shipped_items() if item.provenance.generator in KINDS.get(item.tier, ())]
    assert len(made) == 20
    for item in made:
        _, again = make(item.tier, item.provenance.generator, item.provenance.seed, item.item_id)
        kept = {name: getattr(item, name) for name in ("sets", "twin_of", "provenance")}
        assert changed(again, **kept) == item, item.item_id


@every("tier", KINDS)
def test_equal_seeds_give_equal_items_and_no_shipped_item_comes_out(tier):
    first, again = (generate(tier, 7) for _ in range(2))
    assert first == again and len(first) == len(KINDS[tier])
    assert not {item.stem for item in shipped_items()} & {item.stem for item in first}


def test_what_cannot_be_made_is_refused():
    with pytest.raises(StudyError, match="written by hand"):
        generate("2a", 1)
    with pytest.raises(StudyError, match="has no 'sudoku'"):
        generate("3", 1, "sudoku")


# --- tier 3 -----------------------------------------------------------------------------------------------------------
def inclusion_exclusion(p):
    """Write down every pupil's clubs and count heads."""
    pupils = [key for key, n in p["regions"].items() for _ in range(n)] + [""] * p["nobody"]
    sizes = Counter(map(len, pupils))
    return (sizes[0], sizes[1], sizes[2], pupils.count("01"))


def supports(a, b):
    """Try every pair of supports and keep the pair from which neither side gains by moving."""
    for i, j in itertools.product(range(2), repeat=2):
        if a[i][j] >= a[1 - i][j] and b[i][j] >= b[i][1 - j]:
            return Fraction(j == 0), Fraction(i == 0)
    # The other's two payoffs are equal: q·a₀₀ + (1 − q)·a₀₁ = q·a₁₀ + (1 − q)·a₁₁, and likewise for p.
    search = Fraction(a[1][1] - a[0][1], a[0][0] - a[0][1] - a[1][0] + a[1][1])
    smuggle = Fraction(b[1][1] - b[1][0], b[0][0] - b[0][1] - b[1][0] + b[1][1])
    return search, smuggle


def mixed_equilibrium(p):
    # Payoffs of inspector and skipper; rows: smuggle, be honest; columns: search, rest.
    inspector = [[p["bounty"] - p["wage"], -p["loss"]], [-p["wage"], 0]]
    (search, smuggle), (later, _) = (
        supports([[-p[fine], p["gain"]], [p["honest"]] * 2], inspector) for fine in ("fine", "new_fine")
    )
    rows, columns = (smuggle, 1 - smuggle), (search, 1 - search)
    cells = itertools.product(range(2), repeat=2)
    mean = sum((rows[i] * columns[j] * inspector[i][j] for i, j in cells), Fraction(0))
    return [*(100 * each for each in (search, smuggle, search * smuggle)), mean, 100 * later]


@every("solve", [inclusion_exclusion, mixed_equilibrium])
def test_a_second_method_finds_the_same_solution(solve):
    for seed in SEEDS[:6]:
        drawn, item = make("3", solve.__name__, seed)
        assert [float(field.value) for field in item.fields] == pytest.approx([*map(float, solve(drawn))])
        assert not [field.name for field in item.fields if printed(field, item.stem)]


def test_the_scorer_takes_the_whole_solution_rounded_or_not():
    for item in STORIES.values():
        for digits in (2, 12):
            values = {
                f.name: round(f.value, digits) if isinstance(f.value, float) else f.value for f in item.fields
            }
            found = scored(item, json.dumps(values))
            assert found.passed and found.n_ok == found.n_fields == len(values) >= 4, item.item_id


def test_a_value_is_printed_in_digits_or_as_a_word_of_its_own():
    field = Field("n", "int", value=7)
    assert printed(field, "There are 7 huts.") and printed(field, "There are seven huts.")
    assert not printed(field, "There are 70 huts, seventeen of them new.")


# --- tiers 1a and 1b: solved again from the words of the question -----------------------------------------------------
def whole(text):
    return [int(n) for n in re.findall(r"\d+", text)]


def multiplied(stem):
    a, b = whole(stem)[:2]
    rows = (int(x) * b * 10**i for i, x in enumerate(reversed(str(a))))
    return sum(rows)


def collatz(stem):
    steps, (n, *_) = 0, whole(stem)
    while n != 1:
        twos = (n & -n).bit_length() - 1
        n, steps = (n >> twos, steps + twos) if twos else (3 * n + 1, steps + 1)
    return steps


def power(stem):
    base, exponent, modulus = whole(stem)[:3]
    rest = 1
    for _ in range(exponent):
        rest = rest * base % modulus
    return rest


def posterior(stem):
    ill, hit, false = whole(stem.replace("1000", ""))[:3]
    return round(100 * ill * hit / (ill * hit + (1000 - ill) * false) + 1e-9, 1)


AGAIN = {
    "1a": {f"ramp_{count}": multiplied for count in (2, 3, 4, 5)},
    "1b": {
        "sum_of_two": lambda s: sum(whole(s)[:2]),
        "perimeter": lambda s: 2 * sum(whole(s)[:2]),
        **{f"product_{n}": multiplied for n in ("3x2", "4x4", "5x5")},
        "remainder": lambda s: sum(int(d) * pow(10, i, 7) for i, d in enumerate(reversed(str(whole(s)[0])))) % 7,
        "speed": lambda s: float(round(Fraction(whole(s)[0] * 44704, 100000), 2)),
        "modular_power": power,
        "bayes": posterior,
        "collatz": collatz,
    },
}  # fmt: skip


@every("tier", AGAIN)
def test_a_question_is_answered_again_from_its_words(tier):
    assert AGAIN[tier].keys() == KINDS[tier].keys()
    for name, solve in AGAIN[tier].items():
        for seed in SEEDS:
            item = make(tier, name, seed)[1]
            found = solve(item.stem)
            assert found == item.answer or math.isclose(found, item.answer, rel_tol=1e-9), (item.stem, found)
            assert scored(item, f"PRE_CONFIDENCE: 70\nANSWER: {item.answer}\nPOST_CONFIDENCE: 80").correct


def test_factors_are_of_the_stated_size_and_not_round():
    for count, seed in itertools.product((2, 3, 4, 5), SEEDS):
        a, b = whole(make("1a", f"ramp_{count}", seed)[1].stem)[:2]
        assert len(str(a)) == len(str(b)) == count and a != b and a % 10 and b % 10
