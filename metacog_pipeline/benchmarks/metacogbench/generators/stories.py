"""Stories of tier 3: one function per latent structure, which draws and solves an instance; with `networks`."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

from metacog_pipeline.benchmarks.metacogbench.generators import networks
from metacog_pipeline.benchmarks.metacogbench.generators.engine import NAMES, Instance, Structure


# --- choosing and fitting ---------------------------------------------------------------------------------------------
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


# --- chance, opponents, votes and numbers that hang together ----------------------------------------------------------
def fixed_point(rng: random.Random) -> Instance | None:
    """A price that feeds back."""
    rent, each, most = rng.randrange(150, 420, 10), rng.randint(60, 190) / 100, rng.randrange(150, 330, 10)
    per_euro, start = rng.randint(15, 38), rng.randint(200, 560) / 100
    prices, moves = [start], [math.inf]
    while moves[-1] >= 1e-13:
        if prices[-1] >= 0.97 * (most / per_euro) or len(prices) > 2900:
            return None
        prices.append(each + rent / (most - per_euro * prices[-1]))
        moves.append(abs(prices[-1] - prices[-2]))
    settled = next(week for week, move in enumerate(moves) if move < 0.01)
    guests = most - per_euro * prices[-1]
    factor = rent * per_euro / guests**2
    # No week that only just settles: rounding on the way must not decide it.
    close = min(abs(move - 0.01) for move in moves[settled - 1 : settled + 1]) < 0.0015
    if not 0.35 < factor < 0.85 or not 4 <= settled <= 14 or close or guests < 30:
        return None
    params = {"rent": rent, "each": each, "most": most, "per_euro": per_euro, "start": start}
    return Instance(params, (prices[-1], guests, settled, factor))


def inclusion_exclusion(rng: random.Random) -> Instance | None:
    """Clubs that share members."""
    clubs = rng.sample(NAMES["clubs"], 4)
    regions = {
        "".join(map(str, some)): rng.randint(3, 31 - 6 * size)
        for size in range(1, 5)
        for some in itertools.combinations(range(4), size)
    }
    nobody = rng.randint(12, 60)
    total = sum(regions.values()) + nobody
    shared = {key: sum(n for of, n in regions.items() if set(key) <= set(of)) for key in regions}
    one, two, three, four = (sum(n for key, n in shared.items() if len(key) == k) for k in range(1, 5))
    answer = (
        total - one + two - three + four,
        one - 2 * two + 3 * three - 4 * four,
        two - 3 * three + 6 * four,
        shared["01"] - shared["012"] - shared["013"] + shared["0123"],
    )
    in_order = sorted(shared.items(), key=lambda each: (len(each[0]), each[0]))
    told = {"total": total, "counts": [([clubs[int(i)] for i in key], n) for key, n in in_order]}
    return Instance({"clubs": clubs, "regions": regions, "nobody": nobody}, answer, told)


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


def markov_stationary(rng: random.Random) -> Instance | None:
    """Boats between harbours; the fleet is one whose long-run numbers are whole."""
    names = rng.sample(NAMES["places"], 3)
    leave = {a: {b: rng.randrange(5, 45, 5) for b in names if b != a} for a in names}
    start, scale, one = rng.choice(names), rng.randint(3, 9), Fraction(1)
    going = {a: Fraction(sum(leave[a].values()), 100) for a in names}
    flows = [[Fraction(leave[a][b], 100) if a != b else -going[a] for a in names] for b in names[:2]]
    shares = _linear([*flows, [one] * 3], [0 * one, 0 * one, one])
    fleet = scale * math.lcm(*(share.denominator for share in shares))
    numbers = [int(fleet * share) for share in shares]
    # Boats in fleets a firm may have, and no harbour near an equal share, which is the usual guess.
    if not 150 <= fleet <= 3000 or min(numbers) < 25 or len(set(numbers)) < 3:
        return None
    if max(abs(n - fleet / 3) for n in numbers) < fleet / 12:
        return None
    moving = float(sum(n * going[a] for a, n in zip(names, numbers, strict=True)))
    sailing = [(a, [f"{share}% sail to {b}" for b, share in ways.items()]) for a, ways in leave.items()]
    params = {"names": names, "leave": leave, "start": start, "fleet": fleet}
    return Instance(params, (*numbers[:2], moving, float(1 / shares[2])), {"harbours": sailing})


def absorbing_chain(rng: random.Random) -> Instance | None:
    """A lost walker."""
    names = rng.sample(NAMES["places"], 5)
    exits = ["the station", "the river"]
    pairs = list(itertools.pairwise(names))
    pairs += rng.sample([c for c in itertools.combinations(names, 2) if c not in pairs], rng.randint(1, 3))
    pairs += [(rng.choice(names[:2]), exits[0]), (rng.choice(names[3:]), exits[1])]
    ways = {a: sorted({*(c for b, c in pairs if b == a), *(b for b, c in pairs if c == a)}) for a in names}
    start, other = rng.sample(names, 2)
    minutes = rng.randint(4, 9)

    def solved(gain: dict[str, int], ends: dict[str, int]) -> dict[str, Fraction]:
        """Solve v(x) = gain(x) + mean of v over the ways out of x, with v given at the exits."""
        share = {a: Fraction(1, len(ways[a])) for a in names}
        rows = [[Fraction(a == b) - (share[a] if b in ways[a] else 0) for b in names] for a in names]
        sides = [gain.get(a, 0) + share[a] * sum(ends.get(b, 0) for b in ways[a]) for a in names]
        return dict(zip(names, _linear(rows, sides), strict=True))

    walks, chance = solved(dict.fromkeys(names, 1), {}), float(100 * solved({}, {exits[0]: 1})[start])
    # Half is the usual guess of the chance.
    if walks[start] == walks[other] or abs(chance - 50) < 4 or not 5 <= walks[start] <= 25:
        return None
    seen = float(solved({other: 1}, {})[start])
    params = {"ways": ways, "exits": exits, "start": start, "other": other, "minutes": minutes}
    answer = (float(walks[start] * minutes), chance, seen, float(walks[other] * minutes))
    return Instance(params, answer, {"squares": list(ways.items())})


def optimal_stopping(rng: random.Random) -> Instance | None:
    """Offers that do not come back, from the last week, in which every one is taken."""
    offers = sorted(rng.sample(range(410, 990, 10), 4))
    cuts = sorted(rng.sample(range(10, 100, 5), 3))
    chances = [b - a for a, b in itertools.pairwise([0, *cuts, 100])]
    fee, kinds = rng.randrange(6, 40, 2), list(zip(offers, chances, strict=True))
    worth, weeks, sold, waits = Fraction(0), Fraction(0), Fraction(0), list[Fraction]()
    for left in range(4):
        wait = worth - fee if left else Fraction(-(10**9))
        waits.append(wait)
        taken = [(o, Fraction(c, 100)) for o, c in kinds if o > wait]
        sold = sum((c for _, c in taken), Fraction(0))
        worth = sum((o * c for o, c in taken), Fraction(0)) + (1 - sold) * (wait if left else 0)
        weeks = 1 + (1 - sold) * weeks
    # An offer worth exactly as much as waiting would leave the rule open; one rule for all weeks would be none.
    if {*waits} & {*offers} or sold in (0, 1) or len({sum(o > w for o in offers) for w in waits}) < 3:
        return None
    params = {"offers": offers, "chances": chances, "weeks": 4, "fee": fee}
    answer = (float(worth), float(waits[-1]), float(100 * sold), float(weeks))
    return Instance(params, answer, {"kinds": kinds})


def _winning(heaps: list[int]) -> list[tuple[int, int]]:
    """Return the winning moves, heap and matches: those that leave heaps whose exclusive-or is zero."""
    total = heaps[0] ^ heaps[1] ^ heaps[2]
    return [(i, heap - (heap ^ total)) for i, heap in enumerate(heaps) if heap ^ total < heap]


def take_away_game(rng: random.Random) -> Instance | None:
    """Matches in tins: the only winning first move and, after the reply, the only second one, of another tin.

    Shortcuts: level the two largest heaps, empty the smallest, take one at a time, copy the other player.
    """
    tins, heaps = sorted(rng.sample(NAMES["tins"], 3)), rng.sample(range(7, 16), 3)
    at, reply = rng.randrange(3), rng.randint(1, 6)
    first, left = _winning(heaps), list(heaps)
    if len(first) != 1:
        return None
    ((tin, take),) = first
    left[tin] -= take
    left[at] -= reply
    second = _winning(left) if left[at] >= 0 else []
    if len(second) != 1 or second[0][0] == tin:
        return None
    big, small = heaps.index(max(heaps)), heaps.index(min(heaps))
    middle = 3 - big - small
    level = max(1, max(heaps) - heaps[middle])
    naive = [
        (tins[big], level, tins[at], reply),
        (tins[big], level, tins[middle], reply),
        (tins[small], heaps[small], tins[big], level),
        (tins[big], 1, tins[big], 1),
    ]
    stock = ", ".join(f"{heap} in the {name} tin" for name, heap in zip(tins, heaps, strict=True))
    matches = "a single match" if reply == 1 else f"{reply} matches"
    params = {"tins": tins, "heaps": heaps, "reply": [at, reply]}
    told = {"stock": stock, "matches": matches, "reply_tin": tins[at]}
    return Instance(params, (tins[tin], take, tins[second[0][0]], second[0][1]), told, naive)


def mixed_equilibrium(rng: random.Random) -> Instance | None:
    """Inspectors and smugglers: the chances that leave the other side indifferent."""
    fine, gain = rng.randrange(210, 900, 10), rng.randrange(60, 200, 10)
    wage, bounty = rng.randrange(20, 55, 5), rng.randrange(90, 320, 10)
    loss, honest = rng.randrange(40, 200, 10), rng.randrange(10, 50, 5)
    new_fine = fine + rng.randrange(110, 700, 10)
    search, later = (Fraction(gain - honest, gain + each) for each in (fine, new_fine))
    smuggle = Fraction(wage, bounty + loss)
    # Below the tolerance of an answer both chances would be the same.
    rare = search - later < Fraction(3, 100) or smuggle < Fraction(6, 100)
    if not 0 < search < 1 or not 0 < smuggle < 1 or rare:
        return None
    params = {
        "fine": fine, "gain": gain, "wage": wage, "bounty": bounty, "loss": loss, "honest": honest, "new_fine": new_fine,
    }  # fmt: skip
    found = (100 * search, 100 * smuggle, 100 * search * smuggle, -smuggle * loss, 100 * later)
    return Instance(params, tuple(map(float, found)))


def voting_rules(rng: random.Random) -> Instance | None:
    """A village votes."""
    names = sorted(rng.sample(NAMES["places"], 4))
    orders = rng.sample(list(itertools.permutations(names)), 6)
    groups = [(rng.randint(11, 68), list(order)) for order in orders]
    first = {name: sum(n for n, order in groups if order[0] == name) for name in names}
    points = {name: sum(n * (3 - order.index(name)) for n, order in groups) for name in names}
    margins = {
        (a, b): sum(n if order.index(a) < order.index(b) else -n for n, order in groups)
        for a, b in itertools.permutations(names, 2)
    }
    one, two, *_ = sorted(names, key=lambda name: -first[name])
    best = [name for name in names if points[name] == max(points.values())]
    if len(set(first.values())) < 4 or len(best) > 1 or 0 in margins.values():
        return None
    second_round = one if margins[one, two] > 0 else two
    unbeaten = [a for a in names if all(margins[a, b] > 0 for b in names if b != a)]
    beats_all = (*unbeaten, "nobody")[0]
    # The rules must disagree, else counting first places answers all of them.
    if len({one, best[0], beats_all}) < 3 or second_round == one:
        return None
    answer = (one, second_round, best[0], beats_all, min(map(abs, margins.values())))
    told = {"ballots": groups, "names_or_nobody": [*names, "nobody"]}
    return Instance({"names": names, "groups": groups}, answer, told)


STRUCTURES: dict[str, Structure] = {
    each.__name__: each
    for each in (
        networks.spanning_tree, networks.shortest_path, networks.max_flow, networks.postman, networks.critical_path,
        bin_packing, knapsack, fault_tolerant_cover,
        interval_scheduling, matching, stable_matching, colouring, fixed_point, inclusion_exclusion, markov_stationary,
        absorbing_chain, optimal_stopping, take_away_game, mixed_equilibrium, voting_rules,
    )
}  # fmt: skip
