"""Stories on opponents and votes: taking matches, inspectors and smugglers, a village that votes by three rules."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import Answer, Params, Structure
from metacog_pipeline.benchmarks.metacogbench.generators.wording import NAMES

Move = tuple[int, int]  # tin, matches

# --- taking matches


def _tin_draw(rng: random.Random) -> Params:
    tins, heaps = sorted(rng.sample(NAMES["tins"], 3)), rng.sample(range(7, 16), 3)
    return {"tins": tins, "heaps": heaps, "reply": [rng.randrange(3), rng.randint(1, 6)]}


def _tin_moves(heaps: list[int]) -> list[Move]:
    """Return the winning moves: those that leave heaps whose exclusive-or is zero."""
    total = heaps[0] ^ heaps[1] ^ heaps[2]
    return [(i, heap - (heap ^ total)) for i, heap in enumerate(heaps) if heap ^ total < heap]


def _tin_minimax(heaps: list[int]) -> list[Move]:
    @cache
    def wins(state: tuple[int, ...]) -> bool:
        return any(not wins(after) for _, _, after in options(state))

    def options(state: tuple[int, ...]) -> list[tuple[int, int, tuple[int, ...]]]:
        return [
            (i, take, (*state[:i], heap - take, *state[i + 1 :]))
            for i, heap in enumerate(state)
            for take in range(1, heap + 1)
        ]

    return [(i, take) for i, take, after in options(tuple(heaps)) if not wins(after)]


def _tin_played(p: Params, winning: Callable[[list[int]], list[Move]]) -> Answer | None:
    """Return the only winning first move and, after the reply, the only second one, of another tin."""
    (at, reply), heaps, first = p["reply"], list(p["heaps"]), winning(p["heaps"])
    if len(first) != 1:
        return None
    tin, take = first[0]
    heaps[tin] -= take
    if heaps[at] < reply:
        return None
    heaps[at] -= reply
    second = winning(heaps)
    if len(second) != 1 or second[0][0] == tin:
        return None
    return (p["tins"][tin], take, p["tins"][second[0][0]], second[0][1])


def _tin_solve(p: Params) -> Answer | None:
    return _tin_played(p, _tin_moves)


def _tin_brute(p: Params) -> Answer:
    return _tin_played(p, _tin_minimax) or ()


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


def _quay_answer(search: Fraction, smuggle: Fraction, mean: Fraction, later: Fraction) -> Answer:
    """Return in percent the chances of a search, of smuggling and of both, what a day brings, and a search later on."""
    chances = (100 * search, 100 * smuggle, 100 * search * smuggle)
    return (*map(float, chances), float(mean), float(100 * later))


def _quay_solve(p: Params) -> Answer | None:
    """Solve for the chances that leave the other side indifferent."""
    search, later = (Fraction(p["gain"] - p["honest"], p["gain"] + p[fine]) for fine in ("fine", "new_fine"))
    smuggle = Fraction(p["wage"], p["bounty"] + p["loss"])
    rare = search - later < Fraction(3, 100) or smuggle < Fraction(6, 100)
    if not 0 < search < 1 or not 0 < smuggle < 1 or rare:
        return None
    return _quay_answer(search, smuggle, -smuggle * p["loss"], later)


def _quay_supports(a: list[list[int]], b: list[list[int]]) -> tuple[Fraction, Fraction]:
    """Try every pair of supports and keep the pair from which neither side gains by moving."""
    for i, j in itertools.product(range(2), repeat=2):
        if a[i][j] >= a[1 - i][j] and b[i][j] >= b[i][1 - j]:
            return Fraction(j == 0), Fraction(i == 0)
    # The other's two payoffs are equal: q·a₀₀ + (1 − q)·a₀₁ = q·a₁₀ + (1 − q)·a₁₁, and likewise for p.
    search = Fraction(a[1][1] - a[0][1], a[0][0] - a[0][1] - a[1][0] + a[1][1])
    smuggle = Fraction(b[1][1] - b[1][0], b[0][0] - b[0][1] - b[1][0] + b[1][1])
    return search, smuggle


def _quay_brute(p: Params) -> Answer:
    # Payoffs of inspector and skipper; rows: smuggle, be honest; columns: search, rest.
    inspector = [[p["bounty"] - p["wage"], -p["loss"]], [-p["wage"], 0]]
    (search, smuggle), (later, _) = (
        _quay_supports([[-p[fine], p["gain"]], [p["honest"]] * 2], inspector) for fine in ("fine", "new_fine")
    )
    rows, columns = (smuggle, 1 - smuggle), (search, 1 - search)
    cells = itertools.product(range(2), repeat=2)
    mean = sum((rows[i] * columns[j] * inspector[i][j] for i, j in cells), Fraction(0))
    return _quay_answer(search, smuggle, mean, later)


def _quay_naive(p: Params) -> list[Answer]:
    odds = 100 * p["gain"] / (p["gain"] + p["fine"])
    pay = 100 * p["wage"] / p["bounty"]
    fined = 100 * p["gain"] / (p["gain"] + p["new_fine"])
    return [
        (100.0, 0.0, 0.0, -float(p["wage"]), 100.0),
        (50.0, 50.0, 25.0, 0.0, 50.0),
        (odds, pay, odds * pay / 100, 0.0, fined),
    ]


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


def _vote_brute(p: Params) -> Answer:
    """Write out every single ballot and count again."""
    names = p["names"]
    first, points = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    prefer = dict.fromkeys(itertools.permutations(names, 2), 0)
    for ballot in (order for n, order in p["groups"] for _ in range(n)):
        first[ballot[0]] += 1
        for worth, name in enumerate(reversed(ballot)):
            points[name] += worth
        for pair in itertools.combinations(ballot, 2):
            prefer[pair] += 1
    one, two = sorted(names, key=lambda name: -first[name])[:2]
    winners = [a for a in names if all(prefer[a, b] > prefer[b, a] for b in names if b != a)]
    return (
        max(names, key=lambda name: first[name]),
        one if prefer[one, two] > prefer[two, one] else two,
        max(names, key=lambda name: points[name]),
        winners[0] if winners else "nobody",
        min(abs(prefer[a, b] - prefer[b, a]) for a, b in prefer),
    )


def _vote_naive(p: Params) -> list[Answer]:
    first = _firsts(p)
    ranked = sorted(p["names"], key=lambda name: -first[name])
    leads = (*ranked[:2], *max(p["groups"])[1][:2])
    return [(lead, lead, lead, lead, first[ranked[0]] - first[ranked[1]]) for lead in leads]


def _vote_told(p: Params) -> Params:
    return {"ballots": p["groups"], "names_or_nobody": [*p["names"], "nobody"]}


GAMES = (
    Structure("take_away_game", _tin_draw, _tin_solve, _tin_brute, _tin_naive, _tin_told),
    Structure("mixed_equilibrium", _quay_draw, _quay_solve, _quay_brute, _quay_naive),
    Structure("voting_rules", _vote_draw, _vote_solve, _vote_brute, _vote_naive, _vote_told),
)
