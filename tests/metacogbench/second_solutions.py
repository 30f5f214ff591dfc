"""A second solution of every story of tier 3, by another method than that of its generator: `SECOND` by structure.

Where the generator searches, a textbook algorithm solves here; where it solves, the search is here.
"""

import heapq
import itertools
import math
from bisect import bisect_left
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.sparse import csgraph


def _label(a, b):
    return "-".join(sorted((a, b)))


def _table(links, *, both=False):
    names = sorted({name for a, b, _ in links for name in (a, b)})
    made = np.zeros((len(names), len(names)), dtype=np.int32)
    for a, b, w in links:
        made[names.index(a), names.index(b)] = w
        if both:
            made[names.index(b), names.index(a)] = w
    return names, sparse.csr_array(made)


def _far(links, start, end):
    """Return the least distance of two places, by the library; infinite where there is none."""
    names, table = _table(links, both=True)
    if not {start, end} <= set(names):
        return math.inf
    return float(csgraph.dijkstra(table, indices=names.index(start))[names.index(end)])


def spanning_tree(p):
    def cheapest(links):
        """Try every choice of six links that joins all places."""
        joined = (
            some
            for some in itertools.combinations(links, 6)
            if csgraph.connected_components(_table(some, both=True)[1])[0] == 1
            and len({name for a, b, _ in some for name in (a, b)}) == 7
        )
        return min(joined, key=lambda some: sum(w for *_, w in some))

    plan = cheapest(p["links"])
    rock = sorted(plan)[p["pick"]]
    other = cheapest([link for link in p["links"] if link != rock])
    total, again = (sum(w for *_, w in each) for each in (plan, other))
    return total, sorted(_label(a, b) for a, b, _ in plan), again, _far(plan, p["places"][0], p["far"])


def shortest_path(p):
    """Take each link of the route away in turn."""
    links, start, end = p["links"], p["start"], p["end"]
    best = _far(links, start, end)
    route = [start]
    while route[-1] != end:
        here, done = route[-1], _far(links, start, route[-1])
        route.append(
            next(
                b if a == here else a
                for a, b, w in links
                if here in (a, b) and done + w + _far(links, b if a == here else a, end) == best
            )
        )
    detours = [
        _far([link for link in links if not {a, b} <= {*link}], start, end)
        for a, b in itertools.pairwise(route)
    ]
    return best, route, min(detours), detours[p["pick"] % (len(route) - 1)]


def max_flow(p):
    def flow(links):
        names, room = _table(links)
        found = csgraph.maximum_flow(room, names.index(p["start"]), names.index(p["end"]))
        left = sparse.csr_array(room.toarray() > found.flow.toarray())
        near = csgraph.breadth_first_order(left, names.index(p["start"]), return_predecessors=False)
        return int(found.flow_value), {names[i] for i in near}

    links = p["links"]
    total, near = flow(links)
    cut = sorted(f"{a}-{b}" for a, b, _ in links if a in near and b not in near)
    wider = [(a, b, w + p["more"] * (i == p["wide"])) for i, (a, b, w) in enumerate(links)]
    fewer = [link for i, link in enumerate(links) if i != p["shut"]]
    return total, cut, flow(wider)[0], flow(fewer)[0]


def postman(p):
    """Search over (where the plough is, which streets are done)."""
    links, start = p["links"], p["start"]
    full, done = (1 << len(links)) - 1, dict[tuple[str, int], int]()
    queue = [(0, start, 0)]
    while queue:
        length, here, mask = heapq.heappop(queue)
        if (here, mask) in done:
            continue
        done[here, mask] = length
        for i, (a, b, w) in enumerate(links):
            if here in (a, b):
                heapq.heappush(queue, (length + w, b if here == a else a, mask | 1 << i))
    open_trip, open_end = min((done[name, full], name) for name in p["places"])
    home = done[start, full]
    return (home, home - sum(w for *_, w in links), open_trip, open_end)


def bin_packing(p):
    """Load crate by crate, the heaviest first, and halve what may be more or less."""
    weights, room = [w for _, w in p["crates"]], p["room"]

    def fits(limit, lorries, *extra):
        crates = sorted((*weights, *extra), reverse=True)

        @cache
        def rest(i, loads):
            return i == len(crates) or any(
                rest(i + 1, tuple(sorted((*loads[:at], load + crates[i], *loads[at + 1 :]))))
                for at, load in enumerate(loads)
                if load + crates[i] <= limit
            )

        return rest(0, (0,) * lorries)

    lorries = next(k for k in range(1, 10) if fits(room, k))
    extra = bisect_left(range(1, room + 1), True, key=lambda more: not fits(room, lorries, more))
    limits = range(max(weights), room + 1)
    lowest = limits[bisect_left(limits, True, key=lambda limit: fits(limit, lorries))]
    return lorries, lorries * room - sum(weights), extra, lowest


def knapsack(p):
    """Fill a table over the weights that can be reached, and leave out each thing in turn: what is missed belongs to it."""
    things, limit = p["things"], p["limit"]

    def best(things, limit):
        table = {0: 0}
        for _, weight, value in things:
            for room, score in list(table.items()):
                if room + weight <= limit:
                    table[room + weight] = max(table.get(room + weight, 0), score + value)
        return max(table.values())

    top = best(things, limit)
    chosen = sorted(each for each in things if best([t for t in things if t != each], limit) < top)
    assert sum(value for *_, value in chosen) == top  # else there are several
    return top, [name for name, *_ in chosen], sum(w for _, w, _ in chosen), best(things, limit - p["more"])


def fault_tolerant_cover(p):
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


def _by_end(slots, weight):
    """Return the best total (groups, or fees) that fits, and in how many ways, by a table over ending times."""
    order = sorted(slots, key=lambda s: s[2])

    @cache
    def best(i):
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


def _matched(tutors, pupils, banned=None):
    """Return the largest number of pairs, by the library."""
    table = [[p in many and (t, p) != banned for p in pupils] for t, many in tutors]
    found = csgraph.maximum_bipartite_matching(sparse.csr_array(table, dtype="int8"))
    return int((found >= 0).sum())


def _ways(tutors, pupils):
    """Return {number of pairs: number of ways}, by a table over the sets of pupils taken."""
    table = Counter({0: 1})
    for _, many in tutors:
        after = Counter(table)
        for taken, ways in table.items():
            for bit in (1 << pupils.index(pupil) for pupil in many):
                if not taken & bit:
                    after[taken | bit] += ways
        table = after
    counts = Counter[int]()
    for taken, ways in table.items():
        counts[taken.bit_count()] += ways
    return counts


def _asking(askers, asked):
    """Return who ends with whom when ``askers`` ask in their order, and how many times anybody asks."""
    at, held, asks = dict.fromkeys(askers, 0), dict[str, str](), 0
    waiting = list(askers)
    while waiting:
        asker = waiting.pop(0)
        choice = askers[asker][at[asker]]
        at[asker] += 1
        asks += 1
        holder = held.get(choice)
        if holder is None or asked[choice].index(asker) < asked[choice].index(holder):
            held[choice] = asker
            waiting += [holder] if holder else []
        else:
            waiting.append(asker)
    return {asker: choice for choice, asker in held.items()}, asks


def _holds(pairs, young, crafts):
    """Whether no apprentice and master of these pairs would both rather have each other."""
    of = {craft: name for name, craft in pairs.items()}
    return not any(
        young[a].index(c) < young[a].index(pairs[a]) and crafts[c].index(a) < crafts[c].index(of[c])
        for a in pairs
        for c in of
    )


def _count_lasting(young, crafts, pairs):
    """Count pairings nobody would break, by adding apprentices one at a time and dropping broken starts."""
    if not _holds(pairs, young, crafts):
        return 0
    if len(pairs) == len(young):
        return 1
    name = list(young)[len(pairs)]
    return sum(_count_lasting(young, crafts, {**pairs, name: c}) for c in crafts if c not in pairs.values())


def _stored(names, clashes):
    """Number the cabinets and try every way to label the substances with so many numbers, all of them used."""
    pairs = [(names.index(a), names.index(b)) for a, b in clashes]
    for k in range(1, 9):
        labels = np.array(list(itertools.product(range(k), repeat=len(names))))
        fine = np.all([labels[:, a] != labels[:, b] for a, b in pairs], axis=0)
        used = np.all([(labels == n).any(axis=1) for n in range(k)], axis=0)
        if (fine & used).any():
            return k, int((fine & used).sum())


def _barn_times(p, *delayed):
    """Return the total, the earliest ends and the latest ends of all jobs, forwards and backwards."""
    hours = {job: h + p["delay"] * (job in delayed) for job, h, _ in p["jobs"]}
    before = {job: needs for job, _, needs in p["jobs"]}
    early = {}
    for job in p["order"]:
        early[job] = hours[job] + max((early[need] for need in before[job]), default=0)
    total = max(early.values())
    late = dict.fromkeys(p["order"], total)
    for job in reversed(p["order"]):
        for need in before[job]:
            late[need] = min(late[need], late[job] - hours[job])
    return total, early, late


def fixed_point(p):
    """Search for the price that repeats itself; a difference quotient there; a count of exact weeks in whole hundredths."""

    def following(price):
        return p["each"] + p["rent"] / (p["most"] - p["per_euro"] * price)

    def rise(price):
        return following(price) - price

    high = float(p["each"])
    while rise(high) > 0:
        high += 0.01
    low = float(brentq(rise, p["each"], high, xtol=1e-13))
    step = 1e-5
    slope = (following(low + step) - following(low - step)) / (2 * step)
    prices = [p["start"]]
    while len(prices) < 40:
        prices.append(following(prices[-1]))
    weeks = next(w for w, (a, b) in enumerate(itertools.pairwise(prices), 1) if abs(b - a) < 0.01)
    return (low, p["most"] - p["per_euro"] * low, weeks, slope)


def inclusion_exclusion(p):
    """Write down every pupil's clubs and count heads."""
    pupils = [key for key, n in p["regions"].items() for _ in range(n)] + [""] * p["nobody"]
    sizes = Counter(map(len, pupils))
    return (sizes[0], sizes[1], sizes[2], pupils.count("01"))


def markov_stationary(p):
    """Follow the fleet month by month from a single harbour, and a single boat away from the third until it is back."""
    names, leave = p["names"], p["leave"]
    rates = [
        [leave[a].get(b, 0) / 100 if a != b else 1 - sum(leave[a].values()) / 100 for b in names]
        for a in names
    ]
    boats = [float(p["fleet"]) * (name == p["start"]) for name in names]
    for _ in range(3000):
        boats = [sum(boats[i] * rates[i][j] for i in range(3)) for j in range(3)]
    away, months, month = [rates[2][0], rates[2][1]], rates[2][2], 1
    while sum(away) > 1e-15:
        month += 1
        months += month * sum(away[i] * rates[i][2] for i in range(2))
        away = [sum(away[i] * rates[i][j] for i in range(2)) for j in range(2)]
    moving = sum(n * (1 - rates[i][i]) for i, n in enumerate(boats))
    return round(boats[0]), round(boats[1]), moving, months


def absorbing_chain(p):
    """Follow the chances of where the walker is, street by street."""

    def follow(start):
        at, walks, station, visits = {start: 1.0}, 0.0, 0.0, 0.0
        for _ in range(20000):
            walks += sum(at.values())
            visits += at.get(p["other"], 0.0)
            after = {}
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


def optimal_stopping(p):
    """Try every rule "take the k best kinds of offer in week w" on every course of offers."""
    offers, chances, weeks = p["offers"], p["chances"], p["weeks"]
    courses = [
        ([offers[i] for i in course], math.prod(chances[i] for i in course))
        for course in itertools.product(range(len(offers)), repeat=weeks)
    ]

    def outcome(rule, first):
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


def _tin_minimax(heaps):
    @cache
    def wins(state):
        return any(not wins(after) for _, _, after in options(state))

    def options(state):
        return [
            (i, take, (*state[:i], heap - take, *state[i + 1 :]))
            for i, heap in enumerate(state)
            for take in range(1, heap + 1)
        ]

    return [(i, take) for i, take, after in options(tuple(heaps)) if not wins(after)]


def _quay_supports(a, b):
    """Try every pair of supports and keep the pair from which neither side gains by moving."""
    for i, j in itertools.product(range(2), repeat=2):
        if a[i][j] >= a[1 - i][j] and b[i][j] >= b[i][1 - j]:
            return Fraction(j == 0), Fraction(i == 0)
    # The other's two payoffs are equal: q·a₀₀ + (1 − q)·a₀₁ = q·a₁₀ + (1 − q)·a₁₁, and likewise for p.
    search = Fraction(a[1][1] - a[0][1], a[0][0] - a[0][1] - a[1][0] + a[1][1])
    smuggle = Fraction(b[1][1] - b[1][0], b[0][0] - b[0][1] - b[1][0] + b[1][1])
    return search, smuggle


def mixed_equilibrium(p):
    # Payoffs of inspector and skipper; rows: smuggle, be honest; columns: search, rest.
    inspector = [[p["bounty"] - p["wage"], -p["loss"]], [-p["wage"], 0]]
    (search, smuggle), (later, _) = (
        _quay_supports([[-p[fine], p["gain"]], [p["honest"]] * 2], inspector) for fine in ("fine", "new_fine")
    )
    rows, columns = (smuggle, 1 - smuggle), (search, 1 - search)
    cells = itertools.product(range(2), repeat=2)
    mean = sum((rows[i] * columns[j] * inspector[i][j] for i, j in cells), Fraction(0))
    return (
        *(float(100 * each) for each in (search, smuggle, search * smuggle)),
        float(mean),
        float(100 * later),
    )


def voting_rules(p):
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


def interval_scheduling(p):
    slots = p["slots"]
    busy = max(sum(s[1] <= minute < s[2] for s in slots) for minute in range(24 * 60))
    return *_by_end(slots, weight=False), _by_end(slots, weight=True)[0], busy


def matching(p):
    tutors, pupils = p["tutors"], p["pupils"]
    most = _matched(tutors, pupils)
    pairs = [(t, pupil) for t, many in tutors for pupil in many]
    forced = sorted("-".join(pair) for pair in pairs if _matched(tutors, pupils, pair) < most)
    certain = [q for q in pupils if _matched(tutors, [r for r in pupils if r != q]) < most]
    return most, _ways(tutors, pupils)[most], forced, certain


def stable_matching(p):
    young, crafts = dict(p["young"]), dict(p["crafts"])
    pairs, asks = _asking(young, crafts)
    masters = sum(crafts[c].index(a) + 1 for a, c in pairs.items())
    return sorted(f"{a}-{c}" for a, c in pairs.items()), asks, _count_lasting(young, crafts, {}), masters


def colouring(p):
    names, clashes = p["names"], p["clashes"]
    least, numbered = _stored(names, clashes)
    mutual = 1
    for mask in range(1 << len(names)):
        some = [n for i, n in enumerate(names) if mask >> i & 1]
        if sum(c[0] in some and c[1] in some for c in clashes) * 2 == len(some) * (len(some) - 1):
            mutual = max(mutual, len(some))
    left = [name for name in names if name != p["gone"]]
    without, _ = _stored(left, [c for c in clashes if p["gone"] not in c])
    return least, numbered // math.factorial(least), mutual, without


def critical_path(p):
    total, early, late = _barn_times(p)
    pick, delayed = p["order"][p["pick"]], p["order"][p["late"]]
    tight = sorted(job for job in p["order"] if late[job] == early[job])
    return total, tight, late[pick] - early[pick], _barn_times(p, delayed)[0]


def take_away_game(p):
    (at, reply), heaps = p["reply"], list(p["heaps"])
    ((tin, take),) = _tin_minimax(heaps)
    heaps[tin] -= take
    heaps[at] -= reply
    ((other, more),) = _tin_minimax(heaps)
    return p["tins"][tin], take, p["tins"][other], more


SECOND = {
    each.__name__: each
    for each in (
        spanning_tree, shortest_path, max_flow, postman, bin_packing, knapsack, fault_tolerant_cover,
        interval_scheduling, matching, stable_matching, colouring, critical_path, fixed_point, inclusion_exclusion,
        markov_stationary, absorbing_chain, optimal_stopping, take_away_game, mixed_equilibrium, voting_rules,
    )
}  # fmt: skip
