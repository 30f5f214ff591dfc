"""Stories on choosing and fitting: crates, a kit, a team, hours of a room, and pairs and groups."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

from metacog_pipeline.benchmarks.metacogbench.generators.engine import NAMES, Answer, Params, Structure

Thing = tuple[str, int, int]  # name, weight, value
Slot = tuple[str, int, int, int]  # group, start, end, fee
Wishes = dict[str, list[str]]


# --- crates into lorries ----------------------------------------------------------------------------------------------
def _lorry_draw(rng: random.Random) -> Params:
    names = rng.sample(NAMES["goods"], 9)
    crates = list(zip(names, rng.sample(range(140, 620), 9), strict=True))
    return {"crates": crates, "room": rng.randint(880, 1200)}


def _packings(weights: list[int], room: int, lorries: int) -> list[list[int]]:
    """Return the loads of every way to fill exactly ``lorries`` lorries, lorries being alike."""
    ways: list[list[int]] = [[]]
    for w in weights:
        ways = [
            after
            for loads in ways
            for after in (
                *(
                    [*loads[:at], load + w, *loads[at + 1 :]]
                    for at, load in enumerate(loads)
                    if load + w <= room
                ),
                *([[*loads, w]] if len(loads) < lorries else []),
            )
        ]
    return [loads for loads in ways if len(loads) == lorries]


def _first_fit(weights: list[int], room: int) -> int:
    loads: list[int] = []
    for w in sorted(weights, reverse=True):
        at = next((i for i, load in enumerate(loads) if load + w <= room), None)
        if at is None:
            loads.append(w)
        else:
            loads[at] += w
    return len(loads)


def _lorry_solve(p: Params) -> Answer | None:
    weights, room = [w for _, w in p["crates"]], p["room"]
    fitted = _first_fit(weights, room)
    lorries, ways = next((k, ways) for k in range(1, fitted + 1) if (ways := _packings(weights, room, k)))
    extra = room - min(map(min, ways))
    if lorries < 3 or fitted == lorries or extra < 40:
        return None
    return (lorries, lorries * room - sum(weights), extra, min(map(max, ways)))


def _lorry_naive(p: Params) -> list[Answer]:
    weights, room = [w for _, w in p["crates"]], p["room"]
    replies: list[Answer] = []
    for lorries in (_first_fit(weights, room), -(-sum(weights) // room)):
        spare = lorries * room - sum(weights)
        replies.append((lorries, spare, min(spare, room), -(-sum(weights) // lorries)))
    return replies


# --- a kit under a weight ---------------------------------------------------------------------------------------------
def _kit_draw(rng: random.Random) -> Params:
    names = rng.sample(NAMES["kit"], 9)
    weights, values = rng.sample(range(310, 2900), 9), rng.sample(range(21, 99), 9)
    things = list(zip(names, weights, values, strict=True))
    return {"things": things, "limit": rng.randint(5200, 7800), "more": rng.randint(400, 1500)}


def _kits(p: Params, limit: int) -> list[tuple[int, int, list[str]]]:
    """Return value, weight and names of everything that can be carried, the best first."""
    found = []
    for chosen in itertools.product((False, True), repeat=len(p["things"])):
        some = list(itertools.compress(p["things"], chosen))
        weight = sum(w for _, w, _ in some)
        if weight <= limit:
            found.append((sum(v for *_, v in some), weight, sorted(name for name, *_ in some)))
    return sorted(found, reverse=True)


def _kit_solve(p: Params) -> Answer | None:
    (best, weight, kit), (second, *_), *_ = _kits(p, p["limit"])
    lighter = _kits(p, p["limit"] - p["more"])[0][0]
    if best == second or not 4 <= len(kit) <= 7 or lighter == best or weight == p["limit"]:
        return None
    return (best, kit, weight, lighter)


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


# --- a team that covers, whoever falls ill ----------------------------------------------------------------------------
def _aid_draw(rng: random.Random) -> Params:
    people, posts = sorted(rng.sample(NAMES["people"], 9)), rng.sample(NAMES["places"], 7)
    able = [[name, sorted(rng.sample(posts, rng.randint(2, 4)))] for name in people]
    return {"people": able, "posts": sorted(posts)}


def _teams(p: Params, times: int) -> list[tuple[str, ...]]:
    """Return the smallest teams that know every post so many times; none where not even all together do."""
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


def _aid_greedy(p: Params, times: int) -> list[str]:
    missing, team, left = dict.fromkeys(p["posts"], times), list[str](), list(p["people"])
    while any(n > 0 for n in missing.values()) and left:
        best = max(left, key=lambda each: sum(missing[post] > 0 for post in each[1]))
        left.remove(best)
        team.append(best[0])
        for post in best[1]:
            missing[post] -= 1
    return team


def _aid_naive(p: Params) -> list[Answer]:
    double, single = len(_aid_greedy(p, 2)), _aid_greedy(p, 1)
    busiest, n = max(p["people"], key=lambda each: len(each[1]))[0], len(single)
    return [(double, [busiest], 1, n), (n + 1, single, 1, n), (2 * n, [], 1, n)]


# --- the hours of one room --------------------------------------------------------------------------------------------
def _room_draw(rng: random.Random) -> Params:
    slots = []
    for name, fee in zip(rng.sample(NAMES["groups"], 10), rng.sample(range(24, 130), 10), strict=True):
        start = rng.randrange(13 * 60, 20 * 60, 5)
        slots.append((name, start, start + rng.randrange(45, 200, 5), fee))
    return {"slots": slots}


def _programmes(p: Params) -> list[tuple[int, int]]:
    """Return groups and fees of everything that fits into one room."""
    ordered = sorted(p["slots"], key=lambda s: s[1])
    return [
        (size, sum(s[3] for s in some))
        for size in range(len(ordered) + 1)
        for some in itertools.combinations(ordered, size)
        if all(a[2] <= b[1] for a, b in itertools.pairwise(some))
    ]


def _room_solve(p: Params) -> Answer | None:
    sizes, fees = map(list, zip(*_programmes(p), strict=True))
    most, income = max(sizes), max(fees)
    ways = sizes.count(most)
    if fees.count(income) > 1 or not 2 <= ways <= 12 or most < 3:
        return None
    rooms = max(sum(bool(s[1] <= t[1] < s[2]) for s in p["slots"]) for t in p["slots"])
    return (most, ways, income, rooms)


def _room_naive(p: Params) -> list[Answer]:
    replies: list[Answer] = []
    for order in (lambda s: s[1], lambda s: s[2] - s[1], lambda s: -s[3]):
        taken: list[Slot] = []
        for slot in sorted(p["slots"], key=order):
            if all(slot[2] <= t[1] or t[2] <= slot[1] for t in taken):
                taken.append(slot)
        replies.append((len(taken), 1, sum(t[3] for t in taken), 10 - len(taken)))
    return [*replies, (max(size for size, _ in _programmes(p)), 1, replies[0][2], None)]


def _room_told(p: Params) -> Params:
    def clock(minutes: int) -> str:
        return f"{minutes // 60:02d}:{minutes % 60:02d}"

    return {"slots": [(name, clock(start), clock(end), fee) for name, start, end, fee in p["slots"]]}


# --- tutors and pupils ------------------------------------------------------------------------------------------------
def _tutor_draw(rng: random.Random) -> Params:
    people = rng.sample(NAMES["people"], 14)
    tutors, pupils = sorted(people[:7]), sorted(people[7:])
    return {
        "tutors": [[t, sorted(rng.sample(pupils, rng.choice([1, 2, 2, 3])))] for t in tutors],
        "pupils": pupils,
    }


def _tutor_solve(p: Params) -> Answer | None:
    """Try every choice of one pupil or none per tutor."""
    tutors = p["tutors"]
    most, best = -1, list[dict[str, str]]()
    for choice in itertools.product(*[[None, *many] for _, many in tutors]):
        pairs = {t: c for (t, _), c in zip(tutors, choice, strict=True) if c is not None}
        if len(set(pairs.values())) == len(pairs) >= most:
            best = [*best, pairs] if len(pairs) == most else [pairs]
            most = len(pairs)
    forced = sorted("-".join(pair) for pair in set.intersection(*(set(each.items()) for each in best)))
    certain = sorted(set.intersection(*(set(each.values()) for each in best)))
    if most >= 7 or not 1 <= len(forced) <= 3 or not 4 <= len(best) <= 60 or not 2 <= len(certain) <= 5:
        return None
    return (most, len(best), forced, certain)


def _tutor_naive(p: Params) -> list[Answer]:
    replies: list[Answer] = []
    for order in (p["tutors"], sorted(p["tutors"], key=lambda t: len(t[1]))):
        taken: dict[str, str] = {}
        for tutor, many in order:
            pupil = next((q for q in many if q not in taken), None)
            if pupil is not None:
                taken[pupil] = tutor
        only = [f"{t}-{many[0]}" for t, many in p["tutors"] if len(many) == 1]
        replies.append((len(taken), 1, only, sorted(taken)))
    return replies


# --- apprentices and masters ------------------------------------------------------------------------------------------
def _craft_draw(rng: random.Random) -> Params:
    young, crafts = sorted(rng.sample(NAMES["people"], 5)), sorted(rng.sample(NAMES["crafts"], 5))
    return {
        "young": [[name, rng.sample(crafts, 5)] for name in young],
        "crafts": [[name, rng.sample(young, 5)] for name in crafts],
    }


def _holds(pairs: dict[str, str], young: Wishes, crafts: Wishes) -> bool:
    """Whether no apprentice and master of these pairs would both rather have each other."""
    of = {craft: name for name, craft in pairs.items()}
    return not any(
        young[a].index(c) < young[a].index(pairs[a]) and crafts[c].index(a) < crafts[c].index(of[c])
        for a in pairs
        for c in of
    )


def _lasting(p: Params) -> list[tuple[int, int, dict[str, str]]]:
    """Return every pairing that lasts, with the sums of the places in which apprentices, and masters, have each other."""
    young, crafts = dict(p["young"]), dict(p["crafts"])
    pairings = (dict(zip(young, order, strict=True)) for order in itertools.permutations(crafts))
    return [(*_ranks(pairs, young, crafts), pairs) for pairs in pairings if _holds(pairs, young, crafts)]


def _ranks(pairs: dict[str, str], young: Wishes, crafts: Wishes) -> tuple[int, int]:
    got = pairs.items()
    return sum(young[a].index(c) + 1 for a, c in got), sum(crafts[c].index(a) + 1 for a, c in got)


def _craft_solve(p: Params) -> Answer | None:
    lasting = _lasting(p)
    theirs, masters, pairs = min(lasting, key=lambda each: each[0])
    if len(lasting) < 2 or theirs < 9:
        return None
    return (sorted(f"{a}-{c}" for a, c in pairs.items()), theirs, len(lasting), masters)


def _craft_naive(p: Params) -> list[Answer]:
    young, crafts = dict(p["young"]), dict(p["crafts"])
    turn: dict[str, str] = {}
    for name, wishes in young.items():
        turn[name] = next(c for c in wishes if c not in turn.values())
    back = min(_lasting(p), key=lambda each: each[1])[2]
    both = [(pairs, *_ranks(pairs, young, crafts)) for pairs in (turn, back)]
    return [([f"{a}-{c}" for a, c in pairs.items()], theirs, 1, masters) for pairs, theirs, masters in both]


# --- substances kept apart --------------------------------------------------------------------------------------------
def _shelf_draw(rng: random.Random) -> Params:
    names = rng.sample(NAMES["substances"], 8)
    ring = names[:5]
    clashes = {
        frozenset(pair) for pair in (*itertools.pairwise([*ring, ring[0]]), *((names[5], r) for r in ring))
    }
    rest = [frozenset(c) for c in itertools.combinations(names, 2) if frozenset(c) not in clashes]
    clashes |= set(rng.sample(rest, rng.randint(4, 6)))
    rng.shuffle(names)
    ordered = sorted(sorted(c) for c in clashes)
    return {"names": names, "clashes": ordered, "gone": rng.choice(names)}


def _stored(names: list[str], clashes: list[list[str]]) -> tuple[int, int]:
    """Return the fewest cabinets, and the ways to divide the substances among so many, cabinets being alike."""
    ways: list[list[list[str]]] = [[]]
    for name in names:
        ways = [
            after
            for groups in ways
            for after in (
                *(
                    [*groups[:at], [*group, name], *groups[at + 1 :]]
                    for at, group in enumerate(groups)
                    if not any(sorted((name, other)) in clashes for other in group)
                ),
                [*groups, [name]],
            )
        ]
    sizes = [len(groups) for groups in ways]
    return min(sizes), sizes.count(min(sizes))


def _largest_clash(p: Params) -> int:
    return max(
        size
        for size in range(1, 7)
        for some in itertools.combinations(p["names"], size)
        if all(sorted(c) in p["clashes"] for c in itertools.combinations(some, 2))
    )


def _shelf_solve(p: Params) -> Answer | None:
    names, clashes = p["names"], p["clashes"]
    if set(names) != {name for pair in clashes for name in pair}:
        return None  # a substance that reacts with none has nothing to be told of it
    least, ways = _stored(names, clashes)
    mutual = _largest_clash(p)
    if mutual >= least or not 2 <= ways <= 60:
        return None
    left = [name for name in names if name != p["gone"]]
    return (least, ways, mutual, _stored(left, [c for c in clashes if p["gone"] not in c])[0])


def _shelf_told(p: Params) -> Params:
    names = sorted(p["names"])
    clashing = {n: sorted(o for c in p["clashes"] if n in c for o in c if o != n) for n in names}
    return {"substances": names, "reactions": list(clashing.items())}


FITTING = (
    Structure("bin_packing", _lorry_draw, _lorry_solve, naive=_lorry_naive),
    Structure("knapsack", _kit_draw, _kit_solve, lambda p: {"names": [t[0] for t in p["things"]]}, _kit_naive),
    Structure(
        "fault_tolerant_cover", _aid_draw, _aid_solve, lambda p: {"names": [a[0] for a in p["people"]]}, _aid_naive
    ),
    Structure("interval_scheduling", _room_draw, _room_solve, _room_told, _room_naive),
    Structure(
        "matching", _tutor_draw, _tutor_solve,
        lambda p: {"pairs": [f"{tutor}-{pupil}" for tutor, many in p["tutors"] for pupil in many]}, _tutor_naive,
    ),
    Structure(
        "stable_matching", _craft_draw, _craft_solve,
        lambda p: {"pairs": [f"{name}-{craft}" for name, wishes in p["young"] for craft in wishes]}, _craft_naive,
    ),
    Structure("colouring", _shelf_draw, _shelf_solve, _shelf_told),
)  # fmt: skip
