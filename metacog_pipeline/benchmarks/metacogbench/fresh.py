"""Fresh items of tiers 1a, 1b and 3 from a seed: one table of what is drawn and how it is solved, and one engine.

The words are in ``data/metacogbench/fresh.toml``. A story of tier 3 is accepted only if no value is printed in it and
random plausible replies do not pass. The tests solve every item again by another method. Shipped items of these names
come out of the seeds in their provenance.
"""

from __future__ import annotations

import itertools
import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from metacog_pipeline.benchmarks.metacogbench.items import Field, Item, Provenance
from metacog_pipeline.benchmarks.metacogbench.rules import fields_right
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import shipped
from metacog_pipeline.reading.numbers import ONES

ATTEMPTS, RANDOM_REPLIES, MOST_RANDOM_PASSES = 4000, 200, 0.10
WORDS: dict[str, Any] = tomllib.loads(shipped("data", "metacogbench", "fresh.toml").read_text("utf-8"))
Values = dict[str, Any]


class Kind(NamedTuple):
    """One sort of item: ``solve`` takes what ``draw`` draws and returns the answer, of tier 3 the values of the fields in
    their order, or None where the draw is no good; ``tell`` returns what the words need besides."""

    draw: Callable[[random.Random], Values]
    solve: Callable[..., Any]
    tell: Callable[[Values], Values] = lambda drawn: {}


# --- the engine -------------------------------------------------------------------------------------------------------
def generate(tier: str, seed: int, *names: str) -> list[Item]:
    """Return an item of every name of a tier, or of ``names``; StudyError where there is no such tier or name."""
    if tier not in KINDS:
        raise StudyError(f"tier {tier}: its items are written by hand; fresh ones: {', '.join(KINDS)}")
    if unknown := set(names) - KINDS[tier].keys():
        raise StudyError(f"tier {tier} has no {min(unknown)!r}; there are: {', '.join(KINDS[tier])}")
    return [make(tier, name, seed)[1] for name in names or KINDS[tier]]


def make(tier: str, name: str, seed: int, item_id: str = "") -> tuple[Values, Item]:
    """Return what was drawn for the first acceptable item of a name and a seed, and the item."""
    kind, words = KINDS[tier][name], WORDS[tier][name]
    whence = Provenance(name, seed, "solved again by another method in the tests")
    for attempt in range(ATTEMPTS):
        drawn = kind.draw(random.Random(f"{name}:{seed}" + f":{attempt}" * (tier == "3")))
        answer = kind.solve(**drawn)
        if answer is None:
            continue
        told = drawn | kind.tell(drawn)
        values = {name: each for name, each in words.items() if name in Item.model_fields}
        values["stem"] = words.get("stem", told.get("stem", "")).format_map(told)
        if tier == "3":
            fields = [
                Field(**{**record, "description": record["description"].format_map(told), "value": value})
                for record, value in zip(words["fields"], answer, strict=True)
            ]
            values |= {"structure": name, "fields": tuple(fields)}
            if not acceptable(fields, values["stem"]):
                continue
        else:
            values |= {"answer_type": "number", "answer": answer}
        return drawn, Item(item_id=item_id or f"{tier}.{name}.{seed}", tier=tier, provenance=whence, **values)
    raise ValueError(f"{name}, seed {seed}: no acceptable item in {ATTEMPTS} attempts")


def acceptable(fields: Sequence[Field], stem: str) -> bool:
    """Whether no value is printed in the stem and luck does not earn a pass."""
    rng, passed = random.Random(stem), 0
    for _ in range(RANDOM_REPLIES):
        passed += fields_right(fields, {each.name: _plausible(each, rng) for each in fields}).passed
    return passed <= MOST_RANDOM_PASSES * RANDOM_REPLIES and not any(printed(each, stem) for each in fields)


def _plausible(field: Field, rng: random.Random) -> float:
    """Return a number of about the right size."""
    key = float(field.value)  # type: ignore[arg-type]
    guess = rng.uniform(key - max(2.0, 0.4 * abs(key)), key + max(2.0, 0.4 * abs(key)))
    return round(guess) if field.type == "int" else guess


def printed(field: Field, stem: str) -> bool:
    """Whether a numeric value is in the stem, in digits or as a word up to twenty."""
    words = set(re.findall(r"[a-z]+", stem.lower()))
    said = [float(each) for each in re.findall(r"\d+(?:\.\d+)?", stem)]
    said += [n for n, word in enumerate((*ONES, "twenty")) if word in words]
    numeric = field.type in ("int", "float")
    return numeric and any(fields_right([field], {field.name: number}).passed for number in said)


# --- what is drawn, and the answers -----------------------------------------------------------------------------------
def digits(rng: random.Random, count: int) -> int:
    """Return a number of ``count`` digits: leading digit 2..9, no trailing zero, not one digit repeated."""
    place = 10 ** (count - 1)
    while True:
        number = rng.randint(2 * place, 10 * place - 1)
        # Numbers within a fiftieth of a round one, such as 2001 or 3997, would make a product easy.
        from_round = min(number % place, place - number % place)
        if number % 10 and len(set(str(number))) > 1 and 50 * from_round > place:
            return number


def _of(solve: Callable[..., Any], **sources: int | Sequence[int]) -> Kind:
    """Return a question whose values are drawn each from its source: numbers of so many digits, or one of several."""

    def draw(rng: random.Random) -> Values:
        return {
            name: digits(rng, each) if isinstance(each, int) else rng.choice(each)
            for name, each in sources.items()
        }

    return Kind(draw, solve)


def _ramp(count: int) -> Kind:
    def draw(rng: random.Random) -> Values:
        a, b = digits(rng, count), digits(rng, count)
        while a == b:
            b = digits(rng, count)
        return {"a": a, "b": b, "stem": rng.choice(WORDS["stems"])}

    return Kind(draw, lambda a, b, stem: a * b)


def _collatz(start: int) -> int:
    steps = 0
    while start != 1:
        start, steps = (start // 2 if start % 2 == 0 else 3 * start + 1), steps + 1
    return steps


def _draw_clubs(rng: random.Random) -> Values:
    clubs = rng.sample(WORDS["clubs"], 4)
    regions = {
        "".join(map(str, some)): rng.randint(3, 31 - 6 * size)
        for size in range(1, 5)
        for some in itertools.combinations(range(4), size)
    }
    return {"clubs": clubs, "regions": regions, "nobody": rng.randint(12, 60)}


def _shared(regions: Mapping[str, int]) -> dict[str, int]:
    """Return how many pupils are in all clubs of each choice, and perhaps in others."""
    made = {key: sum(n for of, n in regions.items() if set(key) <= set(of)) for key in regions}
    return dict(sorted(made.items(), key=lambda each: (len(each[0]), each[0])))


def _members(clubs: Sequence[str], regions: Mapping[str, int], nobody: int) -> tuple[int, ...]:
    shared, total = _shared(regions), sum(regions.values()) + nobody
    one, two, three, four = (sum(n for key, n in shared.items() if len(key) == k) for k in range(1, 5))
    return (
        total - one + two - three + four,
        one - 2 * two + 3 * three - 4 * four,
        two - 3 * three + 6 * four,
        shared["01"] - shared["012"] - shared["013"] + shared["0123"],
    )


def _tell_clubs(drawn: Values) -> Values:
    clubs, line = drawn["clubs"], WORDS["3"]["inclusion_exclusion"]["counts"]
    counts = [
        line.format(" and ".join(clubs[int(i)] for i in key), n)
        for key, n in _shared(drawn["regions"]).items()
    ]
    total = sum(drawn["regions"].values()) + drawn["nobody"]
    named = f"{', '.join(clubs[:-1])} and {clubs[-1]}"
    return {"total": total, "all_clubs": named, "counts": "\n".join(counts)}


def _draw_quay(rng: random.Random) -> Values:
    steps = {
        "fine": (210, 900, 10), "gain": (60, 200, 10), "wage": (20, 55, 5), "bounty": (90, 320, 10), "loss": (40, 200, 10),
        "honest": (10, 50, 5), "new_fine": (110, 700, 10),
    }  # fmt: skip
    drawn = {name: rng.randrange(*each) for name, each in steps.items()}
    return {**drawn, "new_fine": drawn["fine"] + drawn["new_fine"]}


def _equilibrium(
    fine: int, gain: int, wage: int, bounty: int, loss: int, honest: int, new_fine: int
) -> tuple[float, ...] | None:
    """Return the chances that leave the other side indifferent, of an inspector and a smuggler."""
    search, later = (Fraction(gain - honest, gain + each) for each in (fine, new_fine))
    smuggle = Fraction(wage, bounty + loss)
    # Below the tolerance of an answer both chances would be the same.
    rare = search - later < Fraction(3, 100) or smuggle < Fraction(6, 100)
    if not 0 < search < 1 or not 0 < smuggle < 1 or rare:
        return None
    found = (100 * search, 100 * smuggle, 100 * search * smuggle, -smuggle * loss, 100 * later)
    return tuple(map(float, found))


#: By tier and name.
KINDS: Mapping[str, Mapping[str, Kind]] = {
    "1a": {f"ramp_{count}": _ramp(count) for count in range(2, 6)},
    "1b": {
        "sum_of_two": _of(lambda a, b: a + b, a=3, b=3),
        "perimeter": _of(lambda a, b: 2 * (a + b), a=range(12, 50), b=range(51, 99)),
        "product_3x2": _of(lambda a, b: a * b, a=3, b=2),
        "remainder": _of(lambda n: n % 7, n=5),
        "speed": _of(lambda v: float(round(Fraction(v * 1609344, 1000 * 3600), 2)), v=range(23, 97)),
        "product_4x4": _of(lambda a, b: a * b, a=4, b=4),
        "modular_power": _of(lambda base, exponent, modulus: pow(base, exponent, modulus),
                             base=range(13, 98), exponent=range(23, 89), modulus=(101, 103, 107, 109, 113, 127)),
        "bayes": _of(
            lambda ill, hit, false: float(round(100 * Fraction(ill * hit, ill * hit + (1000 - ill) * false), 1)),
            ill=range(8, 60, 4), hit=range(75, 99, 5), false=range(2, 13),
        ),
        "product_5x5": _of(lambda a, b: a * b, a=5, b=5),
        "collatz": _of(_collatz, start=range(70_001, 100_000)),
    },
    "3": {
        "inclusion_exclusion": Kind(_draw_clubs, _members, _tell_clubs),
        "mixed_equilibrium": Kind(_draw_quay, _equilibrium),
    },
}  # fmt: skip
