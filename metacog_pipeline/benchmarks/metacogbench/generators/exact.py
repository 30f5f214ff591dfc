"""Questions of tier 1b whose answer is computed twice, by different algorithms.

A generator takes a random source and returns a `Question`; ``generated`` words it by ``questions.toml`` and raises when
the two computations differ.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.generators import wording
from metacog_pipeline.benchmarks.metacogbench.generators.wording import NAMES
from metacog_pipeline.benchmarks.metacogbench.items import Item, Provenance, Scalar

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class Question:
    """The values of a question, its answer, and the same answer from another computation."""

    values: dict[str, Any]
    answer: Scalar
    checked: Scalar
    accept: tuple[str, ...] = ()


Generator = Callable[[random.Random], Question]


def generated(generator: str, seed: int, item_id: str = "") -> Item:
    """Return the item of ``generator`` and ``seed``; raises KeyError for an unknown generator."""
    made = EXACT[generator](random.Random(f"{generator}:{seed}"))
    if made.answer != made.checked and not (
        isinstance(made.answer, float) and math.isclose(made.answer, float(made.checked), rel_tol=1e-12)
    ):
        raise ValueError(f"{generator}, seed {seed}: {made.answer} but checked {made.checked}")
    words = wording.question("predicting", generator, made.values)
    return Item(
        item_id=item_id or f"predict.{generator}.{seed}",
        tier="1b",
        **{"answer_type": "number", **words},
        answer=made.answer,
        accept=made.accept,
        provenance=Provenance(generator, seed, f"{generator}: second algorithm"),
    )


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


def long_multiplication(a: int, b: int) -> int:
    """Multiply digit by digit, as on paper."""
    columns = [0] * (len(str(a)) + len(str(b)))
    for i, x in enumerate(reversed(str(a))):
        for j, y in enumerate(reversed(str(b))):
            columns[i + j] += int(x) * int(y)
    return sum(column * 10**place for place, column in enumerate(columns))


def residues_agree(a: int, b: int, product: int) -> bool:
    """Whether casting out nines and elevens allows ``product``."""
    return all(a % m * (b % m) % m == product % m for m in (9, 11))


def _sum(rng: random.Random) -> Question:
    a, b = digits(rng, 3), digits(rng, 3)
    columns = zip(str(a)[::-1], str(b)[::-1], strict=True)
    checked = sum((int(x) + int(y)) * 10**i for i, (x, y) in enumerate(columns))
    return Question({"a": a, "b": b}, a + b, checked)


def _perimeter(rng: random.Random) -> Question:
    a, b = rng.randint(12, 49), rng.randint(51, 98)
    return Question({"a": a, "b": b}, 2 * (a + b), a + b + a + b)


def _litres(rng: random.Random) -> Question:
    tenths = rng.randrange(13, 97, 2)
    return Question({"volume": tenths / 10}, tenths * 100, int(Fraction(tenths, 10) * 1000))


def _product(first: int, second: int) -> Generator:
    def make(rng: random.Random) -> Question:
        a, b = digits(rng, first), digits(rng, second)
        checked = long_multiplication(a, b) if residues_agree(a, b, a * b) else -1
        return Question({"a": a, "b": b}, a * b, checked)

    return make


def _remainder(rng: random.Random) -> Question:
    n = digits(rng, 5)
    rest = 0
    for digit in str(n):
        rest = (10 * rest + int(digit)) % 7
    return Question({"n": n}, n % 7, rest)


def _days(rng: random.Random) -> Question:
    start = datetime.date(rng.randint(1951, 1998), rng.randint(1, 12), rng.randint(1, 28))
    end = start + datetime.timedelta(days=rng.randint(130, 620))
    walked, day = 0, start
    while day < end:
        length = [31, 29 if _leap(day.year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][day.month - 1]
        ends = day.day == length
        walked, day = walked + 1, day.replace(day=1 if ends else day.day + 1)
        if ends:
            day = day.replace(year=day.year + day.month // 12, month=day.month % 12 + 1)
    return Question({"start": _dated(start), "end": _dated(end)}, (end - start).days, walked)


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _dated(day: datetime.date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _dice(rng: random.Random) -> Question:
    sides, wanted = rng.choice([(6, 8), (6, 10), (8, 11), (8, 7), (10, 13), (10, 8)])
    hits = sum(a + b >= wanted for a, b in itertools.product(range(1, sides + 1), repeat=2))
    below = (wanted - 2) * (wanted - 1) // 2
    if wanted > sides + 1:
        below = sides**2 - (2 * sides - wanted + 1) * (2 * sides - wanted + 2) // 2
    answer, checked = Fraction(hits, sides**2), 1 - Fraction(below, sides**2)
    return Question({"sides": sides, "wanted": wanted}, float(answer), float(checked))


def _speed(rng: random.Random) -> Question:
    v = rng.randint(23, 96)
    value, checked = Fraction(v * 1609344, 1000 * 3600), v * Fraction(44704, 100000)
    return Question({"v": v}, float(round(value, 2)), float(round(checked, 2)))


def _knights(count: int) -> Generator:
    def make(rng: random.Random) -> Question:
        everyone = list(itertools.product((True, False), repeat=count))
        names = NAMES["speakers"][:count]
        while True:
            said = [_claim(rng, i, names) for i in range(count)]
            fitting = [w for w in everyone if all(said[i][1](w) == w[i] for i in range(count))]
            if len(fitting) == 1 and len({text for text, _ in said}) == count:
                break
        # The same by sets: worlds in which a speaker's claim is true are those in which the speaker is a knight.
        left = set(everyone)
        for i, (_, holds) in enumerate(said):
            left -= {w for w in everyone if holds(w)} ^ {w for w in everyone if w[i]}
        answer, checked = ("".join("NK"[knight] for knight in world) for world in (fitting[0], left.pop()))
        lines = " ".join(f'{name} says: "{text}"' for name, (text, _) in zip(names, said, strict=True))
        values = {"lines": lines, "names": names}
        return Question(values, answer, checked, (", ".join(answer), " ".join(answer)))

    return make


def _claim(rng: random.Random, me: int, names: list[str]) -> tuple[str, Callable[[tuple[bool, ...]], bool]]:
    a = rng.choice([i for i in range(len(names)) if i != me])
    b = rng.choice([i for i in range(len(names)) if i != a])
    kind, number = rng.randrange(4), rng.randint(1, len(names) - 1)
    template = list(wording.read("questions.toml")["predicting"]["claims"].values())[kind]
    knights, who = "is a knight" if number == 1 else "are knights", "I am" if b == me else f"{names[b]} is"
    text = template.format(a=names[a], number=number, knights=knights, who=who)
    holds: tuple[Callable[[tuple[bool, ...]], bool], ...] = (
        lambda w: not w[a],
        lambda w: w[a] == w[me],
        lambda w: sum(w) == number,
        lambda w: not w[a] or w[b],
    )
    return text, holds[kind]


def _power(rng: random.Random) -> Question:
    base, exponent = rng.randint(13, 97), rng.randint(23, 88)
    modulus = rng.choice([101, 103, 107, 109, 113, 127])
    rest = 1
    for _ in range(exponent):
        rest = rest * base % modulus
    values = {"base": base, "exponent": exponent, "modulus": modulus}
    return Question(values, pow(base, exponent, modulus), rest)


def _half_life(rng: random.Random) -> Question:
    slow = rng.randint(7, 15)
    fast = rng.randint(3, slow - 2)
    apart = rng.randint(2, 5)
    days = Fraction(apart * slow * fast, slow - fast)
    if days.denominator != 1:
        return _half_life(rng)
    small = rng.randint(3, 9)
    # Day by day, in exponents of two times slow × fast.
    day, left, right = 0, apart * slow * fast, 0
    while left > right:
        day, left, right = day + 1, left - slow, right - fast
    return Question({"large": small * 2**apart, "fast": fast, "small": small, "slow": slow}, int(days), day)


def _bayes(rng: random.Random) -> Question:
    ill, hit, false = rng.randrange(8, 60, 4), rng.randrange(75, 99, 5), rng.randint(2, 12)
    chance = Fraction(ill * hit, ill * hit + (1000 - ill) * false)
    sick, healthy = 100 * ill, 100 * (1000 - ill)
    counted = Fraction(sick * hit // 100, sick * hit // 100 + healthy * false // 100)
    answer, checked = float(round(100 * chance, 1)), float(round(100 * counted, 1))
    return Question({"ill": ill, "hit": hit, "false": false}, answer, checked)


def _sentence(rng: random.Random) -> str:
    return " ".join(rng.choice(NAMES[part]) for part in ("subjects", "verbs", "objects", "whereabouts"))


def _letter_count(rng: random.Random) -> Question:
    text = f"{_sentence(rng).capitalize()}, while {_sentence(rng)}."
    letter = rng.choice("aehrt")
    found = sum(c == letter for c in text.lower())
    return Question({"letter": letter, "text": text}, text.lower().count(letter), found)


def _characters(rng: random.Random) -> Question:
    first, second, third, fourth = (_sentence(rng) for _ in range(4))
    text = f"{first.capitalize()}; {second}. {third.capitalize()}, though {fourth}."
    words = text.split(" ")
    return Question({"text": text}, len(text), sum(map(len, words)) + len(words) - 1)


def _nearest(rng: random.Random) -> Question:
    """Four towns in high latitudes, where differences of degrees mislead."""
    names = NAMES["towns"]
    while True:
        spots = [(rng.randint(38, 74), rng.randint(-170, 170)) for _ in names]
        here, others = spots[0], spots[1:]
        arcs = [_haversine(here, other) for other in others]
        flat = [math.hypot(here[0] - la, here[1] - lo) for la, lo in others]
        order = sorted(arcs)
        if order[1] > 1.08 * order[0] and flat.index(min(flat)) != arcs.index(order[0]):
            break
    chords = [math.dist(_vector(here), _vector(other)) for other in others]
    answer, checked = (names[1 + row.index(min(row))] for row in (arcs, chords))
    placed = zip(names, spots, strict=True)
    table = "; ".join(f"{name} {la}° N, {abs(lo)}° {'E' if lo >= 0 else 'W'}" for name, (la, lo) in placed)
    return Question({"table": table, "here": names[0]}, answer, checked)


def _haversine(a: tuple[int, int], b: tuple[int, int]) -> float:
    (p, x), (q, y) = ((math.radians(u), math.radians(v)) for u, v in (a, b))
    part = math.sin((q - p) / 2) ** 2 + math.cos(p) * math.cos(q) * math.sin((y - x) / 2) ** 2
    return 2 * math.asin(math.sqrt(part))


def _vector(a: tuple[int, int]) -> tuple[float, float, float]:
    p, x = math.radians(a[0]), math.radians(a[1])
    return math.cos(p) * math.cos(x), math.cos(p) * math.sin(x), math.sin(p)


def _collatz(rng: random.Random) -> Question:
    start = rng.randint(70_001, 99_999)
    n, steps = start, 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return Question({"start": start}, steps, _collatz_steps(start))


def _collatz_steps(n: int) -> int:
    """Count with several halvings at a time."""
    steps = 0
    while n != 1:
        twos = (n & -n).bit_length() - 1
        n, steps = (n >> twos, steps + twos) if twos else (3 * n + 1, steps + 1)
    return steps


def _pi(rng: random.Random) -> Question:
    place = rng.randint(120, 480)
    return Question({"place": place}, int(str(pi_machin(place + 10))[place]), pi_spigot(place + 1)[place])


def pi_machin(places: int) -> int:
    """Return ⌊π·10^places⌋ by Machin's formula, good but for the last few digits."""
    unit: int = 10 ** (places + 10)

    def arctan(x: int) -> int:
        power = total = unit // x
        n, sign = 3, -1
        while power:
            power //= x * x
            total += sign * (power // n)
            n, sign = n + 2, -sign
        return total

    return 4 * (4 * arctan(5) - arctan(239)) // 10**10


def pi_spigot(count: int) -> list[int]:
    """Return the first ``count`` digits of π, the 3 included, by the unbounded spigot of Gibbons."""
    found: list[int] = []
    q, r, t, k, n, m = 1, 0, 1, 1, 3, 3
    while len(found) < count:
        if 4 * q + r - t < n * t:
            found.append(n)
            q, r, n = 10 * q, 10 * (r - n * t), 10 * (3 * q + r) // t - 10 * n
        else:
            following = (q * (7 * k + 2) + r * m) // (t * m)
            q, r, t, n, k, m = q * k, (2 * q + r) * m, t * m, following, k + 1, m + 2
    return found


def _weekday(rng: random.Random) -> Question:
    day = datetime.date(rng.randint(1701, 1799), rng.randint(1, 12), rng.randint(1, 28))
    m, y = (day.month, day.year) if day.month > 2 else (day.month + 12, day.year - 1)
    zeller = (day.day + 13 * (m + 1) // 5 + y + y // 4 - y // 100 + y // 400) % 7  # 0 is a Saturday
    return Question({"day": _dated(day)}, WEEKDAYS[day.weekday()], WEEKDAYS[(zeller + 5) % 7])


def _rank(rng: random.Random) -> Question:
    letters = "ADEGLOR"
    word = "".join(rng.sample(letters, 7))
    place, left = 1, list(letters)
    for i, letter in enumerate(word):
        place += left.index(letter) * math.factorial(6 - i)
        left.remove(letter)
    counted = 1 + sum("".join(each) < word for each in itertools.permutations(letters))
    return Question({"letters": list(letters), "word": word}, place, counted)


def _fraction(rng: random.Random) -> Question:
    terms = [rng.randint(2, 9) for _ in range(7)]
    value = Fraction(terms[-1])
    for term in reversed(terms[:-1]):
        value = term + 1 / value
    now, last = terms[0], 1
    for term in terms[1:]:
        now, last = term * now + last, now
    nested = f"{terms[0]} + 1/(" + " + 1/(".join(map(str, terms[1:])) + ")" * 6
    return Question({"nested": nested}, value.numerator, now)


EXACT: dict[str, Generator] = {
    **{"sum_of_two": _sum, "perimeter": _perimeter, "litres": _litres, "product_3x2": _product(3, 2)},
    **{
        "remainder": _remainder,
        "days_between": _days,
        "dice": _dice,
        "speed": _speed,
        "knights_2": _knights(2),
    },
    **{
        "product_4x4": _product(4, 4),
        "modular_power": _power,
        "knights_4": _knights(4),
        "half_life": _half_life,
    },
    **{
        "bayes": _bayes,
        "letter_count": _letter_count,
        "nearest_place": _nearest,
        "product_5x5": _product(5, 5),
    },
    **{"collatz": _collatz, "pi_digit": _pi, "weekday": _weekday, "permutation_rank": _rank},
    **{"nested_fraction": _fraction, "character_count": _characters},
}
