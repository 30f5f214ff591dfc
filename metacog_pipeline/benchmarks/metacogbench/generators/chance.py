"""Stories on chance, opponents, votes and numbers that hang together."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

from metacog_pipeline.benchmarks.metacogbench.generators.engine import NAMES, Answer, Params, Structure

Move = tuple[int, int]  # tin, matches

# --- a price that feeds back


def _price_draw(rng: random.Random) -> Params:
    rent, each, most = rng.randrange(150, 420, 10), rng.randint(60, 190) / 100, rng.randrange(150, 330, 10)
    per_euro, start = rng.randint(15, 38), rng.randint(200, 560) / 100
    return {"rent": rent, "each": each, "most": most, "per_euro": per_euro, "start": start}


def _price_next(p: Params, price: float) -> float:
    return float(p["each"] + p["rent"] / (p["most"] - p["per_euro"] * price))


def _price_solve(p: Params) -> Answer | None:
    highest = 0.97 * (p["most"] / p["per_euro"])
    prices, settled = [p["start"]], 0
    while len(prices) == 1 or abs(prices[-1] - prices[-2]) >= 1e-13:
        if prices[-1] >= highest or len(prices) > 2900:
            return None
        prices.append(_price_next(p, prices[-1]))
        if abs(prices[-1] - prices[-2]) < 0.01 and not settled:
            settled = len(prices) - 1
    guests = p["most"] - p["per_euro"] * prices[-1]
    factor = p["rent"] * p["per_euro"] / guests**2
    if not 0.35 < factor < 0.85 or not 4 <= settled <= 14:
        return None
    near = [abs(abs(prices[w] - prices[w - 1]) - 0.01) for w in (settled, settled - 1)]
    if min(near) < 0.0015 or guests < 30:
        return None
    return (prices[-1], guests, settled, factor)


# --- clubs that share members


def _club_draw(rng: random.Random) -> Params:
    clubs = rng.sample(NAMES["clubs"], 4)
    regions = {
        "".join(map(str, some)): rng.randint(3, 31 - 6 * size)
        for size in range(1, 5)
        for some in itertools.combinations(range(4), size)
    }
    return {"clubs": clubs, "regions": regions, "nobody": rng.randint(12, 60)}


def _club_known(p: Params) -> tuple[int, dict[str, int], list[int]]:
    """Return how many pupils there are, are in all of a set of clubs, and are so in all sets of a size together."""
    regions = p["regions"]
    shared = {key: sum(n for other, n in regions.items() if set(key) <= set(other)) for key in regions}
    sums = [sum(n for key, n in shared.items() if len(key) == size) for size in range(5)]
    return sum(regions.values()) + p["nobody"], shared, sums


def _club_solve(p: Params) -> Answer | None:
    total, shared, (_, one, two, three, four) = _club_known(p)
    return (
        total - one + two - three + four,
        one - 2 * two + 3 * three - 4 * four,
        two - 3 * three + 6 * four,
        shared["01"] - shared["012"] - shared["013"] + shared["0123"],
    )


def _club_told(p: Params) -> Params:
    total, shared, _ = _club_known(p)
    in_order = sorted(shared.items(), key=lambda each: (len(each[0]), each[0]))
    return {"total": total, "counts": [([p["clubs"][int(i)] for i in key], n) for key, n in in_order]}


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


def _boat_solve(p: Params) -> Answer | None:
    fleet, shares = _fleet(p)
    numbers = [int(fleet * s) for s in shares]
    if not 150 <= fleet <= 3000 or min(numbers) < 25 or len(set(numbers)) < 3:
        return None
    if max(abs(n - fleet / 3) for n in numbers) < fleet / 12:
        return None
    rates = _rates(p)
    moving = sum(n * (1 - rates[i][i]) for i, n in enumerate(numbers))
    return (numbers[0], numbers[1], float(moving), float(1 / shares[2]))


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


# --- taking matches


def _tin_draw(rng: random.Random) -> Params:
    tins, heaps = sorted(rng.sample(NAMES["tins"], 3)), rng.sample(range(7, 16), 3)
    return {"tins": tins, "heaps": heaps, "reply": [rng.randrange(3), rng.randint(1, 6)]}


def _tin_moves(heaps: list[int]) -> list[Move]:
    """Return the winning moves: those that leave heaps whose exclusive-or is zero."""
    total = heaps[0] ^ heaps[1] ^ heaps[2]
    return [(i, heap - (heap ^ total)) for i, heap in enumerate(heaps) if heap ^ total < heap]


def _tin_solve(p: Params) -> Answer | None:
    """Return the only winning first move and, after the reply, the only second one, of another tin."""
    (at, reply), heaps, first = p["reply"], list(p["heaps"]), _tin_moves(p["heaps"])
    if len(first) != 1:
        return None
    tin, take = first[0]
    heaps[tin] -= take
    if heaps[at] < reply:
        return None
    heaps[at] -= reply
    second = _tin_moves(heaps)
    if len(second) != 1 or second[0][0] == tin:
        return None
    return (p["tins"][tin], take, p["tins"][second[0][0]], second[0][1])


def _tin_naive(p: Params) -> list[Answer]:
    heaps, tins, (at, reply) = p["heaps"], p["tins"], p["reply"]
    big, small = heaps.index(max(heaps)), heaps.index(min(heaps))
    middle = 3 - big - small
    level = max(1, max(heaps) - heaps[middle])
    return [
        (tins[big], level, tins[at], reply),
        (tins[big], level, tins[middle], reply),
        (tins[small], heaps[small], tins[big], level),
        (tins[big], 1, tins[big], 1),
    ]


def _tin_told(p: Params) -> Params:
    at, take = p["reply"]
    stock = [f"{heap} in the {tin} tin" for tin, heap in zip(p["tins"], p["heaps"], strict=True)]
    matches = "a single match" if take == 1 else f"{take} matches"
    return {"stock": ", ".join(stock), "matches": matches, "reply_tin": p["tins"][at]}


# --- inspectors and smugglers


def _quay_draw(rng: random.Random) -> Params:
    fine, gain = rng.randrange(210, 900, 10), rng.randrange(60, 200, 10)
    wage, bounty = rng.randrange(20, 55, 5), rng.randrange(90, 320, 10)
    loss, honest = rng.randrange(40, 200, 10), rng.randrange(10, 50, 5)
    new_fine = fine + rng.randrange(110, 700, 10)
    return {
        "fine": fine, "gain": gain, "wage": wage, "bounty": bounty, "loss": loss, "honest": honest, "new_fine": new_fine,
    }  # fmt: skip


def _quay_solve(p: Params) -> Answer | None:
    """Solve for the chances that leave the other side indifferent."""
    search, later = (Fraction(p["gain"] - p["honest"], p["gain"] + p[fine]) for fine in ("fine", "new_fine"))
    smuggle = Fraction(p["wage"], p["bounty"] + p["loss"])
    rare = search - later < Fraction(3, 100) or smuggle < Fraction(6, 100)
    if not 0 < search < 1 or not 0 < smuggle < 1 or rare:
        return None
    percent = (100 * search, 100 * smuggle, 100 * search * smuggle)
    return (*map(float, percent), float(-smuggle * p["loss"]), float(100 * later))


# --- a village votes


def _vote_draw(rng: random.Random) -> Params:
    names = sorted(rng.sample(NAMES["places"], 4))
    orders = rng.sample(list(itertools.permutations(names)), 6)
    return {"names": names, "groups": [[rng.randint(11, 68), list(order)] for order in orders]}


def _margin(p: Params, a: str, b: str) -> int:
    return sum(n if order.index(a) < order.index(b) else -n for n, order in p["groups"])


def _firsts(p: Params) -> dict[str, int]:
    return {name: sum(n for n, order in p["groups"] if order[0] == name) for name in p["names"]}


def _vote_solve(p: Params) -> Answer | None:
    names, first = p["names"], _firsts(p)
    points = {name: sum(n * (3 - order.index(name)) for n, order in p["groups"]) for name in names}
    margins = {(a, b): _margin(p, a, b) for a, b in itertools.permutations(names, 2)}
    ranked = sorted(names, key=lambda name: -first[name])
    best = [name for name in names if points[name] == max(points.values())]
    if len(set(first.values())) < 4 or len(best) > 1 or 0 in margins.values():
        return None
    second_round = ranked[0] if margins[ranked[0], ranked[1]] > 0 else ranked[1]
    unbeaten = [a for a in names if all(margins[a, b] > 0 for b in names if b != a)]
    beats_all = unbeaten[0] if unbeaten else "nobody"
    if len({ranked[0], best[0], beats_all}) < 3 or second_round == ranked[0]:
        return None
    return (ranked[0], second_round, best[0], beats_all, min(map(abs, margins.values())))


CHANCE = (
    Structure("fixed_point", _price_draw, _price_solve),
    Structure("inclusion_exclusion", _club_draw, _club_solve, _club_told),
    Structure("markov_stationary", _boat_draw, _boat_solve, _boat_told),
    Structure("absorbing_chain", _lost_draw, _lost_solve, lambda p: {"squares": list(p["ways"].items())}),
    Structure(
        "optimal_stopping", _sale_draw, _sale_solve,
        lambda p: {"kinds": list(zip(p["offers"], p["chances"], strict=True))},
    ),
    Structure("take_away_game", _tin_draw, _tin_solve, _tin_told, _tin_naive),
    Structure("mixed_equilibrium", _quay_draw, _quay_solve),
    Structure(
        "voting_rules", _vote_draw, _vote_solve,
        lambda p: {"ballots": p["groups"], "names_or_nobody": [*p["names"], "nobody"]},
    ),
)  # fmt: skip
