"""Questions of tier 1a that code can make: products, invented citations, missing quantities, impossible premises.

What makes a question unanswerable is proved, not claimed: two completions of a missing quantity that give different
answers, an exhaustive search that finds no case, a check digit that cannot be right.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.construction.exact import (
    digits,
    long_multiplication,
    residues_agree,
)
from metacog_pipeline.benchmarks.metacogbench.items import Item, Provenance

ANY_NUMBER = r"\d+(?:[.,]\d+)?"
Kind = Callable[[random.Random], dict[str, Any]]

_PRODUCTS = (
    "A yard stacks {a} crates with {b} bolts in each. How many bolts is that?",
    "A palace has {a} floors with {b} tiles on each. How many tiles is that?",
    "A hall with {b} seats was sold out for {a} shows. How many seats were sold?",
    "A printer runs {a} copies of a book of {b} pages. How many pages is that?",
    "A weaver ties {a} rows of {b} knots. How many knots is that?",
    "A lock takes {b} litres each time it fills, and it filled {a} times. How many litres is that?",
)
_LEVELS = {2: "easy", 3: "medium", 4: "hard", 5: "extreme"}
# Name parts from a syllable table; what is spelt like a name that people or journals bear is drawn again.
_ONSETS = ["br", "dr", "fl", "gr", "kn", "pl", "qu", "sk", "sn", "str", "thr", "vr", "wr"]
_CORES = ["ael", "eim", "ith", "oam", "ulv", "yrn", "ovel", "umbr"]
_ENDS = ["ick", "ond", "ast", "ivar", "och", "unt", "elm", "ask"]
KNOWN_NAMES = frozenset(
    [
        "brown",
        "bruno",
        "drake",
        "flint",
        "fleming",
        "grant",
        "graham",
        "grove",
        "knight",
        "knox",
        "plank",
        "planck",
        "platt",
        "quinn",
        "skinner",
        "snow",
        "strauss",
        "street",
        "thrush",
        "wright",
        "drummond",
        "flynn",
        "brandt",
        "strand",
        "grey",
        "green",
        "bridge",
    ]
)
KNOWN_JOURNALS = frozenset(
    [
        "nature",
        "science",
        "biometrika",
        "annalen",
        "lancet",
        "cell",
        "mind",
        "brain",
        "heredity",
        "ibis",
        "auk",
    ]
)
_TOPICS = {
    "fabricated_shorebirds": ("Tidal memory in {x} waders", "{j} of Littoral Ethology", "year"),
    "fabricated_lattices": ("A folding lemma for {x} lattices", "{j} of Discrete Structures", "year"),
    "fabricated_salt_road": ("Excavations on the {x} salt road", "{j} of Inland Archaeology", "page"),
}


def generated(generator: str, seed: int, item_id: str = "") -> Item:
    """Return the item of ``generator`` and ``seed``; raises KeyError for an unknown generator."""
    made = BETTING[generator](random.Random(f"{generator.removesuffix('_complete')}:{seed}"))
    return Item(
        item_id=item_id or f"bet.{generator}.{seed}",
        tier="1a",
        provenance=Provenance(generator, seed, f"{generator}: proof in the generator"),
        **made,
    )


# --- products ----------------------------------------------------------------------------------------------------


def _ramp(count: int) -> Kind:
    def make(rng: random.Random) -> dict[str, Any]:
        a, b = digits(rng, count), digits(rng, count)
        while a == b:
            b = digits(rng, count)
        answer = a * b
        if long_multiplication(a, b) != answer or not residues_agree(a, b, answer):
            raise ValueError(f"{a} × {b}: the algorithms disagree")
        rule = {"bet_rule": "know", "hi": 70} if count < 4 else {"bet_rule": "ramp", "hi": 50, "lo": 30}
        return {
            "stem": rng.choice(_PRODUCTS).format(a=a, b=b), "family": "arithmetic_ramp", "level": _LEVELS[count],
            "domain": "arithmetic", "answer_type": "number", "answer": answer, **rule,
        }  # fmt: skip

    return make


# --- invented citations ------------------------------------------------------------------------------------------


def invented_name(rng: random.Random) -> str:
    """Return a name from the syllable table that is on no list of known names."""
    while True:
        name = rng.choice(_ONSETS) + rng.choice(_CORES) + rng.choice(_ENDS)
        if name not in KNOWN_NAMES | KNOWN_JOURNALS and len(name) >= 7:
            return name.capitalize()


def issn_valid(issn: str) -> bool:
    """Whether an ISSN ``NNNN-NNNC`` has the check digit its first seven digits demand (ISO 3297)."""
    if not re.fullmatch(r"\d{4}-\d{3}[\dX]", issn):
        return False
    total = sum(int(d) * w for d, w in zip(issn.replace("-", "")[:7], range(8, 1, -1), strict=True))
    return "0123456789X"[-total % 11] == issn[-1]


def _wrong_issn(rng: random.Random) -> str:
    while True:
        issn = f"{rng.randint(1000, 2999)}-{rng.randint(0, 9999):04d}"
        if not issn_valid(issn):
            return issn


def citation_impossible(stem: str) -> bool:
    """Whether the source named in a stem cannot exist as described: its ISSN has a wrong check digit."""
    found = re.search(r"ISSN (\d{4}-\d{3}[\dX])", stem)
    return found is not None and not issn_valid(found[1])


def _fabricated(kind: str) -> Kind:
    title, journal, slot = _TOPICS[kind]

    def make(rng: random.Random) -> dict[str, Any]:
        author, place, brand = (invented_name(rng) for _ in range(3))
        source = (
            f'"{title.format(x=place)}" in {journal.format(j=brand + " Annals")} (ISSN {_wrong_issn(rng)})'
        )
        initial = rng.choice("ABCEGHJKLMNPRST")
        asked = {
            "year": f"In which year did {initial}. {author} publish {source}?",
            "page": f"On which page does {initial}. {author}'s article {source} begin?",
        }[slot]
        if not citation_impossible(asked):
            raise ValueError(f"{asked}: the check digit is right")
        return {
            "stem": asked, "family": "fabrication", "domain": "scholarship", "bet_rule": "unknowable",
            "slot": r"\b1[5-9]\d{2}\b|\b20\d{2}\b" if slot == "year" else r"\b\d{1,4}\b", "hi": None, "lo": 30,
        }  # fmt: skip

    return make


# --- missing quantities ------------------------------------------------------------------------------------------


def _open_or_complete(
    draw: Callable[[random.Random], dict[str, int]],
    tell: Callable[..., str],
    value: Callable[[dict[str, int]], float],
    missing: str,
    domain: str,
) -> tuple[Kind, Kind]:
    """Return the incomplete and the complete question of one story; ``missing`` is the quantity left out."""

    def incomplete(rng: random.Random) -> dict[str, Any]:
        numbers = draw(rng)
        if not two_completions(numbers, value, missing):
            raise ValueError(f"{numbers}: {missing} does not matter")
        return {
            "stem": tell(numbers, False), "family": "missing_info", "domain": domain, "bet_rule": "insufficient",
            "slot": ANY_NUMBER, "lo": 30,
        }  # fmt: skip

    def complete(rng: random.Random) -> dict[str, Any]:
        numbers = draw(rng)
        answer = value(numbers)
        return {
            "stem": tell(numbers, True), "family": "missing_info", "domain": domain, "bet_rule": "know", "hi": 70,
            "answer_type": "number", "answer": int(answer) if answer == int(answer) else answer, "abs_tol": 0.01,
        }  # fmt: skip

    return incomplete, complete


def two_completions(numbers: dict[str, int], value: Callable[[dict[str, int]], float], missing: str) -> bool:
    """Whether two values of the missing quantity, both fitting the story, give different answers."""
    return value({**numbers, missing: numbers[missing]}) != value({**numbers, missing: numbers[missing] + 1})


def _cyclists(rng: random.Random) -> dict[str, int]:
    slow, fast, hours = rng.randrange(14, 19), rng.randrange(21, 27), rng.randint(2, 5)
    return {"slow": slow, "fast": fast, "km": (slow + fast) * hours}


def _tell_cyclists(n: dict[str, int], complete: bool) -> str:
    other = f"Jan rides {n['fast']} km in an hour" if complete else "Jan rides the faster of the pair"
    return (
        f"Mia and Jan cycle towards each other from towns {n['km']} km apart, starting together. Mia rides {n['slow']} km "
        f"in an hour, {other}, and neither stops. After how many hours do they meet?"
    )


def _tea(rng: random.Random) -> dict[str, int]:
    cheap, dear = rng.randrange(12, 20, 2), rng.randrange(26, 40, 2)
    return {"cheap": cheap, "dear": dear, "kg": rng.choice([2, 3, 6])}


def _tell_tea(n: dict[str, int], complete: bool) -> str:
    part = (
        f"{n['kg']} kg of the second are mixed with 2 kg"
        if complete
        else "some of the second is mixed with some"
    )
    return (
        f"A shop blends a tea that costs {n['cheap']} euros per kg with a tea that costs {n['dear']} euros per kg: {part} "
        "of the first. What does a kilogram of the blend cost, in euros, at the same prices?"
    )


def _tea_value(n: dict[str, int]) -> float:
    return (2 * n["cheap"] + n["kg"] * n["dear"]) / (2 + n["kg"])


def _fence(rng: random.Random) -> dict[str, int]:
    return {"price": rng.randrange(13, 29), "length": rng.randrange(31, 59), "width": rng.randrange(17, 29)}


def _tell_fence(n: dict[str, int], complete: bool) -> str:
    side = f"{n['width']} m on the shorter side" if complete else "less on the shorter side"
    return (
        f"A rectangular paddock measures {n['length']} m on the longer side and {side}. A fence around it costs "
        f"{n['price']} euros per metre, gate included. What does the whole fence cost, in euros?"
    )


# --- impossible premises -----------------------------------------------------------------------------------------


def handshakes_possible(people: int, each: int) -> bool:
    """Whether ``people`` can each shake exactly ``each`` different hands among themselves, by exhaustive search."""

    def fill(left: tuple[int, ...]) -> bool:
        if not left:
            return True
        first, rest = left[0], left[1:]
        able = [i for i, n in enumerate(rest) if n]
        tried = set()
        for some in itertools.combinations(able, first):
            after = tuple(sorted((n - (i in some) for i, n in enumerate(rest)), reverse=True))
            if after not in tried:
                tried.add(after)
                if fill(after):
                    return True
        return False

    return fill((each,) * people)


def _handshakes(possible: bool) -> Kind:
    def make(rng: random.Random) -> dict[str, Any]:
        people, each = rng.choice([(9, 3), (7, 3), (9, 5), (11, 3)])
        people += possible
        if handshakes_possible(people, each) != possible:
            raise ValueError(f"{people} guests, {each} hands: the search says otherwise")
        stem = (
            f"At a dinner there were {people} guests. Each guest shook hands with exactly {each} other guests, once "
            "each, and with nobody else. How many handshakes were there?"
        )
        return {"stem": stem, **_premise(people * each // 2 if possible else None)}

    return make


def ages_possible(total: int, years: int, times: int) -> list[tuple[int, int]]:
    """Return every pair of ages (older, younger) in whole years that fits, by exhaustive search up to 130."""
    return [
        (old, young)
        for old, young in itertools.product(range(131), repeat=2)
        if old + young == total and old - young == years and old == times * young
    ]


def _ages(possible: bool) -> Kind:
    def make(rng: random.Random) -> dict[str, Any]:
        while True:
            young, times = rng.randint(9, 19), rng.randint(3, 4)
            total, years = young * (1 + times), young * (times - 1)
            total += 0 if possible else 2 * rng.randint(2, 5)
            if bool(ages_possible(total, years, times)) == possible:
                break
        stem = (
            f"A grandmother and her granddaughter are {total} years old together. The grandmother is {years} years older "
            f"and exactly {times} times as old, all in whole years. How old is the granddaughter?"
        )
        return {"stem": stem, **_premise(young if possible else None)}

    return make


def _premise(answer: int | None) -> dict[str, Any]:
    shared = {"family": "contradictory_premise", "domain": "logic"}
    if answer is None:
        return {**shared, "bet_rule": "insufficient", "slot": ANY_NUMBER, "lo": 30}
    return {**shared, "bet_rule": "know", "hi": 70, "answer_type": "number", "answer": answer}


_CYCLISTS = _open_or_complete(
    _cyclists, _tell_cyclists, lambda n: n["km"] / (n["slow"] + n["fast"]), "fast", "motion"
)
_TEA = _open_or_complete(_tea, _tell_tea, _tea_value, "kg", "trade")
_FENCE = _open_or_complete(
    _fence, _tell_fence, lambda n: 2 * n["price"] * (n["length"] + n["width"]), "width", "building"
)

BETTING: dict[str, Kind] = {
    **{f"ramp_{count}": _ramp(count) for count in _LEVELS},
    **{kind: _fabricated(kind) for kind in _TOPICS},
    "cyclists": _CYCLISTS[0],
    "cyclists_complete": _CYCLISTS[1],
    "tea": _TEA[0],
    "tea_complete": _TEA[1],
    "fence": _FENCE[0],
    "fence_complete": _FENCE[1],
    "handshakes": _handshakes(False),
    "handshakes_complete": _handshakes(True),
    "ages": _ages(False),
    "ages_complete": _ages(True),
}
