"""Stories on choosing and fitting: crates, a kit, a team, hours of a room, and pairs and groups."""

from __future__ import annotations

import itertools
import random

from metacog_pipeline.benchmarks.metacogbench.generators.engine import NAMES, Instance


def _packings(weights: list[int], room: int, lorries: int) -> list[list[int]]:
    """Return the loads of every way to fill exactly ``lorries`` lorries, lorries being alike."""
    ways: list[list[int]] = [[]]
    for w in weights:
        beside = [
            [*loads[:at], load + w, *loads[at + 1 :]]
            for loads in ways
            for at, load in enumerate(loads)
            if load + w <= room
        ]
        ways = [*beside, *([*loads, w] for loads in ways if len(loads) < lorries)]
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


def bin_packing(rng: random.Random) -> Instance | None:
    """Crates into lorries, where the heaviest first would take one lorry too many."""
    crates = list(zip(rng.sample(NAMES["goods"], 9), rng.sample(range(140, 620), 9), strict=True))
    room, weights = rng.randint(880, 1200), [w for _, w in crates]
    fitted = _first_fit(weights, room)
    lorries, ways = next((k, ways) for k in range(1, fitted + 1) if (ways := _packings(weights, room, k)))
    extra = room - min(map(min, ways))
    # The heaviest first must fail, and the further crate must be one worth asking for.
    if lorries < 3 or fitted == lorries or extra < 40:
        return None
    answer = (lorries, lorries * room - sum(weights), extra, min(map(max, ways)))
    return Instance({"crates": crates, "room": room}, answer)


def knapsack(rng: random.Random) -> Instance | None:
    """A kit under a weight; shortcuts: take what is worth most for its weight, worth most, or lightest."""
    names = rng.sample(NAMES["kit"], 9)
    weights, values = rng.sample(range(310, 2900), 9), rng.sample(range(21, 99), 9)
    things = list(zip(names, weights, values, strict=True))
    limit, more = rng.randint(5200, 7800), rng.randint(400, 1500)
    kits = []
    for chosen in itertools.product((False, True), repeat=9):
        some = list(itertools.compress(things, chosen))
        kits.append((sum(v for *_, v in some), sum(w for _, w, _ in some), sorted(name for name, *_ in some)))
    kits.sort(reverse=True)
    (best, weight, kit), (second, *_), *_ = [each for each in kits if each[1] <= limit]
    lighter = next(value for value, weight, _ in kits if weight <= limit - more)
    # Two kits of one value would leave the set open; of very few or nearly all things it could be guessed.
    if best == second or not 4 <= len(kit) <= 7 or lighter == best or weight == limit:
        return None

    def filled(limit: int, order: list[tuple[str, int, int]]) -> tuple[int, list[str], int]:
        kit, total, score = list[str](), 0, 0
        for name, weight, value in order:
            if total + weight <= limit:
                kit, total, score = [*kit, name], total + weight, score + value
        return score, kit, total

    keys = (lambda t: -t[2] / t[1], lambda t: -t[2], lambda t: t[1])
    orders = [sorted(things, key=key) for key in keys]
    naive = [(*filled(limit, order), filled(limit - more, order)[0]) for order in orders]
    params = {"things": things, "limit": limit, "more": more}
    return Instance(params, (best, kit, weight, lighter), {"names": names}, naive)


def fault_tolerant_cover(rng: random.Random) -> Instance | None:
    """A team that covers, whoever falls ill."""
    people, posts = sorted(rng.sample(NAMES["people"], 9)), rng.sample(NAMES["places"], 7)
    able = {name: sorted(rng.sample(posts, rng.randint(2, 4))) for name in people}

    def smallest(times: int) -> list[tuple[str, ...]]:
        """Return the smallest teams that know every post so many times."""
        teams = (team for size in range(1, 10) for team in itertools.combinations(people, size))
        fine = [
            team for team in teams if all(sum(post in able[name] for name in team) >= times for post in posts)
        ]
        return [team for team in fine if len(team) == len(fine[0])]

    teams, alone = smallest(2), smallest(1)
    if len(teams) < 2:
        return None
    size, small, always = len(teams[0]), len(alone[0]), set.intersection(*map(set, teams))
    # Twice the team that suffices without illness is the usual guess: it must be wrong.
    if not 1 <= len(always) <= 4 or size == 2 * small or size > 7:
        return None
    params = {"people": [[name, able[name]] for name in people], "posts": sorted(posts)}
    return Instance(params, (size, sorted(always), len(teams), small), {"names": people})


def interval_scheduling(rng: random.Random) -> Instance | None:
    """The hours of one room."""
    slots = []
    for name, fee in zip(rng.sample(NAMES["groups"], 10), rng.sample(range(24, 130), 10), strict=True):
        start = rng.randrange(13 * 60, 20 * 60, 5)
        slots.append((name, start, start + rng.randrange(45, 200, 5), fee))
    ordered = sorted(slots, key=lambda slot: slot[1])
    programmes = [
        (size, sum(fee for *_, fee in some))
        for size in range(11)
        for some in itertools.combinations(ordered, size)
        if all(a[2] <= b[1] for a, b in itertools.pairwise(some))
    ]
    sizes, fees = map(list, zip(*programmes, strict=True))
    most, income = max(sizes), max(fees)
    ways = sizes.count(most)
    # One best income, and so few ways that they can be counted by hand.
    if fees.count(income) > 1 or not 2 <= ways <= 12 or most < 3:
        return None
    rooms = max(sum(start <= at < end for _, start, end, _ in slots) for _, at, *_ in slots)
    clock = [(name, *(f"{t // 60:02d}:{t % 60:02d}" for t in ends), fee) for name, *ends, fee in slots]
    return Instance({"slots": slots}, (most, ways, income, rooms), {"slots": clock})


def _pairs(rows: list[tuple[str, list[str]]]) -> dict[str, list[str]]:
    return {"pairs": [f"{name}-{other}" for name, others in rows for other in others]}


def matching(rng: random.Random) -> Instance | None:
    """Tutors and pupils: every choice of one pupil or none per tutor is tried."""
    people = rng.sample(NAMES["people"], 14)
    names, pupils = sorted(people[:7]), sorted(people[7:])
    tutors = [(t, sorted(rng.sample(pupils, rng.choice([1, 2, 2, 3])))) for t in names]
    choices = itertools.product(*[[None, *many] for _, many in tutors])
    found = [{(t, c) for t, c in zip(names, choice, strict=True) if c is not None} for choice in choices]
    fine = [pairs for pairs in found if len({pupil for _, pupil in pairs}) == len(pairs)]
    most = max(map(len, fine))
    best = [pairs for pairs in fine if len(pairs) == most]
    forced = sorted("-".join(pair) for pair in set.intersection(*best))
    certain = sorted(set.intersection(*({pupil for _, pupil in pairs} for pairs in best)))
    # Where everybody is taught, or nothing is forced, there is no structure to find.
    if most >= 7 or not 1 <= len(forced) <= 3 or not 4 <= len(best) <= 60 or not 2 <= len(certain) <= 5:
        return None
    params = {"tutors": tutors, "pupils": pupils}
    return Instance(params, (most, len(best), forced, certain), _pairs(tutors))


def stable_matching(rng: random.Random) -> Instance | None:
    """Apprentices and masters: every pairing is tried that no two would break to have each other."""
    names, workshops = sorted(rng.sample(NAMES["people"], 5)), sorted(rng.sample(NAMES["crafts"], 5))
    young = {name: rng.sample(workshops, 5) for name in names}
    crafts = {name: rng.sample(names, 5) for name in workshops}

    def likes(a: str, c: str) -> tuple[int, int]:
        """Return the places in which an apprentice and a master have each other."""
        return young[a].index(c) + 1, crafts[c].index(a) + 1

    def holds(pairs: dict[str, str]) -> bool:
        got = [(*pair, *likes(*pair)) for pair in pairs.items()]
        return not any(
            likes(a, d)[0] < theirs and likes(a, d)[1] < masters
            for a, _, theirs, _ in got
            for _, d, _, masters in got
        )

    pairings = (dict(zip(names, order, strict=True)) for order in itertools.permutations(workshops))
    lasting = [pairs for pairs in pairings if holds(pairs)]
    pairs = min(lasting, key=lambda each: sum(likes(*pair)[0] for pair in each.items()))
    theirs, masters = (sum(likes(*pair)[side] for pair in pairs.items()) for side in (0, 1))
    # With one lasting way who asks does not matter; below nine visits all get what they ask for first.
    if len(lasting) < 2 or theirs < 9:
        return None
    params = {"young": [*map(list, young.items())], "crafts": [*map(list, crafts.items())]}
    answer = (sorted(map("-".join, pairs.items())), theirs, len(lasting), masters)
    return Instance(params, answer, _pairs([*young.items()]))


def _stored(names: list[str], clashes: list[list[str]]) -> tuple[int, int]:
    """Return the fewest cabinets, and the ways to divide the substances among so many, cabinets being alike."""
    ways: list[list[list[str]]] = [[]]
    for name in names:
        beside = [
            [*groups[:at], [*group, name], *groups[at + 1 :]]
            for groups in ways
            for at, group in enumerate(groups)
            if not any(sorted((name, other)) in clashes for other in group)
        ]
        ways = [*beside, *([*groups, [name]] for groups in ways)]
    sizes = [len(groups) for groups in ways]
    return min(sizes), sizes.count(min(sizes))


def colouring(rng: random.Random) -> Instance | None:
    """Substances that must not meet: a ring of five around a sixth, and a few more reactions."""
    names = rng.sample(NAMES["substances"], 8)
    ring = names[:5]
    sure = (*itertools.pairwise([*ring, ring[0]]), *((names[5], each) for each in ring))
    reacting = {frozenset(pair) for pair in sure}
    rest = [frozenset(c) for c in itertools.combinations(names, 2) if frozenset(c) not in reacting]
    reacting |= set(rng.sample(rest, rng.randint(4, 6)))
    rng.shuffle(names)
    clashes, gone = sorted(sorted(c) for c in reacting), rng.choice(names)
    if set(names) != {name for pair in clashes for name in pair}:
        return None  # a substance that reacts with none has nothing to be told of it
    least, ways = _stored(names, clashes)
    mutual = max(
        size
        for size in range(1, 7)
        for some in itertools.combinations(names, size)
        if all(sorted(c) in clashes for c in itertools.combinations(some, 2))
    )
    # The largest group in which all react must not give the number of cabinets away.
    if mutual >= least or not 2 <= ways <= 60:
        return None
    without, _ = _stored([n for n in names if n != gone], [c for c in clashes if gone not in c])
    with_each = [(n, sorted(o for c in clashes if n in c for o in c if o != n)) for n in sorted(names)]
    params = {"names": names, "clashes": clashes, "gone": gone}
    told = {"substances": sorted(names), "reactions": with_each}
    return Instance(params, (least, ways, mutual, without), told)
