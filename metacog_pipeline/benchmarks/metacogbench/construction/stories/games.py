"""Stories on opponents and votes: taking matches, inspectors and smugglers, a village that votes by three rules."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from functools import cache

from metacog_pipeline.benchmarks.metacogbench.construction.stories.common import (
    PLACES,
    Answer,
    Params,
    Structure,
    listed,
    one_of,
    real,
    whole,
)
from metacog_pipeline.benchmarks.metacogbench.items import Field

TINS = ("amber", "blue", "green", "ivory", "scarlet", "violet")


# --- taking matches ----------------------------------------------------------------------------------------------


def _tin_draw(rng: random.Random) -> Params:
    tins, heaps = sorted(rng.sample(TINS, 3)), rng.sample(range(7, 16), 3)
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
    return {"tin": p["tins"][i], "take": take, "next_tin": p["tins"][k], "next_take": again}


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
    return _tin_answer(p, moves, _tin_minimax(left)) or {}


def _tin_naive(p: Params) -> list[Answer]:
    heaps, tins, (at, reply) = p["heaps"], p["tins"], p["reply"]
    big, small = heaps.index(max(heaps)), heaps.index(min(heaps))
    middle = 3 - big - small
    level = max(1, max(heaps) - heaps[middle])
    return [
        {"tin": tins[big], "take": level, "next_tin": tins[at], "next_take": reply},
        {"tin": tins[big], "take": level, "next_tin": tins[middle], "next_take": reply},
        {"tin": tins[small], "take": heaps[small], "next_tin": tins[big], "next_take": level},
        {"tin": tins[big], "take": 1, "next_tin": tins[big], "next_take": 1},
    ]


def _tin_story(p: Params) -> str:
    stock = ", ".join(f"{heap} in the {tin} tin" for tin, heap in zip(p["tins"], p["heaps"], strict=True))
    at, take = p["reply"]
    matches = "a single match" if take == 1 else f"{take} matches"
    return (
        f"A pair of sisters play with matches in tins: {stock}. They take turns; whoever's turn it is picks a tin that "
        "is not empty and takes as many matches out of it as she likes, a single match at the least. Whoever takes the "
        "very last match of all wins. The elder begins, and only a single way to begin makes sure that she will win "
        f"whatever the younger does. She takes it. Then the younger takes {matches} from the {p['tins'][at]} tin, and "
        "again the elder has a single sure way to go on, which she takes."
    )


def _tin_fields(p: Params) -> tuple[Field, ...]:
    return (
        one_of("tin", "tin the elder takes from first", p["tins"]),
        whole("take", "matches she takes first", "matches"),
        one_of("next_tin", "tin she takes from after the younger's move", p["tins"]),
        whole("next_take", "matches she takes then", "matches", core=True),
    )


# --- inspectors and smugglers ------------------------------------------------------------------------------------


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
    return {
        "search_percent": float(100 * search), "smuggle_percent": float(100 * smuggle),
        "caught_percent": float(100 * caught), "inspector_mean": float(-smuggle * p["loss"]),
        "search_after": float(100 * later),
    }  # fmt: skip


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
    return {
        "search_percent": float(100 * search), "smuggle_percent": float(100 * smuggle),
        "caught_percent": float(100 * chances[0][0]), "inspector_mean": float(mean), "search_after": float(100 * later),
    }  # fmt: skip


def _quay_naive(p: Params) -> list[Answer]:
    odds = 100 * p["gain"] / (p["gain"] + p["fine"])
    pay = 100 * p["wage"] / p["bounty"]
    fined = 100 * p["gain"] / (p["gain"] + p["new_fine"])
    return [
        {
            "search_percent": 100.0,
            "smuggle_percent": 0.0,
            "caught_percent": 0.0,
            "inspector_mean": -float(p["wage"]),
            "search_after": 100.0,
        },
        {
            "search_percent": 50.0,
            "smuggle_percent": 50.0,
            "caught_percent": 25.0,
            "inspector_mean": 0.0,
            "search_after": 50.0,
        },
        {
            "search_percent": odds,
            "smuggle_percent": pay,
            "caught_percent": odds * pay / 100,
            "inspector_mean": 0.0,
            "search_after": fined,
        },
    ]


def _quay_story(p: Params) -> str:
    return (
        "Every night a skipper decides whether to bring goods past the customs, and the inspector at the quay, who "
        "cannot know it, decides whether to search the boat or to rest. Compared with a night at home, the skipper "
        f"gains {p['gain']} thalers on goods that pass, pays {p['fine']} thalers when a search finds them, and earns "
        f"{p['honest']} thalers with an honest freight, searched or not. A search costs the inspector {p['wage']} "
        f"thalers of effort; goods found bring a bounty of {p['bounty']} thalers on top, and goods that slip past while "
        f"the inspector rests cost {p['loss']} thalers of pay. Both have learnt over the years, each wants the most on "
        "average, both know all these sums, and neither could do better by changing habits. The harbour board asks how "
        "often the inspector searches, how often the skipper smuggles, on what share of all nights goods are found, "
        "what the inspector gets on average per night, and how often the inspector would search, once habits have "
        f"settled anew, if the skipper had to pay {p['new_fine']} thalers instead."
    )


def _quay_fields(p: Params) -> tuple[Field, ...]:
    return (
        real("search_percent", "nights with a search, percent with one decimal", "%", 0.15),
        real("smuggle_percent", "nights with smuggling, percent with one decimal", "%", 0.15, core=True),
        real("caught_percent", "nights on which goods are found, percent with two decimals", "%", 0.03),
        real(
            "inspector_mean", "inspector's mean per night, one decimal, negative for a loss", "thalers", 0.15
        ),
        real("search_after", "nights with a search after the change, percent with one decimal", "%", 0.15),
    )


# --- a village votes ---------------------------------------------------------------------------------------------


def _vote_draw(rng: random.Random) -> Params:
    names = sorted(rng.sample(PLACES, 4))
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
    return {
        "by_first_choice": a, "by_points": b, "by_second_round": second_round,
        "beats_all_others": c, "closest_margin": min(abs(_margin(p, x, y)) for x, y in itertools.combinations(names, 2)),
    }  # fmt: skip


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
    return {
        "by_first_choice": max(names, key=lambda name: first[name]),
        "by_points": max(names, key=lambda name: points[name]),
        "by_second_round": one if prefer[one, two] > prefer[two, one] else two,
        "beats_all_others": winners[0] if winners else "nobody",
        "closest_margin": min(abs(prefer[a, b] - prefer[b, a]) for a, b in prefer),
    }  # fmt: skip


def _vote_naive(p: Params) -> list[Answer]:
    first = {name: sum(n for n, order in p["groups"] if order[0] == name) for name in p["names"]}
    ranked = sorted(p["names"], key=lambda name: -first[name])
    big = max(p["groups"])[1]
    return [
        {
            "by_first_choice": lead,
            "by_points": lead,
            "by_second_round": lead,
            "beats_all_others": lead,
            "closest_margin": first[ranked[0]] - first[ranked[1]],
        }
        for lead in (ranked[0], ranked[1], big[0], big[1])
    ]


def _vote_story(p: Params) -> str:
    lines = [f"{n} households: {', then '.join(order)}" for n, order in p["groups"]]
    return (
        "The households of a commune choose where the new school is to stand. Everybody has written down all the "
        "places, best liked place first:" + listed(lines) + "\n"
        "The mayor would let the place win that is written first most often. The priest would have a second round "
        "between the places written first most often and next most often, every household backing whichever of the "
        "pair it likes better. The teacher would give a place no point for being written last and a point more for "
        "each step up, and let the most points win. The clerk asks whether a place exists that would win against each "
        "other place if they stood alone against each other, and by how many households the closest such contest "
        "would be decided."
    )


def _vote_fields(p: Params) -> tuple[Field, ...]:
    names = p["names"]
    return (
        one_of("by_first_choice", "winner by the mayor's rule", names),
        one_of("by_second_round", "winner by the priest's rule", names),
        one_of("by_points", "winner by the teacher's rule", names),
        one_of(
            "beats_all_others",
            'place that wins against each other place alone, or "nobody"',
            [*names, "nobody"],
            core=True,
        ),
        whole(
            "closest_margin", "smallest difference in households over all contests of a pair", "households"
        ),
    )


GAMES = (
    Structure("take_away_game", _tin_draw, _tin_solve, _tin_brute, _tin_naive, _tin_story, _tin_fields),
    Structure(
        "mixed_equilibrium", _quay_draw, _quay_solve, _quay_brute, _quay_naive, _quay_story, _quay_fields
    ),
    Structure("voting_rules", _vote_draw, _vote_solve, _vote_brute, _vote_naive, _vote_story, _vote_fields),
)
