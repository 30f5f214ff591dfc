"""Stories on who goes with whom: tutors and pupils, apprentices and masters, substances that must be kept apart."""

from __future__ import annotations

import itertools
import random
from functools import cache

from metacog_pipeline.benchmarks.metacogbench.construction.stories.common import (
    PEOPLE,
    Answer,
    Params,
    Structure,
    joined,
    listed,
    members,
    whole,
)
from metacog_pipeline.benchmarks.metacogbench.items import Field

SUBSTANCES = [
    "aldrite",
    "benoxal",
    "cerilan",
    "dorvane",
    "elmite",
    "farsol",
    "gentrol",
    "hexonal",
    "iverin",
    "jastol",
    "kelvane",
    "lumarin",
]
CRAFTS = ["potter", "saddler", "glazier", "cooper", "weaver", "smith", "binder", "carver"]


# --- tutors and pupils -------------------------------------------------------------------------------------------


def _tutor_draw(rng: random.Random) -> Params:
    people = rng.sample(PEOPLE, 14)
    tutors, pupils = sorted(people[:7]), sorted(people[7:])
    return {
        "tutors": [[t, sorted(rng.sample(pupils, rng.choice([1, 2, 2, 3])))] for t in tutors],
        "pupils": pupils,
    }


def _matched(tutors: list[list[object]], pupils: list[str], banned: tuple[str, str] | None = None) -> int:
    """Return the largest number of pairs, by alternating paths."""
    free = {str(t): [p for p in pupils if p in many and (t, p) != banned] for t, many in _pairs(tutors)}
    holder: dict[str, str] = {}

    def place(tutor: str, seen: set[str]) -> bool:
        for pupil in free[tutor]:
            if pupil not in seen:
                seen.add(pupil)
                if pupil not in holder or place(holder[pupil], seen):
                    holder[pupil] = tutor
                    return True
        return False

    return sum(place(tutor, set()) for tutor in free)


def _pairs(tutors: list[list[object]]) -> list[tuple[str, list[str]]]:
    return [(str(t), list(map(str, many))) for t, many in tutors]  # type: ignore[call-overload]


def _ways(tutors: list[list[object]], pupils: list[str]) -> dict[int, int]:
    """Return {number of pairs: number of ways}, by a table over the sets of pupils taken."""
    table: dict[int, int] = {0: 1}
    for _, many in _pairs(tutors):
        after = dict(table)
        for taken, ways in table.items():
            for pupil in many:
                bit = 1 << pupils.index(pupil)
                if not taken & bit:
                    after[taken | bit] = after.get(taken | bit, 0) + ways
        table = after
    counts: dict[int, int] = {}
    for taken, ways in table.items():
        counts[taken.bit_count()] = counts.get(taken.bit_count(), 0) + ways
    return counts


def _tutor_solve(p: Params) -> Answer | None:
    tutors, pupils = p["tutors"], p["pupils"]
    most = _matched(tutors, pupils)
    forced = sorted(
        f"{t}-{pupil}"
        for t, many in _pairs(tutors)
        for pupil in many
        if _matched(tutors, pupils, (t, pupil)) < most
    )
    ways = _ways(tutors, pupils)[most]
    certain = [q for q in pupils if _matched(tutors, [r for r in pupils if r != q]) < most]
    if most >= 7 or not 1 <= len(forced) <= 3 or not 4 <= ways <= 60 or not 2 <= len(certain) <= 5:
        return None
    return {"pairs": most, "ways": ways, "certain_pairs": forced, "certain_pupils": certain}


def _tutor_brute(p: Params) -> Answer:
    """List every choice of one pupil or none per tutor."""
    tutors = _pairs(p["tutors"])
    best: list[set[tuple[str, str]]] = []
    most = -1
    for choice in itertools.product(*[[None, *many] for _, many in tutors]):
        taken = [c for c in choice if c is not None]
        if len(set(taken)) == len(taken) >= most:
            if len(taken) > most:
                best, most = [], len(taken)
            best.append({(t, c) for (t, _), c in zip(tutors, choice, strict=True) if c is not None})
    always = set.intersection(*best)
    taught = set.intersection(*({pupil for _, pupil in each} for each in best))
    return {
        "pairs": most, "ways": len(best),
        "certain_pairs": sorted(f"{a}-{b}" for a, b in always), "certain_pupils": sorted(taught),
    }  # fmt: skip


def _tutor_naive(p: Params) -> list[Answer]:
    replies = []
    for order in (p["tutors"], sorted(p["tutors"], key=lambda t: len(t[1]))):
        taken: dict[str, str] = {}
        for tutor, many in order:
            pupil = next((q for q in many if q not in taken), None)
            if pupil is not None:
                taken[pupil] = tutor
        only = [f"{t}-{many[0]}" for t, many in p["tutors"] if len(many) == 1]
        replies.append(
            {"pairs": len(taken), "ways": 1, "certain_pairs": only, "certain_pupils": sorted(taken)}
        )
    return replies


def _tutor_story(p: Params) -> str:
    return (
        "An evening school brings tutors and pupils together. A tutor takes at most a single pupil, a pupil gets at "
        "most a single tutor, and they must share a free evening. Each tutor shares an evening with:"
        + listed([f"{tutor}: {joined(many)}" for tutor, many in p["tutors"]])
        + f"\nThe pupils are {joined(p['pupils'])}. The head wants as many pupils taught as can be, and asks in how "
        "many different ways that can be arranged, which tutor-and-pupil pairs she can announce before choosing among "
        "those ways, and which pupils she can promise a tutor without choosing."
    )


def _tutor_fields(p: Params) -> tuple[Field, ...]:
    options = [f"{t}-{pupil}" for t, many in p["tutors"] for pupil in many]
    return (
        whole("pairs", "most pupils that can be taught", "pupils", core=True),
        whole("ways", "number of different arrangements that teach so many", "arrangements"),
        members("certain_pairs", 'pairs found in all those arrangements, each as "Tutor-Pupil"', options),
        members("certain_pupils", "pupils taught in all those arrangements", p["pupils"]),
    )


# --- apprentices and masters -------------------------------------------------------------------------------------


def _craft_draw(rng: random.Random) -> Params:
    young, crafts = sorted(rng.sample(PEOPLE, 5)), sorted(rng.sample(CRAFTS, 5))
    return {
        "young": [[name, rng.sample(crafts, 5)] for name in young],
        "crafts": [[name, rng.sample(young, 5)] for name in crafts],
    }


def _asking(askers: dict[str, list[str]], asked: dict[str, list[str]]) -> tuple[dict[str, str], int]:
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


def _craft_lists(p: Params) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    return {a: list(b) for a, b in p["young"]}, {a: list(b) for a, b in p["crafts"]}


def _holds(pairs: dict[str, str], young: dict[str, list[str]], crafts: dict[str, list[str]]) -> bool:
    of = {craft: name for name, craft in pairs.items()}
    return not any(
        young[a].index(c) < young[a].index(pairs[a]) and crafts[c].index(a) < crafts[c].index(of[c])
        for a in young
        for c in crafts
    )


def _craft_solve(p: Params) -> Answer | None:
    young, crafts = _craft_lists(p)
    pairs, asks = _asking(young, crafts)
    other, _ = _asking(crafts, young)
    if pairs == {name: craft for craft, name in other.items()}:
        return None
    count = _count_lasting(young, crafts)
    worst = sum(crafts[c].index(a) + 1 for a, c in pairs.items())
    if asks < 9 or count < 2:
        return None
    return {
        "pairs": sorted(f"{a}-{c}" for a, c in pairs.items()), "visits": asks,
        "lasting_pairings": count, "masters_rank_sum": worst,
    }  # fmt: skip


def _count_lasting(young: dict[str, list[str]], crafts: dict[str, list[str]]) -> int:
    """Count pairings nobody would break, by adding apprentices one at a time and dropping broken starts."""
    names = list(young)

    def extend(pairs: dict[str, str]) -> int:
        of = {c: a for a, c in pairs.items()}
        for a in pairs:
            for c in of:
                if young[a].index(c) < young[a].index(pairs[a]) and crafts[c].index(a) < crafts[c].index(
                    of[c]
                ):
                    return 0
        if len(pairs) == len(names):
            return 1
        name = names[len(pairs)]
        return sum(extend({**pairs, name: c}) for c in crafts if c not in of)

    return extend({})


def _craft_brute(p: Params) -> Answer:
    young, crafts = _craft_lists(p)
    lasting = [
        pairs
        for order in itertools.permutations(crafts)
        if _holds(pairs := dict(zip(young, order, strict=True)), young, crafts)
    ]
    ranks = [sum(young[a].index(c) + 1 for a, c in pairs.items()) for pairs in lasting]
    best = lasting[ranks.index(min(ranks))]
    return {
        "pairs": sorted(f"{a}-{c}" for a, c in best.items()), "visits": min(ranks),
        "lasting_pairings": len(lasting),
        "masters_rank_sum": sum(crafts[c].index(a) + 1 for a, c in best.items()),
    }  # fmt: skip


def _craft_naive(p: Params) -> list[Answer]:
    young, crafts = _craft_lists(p)
    turn: dict[str, str] = {}
    for name, wishes in young.items():
        turn[name] = next(c for c in wishes if c not in turn.values())
    back = {name: craft for craft, name in _asking(crafts, young)[0].items()}
    return [
        {
            "pairs": [f"{a}-{c}" for a, c in pairs.items()],
            "visits": sum(young[a].index(c) + 1 for a, c in pairs.items()),
            "lasting_pairings": 1,
            "masters_rank_sum": sum(crafts[c].index(a) + 1 for a, c in pairs.items()),
        }
        for pairs in (turn, back)
    ]


def _craft_story(p: Params) -> str:
    return (
        "In a small town every young person visits workshops to ask for a place, best liked workshop first. A master "
        "keeps a single apprentice: whoever asks is taken on if the bench is free, and otherwise the master keeps "
        "whichever of the pair is liked better and sends the other away, who then goes on to the next workshop on the "
        "list. A visit is each time somebody comes to ask.\nThe young people, best liked workshop first:"
        + listed([f"{name}: {', '.join(wishes)}" for name, wishes in p["young"]])
        + "\nThe masters, best liked young person first:"
        + listed([f"{craft}: {', '.join(wishes)}" for craft, wishes in p["crafts"]])
        + "\nThe guild wants to know where everybody works once the visits are over. It also asks how many ways of "
        "placing everybody there are in which no master and young person would both rather leave their own places for "
        "each other."
    )


def _craft_fields(p: Params) -> tuple[Field, ...]:
    options = [f"{name}-{craft}" for name, wishes in p["young"] for craft in wishes]
    return (
        members("pairs", 'who works where in the end, each as "Name-workshop"', options, core=True),
        whole("visits", "number of visits until everybody is placed", "visits"),
        whole(
            "lasting_pairings", "number of ways in which no pair would rather leave for each other", "ways"
        ),
        whole(
            "masters_rank_sum",
            "places of the final apprentices on their own masters' lists (first is 1), added up",
            "places",
        ),
    )


# --- substances kept apart ---------------------------------------------------------------------------------------


def _shelf_draw(rng: random.Random) -> Params:
    names = rng.sample(SUBSTANCES, 8)
    ring = names[:5]
    clashes = {frozenset((ring[i], ring[(i + 1) % 5])) for i in range(5)}
    clashes |= {frozenset((names[5], other)) for other in ring}
    rest = [frozenset(c) for c in itertools.combinations(names, 2) if frozenset(c) not in clashes]
    clashes |= set(rng.sample(rest, rng.randint(4, 6)))
    rng.shuffle(names)
    ordered = sorted(sorted(c) for c in clashes)
    return {"names": names, "clashes": ordered, "gone": rng.choice(names)}


@cache
def _polynomial(places: int, clashes: frozenset[tuple[int, int]]) -> tuple[int, ...]:
    """Return the coefficients, lowest power first, of the number of ways to store in k numbered cabinets.

    By deletion and contraction: the ways with an edge dropped, less those in which its two ends share a cabinet.
    """
    if not clashes:
        return (0,) * places + (1,)
    a, b = edge = min(clashes)
    others = clashes - {edge}
    merged = frozenset(
        (min(x, y), max(x, y)) for x, y in ((a if x == b else x, a if y == b else y) for x, y in others)
    )
    dropped, shared = _polynomial(places, others), _polynomial(places - 1, merged)
    return tuple(n - (shared[i] if i < len(shared) else 0) for i, n in enumerate(dropped))


def _stored(names: list[str], clashes: list[list[str]]) -> tuple[int, int]:
    """Return the fewest cabinets, and the ways to divide among so many numbered ones."""
    edges = frozenset(
        (min(i, j), max(i, j)) for i, j in ((names.index(a), names.index(b)) for a, b in clashes)
    )
    coefficients = _polynomial(len(names), edges)
    _polynomial.cache_clear()
    counts = ((k, sum(n * k**i for i, n in enumerate(coefficients))) for k in range(1, len(names) + 1))
    return next((k, count) for k, count in counts if count)


def _largest_clash(names: list[str], clashes: list[list[str]]) -> int:
    return max(
        size
        for size in range(1, 7)
        for some in itertools.combinations(names, size)
        if all(sorted(c) in clashes for c in itertools.combinations(some, 2))
    )


def _shelf_without(p: Params) -> tuple[list[str], list[list[str]]]:
    left = [name for name in p["names"] if name != p["gone"]]
    return left, [c for c in p["clashes"] if p["gone"] not in c]


def _shelf_solve(p: Params) -> Answer | None:
    names, clashes = p["names"], p["clashes"]
    left, fewer = _shelf_without(p)
    least, unlabelled = _stored(names, clashes)
    mutual = _largest_clash(names, clashes)
    for k in range(2, least + 1):
        unlabelled //= k
    without, _ = _stored(left, fewer)
    if mutual >= least or not 2 <= unlabelled <= 60:
        return None
    return {"cabinets": least, "ways": unlabelled, "largest_mutual": mutual, "cabinets_without": without}


def _groupings(names: list[str], clashes: list[list[str]], least: int) -> int:
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
    return {
        "cabinets": least, "ways": _groupings(names, clashes, least), "largest_mutual": mutual,
        "cabinets_without": next(k for k in range(1, 9) if _groupings(left, fewer, k)),
    }  # fmt: skip


def _shelf_naive(p: Params) -> list[Answer]:
    names, clashes = p["names"], p["clashes"]
    mutual = _largest_clash(names, clashes)
    degree = max(sum(name in c for c in clashes) for name in names)
    return [
        {"cabinets": mutual, "ways": 1, "largest_mutual": mutual, "cabinets_without": mutual - 1},
        {"cabinets": degree + 1, "ways": 1, "largest_mutual": degree, "cabinets_without": degree},
        {"cabinets": mutual + 1, "ways": 1, "largest_mutual": mutual + 1, "cabinets_without": mutual + 1},
    ]


def _shelf_story(p: Params) -> str:
    clashing = {
        name: sorted(other for c in p["clashes"] if name in c for other in c if other != name)
        for name in p["names"]
    }
    return (
        "A laboratory keeps these substances: "
        + joined(sorted(p["names"]))
        + ". Some react when their vapours meet, and such substances must never share a cabinet. Reactions:"
        + listed([f"{name} reacts with {joined(clashing[name])}" for name in sorted(p["names"])])
        + "\nCabinets are dear, so the safety officer wants as few as will do. Cabinets are alike, and she asks in "
        "how many ways the substances can be divided among so few. For the insurer she also reports the size of the "
        "largest group in which everything reacts with everything else, and how few cabinets would do if "
        f"{p['gone']} were no longer kept."
    )


def _shelf_fields(p: Params) -> tuple[Field, ...]:
    return (
        whole("cabinets", "fewest cabinets that will do", "cabinets", core=True),
        whole("ways", "number of ways to divide the substances among so few like cabinets", "ways"),
        whole("largest_mutual", "most substances that all react with each other", "substances"),
        whole("cabinets_without", "fewest cabinets without the substance named last", "cabinets"),
    )


PAIRING = (
    Structure("matching", _tutor_draw, _tutor_solve, _tutor_brute, _tutor_naive, _tutor_story, _tutor_fields),
    Structure(
        "stable_matching", _craft_draw, _craft_solve, _craft_brute, _craft_naive, _craft_story, _craft_fields
    ),
    Structure(
        "colouring", _shelf_draw, _shelf_solve, _shelf_brute, _shelf_naive, _shelf_story, _shelf_fields
    ),
)
