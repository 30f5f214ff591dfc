"""Questions of tiers 1a and 1b that code can make, one table each: from a random source to the values of its words.

What makes a question of 1a unanswerable holds by arithmetic: a missing quantity that changes the answer, an odd sum of
hands, ages off by the same amount, a check digit that cannot be right.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.generators.engine import CHECKED, NAMES, printable, read
from metacog_pipeline.benchmarks.metacogbench.items import Item, Provenance

Values = dict[str, Any]
Kind = Callable[[random.Random], Values]  # the fields of an item
Question = tuple[Any, ...]  # values of the words, the answer, and other forms of it
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LEVELS = {2: "easy", 3: "medium", 4: "hard", 5: "extreme"}
_INSUFFICIENT: Values = {"bet_rule": "insufficient", "slot": r"\d+(?:[.,]\d+)?", "lo": 30}


def bet(generator: str, seed: int, item_id: str = "") -> Item:
    """Return the item of tier 1a of a generator and seed; raises KeyError for an unknown generator."""
    # Twins share their numbers: an open question and its complete form are one story.
    made = BETTING[generator](random.Random(f"{generator.removesuffix('_complete')}:{seed}"))
    return Item(
        item_id=item_id or f"bet.{generator}.{seed}", tier="1a", provenance=Provenance(generator, seed, CHECKED), **made
    )  # fmt: skip


def prediction(generator: str, seed: int, item_id: str = "") -> Item:
    """Return the item of tier 1b of a generator and seed; raises KeyError for an unknown generator."""
    values, answer, *accept = EXACT[generator](random.Random(f"{generator}:{seed}"))
    return Item(
        item_id=item_id or f"predict.{generator}.{seed}", tier="1b", answer=answer, accept=tuple(accept),
        provenance=Provenance(generator, seed, CHECKED),
        **{"answer_type": "number", **_words("predicting", generator, values)},
    )  # fmt: skip


def _words(kind: str, generator: str, values: Values) -> Values:
    """Return the words of a question as fields of an item, its stem filled in."""
    words = read("questions")[kind][generator]
    return {**words, "stem": words["stem"].format_map(printable(values))}


def digits(rng: random.Random, count: int) -> int:
    """Return a number of ``count`` digits: leading digit 2..9, no trailing zero, not one digit repeated.

    Numbers within a fiftieth of a round one, such as 2001 or 3997, would make a product easy, and are drawn again.
    """
    place = 10 ** (count - 1)
    while True:
        number = rng.randint(2 * place, 10 * place - 1)
        from_round = min(number % place, place - number % place)
        if number % 10 and len(set(str(number))) > 1 and 50 * from_round > place:
            return number


def _drawn(rng: random.Random, sources: Mapping[str, Any]) -> Values:
    """Return a value of each source: a number of so many digits, or one of several."""
    return {
        name: digits(rng, each) if isinstance(each, int) else rng.choice(each)
        for name, each in sources.items()
    }


# --- 1a ---------------------------------------------------------------------------------------------------------------
def _known(answer: float) -> Values:
    return {"bet_rule": "know", "hi": 70, "answer_type": "number", "answer": answer}


def _ramp(count: int, rng: random.Random) -> Values:
    a, b = digits(rng, count), digits(rng, count)
    while a == b:
        b = digits(rng, count)
    rule = {} if count < 4 else {"bet_rule": "ramp", "hi": 50, "lo": 30}
    stem = rng.choice(read("questions")["betting"]["ramp"]["stems"]).format(a=a, b=b)
    shared = {"family": "arithmetic_ramp", "level": _LEVELS[count], "domain": "arithmetic"}
    return {"stem": stem, **shared, **_known(a * b), **rule}


def _invented_name(rng: random.Random) -> str:
    """Return a name from the syllable table that is on no list of known names."""
    while True:
        name = "".join(rng.choice(NAMES[part]) for part in ("onsets", "cores", "ends"))
        if name not in {*NAMES["known_names"], *NAMES["known_journals"]} and len(name) >= 7:
            return name.capitalize()


def issn_valid(issn: str) -> bool:
    """Whether an ISSN ``NNNN-NNNC`` has the check digit its first seven digits demand (ISO 3297)."""
    total = sum(int(d) * w for d, w in zip(issn.replace("-", "")[:7], range(8, 1, -1), strict=True))
    return re.fullmatch(r"\d{4}-\d{3}[\dX]", issn) is not None and "0123456789X"[-total % 11] == issn[-1]


def _fabricated(kind: str, rng: random.Random) -> Values:
    author, place, journal = (_invented_name(rng) for _ in range(3))
    while issn_valid(issn := f"{rng.randint(1000, 2999)}-{rng.randint(0, 9999):04d}"):
        pass
    author = f"{rng.choice('ABCEGHJKLMNPRST')}. {author}"
    values = {"author": author, "place": place, "journal": journal, "issn": issn}
    rule = {"family": "fabrication", "domain": "scholarship", "bet_rule": "unknowable", "lo": 30}
    return {**_words("betting", kind, values), **rule}


def _missing(name: str, complete: bool, rng: random.Random) -> Values:
    """Return one story with all its quantities, or with one left out on which the answer depends."""
    value, sources = _STORIES[name]
    numbers, words = _drawn(rng, sources), read("questions")["betting"][name]
    if name == "cyclists":  # they meet after whole hours
        numbers["km"] *= numbers["slow"] + numbers["fast"]
    left_out = words["complete" if complete else "open"].format(**numbers)
    answer = value(**numbers)
    whole = int(answer) if answer == int(answer) else answer
    rule = {**_known(whole), "abs_tol": 0.01} if complete else _INSUFFICIENT
    stem = words["stem"].format(**numbers, left_out=left_out)
    return {"stem": stem, "family": "missing_info", "domain": words["domain"], **rule}


#: Stories by what is asked, and the quantities they are told with.
_STORIES: dict[str, tuple[Callable[..., float], dict[str, Any]]] = {
    "cyclists": (
        lambda slow, fast, km: km / (slow + fast),
        {"slow": range(14, 19), "fast": range(21, 27), "km": range(2, 6)},
    ),
    "tea": (
        lambda cheap, dear, kg: (2 * cheap + kg * dear) / (2 + kg),
        {"cheap": range(12, 20, 2), "dear": range(26, 40, 2), "kg": (2, 3, 6)},
    ),
    "fence": (
        lambda price, length, width: 2 * price * (length + width),
        {"price": range(13, 29), "length": range(31, 59), "width": range(17, 29)},
    ),
}


def _handshakes(possible: bool, rng: random.Random) -> Values:
    # Odd guests with odd hands each: the sum of the hands is odd, and every handshake adds two to it.
    people, each = rng.choice([(9, 3), (7, 3), (9, 5), (11, 3)])
    people += possible
    return _premise("handshakes", {"people": people, "each": each}, people * each // 2, possible)


def _ages(possible: bool, rng: random.Random) -> Values:
    young, times = rng.randint(9, 19), rng.randint(3, 4)
    total, years = young * (1 + times), young * (times - 1)
    # Sum and difference then make both older by as much, and no longer one ``times`` as old as the other.
    total += 0 if possible else 2 * rng.randint(2, 5)
    return _premise("ages", {"total": total, "years": years, "times": times}, young, possible)


def _premise(name: str, numbers: Values, answer: int, possible: bool) -> Values:
    rule = _known(answer) if possible else _INSUFFICIENT
    return {**_words("betting", name, numbers), "family": "contradictory_premise", "domain": "logic", **rule}


BETTING: dict[str, Kind] = {
    **{f"ramp_{count}": partial(_ramp, count) for count in _LEVELS},
    **{f"fabricated_{kind}": partial(_fabricated, f"fabricated_{kind}")
       for kind in ("shorebirds", "lattices", "salt_road")},
    **{f"{name}{end}": partial(_missing, name, bool(end)) for name in _STORIES for end in ("", "_complete")},
    **{f"handshakes{end}": partial(_handshakes, bool(end)) for end in ("", "_complete")},
    **{f"ages{end}": partial(_ages, bool(end)) for end in ("", "_complete")},
}  # fmt: skip


# --- 1b ---------------------------------------------------------------------------------------------------------------
def _asked(rng: random.Random, /, answer: Callable[..., Any], **sources: Any) -> Question:
    """Return the question whose answer is ``answer`` of the values that are drawn for its words."""
    values = _drawn(rng, sources)
    return values, answer(**values)


def _litres(rng: random.Random) -> Question:
    tenths = rng.randrange(13, 97, 2)
    return {"volume": tenths / 10}, tenths * 100


def _date(rng: random.Random, first: int, last: int) -> datetime.date:
    return datetime.date(rng.randint(first, last), rng.randint(1, 12), rng.randint(1, 28))


def _dated(day: datetime.date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _days(rng: random.Random) -> Question:
    start = _date(rng, 1951, 1998)
    days = rng.randint(130, 620)
    return {"start": _dated(start), "end": _dated(start + datetime.timedelta(days))}, days


def _weekday(rng: random.Random) -> Question:
    day = _date(rng, 1701, 1799)
    return {"day": _dated(day)}, WEEKDAYS[day.weekday()]


def _dice(rng: random.Random) -> Question:
    sides, wanted = rng.choice([(6, 8), (6, 10), (8, 11), (8, 7), (10, 13), (10, 8)])
    hits = sum(a + b >= wanted for a, b in itertools.product(range(1, sides + 1), repeat=2))
    return {"sides": sides, "wanted": wanted}, float(Fraction(hits, sides**2))


def _knights(count: int, rng: random.Random) -> Question:
    names = NAMES["speakers"][:count]
    while True:
        said = [_claim(rng, i, names) for i in range(count)]
        worlds = itertools.product((True, False), repeat=count)
        fitting = [w for w in worlds if all(said[i][1](w) == w[i] for i in range(count))]
        if len(fitting) == 1 and len({text for text, _ in said}) == count:
            break
    answer = "".join("NK"[knight] for knight in fitting[0])
    lines = " ".join(f'{name} says: "{text}"' for name, (text, _) in zip(names, said, strict=True))
    return {"lines": lines, "names": names}, answer, ", ".join(answer), " ".join(answer)


def _claim(rng: random.Random, me: int, names: list[str]) -> tuple[str, Callable[[tuple[bool, ...]], bool]]:
    a = rng.choice([i for i in range(len(names)) if i != me])
    b = rng.choice([i for i in range(len(names)) if i != a])
    kind, number = rng.randrange(4), rng.randint(1, len(names) - 1)
    template = list(read("questions")["predicting"]["claims"].values())[kind]
    knights, who = "is a knight" if number == 1 else "are knights", "I am" if b == me else f"{names[b]} is"
    text = template.format(a=names[a], number=number, knights=knights, who=who)
    holds: tuple[Callable[[tuple[bool, ...]], bool], ...] = (
        lambda w: not w[a],
        lambda w: w[a] == w[me],
        lambda w: sum(w) == number,
        lambda w: not w[a] or w[b],
    )
    return text, holds[kind]


def _half_life(rng: random.Random) -> Question:
    slow = rng.randint(7, 15)
    fast, apart = rng.randint(3, slow - 2), rng.randint(2, 5)
    days = Fraction(apart * slow * fast, slow - fast)
    if days.denominator != 1:
        return _half_life(rng)
    small = rng.randint(3, 9)
    return {"large": small * 2**apart, "fast": fast, "small": small, "slow": slow}, int(days)


def _sentence(rng: random.Random) -> str:
    return " ".join(rng.choice(NAMES[part]) for part in ("subjects", "verbs", "objects", "whereabouts"))


def _letter_count(rng: random.Random) -> Question:
    text = f"{_sentence(rng).capitalize()}, while {_sentence(rng)}."
    letter = rng.choice("aehrt")
    return {"letter": letter, "text": text}, text.lower().count(letter)


def _characters(rng: random.Random) -> Question:
    first, second, third, fourth = (_sentence(rng) for _ in range(4))
    text = f"{first.capitalize()}; {second}. {third.capitalize()}, though {fourth}."
    return {"text": text}, len(text)


def _nearest(rng: random.Random) -> Question:
    """Four towns in high latitudes, where differences of degrees mislead."""
    names = NAMES["towns"]
    while True:
        here, *others = spots = [(rng.randint(38, 74), rng.randint(-170, 170)) for _ in names]
        arcs = [_arc(here, other) for other in others]
        flat = [math.dist(here, other) for other in others]
        best, second, *_ = sorted(arcs)
        if second > 1.08 * best and flat.index(min(flat)) != arcs.index(best):
            break
    placed = zip(names, spots, strict=True)
    table = "; ".join(f"{name} {la}° N, {abs(lo)}° {'E' if lo >= 0 else 'W'}" for name, (la, lo) in placed)
    return {"table": table, "here": names[0]}, names[1 + arcs.index(best)]


def _arc(a: tuple[int, int], b: tuple[int, int]) -> float:
    """Return the great-circle distance of two places in degrees, by the haversine formula, on a globe of radius 1."""
    (p, x), (q, y) = ((math.radians(u), math.radians(v)) for u, v in (a, b))
    part = math.sin((q - p) / 2) ** 2 + math.cos(p) * math.cos(q) * math.sin((y - x) / 2) ** 2
    return 2 * math.asin(math.sqrt(part))


def _product(a: int, b: int) -> int:
    return a * b


def _posterior(ill: int, hit: int, false: int) -> float:
    return float(round(100 * Fraction(ill * hit, ill * hit + (1000 - ill) * false), 1))


def _steps(start: int) -> int:
    """Return the steps of Collatz's game."""
    steps = 0
    while start != 1:
        start, steps = (start // 2 if start % 2 == 0 else 3 * start + 1), steps + 1
    return steps


def _pi(place: int) -> int:
    """Return a digit of π by Machin's formula."""
    unit: int = 10 ** (place + 20)  # twenty digits that rounding may spoil

    def arctan(x: int) -> int:
        return sum((-1) ** k * (unit // x ** (2 * k + 1)) // (2 * k + 1) for k in range(place + 20))

    return int(str(4 * (4 * arctan(5) - arctan(239)))[place])


def _rank(rng: random.Random) -> Question:
    letters = "ADEGLOR"
    word = "".join(rng.sample(letters, 7))
    place, left = 1, list(letters)
    for i, letter in enumerate(word):
        place += left.index(letter) * math.factorial(6 - i)
        left.remove(letter)
    return {"letters": list(letters), "word": word}, place


def _fraction(rng: random.Random) -> Question:
    terms = [rng.randint(2, 9) for _ in range(7)]
    value = Fraction(terms[-1])
    for term in reversed(terms[:-1]):
        value = term + 1 / value
    return {"nested": f"{terms[0]} + 1/(" + " + 1/(".join(map(str, terms[1:])) + ")" * 6}, value.numerator


EXACT: dict[str, Callable[[random.Random], Question]] = {
    "sum_of_two": partial(_asked, answer=lambda a, b: a + b, a=3, b=3),
    "perimeter": partial(_asked, answer=lambda a, b: 2 * (a + b), a=range(12, 50), b=range(51, 99)),
    "litres": _litres,
    "product_3x2": partial(_asked, answer=_product, a=3, b=2),
    "remainder": partial(_asked, answer=lambda n: n % 7, n=5),
    "days_between": _days,
    "dice": _dice,
    "speed": partial(_asked, answer=lambda v: float(round(Fraction(v * 1609344, 1000 * 3600), 2)), v=range(23, 97)),
    "knights_2": partial(_knights, 2),
    "product_4x4": partial(_asked, answer=_product, a=4, b=4),
    "modular_power": partial(
        _asked, answer=lambda base, exponent, modulus: pow(base, exponent, modulus),
        base=range(13, 98), exponent=range(23, 89), modulus=(101, 103, 107, 109, 113, 127),
    ),
    "knights_4": partial(_knights, 4),
    "half_life": _half_life,
    "bayes": partial(_asked, answer=_posterior, ill=range(8, 60, 4), hit=range(75, 99, 5), false=range(2, 13)),
    "letter_count": _letter_count,
    "nearest_place": _nearest,
    "product_5x5": partial(_asked, answer=_product, a=5, b=5),
    "collatz": partial(_asked, answer=_steps, start=range(70_001, 100_000)),
    "pi_digit": partial(_asked, answer=_pi, place=range(120, 481)),
    "weekday": _weekday,
    "permutation_rank": _rank,
    "nested_fraction": _fraction,
    "character_count": _characters,
}  # fmt: skip
