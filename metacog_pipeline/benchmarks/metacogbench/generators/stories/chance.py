"""Stories on chance over time: boats that drift between harbours, a lost walker, offers that do not come back."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import Answer, Params, Structure
from metacog_pipeline.benchmarks.metacogbench.generators.wording import NAMES


def _linear(rows: list[list[Fraction]], sides: list[Fraction]) -> list[Fraction]:
    """Solve a square system that has one solution, exactly."""
    table = [[*row, side] for row, side in zip(rows, sides, strict=True)]
    for i in range(len(table)):
        at = next(k for k in range(i, len(table)) if table[k][i])
        table[i], table[at] = table[at], table[i]
        table[i] = [x / table[i][i] for x in table[i]]
        for k in range(len(table)):
            if k != i:
                table[k] = [x - table[k][i] * y for x, y in zip(table[k], table[i], strict=True)]
    return [row[-1] for row in table]


# --- boats between harbours


def _boat_draw(rng: random.Random) -> Params:
    names = rng.sample(NAMES["places"], 3)
    leave = {a: {b: rng.randrange(5, 45, 5) for b in names if b != a} for a in names}
    return {"names": names, "leave": leave, "start": rng.choice(names), "scale": rng.randint(3, 9)}


def _rates(p: Params) -> list[list[Fraction]]:
    rows = [[Fraction(p["leave"][a].get(b, 0), 100) for b in p["names"]] for a in p["names"]]
    for i, row in enumerate(rows):
        row[i] = 1 - sum(row, Fraction(0))
    return rows


def _fleet(p: Params) -> tuple[int, list[Fraction]]:
    """Return a fleet whose long-run numbers are whole, and the long-run shares."""
    rates, one = _rates(p), Fraction(1)
    rows = [[rates[i][j] - (i == j) for i in range(3)] for j in range(2)] + [[one] * 3]
    shares = _linear(rows, [0 * one, 0 * one, one])
    return p["scale"] * math.lcm(*(s.denominator for s in shares)), shares


def _boat_answer(boats: Sequence[Any], rates: list[list[Any]], back: Any) -> Answer:
    """Return boats of two harbours, boats that move in a month, and months until a boat is back at the third."""
    moving = sum(n * (1 - rates[i][i]) for i, n in enumerate(boats))
    return (round(boats[0]), round(boats[1]), float(moving), float(back))


def _boat_solve(p: Params) -> Answer | None:
    fleet, shares = _fleet(p)
    numbers = [int(fleet * s) for s in shares]
    if not 150 <= fleet <= 3000 or min(numbers) < 25 or len(set(numbers)) < 3:
        return None
    if max(abs(n - fleet / 3) for n in numbers) < fleet / 12:
        return None
    return _boat_answer(numbers, _rates(p), 1 / shares[2])


def _boat_brute(p: Params) -> Answer:
    """Follow the fleet month by month from a single harbour, and a single boat away from the third until it is back."""
    rates = [[float(x) for x in row] for row in _rates(p)]
    boats = [float(_fleet(p)[0]) * (name == p["start"]) for name in p["names"]]
    for _ in range(3000):
        boats = [sum(boats[i] * rates[i][j] for i in range(3)) for j in range(3)]
    away, months, month = [rates[2][0], rates[2][1]], rates[2][2], 1
    while sum(away) > 1e-15:
        month += 1
        months += month * sum(away[i] * rates[i][2] for i in range(2))
        away = [sum(away[i] * rates[i][j] for i in range(2)) for j in range(2)]
    return _boat_answer(boats, rates, months)


def _boat_naive(p: Params) -> list[Answer]:
    fleet, rates = _fleet(p)[0], [[float(x) for x in row] for row in _rates(p)]
    guesses = (
        [fleet / 3] * 3,
        [fleet * rates[p["names"].index(p["start"])][j] for j in range(3)],
        [fleet * sum(rates[i][j] for i in range(3)) / 3 for j in range(3)],
    )
    return [_boat_answer(boats, rates, 1 / (1 - rates[2][2])) for boats in guesses]


def _boat_told(p: Params) -> Params:
    leave = {a: [f"{share}% sail to {b}" for b, share in p["leave"][a].items()] for a in p["names"]}
    return {"fleet": _fleet(p)[0], "harbours": list(leave.items())}


# --- a lost walker


def _lost_draw(rng: random.Random) -> Params:
    names = rng.sample(NAMES["places"], 5)
    exits = ["the station", "the river"]
    pairs = list(itertools.pairwise(names))
    pairs += rng.sample([c for c in itertools.combinations(names, 2) if c not in pairs], rng.randint(1, 3))
    pairs += [(rng.choice(names[:2]), exits[0]), (rng.choice(names[3:]), exits[1])]
    ways = {a: sorted({*(c for b, c in pairs if b == a), *(b for b, c in pairs if c == a)}) for a in names}
    start, other = rng.sample(names, 2)
    return {"ways": ways, "exits": exits, "start": start, "other": other, "minutes": rng.randint(4, 9)}


def _lost_system(p: Params, gain: dict[str, int], ends: dict[str, int]) -> dict[str, Fraction]:
    """Solve v(x) = gain(x) + mean of v over the ways out of x, with v given at the exits."""
    names = list(p["ways"])
    rows, sides = [], []
    for a in names:
        share = Fraction(1, len(p["ways"][a]))
        rows.append([Fraction(a == b) - (share if b in p["ways"][a] else 0) for b in names])
        sides.append(gain.get(a, 0) + share * sum(ends.get(b, 0) for b in p["ways"][a]))
    return dict(zip(names, _linear(rows, sides), strict=True))


def _lost_solve(p: Params) -> Answer | None:
    start, other = p["start"], p["other"]
    walks = _lost_system(p, dict.fromkeys(p["ways"], 1), {})
    chance = float(100 * _lost_system(p, {}, {p["exits"][0]: 1})[start])
    if walks[start] == walks[other] or abs(chance - 50) < 4 or not 5 <= walks[start] <= 25:
        return None
    seen = _lost_system(p, {other: 1}, {})[start]
    return (float(walks[start] * p["minutes"]), chance, float(seen), float(walks[other] * p["minutes"]))


def _lost_brute(p: Params) -> Answer:
    """Follow the chances of where the walker is, street by street."""

    def follow(start: str) -> tuple[float, float, float]:
        at, walks, station, visits = {start: 1.0}, 0.0, 0.0, 0.0
        for _ in range(20000):
            walks += sum(at.values())
            visits += at.get(p["other"], 0.0)
            after: dict[str, float] = {}
            for place, chance in at.items():
                for to in p["ways"][place]:
                    after[to] = after.get(to, 0.0) + chance / len(p["ways"][place])
            station += after.pop(p["exits"][0], 0.0)
            after.pop(p["exits"][1], None)
            at = after
            if sum(at.values()) < 1e-14:
                break
        return walks, station, visits

    walks, station, visits = follow(p["start"])
    return (walks * p["minutes"], 100 * station, visits, follow(p["other"])[0] * p["minutes"])


def _lost_naive(p: Params) -> list[Answer]:
    def steps(start: str) -> int:
        distance, queue = {start: 0}, [start]
        for here in queue:
            for to in p["ways"].get(here, []):
                if to not in distance:
                    distance[to] = distance[here] + 1
                    queue.append(to)
        return min(distance[exit_] for exit_ in p["exits"])

    shortest, other = steps(p["start"]), steps(p["other"])
    guesses = ((shortest, other, 50.0, 1.0), (5, 5, 50.0, 1.0), (2 * shortest, 2 * other, 100.0, 0.5))
    return [
        (float(p["minutes"] * a), share, visits, float(p["minutes"] * b)) for a, b, share, visits in guesses
    ]


def _lost_told(p: Params) -> Params:
    return {"squares": list(p["ways"].items())}


# --- offers that do not come back


def _sale_draw(rng: random.Random) -> Params:
    offers = sorted(rng.sample(range(410, 990, 10), 4))
    cuts = sorted(rng.sample(range(10, 100, 5), 3))
    chances = [b - a for a, b in itertools.pairwise([0, *cuts, 100])]
    return {"offers": offers, "chances": chances, "weeks": 4, "fee": rng.randrange(6, 40, 2)}


def _sale_solve(p: Params) -> Answer | None:
    worth, weeks, sold = Fraction(0), Fraction(0), Fraction(0)
    waits: list[Fraction] = []
    for left in range(p["weeks"]):
        wait = worth - p["fee"] if left else Fraction(-(10**9))
        waits.append(wait)
        if wait in p["offers"]:
            return None
        taken = [(o, Fraction(c, 100)) for o, c in zip(p["offers"], p["chances"], strict=True) if o > wait]
        sold = sum((c for _, c in taken), Fraction(0))
        worth = sum((o * c for o, c in taken), Fraction(0)) + (1 - sold) * (wait if left else 0)
        weeks = 1 + (1 - sold) * weeks
    if sold in (0, 1) or len({sum(o > w for o in p["offers"]) for w in waits}) < 3:
        return None
    return (float(worth), float(waits[-1]), float(100 * sold), float(weeks))


def _sale_brute(p: Params) -> Answer:
    """Try every rule "take the k best kinds of offer in week w" on every course of offers."""
    offers, chances, weeks = p["offers"], p["chances"], p["weeks"]
    courses = [
        ([offers[i] for i in course], math.prod(chances[i] for i in course))
        for course in itertools.product(range(len(offers)), repeat=weeks)
    ]

    def outcome(rule: Iterable[float], first: int) -> tuple[float, float]:
        net = length = 0
        for course, weight in courses:
            at = next(w for w, line in zip(range(first, weeks), rule, strict=False) if course[w] >= line)
            net += weight * (course[at] - p["fee"] * (at - first))
            length += weight * (at - first + 1)
        return net / 100**weeks, length / 100**weeks

    lines = [*offers, 10**9]
    rules = [(*rule, 0) for rule in itertools.product(lines, repeat=weeks - 1)]
    best, length, rule = max((*outcome(rule, 0), rule) for rule in rules)
    later = max(outcome((*rest, 0), 1)[0] for rest in itertools.product(lines, repeat=weeks - 2))
    sold = sum(c for o, c in zip(offers, chances, strict=True) if o >= rule[0])
    return (best, later - p["fee"], float(sold), length)


def _sale_naive(p: Params) -> list[Answer]:
    mean = sum(o * c for o, c in zip(p["offers"], p["chances"], strict=True)) / 100
    top = p["chances"][-1]
    above = sum(c for o, c in zip(p["offers"], p["chances"], strict=True) if o >= mean)
    return [
        (mean, mean, above, 100 / above),
        (float(p["offers"][-1]), mean - p["fee"], top, 100 / top),
        (p["offers"][-1] - 1.5 * p["fee"], float(p["offers"][2]), top + p["chances"][2], 2.0),
    ]


def _sale_told(p: Params) -> Params:
    return {"kinds": list(zip(p["offers"], p["chances"], strict=True))}


CHANCE = (
    Structure("markov_stationary", _boat_draw, _boat_solve, _boat_brute, _boat_naive, _boat_told),
    Structure("absorbing_chain", _lost_draw, _lost_solve, _lost_brute, _lost_naive, _lost_told),
    Structure("optimal_stopping", _sale_draw, _sale_solve, _sale_brute, _sale_naive, _sale_told),
)
