"""Questions of tier 1b whose answer is computed twice, by different algorithms.

A generator takes a random source and returns a `Question`; ``generated`` turns it into an item and raises when the two
computations differ.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from metacog_pipeline.benchmarks.metacogbench.items import Item, Provenance, Scalar

NAMES = ["Ada", "Ben", "Cleo", "Dov", "Eva", "Finn", "Gus", "Ines"]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_SUBJECTS = [
    "the ferryman",
    "an old teacher",
    "her cousin",
    "the night porter",
    "a careful baker",
    "the younger clerk",
]
_VERBS = ["carried", "repaired", "described", "collected", "borrowed", "polished", "sketched", "forgot"]
_OBJECTS = [
    "seven brass keys",
    "the broken weather vane",
    "a letter without an address",
    "every second lantern",
]
_PLACES = ["behind the mill", "near the eastern gate", "before the rain came", "under the long bridge"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its answer, the same answer from another computation, and how it is matched."""

    stem: str
    topic_line: str
    domain: str
    difficulty: str
    answer: Scalar
    checked: Scalar
    answer_type: str = "number"
    accept: tuple[str, ...] = ()
    abs_tol: float = 0.0
    unit: str = ""
    exact: bool = False


def generated(generator: str, seed: int, item_id: str = "") -> Item:
    """Return the item of ``generator`` and ``seed``; raises KeyError for an unknown generator."""
    made = EXACT[generator](random.Random(f"{generator}:{seed}"))
    if made.answer != made.checked and not (
        isinstance(made.answer, float) and math.isclose(made.answer, float(made.checked), rel_tol=1e-12)
    ):
        raise ValueError(f"{generator}, seed {seed}: {made.answer} but checked {made.checked}")
    return Item(
        item_id=item_id or f"predict.{generator}.{seed}",
        tier="1b",
        stem=made.stem,
        domain=made.domain,
        difficulty=made.difficulty,
        topic_line=made.topic_line,
        answer_type=made.answer_type,
        answer=made.answer,
        accept=made.accept,
        abs_tol=made.abs_tol,
        unit=made.unit,
        exact=made.exact,
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
    column = sum(
        (int(x) + int(y)) * 10**i for i, (x, y) in enumerate(zip(str(a)[::-1], str(b)[::-1], strict=True))
    )
    return Question(
        f"What is {a} + {b}?", "the sum of a pair of three-digit numbers", "arithmetic", "easy", a + b, column
    )


def _perimeter(rng: random.Random) -> Question:
    a, b = rng.randint(12, 49), rng.randint(51, 98)
    stem = f"A rectangular garden is {a} m wide and {b} m long. How many metres of fence go once around it?"
    return Question(
        stem,
        "the length of a fence around a rectangle",
        "arithmetic",
        "easy",
        2 * (a + b),
        a + b + a + b,
        unit="m",
    )


def _litres(rng: random.Random) -> Question:
    tenths = rng.randrange(13, 97, 2)
    stem = f"A tank holds {tenths / 10:.1f} cubic metres of water. How many litres is that?"
    return Question(
        stem,
        "a conversion between units of volume",
        "science",
        "easy",
        tenths * 100,
        int(Fraction(tenths, 10) * 1000),
        unit="litres",
    )


def _product(first: int, second: int, difficulty: str) -> Callable[[random.Random], Question]:
    def make(rng: random.Random) -> Question:
        a, b = digits(rng, first), digits(rng, second)
        topic = f"the exact product of a {first}-digit and a {second}-digit number"
        checked = long_multiplication(a, b) if residues_agree(a, b, a * b) else -1
        return Question(
            f"What is {a} × {b}? Give the exact number.", topic, "arithmetic", difficulty, a * b, checked
        )

    return make


def _remainder(rng: random.Random) -> Question:
    n = digits(rng, 5)
    rest = 0
    for digit in str(n):
        rest = (10 * rest + int(digit)) % 7
    return Question(
        f"What is the remainder when {n} is divided by 7?",
        "a remainder after division",
        "arithmetic",
        "medium",
        n % 7,
        rest,
    )


def _days(rng: random.Random) -> Question:
    start = datetime.date(rng.randint(1951, 1998), rng.randint(1, 12), rng.randint(1, 28))
    end = start + datetime.timedelta(days=rng.randint(130, 620))
    walked, day = 0, start
    while day < end:
        length = [31, 29 if _leap(day.year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][day.month - 1]
        day = (
            datetime.date(day.year + day.month // 12, day.month % 12 + 1, 1)
            if day.day == length
            else day.replace(day=day.day + 1)
        )
        walked += 1
    stem = (
        f"How many days is it from {_dated(start)} to {_dated(end)}, counting the last day but not the first?"
    )
    return Question(
        stem,
        "the number of days between a pair of dates",
        "general",
        "medium",
        (end - start).days,
        walked,
        unit="days",
    )


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _dated(day: datetime.date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _dice(rng: random.Random) -> Question:
    sides, wanted = rng.choice([(6, 8), (6, 10), (8, 11), (8, 7), (10, 13), (10, 8)])
    hits = sum(a + b >= wanted for a, b in itertools.product(range(1, sides + 1), repeat=2))
    below = (
        (wanted - 2) * (wanted - 1) // 2
        if wanted <= sides + 1
        else sides**2 - (2 * sides - wanted + 1) * (2 * sides - wanted + 2) // 2
    )
    stem = (
        f"Two fair dice with {sides} sides, numbered from 1, are thrown. What is the probability that they show "
        f"{wanted} or more together? Give a fraction, or a number between 0 and 1 to four decimals."
    )
    return Question(stem, "a probability with dice", "general", "medium", float(Fraction(hits, sides**2)),
                    float(1 - Fraction(below, sides**2)), abs_tol=0.0001)  # fmt: skip


def _speed(rng: random.Random) -> Question:
    v = rng.randint(23, 96)
    value = Fraction(v * 1609344, 1000 * 3600)
    stem = f"A van drives {v} miles per hour; a mile is 1609.344 m. How many metres per second is that, to two decimals?"
    return Question(stem, "a conversion of a speed", "science", "medium", float(round(value, 2)),
                    float(round(v * Fraction(44704, 100000), 2)), abs_tol=0.01, unit="m/s")  # fmt: skip


def _knights(count: int, difficulty: str) -> Callable[[random.Random], Question]:
    def make(rng: random.Random) -> Question:
        everyone = list(itertools.product((True, False), repeat=count))
        names = NAMES[:count]
        while True:
            said = [_claim(rng, i, names) for i in range(count)]
            fitting = [w for w in everyone if all(said[i][1](w) == w[i] for i in range(count))]
            if len(fitting) == 1 and len({text for text, _ in said}) == count:
                break
        # The same by sets: worlds in which a speaker's claim is true are those in which the speaker is a knight.
        left = set(everyone)
        for i, (_, holds) in enumerate(said):
            left -= {w for w in everyone if holds(w)} ^ {w for w in everyone if w[i]}
        answer, checked = _letters(fitting[0]), _letters(left.pop())
        lines = " ".join(f'{name} says: "{text}"' for name, (text, _) in zip(names, said, strict=True))
        stem = (
            "On an island, knights always tell the truth and knaves always lie. "
            + lines
            + " Who is what? Write K for "
            f"a knight and N for a knave, in the order {', '.join(names)}, without spaces."
        )
        return Question(stem, f"a puzzle about {count} people who lie or tell the truth", "logic", difficulty, answer,
                        checked, "text", (", ".join(answer), " ".join(answer)), exact=True)  # fmt: skip

    return make


def _letters(world: tuple[bool, ...]) -> str:
    return "".join("K" if knight else "N" for knight in world)


def _claim(rng: random.Random, me: int, names: list[str]) -> tuple[str, Callable[[tuple[bool, ...]], bool]]:
    a = rng.choice([i for i in range(len(names)) if i != me])
    b = rng.choice([i for i in range(len(names)) if i != a])
    kind, number = rng.randrange(4), rng.randint(1, len(names) - 1)
    who = "I am" if b == me else f"{names[b]} is"
    if kind == 0:
        return f"{names[a]} is a knave.", lambda w: not w[a]
    if kind == 1:
        return f"{names[a]} and I are of the same kind.", lambda w: w[a] == w[me]
    if kind == 2:
        return (
            f"Exactly {number} of us {'is a knight' if number == 1 else 'are knights'}.",
            lambda w: sum(w) == number,
        )
    return f"{names[a]} is a knave, or {who} a knight, or both.", lambda w: not w[a] or w[b]


def _power(rng: random.Random) -> Question:
    base, exponent, modulus = (
        rng.randint(13, 97),
        rng.randint(23, 88),
        rng.choice([101, 103, 107, 109, 113, 127]),
    )
    rest = 1
    for _ in range(exponent):
        rest = rest * base % modulus
    stem = f"What is the remainder when {base} to the power {exponent} is divided by {modulus}?"
    return Question(
        stem, "the remainder of a large power", "arithmetic", "hard", pow(base, exponent, modulus), rest
    )


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
    stem = (
        f"Sample A holds {small * 2**apart} mg of a substance with a half-life of {fast} days, sample B holds {small} mg "
        f"of another with a half-life of {slow} days. After how many days do both hold the same mass?"
    )
    return Question(stem, "a calculation with half-lives", "science", "hard", int(days), day, unit="days")


def _bayes(rng: random.Random) -> Question:
    ill, hit, false = rng.randrange(8, 60, 4), rng.randrange(75, 99, 5), rng.randint(2, 12)
    chance = Fraction(ill * hit, ill * hit + (1000 - ill) * false)
    sick, healthy = 100 * ill, 100 * (1000 - ill)
    counted = Fraction(sick * hit // 100, sick * hit // 100 + healthy * false // 100)
    stem = (
        f"Of 1000 cows in a district, {ill} carry a parasite. A test shows positive for {hit}% of the carriers and for "
        f"{false}% of the others. A cow picked at random tests positive. What is the chance, in percent to one decimal, "
        "that it carries the parasite?"
    )
    return Question(stem, "a probability after a test result", "general", "hard", float(round(100 * chance, 1)),
                    float(round(100 * counted, 1)), abs_tol=0.1, unit="%")  # fmt: skip


def _sentence(rng: random.Random) -> str:
    return " ".join(rng.choice(part) for part in (_SUBJECTS, _VERBS, _OBJECTS, _PLACES))


def _letter_count(rng: random.Random) -> Question:
    text = f"{_sentence(rng).capitalize()}, while {_sentence(rng)}."
    letter = rng.choice("aehrt")
    stem = f'How often does the letter "{letter}" (small or capital) occur in this sentence? "{text}"'
    found = sum(c == letter for c in text.lower())
    return Question(
        stem, "counting a letter in a long sentence", "general", "hard", text.lower().count(letter), found
    )


def _characters(rng: random.Random) -> Question:
    first, second, third, fourth = (_sentence(rng) for _ in range(4))
    words = f"{first.capitalize()}; {second}. {third.capitalize()}, though {fourth}.".split(" ")
    text = " ".join(words)
    stem = (
        "How many characters does the text between the quotation marks have, spaces and punctuation counted, the "
        f'quotation marks not? "{text}"'
    )
    return Question(
        stem,
        "counting the characters of a paragraph",
        "general",
        "very_hard",
        len(text),
        sum(map(len, words)) + len(words) - 1,
    )


def _nearest(rng: random.Random) -> Question:
    """Four towns in high latitudes, where differences of degrees mislead."""
    names = ["Arvika Point", "Bellmere", "Corrin Bay", "Dunvale", "Eskmouth"]
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
    table = "; ".join(
        f"{name} {la}° N, {abs(lo)}° {'E' if lo >= 0 else 'W'}"
        for name, (la, lo) in zip(names, spots, strict=True)
    )
    stem = (
        f"An aeroplane flies the shortest way over a round earth. Places: {table}. Which of the other places is nearest "
        f"to {names[0]}?"
    )
    return Question(
        stem,
        "which of several places, given by coordinates, is nearest by air",
        "geography",
        "hard",
        answer,
        checked,
        "text",
    )


def _haversine(a: tuple[int, int], b: tuple[int, int]) -> float:
    (p, x), (q, y) = ((math.radians(u), math.radians(v)) for u, v in (a, b))
    return 2 * math.asin(
        math.sqrt(math.sin((q - p) / 2) ** 2 + math.cos(p) * math.cos(q) * math.sin((y - x) / 2) ** 2)
    )


def _vector(a: tuple[int, int]) -> tuple[float, float, float]:
    p, x = math.radians(a[0]), math.radians(a[1])
    return math.cos(p) * math.cos(x), math.cos(p) * math.sin(x), math.sin(p)


def _collatz(rng: random.Random) -> Question:
    start = rng.randint(70_001, 99_999)
    n, steps = start, 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    stem = (
        f"Start with {start}. While the number is not 1, halve it if it is even, else multiply it by three and add one. "
        "After how many such steps is it 1?"
    )
    return Question(
        stem,
        "the number of steps of a number game from a five-digit start",
        "arithmetic",
        "very_hard",
        steps,
        _collatz_steps(start),
    )


def _collatz_steps(n: int) -> int:
    """Count with several halvings at a time."""
    steps = 0
    while True:
        twos = (n & -n).bit_length() - 1
        n, steps = n >> twos, steps + twos
        if n == 1:
            return steps
        n, steps = 3 * n + 1, steps + 1


def _pi(rng: random.Random) -> Question:
    place = rng.randint(120, 480)
    stem = f"Which digit stands at decimal place {place} of π? The first decimal place, right after the point, holds 1."
    return Question(
        stem,
        "a far digit of π",
        "arithmetic",
        "very_hard",
        int(str(pi_machin(place + 10))[place]),
        pi_spigot(place + 1)[place],
    )


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
            q, r, t, n, k, m = (
                q * k,
                (2 * q + r) * m,
                t * m,
                (q * (7 * k + 2) + r * m) // (t * m),
                k + 1,
                m + 2,
            )
    return found


def _weekday(rng: random.Random) -> Question:
    day = datetime.date(rng.randint(1701, 1799), rng.randint(1, 12), rng.randint(1, 28))
    m, y = (day.month, day.year) if day.month > 2 else (day.month + 12, day.year - 1)
    zeller = (day.day + 13 * (m + 1) // 5 + y + y // 4 - y // 100 + y // 400) % 7  # 0 is a Saturday
    stem = f"Which day of the week was {_dated(day)} in the Gregorian calendar?"
    return Question(
        stem,
        "the weekday of a date in the eighteenth century",
        "general",
        "very_hard",
        WEEKDAYS[day.weekday()],
        WEEKDAYS[(zeller + 5) % 7],
        "text",
    )


def _rank(rng: random.Random) -> Question:
    letters = "ADEGLOR"
    word = "".join(rng.sample(letters, 7))
    place, left = 1, list(letters)
    for i, letter in enumerate(word):
        place += left.index(letter) * math.factorial(6 - i)
        left.remove(letter)
    counted = 1 + sum("".join(each) < word for each in itertools.permutations(letters))
    stem = (
        f"All arrangements of the letters {', '.join(letters)}, each letter used once, are listed in alphabetical order, "
        f"the first having number 1. Which number has {word}?"
    )
    return Question(
        stem, "the place of an arrangement of letters in a sorted list", "logic", "very_hard", place, counted
    )


def _fraction(rng: random.Random) -> Question:
    terms = [rng.randint(2, 9) for _ in range(7)]
    value = Fraction(terms[-1])
    for term in reversed(terms[:-1]):
        value = term + 1 / value
    now, last = terms[0], 1
    for term in terms[1:]:
        now, last = term * now + last, now
    nested = f"{terms[0]} + 1/(" + " + 1/(".join(map(str, terms[1:])) + ")" * 6
    stem = f"Written as a fraction in lowest terms, what is the numerator of {nested}?"
    return Question(
        stem, "the numerator of a nested fraction", "arithmetic", "very_hard", value.numerator, now
    )


EXACT: dict[str, Callable[[random.Random], Question]] = {
    "sum_of_two": _sum,
    "perimeter": _perimeter,
    "litres": _litres,
    "product_3x2": _product(3, 2, "medium"),
    "remainder": _remainder,
    "days_between": _days,
    "dice": _dice,
    "speed": _speed,
    "knights_2": _knights(2, "medium"),
    "product_4x4": _product(4, 4, "hard"),
    "modular_power": _power,
    "knights_4": _knights(4, "hard"),
    "half_life": _half_life,
    "bayes": _bayes,
    "letter_count": _letter_count,
    "nearest_place": _nearest,
    "product_5x5": _product(5, 5, "very_hard"),
    "collatz": _collatz,
    "pi_digit": _pi,
    "weekday": _weekday,
    "permutation_rank": _rank,
    "nested_fraction": _fraction,
    "character_count": _characters,
}
