"""Stories of tier 3 on places and the ways between them, and on work that hangs together."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable

from metacog_pipeline.benchmarks.metacogbench.generators.engine import NAMES, Instance, joined

Link = tuple[str, str, int]


def _network(
    rng: random.Random, places: int, extra: int, low: int, high: int
) -> tuple[list[str], list[Link]]:
    names = rng.sample(NAMES["places"], places)
    pairs = [(rng.choice(names[:i]), names[i]) for i in range(1, places)]
    others = [p for p in itertools.combinations(names, 2) if p not in pairs and p[::-1] not in pairs]
    pairs += rng.sample(others, extra)
    rng.shuffle(pairs)
    return names, _measured(rng, pairs, low, high)


def _measured(rng: random.Random, pairs: list[tuple[str, str]], low: int, high: int) -> list[Link]:
    return [(a, b, w) for (a, b), w in zip(pairs, rng.sample(range(low, high), len(pairs)), strict=True)]


def _total(links: Iterable[Link]) -> int:
    return sum(w for *_, w in links)


def _both_ways(links: Iterable[Link]) -> list[Link]:
    return [way for a, b, w in links for way in ((a, b, w), (b, a, w))]


def _distances(links: list[Link], start: str) -> dict[str, int]:
    far = {start: 0}
    for _ in links:
        for a, b, w in _both_ways(links):
            if a in far:
                far[b] = min(far.get(b, 10**9), far[a] + w)
    return far


def _cheapest(links: list[Link]) -> list[Link] | None:
    """Return the cheapest connection of seven places, the shortest links first that join separate parts."""
    part = {name: name for link in links for name in link[:2]}
    chosen = []
    for a, b, w in sorted(links, key=lambda each: each[2]):
        if part[a] != part[b]:
            chosen.append((a, b, w))
            old = part[b]
            part = {name: part[a] if its == old else its for name, its in part.items()}
    return chosen if len(chosen) == 6 else None


def spanning_tree(rng: random.Random) -> Instance | None:
    """Trenches for water from one spring; shortcuts: join each place to the spring, take the shortest trenches."""
    names, links = _network(rng, 7, 6, 130, 690)
    plan, pick = _cheapest(links) or [], rng.randrange(6)
    rock = sorted(plan)[pick]
    other = _cheapest([link for link in links if link != rock])
    if other is None:
        return None
    ordered, far = sorted(links, key=lambda link: link[2]), _distances(links, names[0])
    last = {b: (a, b, w) for a, b, w in reversed(_both_ways(ordered)) if far[a] + w == far[b]}
    replies = [
        (_total(each), sorted("-".join(sorted(link[:2])) for link in each), second, way)
        for each, second, way in (
            (plan, _total(other), _distances(plan, names[0])[names[-1]]),
            ([*last.values()], _total(ordered[1:7]), far[names[-1]]),
            (ordered[:6], _total(ordered[1:7]), far[names[-1]]),
        )
    ]
    told = {"rock": rock[:2], "pairs": ["-".join(sorted(link[:2])) for link in links]}
    params = {"places": names, "links": links, "far": names[-1], "pick": pick}
    return Instance(params, replies[0], told, replies[1:])


def shortest_path(rng: random.Random) -> Instance | None:
    """A courier between huts; shortcuts: walk to the nearest hut each time, pass the fewest huts."""
    names, links = _network(rng, 8, 7, 31, 140)
    start, end, ways = names[0], names[-1], _both_ways(links)
    pick, routes = rng.randrange(9), list[tuple[int, tuple[str, ...]]]()
    open_ones: list[tuple[int, tuple[str, ...]]] = [(0, (start,))]
    while open_ones:
        length, path = open_ones.pop()
        if path[-1] == end:
            routes.append((length, path))
        else:
            open_ones += [(length + w, (*path, b)) for a, b, w in ways if a == path[-1] and b not in path]
    (best, route), *others = sorted(routes)
    at = pick % (len(route) - 1)
    shut = route[at : at + 2]
    still = [n for n, path in others if {*shut} not in map(set, itertools.pairwise(path))]
    # A second way as short as the best, or as the way around, would leave two fields with one number.
    if len(route) < 4 or not still or others[0][0] in (best, still[0]):
        return None
    walk, length = [start], 0
    while walk[-1] != end and (onward := [(w, b) for a, b, w in ways if a == walk[-1] and b not in walk]):
        length, walk = length + min(onward)[0], [*walk, min(onward)[1]]
    few, straight = min(routes, key=lambda found: (len(found[1]), found[0]))
    naive = [(length, walk, few, few), (few, list(straight), length, length)]
    params = {"places": names, "links": links, "start": start, "end": end, "pick": pick}
    return Instance(params, (best, list(route), others[0][0], still[0]), {"shut": shut}, naive)


def max_flow(rng: random.Random) -> Instance | None:
    """Doors of a theatre; every division of the places between start and end lets so much through, the least counts."""
    names = rng.sample(NAMES["places"], 7)
    near = [(a, b) for i, a in enumerate(names) for b in names[i + 1 : i + 4]]
    links = _measured(rng, sorted(rng.sample(near, 12)), 21, 80)
    wide, shut, more = rng.randrange(12), rng.randrange(12), rng.randint(11, 18)
    params = {
        "places": names, "links": links, "start": names[0], "end": names[-1], "wide": wide, "shut": shut, "more": more,
    }  # fmt: skip

    def cuts(links: list[Link]) -> list[tuple[int, list[str]]]:
        found = []
        for chosen in itertools.product((False, True), repeat=5):
            inside = {names[0], *itertools.compress(names[1:-1], chosen)}
            crossing = [(a, b, w) for a, b, w in links if a in inside and b not in inside]
            found.append((_total(crossing), sorted(f"{a}-{b}" for a, b, _ in crossing)))
        return sorted(found)

    (total, cut), (other, _), *_ = cuts(links)
    wider = cuts([(a, b, w + more * (i == wide)) for i, (a, b, w) in enumerate(links)])[0][0]
    fewer = cuts([link for i, link in enumerate(links) if i != shut])[0][0]
    known = wider in (total, total + more) or fewer in (0, total, total - links[shut][2])
    # One least cut, and changes that are neither without effect nor felt in full: both are the usual guesses.
    if other == total or len(cut) < 3 or known:
        return None
    doors = [f"{a}-{b}" for a, b, _ in links]
    told = {"wide_door": links[wide], "shut_door": links[shut], "doors": doors}
    return Instance(params, (total, cut, wider, fewer), told)


def postman(rng: random.Random) -> Instance | None:
    """A plough that clears every street."""
    names, links = _network(rng, 6, 4, 110, 590)
    start = names[0]
    far = {name: _distances(links, name) for name in names}

    def join(odd: frozenset[str]) -> int:
        """Return the least length that pairs up crossings where a trip cannot but end."""
        first = min(odd, default="")
        return min((far[first][b] + join(odd - {first, b}) for b in odd if b != first), default=0)

    ways = Counter(name for link in links for name in link[:2])
    odd = frozenset(name for name, n in ways.items() if n % 2)
    total, extra = _total(links), join(odd)
    (least, end), (second, _), *_ = sorted((join(odd ^ {start} ^ {end}), end) for end in names)
    # With two odd crossings one shortest way is all there is to find.
    if len(odd) < 4 or least in (0, second) or end == start:
        return None
    params = {"places": names, "links": links, "start": start}
    return Instance(params, (total + extra, extra, total + least, end))


def critical_path(rng: random.Random) -> Instance | None:
    """A barn: jobs that wait for each other."""
    jobs = sorted(rng.sample(NAMES["jobs"], 9), key=NAMES["jobs"].index)
    hours = dict(zip(jobs, rng.sample(range(13, 60), 9), strict=True))
    before = {
        job: sorted(rng.sample(jobs[max(0, i - 4) : i], min(i, rng.choice([1, 1, 2]))))
        for i, job in enumerate(jobs)
    }
    shown = list(range(9))
    rng.shuffle(shown)
    asked = {"pick": rng.randrange(9), "late": rng.randrange(9), "delay": rng.randint(15, 45)}
    pick, late, delay = jobs[asked["pick"]], jobs[asked["late"]], asked["delay"]
    needed = {need for needs in before.values() for need in needs}
    chains, stack = list[list[str]](), [[job] for job in jobs if job not in needed]
    while stack:
        chain = stack.pop()
        stack += [[*chain, need] for need in before[chain[-1]]]
        chains += [] if before[chain[-1]] else [chain]
    lengths = [sum(hours[job] for job in chain) for chain in chains]
    total = max(lengths)
    after = max(n + delay * (late in chain) for n, chain in zip(lengths, chains, strict=True))
    tight = sorted({job for n, chain in zip(lengths, chains, strict=True) if n == total for job in chain})
    slack = total - max(n for n, chain in zip(lengths, chains, strict=True) if pick in chain)
    # A delay that is absorbed, or felt in full, needs no plan to answer.
    if slack == 0 or after in (total, total + delay) or not 3 <= len(tight) <= 6 or pick == late:
        return None
    when = {job: f"only after {joined(n)}" if n else "can begin at once" for job, n in before.items()}
    in_order = [jobs[i] for i in shown]
    params = {"jobs": [[job, hours[job], before[job]] for job in in_order], "order": jobs, **asked}
    told = {"jobs": [(job, hours[job], when[job]) for job in in_order], "picked": pick, "delayed": late}
    return Instance(params, (total, tight, slack, after), told)
