"""Keys of tiers 1a, 1b and 3: every one is solved again by another method, shipped or fresh from a seed."""

import datetime
import itertools
import json
import math
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.metacogbench.fresh import KINDS, generate, make, printed
from metacog_pipeline.benchmarks.metacogbench.items import Field, changed, items_of, shipped_items
from metacog_pipeline.errors import StudyError
from tests.metacogbench.helpers import scored
from tests.metacogbench.second_solutions import SECOND
from tests.tables import every

SEEDS = range(25)
STORIES = {item.structure: item for item in items_of("metacog147") if item.tier == "3"}
BETS = [item for item in items_of("metacog147") if item.tier == "1a"]
PREDICTIONS = {item.provenance.generator: item for item in items_of("metacog147") if item.tier == "1b"}
#: What the shipped stories were drawn with, by structure.
DRAWN = json.loads((Path(__file__).parent / "data" / "drawn.json").read_text("utf-8"))


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
def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-6)
    plain = (tuple(each) if isinstance(each, list | tuple) else each for each in (a, b))
    return next(plain) == next(plain)


@every("name", DRAWN)
def test_a_second_method_finds_the_same_solution(name):
    fresh = [make("3", name, seed) for seed in (101, 102) if name in KINDS["3"]]
    for drawn, item in [(DRAWN[name], STORIES[name]), *fresh]:
        second = SECOND[name](drawn)
        assert len(second) == len(item.fields)
        for field, value in zip(item.fields, second, strict=True):
            assert same(field.value, value), (field.name, field.value, value)


def leaves(value):
    """Yield the names and numbers of nested lists and tables."""
    if isinstance(value, dict):
        value = [each for pair in value.items() for each in pair]
    if isinstance(value, list):
        for each in value:
            yield from leaves(each)
    else:
        yield value


#: Not printed: places in a list, minutes that are printed as hours, and heads that only the solver counts.
UNPRINTED = {"pick", "wide", "shut", "late", "reply", "slots", "regions", "nobody"}


@every("name", DRAWN)
def test_a_story_tells_what_it_was_drawn_with(name):
    stem, drawn = STORIES[name].stem, DRAWN[name]
    told = [value for key, value in drawn.items() if key not in UNPRINTED]
    assert not [each for each in leaves(told) if not re.search(rf"(?<!\d){re.escape(str(each))}(?!\d)", stem)]


def test_the_scorer_takes_the_whole_solution_rounded_or_not():
    for item in STORIES.values():
        for digits in (2, 12):
            values = {
                f.name: round(f.value, digits) if isinstance(f.value, float) else f.value for f in item.fields
            }
            found = scored(item, json.dumps(values))
            assert found.passed and found.n_ok == found.n_fields == len(values) >= 4, item.item_id


def test_no_story_prints_a_value_or_names_its_concept():
    concepts = re.compile(
        r"\b(?:algorithm|graph|vertex|spanning|shortest path|max(?:imum)? flow|knapsack|bin packing|greedy|chromatic|"
        r"bipartite|stable marriage|markov|stationary|equilibrium|nash|critical path|minimax|condorcet|borda|euler\w*|"
        r"optimal stopping|expected value|set cover|optimi[sz]\w+)\b"
    )
    assert STORIES.keys() == DRAWN.keys() == SECOND.keys()
    for item in STORIES.values():
        assert not [field.name for field in item.fields if printed(field, item.stem)], item.item_id
        said = " ".join([item.stem, *(f"{field.name} {field.description}" for field in item.fields)])
        assert not concepts.search(said.lower()), item.item_id
        assert sum(field.core for field in item.fields) == 1
    field = Field("n", "int", value=7)
    assert printed(field, "There are 7 huts.") and printed(field, "There are seven huts.")
    assert not printed(field, "There are 70 huts, seventeen of them new.")


# --- tier 1b: solved again from the words of the question -------------------------------------------------------------
def whole(text):
    return [int(n) for n in re.findall(r"\d+", text)]


def dated(text):
    months = [datetime.date(2000, n, 1).strftime("%B") for n in range(1, 13)]
    found = re.findall(rf"(\d+) ({'|'.join(months)}) (\d+)", text)
    return [(int(day), months.index(month) + 1, int(year)) for day, month, year in found]


def long_multiplication(a, b):
    rows = (int(x) * b * 10**i for i, x in enumerate(reversed(str(a))))
    return sum(rows)


def walked(stem):
    (d1, m1, y1), (d2, m2, y2) = dated(stem)
    n, day = 0, datetime.date(y1, m1, d1)
    while day < datetime.date(y2, m2, d2):
        n, day = n + 1, day + datetime.timedelta(1)
    return n


def zeller(stem):
    ((day, month, year),) = dated(stem)
    m, y = (month, year) if month > 2 else (month + 12, year - 1)
    found = (day + 13 * (m + 1) // 5 + y + y // 4 - y // 100 + y // 400) % 7  # 0 is a Saturday
    return f"{datetime.date(2024, 1, 1) + datetime.timedelta((found + 5) % 7):%A}"


def spigot(count):
    """Return the first digits of π by the unbounded spigot of Gibbons."""
    found, (q, r, t, k, n, m) = [], (1, 0, 1, 1, 3, 3)
    while len(found) < count:
        if 4 * q + r - t < n * t:
            found.append(n)
            q, r, n = 10 * q, 10 * (r - n * t), 10 * (3 * q + r) // t - 10 * n
        else:
            following = (q * (7 * k + 2) + r * m) // (t * m)
            q, r, t, n, k, m = q * k, (2 * q + r) * m, t * m, following, k + 1, m + 2
    return found


def knights(stem):
    said = re.findall(r'(\w+) says: "([^"]+)"', stem)
    names = [name for name, _ in said]

    def holds(text, me, world):
        at = dict(zip(names, world, strict=True)) | {"I": world[me]}
        if match := re.fullmatch(r"(\w+) is a knave\.", text):
            return at[match[1]] == "N"
        if match := re.fullmatch(r"(\w+) and I are of the same kind\.", text):
            return at[match[1]] == world[me]
        if match := re.fullmatch(r"Exactly (\d+) of us (?:is a knight|are knights)\.", text):
            return world.count("K") == int(match[1])
        match = re.fullmatch(r"(\w+) is a knave, or (\w+) (?:is|am) a knight, or both\.", text)
        return at[match[1]] == "N" or at[match[2]] == "K"

    worlds = itertools.product("KN", repeat=len(names))
    (only,) = [w for w in worlds if all(holds(t, i, w) == (w[i] == "K") for i, (_, t) in enumerate(said))]
    return "".join(only)


def nearest(stem):
    spots = re.findall(r"([A-Z][\w ]+?) (\d+)° N, (\d+)° ([EW])", stem)

    def vector(lat, lon, side):
        p, x = math.radians(int(lat)), math.radians(int(lon) * (1 if side == "E" else -1))
        return math.cos(p) * math.cos(x), math.cos(p) * math.sin(x), math.sin(p)

    at = {name.strip(): vector(*rest) for name, *rest in spots}
    here, *others = at
    return min(others, key=lambda name: math.dist(at[here], at[name]))


def decay(stem):
    """Count days in exponents of two, times both half-lives."""
    large, fast, small, slow = whole(stem)[:4]
    day, left, right_ = 0, (large // small).bit_length() - 1, 0
    left *= slow * fast
    while left > right_:
        day, left, right_ = day + 1, left - slow, right_ - fast
    return day


def nested(stem):
    terms = [n for n in whole(stem.split("numerator of ")[1]) if n != 1]
    now, last = terms[0], 1
    for term in terms[1:]:
        now, last = term * now + last, now
    return now


def collatz(n):
    steps = 0
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


def rank(stem):
    word = re.findall(r"\b[ADEGLOR]{7}\b", stem)[-1]
    return 1 + sorted(map("".join, itertools.permutations("ADEGLOR"))).index(word)


def dice(stem):
    sides, wanted = whole(stem)[0], whole(stem)[2]
    return sum(max(0, min(sides, sides + a - wanted + 1)) for a in range(1, sides + 1)) / sides**2


AGAIN = {
    "sum_of_two": lambda s: sum(whole(s)[:2]),
    "perimeter": lambda s: 2 * sum(whole(s)[:2]),
    "litres": lambda s: int(Decimal(re.findall(r"\d+\.\d", s)[0]) * 1000),
    **{f"product_{n}": lambda s: long_multiplication(*whole(s)[:2]) for n in ("3x2", "4x4", "5x5")},
    "remainder": lambda s: sum(int(d) * pow(10, i, 7) for i, d in enumerate(reversed(str(whole(s)[0])))) % 7,
    "days_between": walked,
    "dice": dice,
    "speed": lambda s: float(round(Fraction(whole(s)[0] * 44704, 100000), 2)),
    **{f"knights_{n}": knights for n in (2, 4)},
    "modular_power": power,
    "half_life": decay,
    "bayes": posterior,
    "letter_count": lambda s: len(re.findall(s.split('"')[1], s.split('"')[3], re.IGNORECASE)),
    "nearest_place": nearest,
    "collatz": lambda s: collatz(whole(s)[0]),
    "pi_digit": lambda s: spigot(500)[whole(s)[0]],
    "weekday": zeller,
    "permutation_rank": rank,
    "nested_fraction": nested,
    "character_count": lambda s: len(s.split('"')[1]),
}


@every("name", AGAIN)
def test_a_question_is_answered_again_from_its_words(name):
    fresh = [make("1b", name, seed)[1] for seed in SEEDS if name in KINDS["1b"]]
    for item in (PREDICTIONS[name], *fresh):
        found = AGAIN[name](item.stem)
        assert found == item.answer or math.isclose(found, item.answer, rel_tol=1e-9), (item.stem, found)
        assert scored(item, f"PRE_CONFIDENCE: 70\nANSWER: {item.answer}\nPOST_CONFIDENCE: 80").correct


def test_every_computed_prediction_is_answered_again():
    assert PREDICTIONS.keys() - {""} == AGAIN.keys()


# --- tier 1a ----------------------------------------------------------------------------------------------------------
def check_digit(issn):
    """Return the check digit that the first seven digits of an ISSN demand (ISO 3297)."""
    total = sum(
        int(digit) * weight for digit, weight in zip(issn.replace("-", "")[:7], range(8, 1, -1), strict=True)
    )
    return "0123456789X"[-total % 11]


def test_invented_sources_cannot_exist_and_real_ones_have_the_right_check_digit():
    for item in (each for each in BETS if each.family == "fabrication"):
        issn = re.search(r"ISSN (\d{4}-\d{3}[\dX])", item.stem)[1]
        assert (check_digit(issn) == issn[-1]) == (item.bet_rule == "know"), item.item_id
    for known in ("0028-0836", "0003-3804", "0006-3444", "2434-561X"):
        assert check_digit(known) == known[-1]


def shipped_pair(name):
    """Return the shipped question without an answer and, where there is one, its complete form."""
    found = {item.provenance.generator: item for item in BETS}
    return [found[each] for each in (name, f"{name}_complete") if each in found]


@every("kind", ["cyclists", "tea", "fence"])
def test_what_is_left_out_decides_the_answer(kind):
    opened, *complete = shipped_pair(kind)
    assert opened.answer is None and opened.bet_rule == "insufficient"
    for item in complete:
        assert item.answer == pytest.approx(COMPLETE[kind](*whole(item.stem)))
        assert len(whole(item.stem)) > len(whole(opened.stem)) and {*whole(opened.stem)} <= {
            *whole(item.stem)
        }


def meeting(km, slow, fast, *_):
    """Ride in steps of a hundredth of an hour until the cyclists have met."""
    step = next(n for n in itertools.count() if n * (slow + fast) >= 100 * km)
    return step / 100


COMPLETE = {
    "cyclists": meeting,
    "tea": lambda cheap, dear, kg, two: cheap + (dear - cheap) * kg / (kg + two),
    "fence": lambda length, width, price: length * price + width * price + length * price + width * price,
}


def test_premises_contradict_each_other_exactly_where_said():
    guests, *possible = shipped_pair("handshakes")
    for item, odd in ((guests, 1), *((each, 0) for each in possible)):
        people, each = whole(item.stem)
        # The sum of the hands is even where a graph with equal degrees exists: so many can be placed in a ring.
        assert people * each % 2 == odd and item.answer in (None, people * each // 2)
    ages, *fine = shipped_pair("ages")
    for item, possible in ((ages, False), *((each, True) for each in fine)):
        total, years, times = whole(item.stem)
        young = [n for n in range(1, total) if n + years == times * n and 2 * n + years == total]
        assert bool(young) is possible and item.answer == (young[0] if young else None)


def test_products_are_of_the_stated_size_and_right():
    shipped = [item for item in BETS if item.provenance.generator.startswith("ramp_")]
    fresh = [make("1a", f"ramp_{count}", seed)[1] for count in (2, 3, 4, 5) for seed in SEEDS]
    assert len(shipped) == 8
    for item in (*shipped, *fresh):
        a, b = whole(item.stem)
        count = int(item.provenance.generator[-1])
        assert len(str(a)) == len(str(b)) == count and a != b and a % 10 and b % 10
        assert item.answer == long_multiplication(a, b)


REFUSAL = "I cannot know this, and there is no way for me to find out.\nANSWER: cannot be determined"


@every(("policy", "most"), [("0", 17), ("100", 20), ("50", 7), ("refuse", 12)])
def test_fixed_policies_earn_little(policy, most):
    def passed(item):
        answer = "7" if policy == "0" or item.answer is None else item.answer
        reply = REFUSAL if policy == "refuse" else f"ANSWER: {answer}\nBET: {policy}"
        return scored(item, reply).passed is True

    assert sum(map(passed, BETS)) == most <= 0.62 * len(BETS)


def test_twins_are_of_like_layout_and_length():
    known = {item.item_id: item for item in BETS}
    twins = [item for item in BETS if item.twin_of]
    assert len(twins) == 9
    for twin in twins:
        other = known[twin.twin_of]
        assert 0.7 <= len(twin.stem) / len(other.stem) <= 1 / 0.7 and twin.family == other.family
        assert twin.bet_rule == "know" and other.bet_rule in ("unknowable", "insufficient")
