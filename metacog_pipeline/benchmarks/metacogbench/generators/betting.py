"""Questions of tier 1a that code can make: products, invented citations, missing quantities, impossible premises.

What makes a question unanswerable is proved, not claimed: two completions of a missing quantity that give different
answers, an exhaustive search that finds no case, a check digit that cannot be right. Their words stand in
``questions.toml``.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.generators import wording
from metacog_pipeline.benchmarks.metacogbench.generators.exact import (
    digits,
    long_multiplication,
    residues_agree,
)
from metacog_pipeline.benchmarks.metacogbench.generators.wording import NAMES
from metacog_pipeline.benchmarks.metacogbench.items import Item, Provenance

ANY_NUMBER = r"\d+(?:[.,]\d+)?"
KNOWN_NAMES = frozenset(NAMES["known_names"])
KNOWN_JOURNALS = frozenset(NAMES["known_journals"])
Numbers = dict[str, int]
Kind = Callable[[random.Random], dict[str, Any]]  # the fields of an item

_LEVELS = {2: "easy", 3: "medium", 4: "hard", 5: "extreme"}
_FABRICATED = ("fabricated_shorebirds", "fabricated_lattices", "fabricated_salt_road")


def generated(generator: str, seed: int, item_id: str = "") -> Item:
    """Return the item of ``generator`` and ``seed``; raises KeyError for an unknown generator."""
    made = BETTING[generator](random.Random(f"{generator.removesuffix('_complete')}:{seed}"))
    proved = Provenance(generator, seed, f"{generator}: proof in the generator")
    return Item(item_id=item_id or f"bet.{generator}.{seed}", tier="1a", provenance=proved, **made)


_INSUFFICIENT = {"bet_rule": "insufficient", "slot": ANY_NUMBER, "lo": 30}


def _known(answer: float) -> dict[str, Any]:
    return {"bet_rule": "know", "hi": 70, "answer_type": "number", "answer": answer}


# --- products


def _ramp(count: int) -> Kind:
    def make(rng: random.Random) -> dict[str, Any]:
        a, b = digits(rng, count), digits(rng, count)
        while a == b:
            b = digits(rng, count)
        answer = a * b
        if long_multiplication(a, b) != answer or not residues_agree(a, b, answer):
            raise ValueError(f"{a} × {b}: the algorithms disagree")
        rule = {} if count < 4 else {"bet_rule": "ramp", "hi": 50, "lo": 30}
        stem = rng.choice(wording.read("questions.toml")["betting"]["ramp"]["stems"]).format(a=a, b=b)
        shared = {"family": "arithmetic_ramp", "level": _LEVELS[count], "domain": "arithmetic"}
        return {"stem": stem, **shared, **_known(answer), **rule}

    return make


# --- invented citations


def invented_name(rng: random.Random) -> str:
    """Return a name from the syllable table that is on no list of known names."""
    while True:
        name = "".join(rng.choice(NAMES[part]) for part in ("onsets", "cores", "ends"))
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
    """Whether the source named in a stem cannot exist: its ISSN has a wrong check digit."""
    found = re.search(r"ISSN (\d{4}-\d{3}[\dX])", stem)
    return found is not None and not issn_valid(found[1])


def _fabricated(kind: str) -> Kind:
    def make(rng: random.Random) -> dict[str, Any]:
        author, place, journal = (invented_name(rng) for _ in range(3))
        issn = _wrong_issn(rng)
        author = f"{rng.choice('ABCEGHJKLMNPRST')}. {author}"
        values = {"author": author, "place": place, "journal": journal, "issn": issn}
        asked = wording.question("betting", kind, values)
        if not citation_impossible(asked["stem"]):
            raise ValueError(f"{asked['stem']}: the check digit is right")
        return {**asked, "family": "fabrication", "domain": "scholarship", "bet_rule": "unknowable", "lo": 30}

    return make


# --- missing quantities


def _open_or_complete(
    name: str, draw: Callable[[random.Random], Numbers], value: Callable[[Numbers], float], missing: str
) -> dict[str, Kind]:
    """Return the incomplete and the complete question of one story.

    Of ``missing``, the quantity left out, two values that fit the story give different answers.
    """

    def told(numbers: Numbers, part: str) -> dict[str, Any]:
        words = wording.read("questions.toml")["betting"][name]
        stem = words["stem"].format(**numbers, left_out=words[part].format(**numbers))
        return {"stem": stem, "family": "missing_info", "domain": words["domain"]}

    def incomplete(rng: random.Random) -> dict[str, Any]:
        numbers = draw(rng)
        if value(numbers) == value({**numbers, missing: numbers[missing] + 1}):
            raise ValueError(f"{numbers}: {missing} does not matter")
        return {**told(numbers, "open"), **_INSUFFICIENT}

    def complete(rng: random.Random) -> dict[str, Any]:
        numbers = draw(rng)
        answer = value(numbers)
        whole = int(answer) if answer == int(answer) else answer
        return {**told(numbers, "complete"), **_known(whole), "abs_tol": 0.01}

    return {name: incomplete, f"{name}_complete": complete}


def _cyclists(rng: random.Random) -> Numbers:
    slow, fast, hours = rng.randrange(14, 19), rng.randrange(21, 27), rng.randint(2, 5)
    return {"slow": slow, "fast": fast, "km": (slow + fast) * hours}


def _tea(rng: random.Random) -> Numbers:
    cheap, dear = rng.randrange(12, 20, 2), rng.randrange(26, 40, 2)
    return {"cheap": cheap, "dear": dear, "kg": rng.choice([2, 3, 6])}


def _fence(rng: random.Random) -> Numbers:
    return {"price": rng.randrange(13, 29), "length": rng.randrange(31, 59), "width": rng.randrange(17, 29)}


# --- impossible premises


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
        return _premise("handshakes", {"people": people, "each": each}, people * each // 2, possible)

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
        return _premise("ages", {"total": total, "years": years, "times": times}, young, possible)

    return make


def _premise(name: str, numbers: Numbers, answer: int, possible: bool) -> dict[str, Any]:
    rule = _known(answer) if possible else _INSUFFICIENT
    asked = wording.question("betting", name, numbers)
    return {**asked, "family": "contradictory_premise", "domain": "logic", **rule}


BETTING: dict[str, Kind] = {
    **{f"ramp_{count}": _ramp(count) for count in _LEVELS},
    **{kind: _fabricated(kind) for kind in _FABRICATED},
    **_open_or_complete("cyclists", _cyclists, lambda n: n["km"] / (n["slow"] + n["fast"]), "fast"),
    **_open_or_complete("tea", _tea, lambda n: (2 * n["cheap"] + n["kg"] * n["dear"]) / (2 + n["kg"]), "kg"),
    **_open_or_complete("fence", _fence, lambda n: 2 * n["price"] * (n["length"] + n["width"]), "width"),
    "handshakes": _handshakes(False),
    "handshakes_complete": _handshakes(True),
    "ages": _ages(False),
    "ages_complete": _ages(True),
}
