"""Stories on places and the ways between them, and on work that hangs together."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Iterable, Iterator

from metacog_pipeline.benchmarks.metacogbench.generators.engine import (
    NAMES,
    Answer,
    Params,
    Structure,
    joined,
)

Link = tuple[str, str, int]
INFINITE = 10**9


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


def _label(a: str, b: str) -> str:
    return "-".join(sorted((a, b)))


def _ways(links: Iterable[Link]) -> dict[str, list[tuple[str, int]]]:
    ways: dict[str, list[tuple[str, int]]] = {}
    for a, b, w in links:
        ways.setdefault(a, []).append((b, w))
        ways.setdefault(b, []).append((a, w))
    return ways


def _distances(links: Iterable[Link], start: str) -> dict[str, int]:
    ways, done, queue = _ways(links), dict[str, int](), [(0, start)]
    while queue:
        length, place = heapq.heappop(queue)
        if place not in done:
            done[place] = length
            for other, w in ways.get(place, []):
                heapq.heappush(queue, (length + w, other))
    return done


def _paths(links: Iterable[Link], start: str, end: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    ways = _ways(links)
    stack: list[tuple[int, tuple[str, ...]]] = [(0, (start,))]
    while stack:
        length, path = stack.pop()
        if path[-1] == end:
            yield length, path
            continue
        stack += [(length + w, (*path, b)) for b, w in ways.get(path[-1], []) if b not in path]


# --- cheapest connection of all places --------------------------------------------------------------------------------
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


def _trench_draw(rng: random.Random) -> Params:
    names, links = _network(rng, 7, 6, 130, 690)
    return {"places": names, "links": links, "far": names[-1], "pick": rng.randrange(6)}


def _rock(p: Params) -> Link:
    return sorted(_cheapest(p["links"]) or [])[p["pick"]]


def _trench_solve(p: Params) -> Answer | None:
    chosen, rock = _cheapest(p["links"]) or [], _rock(p)
    other = _cheapest([link for link in p["links"] if link != rock])
    if other is None:
        return None
    return _trench_answer(chosen, _total(other), _distances(chosen, p["places"][0])[p["far"]])


def _trench_answer(plan: list[Link], other: int, way: int) -> Answer:
    return (_total(plan), sorted(_label(a, b) for a, b, _ in plan), other, way)


def _trench_naive(p: Params) -> list[Answer]:
    links, distances = p["links"], _distances(p["links"], p["places"][0])
    ordered = sorted(links, key=lambda link: link[2])

    def leads(link: Link, name: str) -> bool:
        """Whether a link is the end of a shortest way to a place."""
        other = link[0] if link[1] == name else link[1]
        return name in link[:2] and distances[other] + link[2] == distances[name]

    fan = [next(link for link in ordered if leads(link, name)) for name in p["places"][1:]]
    return [_trench_answer(plan, _total(ordered[1:7]), distances[p["far"]]) for plan in (fan, ordered[:6])]


def _trench_told(p: Params) -> Params:
    return {"rock": _rock(p)[:2], "pairs": [_label(a, b) for a, b, _ in p["links"]]}


# --- shortest route ---------------------------------------------------------------------------------------------------
def _hut_draw(rng: random.Random) -> Params:
    names, links = _network(rng, 8, 7, 31, 140)
    return {"places": names, "links": links, "start": names[0], "end": names[-1], "pick": rng.randrange(9)}


def _routes(p: Params) -> list[tuple[int, tuple[str, ...]]]:
    return sorted(_paths(p["links"], p["start"], p["end"]))


def _shut(p: Params, route: tuple[str, ...]) -> tuple[str, str]:
    at = p["pick"] % (len(route) - 1)
    return route[at], route[at + 1]


def _hut_solve(p: Params) -> Answer | None:
    routes = _routes(p)
    (best, route), second = routes[0], routes[1][0] if len(routes) > 1 else INFINITE
    a, b = _shut(p, route)
    open_ones = [n for n, path in routes if not {(a, b), (b, a)} & set(itertools.pairwise(path))]
    closed = min(open_ones, default=INFINITE)
    if len(route) < 4 or second == best or closed in (second, INFINITE):
        return None
    return (best, list(route), second, closed)


def _hut_naive(p: Params) -> list[Answer]:
    ways, walk, length = _ways(p["links"]), [p["start"]], 0
    while walk[-1] != p["end"]:
        onward = [(w, b) for b, w in ways[walk[-1]] if b not in walk]
        if not onward:
            break
        w, b = min(onward)
        walk.append(b)
        length += w
    few, straight = min(_routes(p), key=lambda found: (len(found[1]), found[0]))
    return [(length, walk, few, few), (few, list(straight), length, length)]


# --- throughput -------------------------------------------------------------------------------------------------------
def _hall_draw(rng: random.Random) -> Params:
    names = rng.sample(NAMES["places"], 7)
    near = [(a, b) for i, a in enumerate(names) for b in names[i + 1 : i + 4]]
    pairs = sorted(rng.sample(near, 12))
    links, ends = _measured(rng, pairs, 21, 80), {"start": names[0], "end": names[-1]}
    changes = {"wide": rng.randrange(12), "shut": rng.randrange(12), "more": rng.randint(11, 18)}
    return {"places": names, "links": links, **ends, **changes}


def _cuts(links: list[Link], p: Params) -> list[tuple[int, list[str]]]:
    """Return what every division of the places between start and end lets through, the least first."""
    inner = [n for n in p["places"] if n not in (p["start"], p["end"])]
    cuts = []
    for chosen in itertools.product((False, True), repeat=len(inner)):
        near = {p["start"], *itertools.compress(inner, chosen)}
        crossing = [(a, b, w) for a, b, w in links if a in near and b not in near]
        cuts.append((_total(crossing), sorted(f"{a}-{b}" for a, b, _ in crossing)))
    return sorted(cuts)


def _hall_solve(p: Params) -> Answer | None:
    links = p["links"]
    (total, cut), (other, _), *_ = _cuts(links, p)
    if other == total or len(cut) < 3:
        return None
    wider = [(a, b, w + p["more"] * (i == p["wide"])) for i, (a, b, w) in enumerate(links)]
    fewer = [link for i, link in enumerate(links) if i != p["shut"]]
    more, less = (_cuts(changed, p)[0][0] for changed in (wider, fewer))
    if more in (total, total + p["more"]) or less in (0, total, total - links[p["shut"]][2]):
        return None
    return (total, cut, more, less)


def _hall_told(p: Params) -> Params:
    doors = [f"{a}-{b}" for a, b, _ in p["links"]]
    return {"wide_door": p["links"][p["wide"]], "shut_door": p["links"][p["shut"]], "doors": doors}


# --- every street at least once ---------------------------------------------------------------------------------------
def _plough_draw(rng: random.Random) -> Params:
    names, links = _network(rng, 6, 4, 110, 590)
    return {"places": names, "links": links, "start": names[0]}


def _join(links: list[Link], odd: frozenset[str]) -> int:
    """Return the least length that pairs up ``odd``, by distances between them."""
    if not odd:
        return 0
    first = min(odd)
    table = _distances(links, first)
    return min(table[b] + _join(links, odd - {first, b}) for b in odd if b != first)


def _plough_solve(p: Params) -> Answer | None:
    links, start = p["links"], p["start"]
    odd = frozenset(name for name, ways in _ways(links).items() if len(ways) % 2)
    total, extra = _total(links), _join(links, odd)
    ends = sorted((_join(links, odd ^ {start} ^ {end}), end) for end in p["places"])
    if len(odd) < 4 or ends[0][0] == ends[1][0] or ends[0][0] == 0 or ends[0][1] == start:
        return None
    return (total + extra, extra, total + ends[0][0], ends[0][1])


# --- a barn: jobs that wait for each other ----------------------------------------------------------------------------
def _barn_draw(rng: random.Random) -> Params:
    jobs = sorted(rng.sample(NAMES["jobs"], 9), key=NAMES["jobs"].index)
    hours = rng.sample(range(13, 60), 9)
    after = {
        job: sorted(rng.sample(jobs[max(0, i - 4) : i], min(i, rng.choice([1, 1, 2]))))
        for i, job in enumerate(jobs)
    }
    shown = list(range(9))
    rng.shuffle(shown)
    asked = {"pick": rng.randrange(9), "late": rng.randrange(9), "delay": rng.randint(15, 45)}
    return {"jobs": [[jobs[i], hours[i], after[jobs[i]]] for i in shown], "order": jobs, **asked}


def _chains(p: Params, delayed: str = "") -> list[tuple[int, list[str]]]:
    """Return every chain of jobs from one without need to one that no job needs, with its length."""
    before = {job: needs for job, _, needs in p["jobs"]}
    hours = {job: h + p["delay"] * (job == delayed) for job, h, _ in p["jobs"]}
    needed = {need for needs in before.values() for need in needs}
    stack = [[job] for job in p["order"] if job not in needed]
    found = []
    while stack:
        chain = stack.pop()
        if not before[chain[-1]]:
            found.append((sum(hours[job] for job in chain), chain))
        stack += [[*chain, need] for need in before[chain[-1]]]
    return found


def _barn_asked(p: Params) -> tuple[str, str]:
    return p["order"][p["pick"]], p["order"][p["late"]]


def _barn_solve(p: Params) -> Answer | None:
    chains, (pick, delayed) = _chains(p), _barn_asked(p)
    total = max(length for length, _ in chains)
    tight = sorted({job for length, chain in chains if length == total for job in chain})
    slack = total - max(length for length, chain in chains if pick in chain)
    after = max(length for length, _ in _chains(p, delayed))
    if slack == 0 or after in (total, total + p["delay"]) or not 3 <= len(tight) <= 6 or pick == delayed:
        return None
    return (total, tight, slack, after)


def _barn_told(p: Params) -> Params:
    picked, delayed = _barn_asked(p)
    after = [f"only after {joined(needs)}" if needs else "can begin at once" for *_, needs in p["jobs"]]
    jobs = [(job, h, when) for (job, h, _), when in zip(p["jobs"], after, strict=True)]
    return {"jobs": jobs, "picked": picked, "delayed": delayed}


NETWORKS = (
    Structure("spanning_tree", _trench_draw, _trench_solve, _trench_told, _trench_naive),
    Structure(
        "shortest_path", _hut_draw, _hut_solve, lambda p: {"shut": _shut(p, _routes(p)[0][1])}, _hut_naive
    ),
    Structure("max_flow", _hall_draw, _hall_solve, _hall_told),
    Structure("postman", _plough_draw, _plough_solve),
    Structure("critical_path", _barn_draw, _barn_solve, _barn_told),
)
