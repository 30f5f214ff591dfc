"""Stories on who goes with whom: tutors and pupils, apprentices and masters, substances that must be kept apart."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable
from functools import cache

from scipy import sparse
from scipy.sparse import csgraph

from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import Answer, Params, Structure
from metacog_pipeline.benchmarks.metacogbench.generators.wording import NAMES

Tutors = list[tuple[str, list[str]]]
Wishes = dict[str, list[str]]
Clashes = list[list[str]]

# --- tutors and pupils


def _tutor_draw(rng: random.Random) -> Params:
    people = rng.sample(NAMES["people"], 14)
    tutors, pupils = sorted(people[:7]), sorted(people[7:])
    return {
        "tutors": [[t, sorted(rng.sample(pupils, rng.choice([1, 2, 2, 3])))] for t in tutors],
        "pupils": pupils,
    }


def _matched(tutors: Tutors, pupils: list[str], banned: tuple[str, str] | None = None) -> int:
    """Return the largest number of pairs, by the library."""
    table = [[p in many and (t, p) != banned for p in pupils] for t, many in tutors]
    found = csgraph.maximum_bipartite_matching(sparse.csr_array(table, dtype="int8"))
    return int((found >= 0).sum())


def _ways(tutors: Tutors, pupils: list[str]) -> Counter[int]:
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


def _tutor_solve(p: Params) -> Answer | None:
    tutors, pupils = p["tutors"], p["pupils"]
    most = _matched(tutors, pupils)
    pairs = [(t, pupil) for t, many in tutors for pupil in many]
    forced = sorted("-".join(pair) for pair in pairs if _matched(tutors, pupils, pair) < most)
    ways = _ways(tutors, pupils)[most]
    certain = [q for q in pupils if _matched(tutors, [r for r in pupils if r != q]) < most]
    if most >= 7 or not 1 <= len(forced) <= 3 or not 4 <= ways <= 60 or not 2 <= len(certain) <= 5:
        return None
    return (most, ways, forced, certain)


def _tutor_brute(p: Params) -> Answer:
    """List every choice of one pupil or none per tutor."""
    tutors: Tutors = p["tutors"]
    best: list[set[tuple[str, str]]] = []
    most = -1
    for choice in itertools.product(*[[None, *many] for _, many in tutors]):
        pairs = {(t, c) for (t, _), c in zip(tutors, choice, strict=True) if c is not None}
        if len({c for _, c in pairs}) == len(pairs) >= most:
            best = [*best, pairs] if len(pairs) == most else [pairs]
            most = len(pairs)
    always = set.intersection(*best)
    taught = set.intersection(*({pupil for _, pupil in each} for each in best))
    return (most, len(best), sorted(f"{a}-{b}" for a, b in always), sorted(taught))


def _tutor_naive(p: Params) -> list[Answer]:
    replies = []
    for order in (p["tutors"], sorted(p["tutors"], key=lambda t: len(t[1]))):
        taken: dict[str, str] = {}
        for tutor, many in order:
            pupil = next((q for q in many if q not in taken), None)
            if pupil is not None:
                taken[pupil] = tutor
        only = [f"{t}-{many[0]}" for t, many in p["tutors"] if len(many) == 1]
        replies.append((len(taken), 1, only, sorted(taken)))
    return replies


def _tutor_told(p: Params) -> Params:
    return {"pairs": [f"{tutor}-{pupil}" for tutor, many in p["tutors"] for pupil in many]}


# --- apprentices and masters


def _craft_draw(rng: random.Random) -> Params:
    young, crafts = sorted(rng.sample(NAMES["people"], 5)), sorted(rng.sample(NAMES["crafts"], 5))
    return {
        "young": [[name, rng.sample(crafts, 5)] for name in young],
        "crafts": [[name, rng.sample(young, 5)] for name in crafts],
    }


def _asking(askers: Wishes, asked: Wishes) -> tuple[dict[str, str], int]:
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


def _craft_lists(p: Params) -> tuple[Wishes, Wishes]:
    return dict(p["young"]), dict(p["crafts"])


def _holds(pairs: dict[str, str], young: Wishes, crafts: Wishes) -> bool:
    """Whether no apprentice and master of these pairs would both rather have each other."""
    of = {craft: name for name, craft in pairs.items()}
    return not any(
        young[a].index(c) < young[a].index(pairs[a]) and crafts[c].index(a) < crafts[c].index(of[c])
        for a in pairs
        for c in of
    )


def _ranks(pairs: dict[str, str], young: Wishes, crafts: Wishes) -> tuple[int, int]:
    """Return the sums of the places in which apprentices, and masters, have whom they got."""
    got = pairs.items()
    return sum(young[a].index(c) + 1 for a, c in got), sum(crafts[c].index(a) + 1 for a, c in got)


def _craft_solve(p: Params) -> Answer | None:
    young, crafts = _craft_lists(p)
    pairs, asks = _asking(young, crafts)
    other, _ = _asking(crafts, young)
    if pairs == {name: craft for craft, name in other.items()}:
        return None
    count = _count_lasting(young, crafts, {})
    if asks < 9 or count < 2:
        return None
    return (sorted(f"{a}-{c}" for a, c in pairs.items()), asks, count, _ranks(pairs, young, crafts)[1])


def _count_lasting(young: Wishes, crafts: Wishes, pairs: dict[str, str]) -> int:
    """Count pairings nobody would break, by adding apprentices one at a time and dropping broken starts."""
    if not _holds(pairs, young, crafts):
        return 0
    if len(pairs) == len(young):
        return 1
    name = list(young)[len(pairs)]
    return sum(_count_lasting(young, crafts, {**pairs, name: c}) for c in crafts if c not in pairs.values())


def _craft_brute(p: Params) -> Answer:
    young, crafts = _craft_lists(p)
    lasting = [
        pairs
        for order in itertools.permutations(crafts)
        if _holds(pairs := dict(zip(young, order, strict=True)), young, crafts)
    ]
    ranks = [_ranks(pairs, young, crafts) for pairs in lasting]
    best = min(range(len(lasting)), key=lambda i: ranks[i][0])
    return (
        sorted(f"{a}-{c}" for a, c in lasting[best].items()),
        ranks[best][0],
        len(lasting),
        ranks[best][1],
    )


def _craft_naive(p: Params) -> list[Answer]:
    young, crafts = _craft_lists(p)
    turn: dict[str, str] = {}
    for name, wishes in young.items():
        turn[name] = next(c for c in wishes if c not in turn.values())
    back = {name: craft for craft, name in _asking(crafts, young)[0].items()}
    replies: list[Answer] = []
    for pairs in (turn, back):
        theirs, masters = _ranks(pairs, young, crafts)
        replies.append(([f"{a}-{c}" for a, c in pairs.items()], theirs, 1, masters))
    return replies


def _craft_told(p: Params) -> Params:
    return {"pairs": [f"{name}-{craft}" for name, wishes in p["young"] for craft in wishes]}


# --- substances kept apart


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


def _edges(pairs: Iterable[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    return frozenset((min(pair), max(pair)) for pair in pairs)


@cache
def _polynomial(places: int, clashes: frozenset[tuple[int, int]]) -> tuple[int, ...]:
    """Return the coefficients, lowest power first, of the number of ways to store in k numbered cabinets.

    By deletion and contraction: the ways with an edge dropped, less those in which its two ends share a cabinet.
    """
    if not clashes:
        return (0,) * places + (1,)
    a, b = edge = min(clashes)
    others = clashes - {edge}
    merged = _edges((a if x == b else x, a if y == b else y) for x, y in others)
    dropped, shared = _polynomial(places, others), _polynomial(places - 1, merged)
    return tuple(n - (shared[i] if i < len(shared) else 0) for i, n in enumerate(dropped))


def _stored(names: list[str], clashes: Clashes) -> tuple[int, int]:
    """Return the fewest cabinets, and the ways to divide among so many numbered ones."""
    edges = _edges((names.index(a), names.index(b)) for a, b in clashes)
    coefficients = _polynomial(len(names), edges)
    _polynomial.cache_clear()
    counts = ((k, sum(n * k**i for i, n in enumerate(coefficients))) for k in range(1, len(names) + 1))
    return next((k, count) for k, count in counts if count)


def _largest_clash(names: list[str], clashes: Clashes) -> int:
    return max(
        size
        for size in range(1, 7)
        for some in itertools.combinations(names, size)
        if all(sorted(c) in clashes for c in itertools.combinations(some, 2))
    )


def _shelf_without(p: Params) -> tuple[list[str], Clashes]:
    left = [name for name in p["names"] if name != p["gone"]]
    return left, [c for c in p["clashes"] if p["gone"] not in c]


def _shelf_solve(p: Params) -> Answer | None:
    names, clashes = p["names"], p["clashes"]
    if set(names) != {name for pair in clashes for name in pair}:
        return None  # a substance that reacts with none has nothing to be told of it
    left, fewer = _shelf_without(p)
    least, unlabelled = _stored(names, clashes)
    mutual = _largest_clash(names, clashes)
    unlabelled //= math.factorial(least)
    if mutual >= least or not 2 <= unlabelled <= 60:
        return None
    without, _ = _stored(left, fewer)
    return (least, unlabelled, mutual, without)


def _groupings(names: list[str], clashes: Clashes, least: int) -> int:
    """Count groupings into exactly ``least`` groups, placing one substance after another."""
    groups: list[list[str]] = []

    def place(i: int) -> int:
        if i == len(names):
            return int(len(groups) == least)
        total = 0
        for group in groups:
            if not any(sorted((names[i], other)) in clashes for other in group):
                group.append(names[i])
                total += place(i + 1)
                group.pop()
        if len(groups) < least:
            groups.append([names[i]])
            total += place(i + 1)
            groups.pop()
        return total

    return place(0)


def _shelf_brute(p: Params) -> Answer:
    left, fewer = _shelf_without(p)
    names, clashes = p["names"], p["clashes"]
    least = next(k for k in range(1, 9) if _groupings(names, clashes, k))
    mutual = 1
    for mask in range(1 << len(names)):
        some = [n for i, n in enumerate(names) if mask >> i & 1]
        if sum(c[0] in some and c[1] in some for c in clashes) * 2 == len(some) * (len(some) - 1):
            mutual = max(mutual, len(some))
    without = next(k for k in range(1, 9) if _groupings(left, fewer, k))
    return (least, _groupings(names, clashes, least), mutual, without)


def _shelf_naive(p: Params) -> list[Answer]:
    names, clashes = p["names"], p["clashes"]
    mutual = _largest_clash(names, clashes)
    degree = max(sum(name in c for c in clashes) for name in names)
    more = mutual + 1
    return [(mutual, 1, mutual, mutual - 1), (degree + 1, 1, degree, degree), (more, 1, more, more)]


def _shelf_told(p: Params) -> Params:
    names = sorted(p["names"])
    clashing = {n: sorted(o for c in p["clashes"] if n in c for o in c if o != n) for n in names}
    return {"substances": names, "reactions": list(clashing.items())}


PAIRING = (
    Structure("matching", _tutor_draw, _tutor_solve, _tutor_brute, _tutor_naive, _tutor_told),
    Structure("stable_matching", _craft_draw, _craft_solve, _craft_brute, _craft_naive, _craft_told),
    Structure("colouring", _shelf_draw, _shelf_solve, _shelf_brute, _shelf_naive, _shelf_told),
)
