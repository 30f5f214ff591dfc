"""Stories on opponents and votes: taking matches, inspectors and smugglers, a village that votes by three rules."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from functools import cache

from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import Answer, Params, Structure
from metacog_pipeline.benchmarks.metacogbench.generators.wording import NAMES

# --- taking matches


def _tin_draw(rng: random.Random) -> Params:
    tins, heaps = sorted(rng.sample(NAMES["tins"], 3)), rng.sample(range(7, 16), 3)
    return {"tins": tins, "heaps": heaps, "reply": [rng.randrange(3), rng.randint(1, 6)]}


def _tin_moves(heaps: list[int]) -> list[tuple[int, int]]:
    """Return the winning moves (tin, matches): those that leave heaps whose exclusive-or is zero."""
    total = heaps[0] ^ heaps[1] ^ heaps[2]
    return [(i, heap - (heap ^ total)) for i, heap in enumerate(heaps) if heap ^ total < heap]


def _tin_minimax(heaps: list[int]) -> list[tuple[int, int]]:
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


def _tin_answer(p: Params, moves: list[tuple[int, int]], second: list[tuple[int, int]]) -> Answer | None:
    if len(moves) != 1 or len(second) != 1 or moves[0][0] == second[0][0]:
        return None
    (i, take), (k, again) = moves[0], second[0]
    return (p["tins"][i], take, p["tins"][k], again)


def _tin_after(p: Params, move: tuple[int, int]) -> list[int] | None:
    heaps = [h - move[1] * (i == move[0]) for i, h in enumerate(p["heaps"])]
    at, take = p["reply"]
    return [h - take * (i == at) for i, h in enumerate(heaps)] if heaps[at] >= take else None


def _tin_solve(p: Params) -> Answer | None:
    moves = _tin_moves(p["heaps"])
    left = _tin_after(p, moves[0]) if len(moves) == 1 else None
    return _tin_answer(p, moves, _tin_moves(left)) if left else None


def _tin_brute(p: Params) -> Answer:
    moves = _tin_minimax(p["heaps"])
    left = _tin_after(p, moves[0]) or []
    return _tin_answer(p, moves, _tin_minimax(left)) or ()


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
    return {
        "fine": fine,
        "gain": gain,
        "wage": rng.randrange(20, 55, 5),
        "bounty": rng.randrange(90, 320, 10),
        "loss": rng.randrange(40, 200, 10),
        "honest": rng.randrange(10, 50, 5),
        "new_fine": fine + rng.randrange(110, 700, 10),
    }


def _quay_table(p: Params, fine: int) -> tuple[list[list[int]], list[list[int]]]:
    """Return the payoffs of skipper and inspector; rows: smuggle, be honest; columns: search, rest."""
    skipper = [[-fine, p["gain"]], [p["honest"], p["honest"]]]
    inspector = [[p["bounty"] - p["wage"], -p["loss"]], [-p["wage"], 0]]
    return skipper, inspector


def _quay_mixed(p: Params, fine: int) -> tuple[Fraction, Fraction]:
    """Return the chances of searching and of smuggling that leave the other side indifferent."""
    search = Fraction(p["gain"] - p["honest"], p["gain"] + fine)
    smuggle = Fraction(p["wage"], p["bounty"] + p["loss"])
    return search, smuggle


def _quay_solve(p: Params) -> Answer | None:
    search, smuggle = _quay_mixed(p, p["fine"])
    later, _ = _quay_mixed(p, p["new_fine"])
    caught = search * smuggle
    if (
        not 0 < search < 1
        or not 0 < smuggle < 1
        or search - later < Fraction(3, 100)
        or smuggle < Fraction(6, 100)
    ):
        return None
    return (
        float(100 * search),
        float(100 * smuggle),
        float(100 * caught),
        float(-smuggle * p["loss"]),
        float(100 * later),
    )


def _quay_supports(p: Params, fine: int) -> tuple[Fraction, Fraction]:
    """Try every pair of supports and keep the pair from which neither side gains by moving."""
    a, b = _quay_table(p, fine)
    for i, j in itertools.product(range(2), repeat=2):
        if a[i][j] >= a[1 - i][j] and b[i][j] >= b[i][1 - j]:
            return Fraction(j == 0), Fraction(i == 0)
    # The other's two payoffs are equal: q·a₀₀ + (1 − q)·a₀₁ = q·a₁₀ + (1 − q)·a₁₁, and likewise for p.
    search = Fraction(a[1][1] - a[0][1], a[0][0] - a[0][1] - a[1][0] + a[1][1])
    smuggle = Fraction(b[1][1] - b[1][0], b[0][0] - b[0][1] - b[1][0] + b[1][1])
    return search, smuggle


def _quay_brute(p: Params) -> Answer:
    (search, smuggle), (later, _) = (_quay_supports(p, p["fine"]), _quay_supports(p, p["new_fine"]))
    _, b = _quay_table(p, p["fine"])
    chances = [
        [smuggle * search, smuggle * (1 - search)],
        [(1 - smuggle) * search, (1 - smuggle) * (1 - search)],
    ]
    mean = sum(chances[i][j] * b[i][j] for i in range(2) for j in range(2))
    return (
        float(100 * search),
        float(100 * smuggle),
        float(100 * chances[0][0]),
        float(mean),
        float(100 * later),
    )


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


def _top(scores: dict[str, int]) -> str | None:
    best = max(scores.values())
    winners = [name for name, score in scores.items() if score == best]
    return winners[0] if len(winners) == 1 else None


def _vote_solve(p: Params) -> Answer | None:
    names = p["names"]
    first = {name: sum(n for n, order in p["groups"] if order[0] == name) for name in names}
    points = {name: sum(n * (3 - order.index(name)) for n, order in p["groups"]) for name in names}
    unbeaten = [a for a in names if all(_margin(p, a, b) > 0 for b in names if b != a)]
    ranked = sorted(first.values(), reverse=True)
    if len(set(ranked)) < 4:
        return None
    finalists = [name for name in names if first[name] >= ranked[1]]
    lead = _margin(p, finalists[0], finalists[1])
    a, b, c = _top(first), _top(points), unbeaten[0] if unbeaten else "nobody"
    if (
        a is None
        or b is None
        or lead == 0
        or any(_margin(p, x, y) == 0 for x in names for y in names if x < y)
    ):
        return None
    second_round = finalists[0] if lead > 0 else finalists[1]
    if len({a, b, c}) < 3 or second_round == a:
        return None
    return (a, second_round, b, c, min(abs(_margin(p, x, y)) for x, y in itertools.combinations(names, 2)))


def _vote_brute(p: Params) -> Answer:
    """Write out every single ballot and count again."""
    ballots = [order for n, order in p["groups"] for _ in range(n)]
    names = p["names"]
    first, points = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    prefer = dict.fromkeys(itertools.permutations(names, 2), 0)
    for ballot in ballots:
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
    first = {name: sum(n for n, order in p["groups"] if order[0] == name) for name in p["names"]}
    ranked = sorted(p["names"], key=lambda name: -first[name])
    big = max(p["groups"])[1]
    return [
        (lead, lead, lead, lead, first[ranked[0]] - first[ranked[1]])
        for lead in (ranked[0], ranked[1], big[0], big[1])
    ]


def _vote_told(p: Params) -> Params:
    return {"ballots": p["groups"], "names_or_nobody": [*p["names"], "nobody"]}


GAMES = (
    Structure("take_away_game", _tin_draw, _tin_solve, _tin_brute, _tin_naive, _tin_told),
    Structure("mixed_equilibrium", _quay_draw, _quay_solve, _quay_brute, _quay_naive),
    Structure("voting_rules", _vote_draw, _vote_solve, _vote_brute, _vote_naive, _vote_told),
)
