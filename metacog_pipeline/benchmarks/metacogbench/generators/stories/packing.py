"""Stories on choosing and fitting: crates into lorries, a kit under a weight, a team that covers, hours of one room."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import cache

from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import Answer, Params, Structure
from metacog_pipeline.benchmarks.metacogbench.generators.wording import NAMES

Thing = tuple[str, int, int]  # name, weight, value
Slot = tuple[str, int, int, int]  # group, start, end, fee

# --- crates into lorries


def _lorry_draw(rng: random.Random) -> Params:
    names = rng.sample(NAMES["goods"], 9)
    crates = list(zip(names, rng.sample(range(140, 620), 9), strict=True))
    return {"crates": crates, "room": rng.randint(880, 1200)}


def _fewest(weights: list[int], room: int) -> list[int]:
    """Return for every subset of crates how few lorries carry it."""
    # A state is the lorries used, times this, and the load of the last one.
    one = 1 << sum(weights).bit_length()
    crates = [(1 << i, w) for i, w in enumerate(weights)]
    best = [0] + [(len(weights) + 1) * one] * ((1 << len(weights)) - 1)
    for mask, state in enumerate(best):
        left = room - state % one if state else -1
        fresh = state - state % one + one
        for crate, w in crates:
            if not mask & crate:
                then = (state if w <= left else fresh) + w
                if then < best[mask | crate]:
                    best[mask | crate] = then
    return [state // one for state in best]


def _lorry_solve(p: Params) -> Answer | None:
    weights, room = [w for _, w in p["crates"]], p["room"]
    few = _fewest(weights, room)
    full = len(few) - 1
    lorries = few[full]
    if lorries < 3 or _first_fit(weights, room) == lorries:
        return None
    beside = [0]
    for w in weights:
        beside += [load + w for load in beside]
    extra = room - min(beside[s] for s in range(full + 1) if few[full ^ s] <= lorries - 1)
    if extra < 40:
        return None
    low, high = max(weights) - 1, room  # too little, enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fewest(weights, middle)[full] <= lorries else (middle, high)
    return (lorries, lorries * room - sum(weights), extra, high)


def _first_fit(weights: list[int], room: int) -> int:
    loads: list[int] = []
    for w in sorted(weights, reverse=True):
        at = next((i for i, load in enumerate(loads) if load + w <= room), None)
        if at is None:
            loads.append(w)
        else:
            loads[at] += w
    return len(loads)


def _packings(weights: list[int], room: int, lorries: int) -> list[list[int]]:
    """Return the loads of every way to fill exactly ``lorries`` lorries, lorries being alike."""
    found, loads = [], list[int]()

    def place(i: int) -> None:
        if i == len(weights):
            if len(loads) == lorries:
                found.append(list(loads))
            return
        for at in range(len(loads)):
            if loads[at] + weights[i] <= room:
                loads[at] += weights[i]
                place(i + 1)
                loads[at] -= weights[i]
        if len(loads) < lorries:
            loads.append(weights[i])
            place(i + 1)
            loads.pop()

    place(0)
    return found


def _lorry_brute(p: Params) -> Answer:
    weights, room = [w for _, w in p["crates"]], p["room"]
    lorries, ways = next((k, ways) for k in range(1, 10) if (ways := _packings(weights, room, k)))
    spare = lorries * room - sum(weights)
    return (lorries, spare, max(room - min(loads) for loads in ways), min(map(max, ways)))


def _lorry_naive(p: Params) -> list[Answer]:
    weights, room = [w for _, w in p["crates"]], p["room"]
    replies: list[Answer] = []
    for lorries in (_first_fit(weights, room), -(-sum(weights) // room)):
        spare = lorries * room - sum(weights)
        replies.append((lorries, spare, min(spare, room), -(-sum(weights) // lorries)))
    return replies


# --- a kit under a weight


def _kit_draw(rng: random.Random) -> Params:
    names = rng.sample(NAMES["kit"], 9)
    weights, values = rng.sample(range(310, 2900), 9), rng.sample(range(21, 99), 9)
    things = list(zip(names, weights, values, strict=True))
    return {"things": things, "limit": rng.randint(5200, 7800), "more": rng.randint(400, 1500)}


def _kit_best(things: list[Thing], limit: int) -> int:
    """Return the best value by a table over the weights that can be reached."""
    table = {0: 0}
    for _, weight, value in things:
        for room, score in list(table.items()):
            if room + weight <= limit:
                table[room + weight] = max(table.get(room + weight, 0), score + value)
    return max(table.values())


def _kit_chosen(things: list[Thing], limit: int) -> list[int] | None:
    """Return which things make up the best kit, by leaving out each in turn; None when there are several."""
    best = _kit_best(things, limit)
    chosen = [i for i in range(len(things)) if _kit_best([*things[:i], *things[i + 1 :]], limit) < best]
    return chosen if sum(things[i][2] for i in chosen) == best else None


def _kit_solve(p: Params) -> Answer | None:
    things, limit = p["things"], p["limit"]
    chosen = _kit_chosen(things, limit)
    if chosen is None or not 4 <= len(chosen) <= 7:
        return None
    best, lighter = _kit_best(things, limit), _kit_best(things, limit - p["more"])
    weight = sum(things[i][1] for i in chosen)
    if lighter == best or weight == limit:
        return None
    return (best, sorted(things[i][0] for i in chosen), weight, lighter)


def _subsets(p: Params, limit: int) -> list[tuple[int, int, list[str]]]:
    found = []
    for chosen in itertools.product((False, True), repeat=len(p["things"])):
        some = list(itertools.compress(p["things"], chosen))
        weight = sum(w for _, w, _ in some)
        if weight <= limit:
            found.append((sum(v for *_, v in some), weight, sorted(name for name, *_ in some)))
    return found


def _kit_brute(p: Params) -> Answer:
    score, weight, kit = max(_subsets(p, p["limit"]))
    return (score, kit, weight, max(_subsets(p, p["limit"] - p["more"]))[0])


def _kit_naive(p: Params) -> list[Answer]:
    replies: list[Answer] = []
    for order in (lambda t: -t[2] / t[1], lambda t: -t[2], lambda t: t[1]):
        kit, weight, score = _fill(p, p["limit"], order)
        replies.append((score, kit, weight, _fill(p, p["limit"] - p["more"], order)[2]))
    return replies


def _fill(p: Params, limit: int, order: Callable[[Thing], float]) -> tuple[list[str], int, int]:
    """Return what is taken thing by thing in an order, its weight and its value."""
    kit, total, score = list[str](), 0, 0
    for name, weight, value in sorted(p["things"], key=order):
        if total + weight <= limit:
            kit, total, score = [*kit, name], total + weight, score + value
    return kit, total, score


def _kit_told(p: Params) -> Params:
    return {"names": [name for name, *_ in p["things"]]}


# --- a team that covers, whoever falls ill


def _aid_draw(rng: random.Random) -> Params:
    people, posts = sorted(rng.sample(NAMES["people"], 9)), rng.sample(NAMES["places"], 7)
    able = [[name, sorted(rng.sample(posts, rng.randint(2, 4)))] for name in people]
    return {"people": able, "posts": sorted(posts)}


def _teams(p: Params, times: int) -> list[tuple[str, ...]]:
    """Return the smallest teams that know every post so many times; none where all people do not."""
    for size in range(1, len(p["people"]) + 1):
        found = [
            tuple(name for name, _ in team)
            for team in itertools.combinations(p["people"], size)
            if all(sum(post in knows for _, knows in team) >= times for post in p["posts"])
        ]
        if found:
            return found
    return []


def _aid_solve(p: Params) -> Answer | None:
    teams, alone = _teams(p, 2), _teams(p, 1)
    if len(teams) < 2 or not alone:
        return None
    size, small, always = len(teams[0]), len(alone[0]), set.intersection(*map(set, teams))
    if not 1 <= len(always) <= 4 or size == 2 * small or size > 7:
        return None
    return (size, sorted(always), len(teams), small)


def _aid_brute(p: Params) -> Answer:
    """Include or leave out each person in turn, all 2ⁿ teams; a team serves when it does so without any one member."""
    serving, without_any = list[set[str]](), list[set[str]]()
    posts = set(p["posts"])
    for mask in range(1 << len(p["people"])):
        team = [person for i, person in enumerate(p["people"]) if mask >> i & 1]
        names = {name for name, _ in team}
        if posts <= {post for _, knows in team for post in knows}:
            serving.append(names)
            if all(posts <= {post for name, knows in team if name != ill for post in knows} for ill in names):
                without_any.append(names)
    size = min(map(len, without_any))
    least = [team for team in without_any if len(team) == size]
    return (size, sorted(set.intersection(*least)), len(least), min(map(len, serving)))


def _aid_greedy(p: Params, times: int) -> list[str]:
    missing = dict.fromkeys(p["posts"], times)
    team: list[str] = []
    left = list(p["people"])
    while any(n > 0 for n in missing.values()) and left:
        best = max(left, key=lambda each: sum(missing[post] > 0 for post in each[1]))
        left.remove(best)
        team.append(best[0])
        for post in best[1]:
            missing[post] -= 1
    return team


def _aid_naive(p: Params) -> list[Answer]:
    double, single = _aid_greedy(p, 2), _aid_greedy(p, 1)
    busiest = max(p["people"], key=lambda each: len(each[1]))[0]
    return [
        (len(double), [busiest], 1, len(single)),
        (len(single) + 1, single, 1, len(single)),
        (2 * len(single), [], 1, len(single)),
    ]


def _aid_told(p: Params) -> Params:
    return {"names": [name for name, _ in p["people"]]}


# --- the hours of one room


def _room_draw(rng: random.Random) -> Params:
    slots = []
    for name, fee in zip(rng.sample(NAMES["groups"], 10), rng.sample(range(24, 130), 10), strict=True):
        start = rng.randrange(13 * 60, 20 * 60, 5)
        slots.append((name, start, start + rng.randrange(45, 200, 5), fee))
    return {"slots": slots}


def _by_end(slots: list[Slot], weight: bool) -> tuple[int, int]:
    """Return the best total (groups, or fees) that fits, and in how many ways, by a table over ending times."""
    order = sorted(slots, key=lambda s: s[2])

    @cache
    def best(i: int) -> tuple[int, int]:
        if i == 0:
            return 0, 1
        _, start, _, fee = order[i - 1]
        before = sum(s[2] <= start for s in order[: i - 1])
        total, ways = best(before)
        taken = (total + (fee if weight else 1), ways)
        left = best(i - 1)
        if taken[0] == left[0]:
            return taken[0], taken[1] + left[1]
        return max(taken, left)

    return best(len(order))


def _rooms(slots: list[Slot]) -> int:
    return max(sum(bool(s[1] <= t[1] < s[2]) for s in slots) for t in slots)


def _room_solve(p: Params) -> Answer | None:
    most, ways = _by_end(p["slots"], weight=False)
    income, unique = _by_end(p["slots"], weight=True)
    if unique > 1 or ways > 12 or ways < 2 or most < 3:
        return None
    return (most, ways, income, _rooms(p["slots"]))


def _room_brute(p: Params) -> Answer:
    ordered = sorted(p["slots"], key=lambda s: s[1])
    fitting = [
        some
        for size in range(len(ordered) + 1)
        for some in itertools.combinations(ordered, size)
        if all(a[2] <= b[1] for a, b in itertools.pairwise(some))
    ]
    most, income = max(map(len, fitting)), max(sum(s[3] for s in some) for some in fitting)
    busy = [sum(s[1] <= minute < s[2] for s in p["slots"]) for minute in range(0, 24 * 60 + 1)]
    return (most, sum(len(some) == most for some in fitting), income, max(busy))


def _room_naive(p: Params) -> list[Answer]:
    replies: list[Answer] = []
    for order in (lambda s: s[1], lambda s: s[2] - s[1], lambda s: -s[3]):
        taken: list[Slot] = []
        for slot in sorted(p["slots"], key=order):
            if all(slot[2] <= t[1] or t[2] <= slot[1] for t in taken):
                taken.append(slot)
        replies.append((len(taken), 1, sum(t[3] for t in taken), 10 - len(taken)))
    by_end = _by_end(p["slots"], weight=False)[0]
    replies.append((by_end, 1, replies[0][2], None))
    return replies


def _room_told(p: Params) -> Params:
    def clock(minutes: int) -> str:
        return f"{minutes // 60:02d}:{minutes % 60:02d}"

    return {"slots": [(name, clock(start), clock(end), fee) for name, start, end, fee in p["slots"]]}


PACKING = (
    Structure("bin_packing", _lorry_draw, _lorry_solve, _lorry_brute, _lorry_naive),
    Structure("knapsack", _kit_draw, _kit_solve, _kit_brute, _kit_naive, _kit_told),
    Structure("fault_tolerant_cover", _aid_draw, _aid_solve, _aid_brute, _aid_naive, _aid_told),
    Structure("interval_scheduling", _room_draw, _room_solve, _room_brute, _room_naive, _room_told),
)
