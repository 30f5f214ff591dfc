"""Stories on places and the ways between them: cheapest connection, shortest route, throughput, full coverage."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import Answer, Params, Structure
from metacog_pipeline.benchmarks.metacogbench.generators.wording import NAMES

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


def _table(links: list[Link]) -> tuple[list[str], sparse.csr_array]:
    """Return the places of the links and their lengths as a table of one direction."""
    names = sorted({name for a, b, _ in links for name in (a, b)})
    made = np.zeros((len(names), len(names)), dtype=np.int32)
    for a, b, w in links:
        made[names.index(a), names.index(b)] = w
    return names, sparse.csr_array(made)


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


# --- cheapest connection of all places


def _spanning(links: list[Link], places: int) -> list[Link] | None:
    """Return the cheapest connection of all places, by the library."""
    names, table = _table(links)
    kept = {
        (names[i], names[j]) for i, j in zip(*csgraph.minimum_spanning_tree(table).nonzero(), strict=True)
    }
    chosen = [link for link in sorted(links, key=lambda each: each[2]) if link[:2] in kept]
    return chosen if len(chosen) == places - 1 else None


def _trench_draw(rng: random.Random) -> Params:
    names, links = _network(rng, 7, 6, 130, 690)
    return {"places": names, "links": links, "far": names[-1], "pick": rng.randrange(6)}


def _trench_rest(p: Params, chosen: list[Link]) -> tuple[Link, list[Link]]:
    gone = sorted(chosen)[p["pick"]]
    return gone, [link for link in p["links"] if link != gone]


def _trench_solve(p: Params) -> Answer | None:
    chosen = _spanning(p["links"], 7) or []
    other = _spanning(_trench_rest(p, chosen)[1], 7)
    if other is None:
        return None
    return _trench_answer(chosen, _total(other), _distances(chosen, p["places"][0])[p["far"]])


def _trench_answer(plan: list[Link], other: int, way: int) -> Answer:
    return (_total(plan), sorted(_label(a, b) for a, b, _ in plan), other, way)


def _cheapest(links: list[Link], places: int) -> list[Link]:
    best: list[Link] = []
    least = INFINITE
    for subset in itertools.combinations(links, places - 1):
        if _total(subset) < least and len(_distances(subset, subset[0][0])) == places:
            least, best = _total(subset), list(subset)
    return best


def _trench_brute(p: Params) -> Answer:
    chosen = _cheapest(p["links"], 7)
    ((path, _),) = _paths(chosen, p["places"][0], p["far"])
    return _trench_answer(chosen, _total(_cheapest(_trench_rest(p, chosen)[1], 7)), path)


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
    gone, _ = _trench_rest(p, _spanning(p["links"], 7) or [])
    return {"rock": gone[:2], "pairs": [_label(a, b) for a, b, _ in p["links"]]}


# --- shortest route


def _hut_draw(rng: random.Random) -> Params:
    names, links = _network(rng, 8, 7, 31, 140)
    return {"places": names, "links": links, "start": names[0], "end": names[-1], "pick": rng.randrange(9)}


def _closed(p: Params, route: tuple[str, ...]) -> tuple[str, str]:
    at = p["pick"] % (len(route) - 1)
    return route[at], route[at + 1]


def _best_route(p: Params) -> tuple[str, ...]:
    """Walk back from the end along distances from the start."""
    links, route = p["links"], [p["end"]]
    distances, ways = _distances(links, p["start"]), _ways(links)
    while route[-1] != p["start"]:
        here = route[-1]
        route.append(next(b for b, w in ways[here] if distances[b] + w == distances[here]))
    return tuple(reversed(route))


def _hut_solve(p: Params) -> Answer | None:
    links, start, end = p["links"], p["start"], p["end"]
    route = _best_route(p)
    best = _distances(links, start)[end]
    without = ([link for link in links if not {a, b} <= {*link}] for a, b in itertools.pairwise(route))
    detours = [_distances(left, start).get(end, INFINITE) for left in without]
    closed = detours[p["pick"] % (len(route) - 1)]
    if len(route) < 4 or min(detours) == best or closed in (min(detours), INFINITE):
        return None
    return (best, list(route), min(detours), closed)


def _hut_brute(p: Params) -> Answer:
    (best, route), (second, _), *_ = found = sorted(_paths(p["links"], p["start"], p["end"]))
    a, b = _closed(p, route)
    still = [n for n, path in found if not {(a, b), (b, a)} & set(itertools.pairwise(path))]
    return (best, list(route), second, min(still))


def _hut_naive(p: Params) -> list[Answer]:
    links, start, end = p["links"], p["start"], p["end"]
    ways, walk, length = _ways(links), [start], 0
    while walk[-1] != end:
        onward = [(w, b) for b, w in ways[walk[-1]] if b not in walk]
        if not onward:
            break
        w, b = min(onward)
        walk.append(b)
        length += w
    few, straight = min(_paths(links, start, end), key=lambda found: (len(found[1]), found[0]))
    return [(length, walk, few, few), (few, list(straight), length, length)]


def _hut_told(p: Params) -> Params:
    return {"shut": _closed(p, _best_route(p))}


# --- throughput


def _hall_draw(rng: random.Random) -> Params:
    names = rng.sample(NAMES["places"], 7)
    near = [(a, b) for i, a in enumerate(names) for b in names[i + 1 : i + 4]]
    pairs = sorted(rng.sample(near, 12))
    links, ends = _measured(rng, pairs, 21, 80), {"start": names[0], "end": names[-1]}
    changes = {"wide": rng.randrange(12), "shut": rng.randrange(12), "more": rng.randint(11, 18)}
    return {"places": names, "links": links, **ends, **changes}


def _flow(links: list[Link], start: str, end: str) -> tuple[int, set[str], set[str]]:
    """Return the largest flow, the places still reached from the start, and those that still reach the end."""
    names, room = _table(links)
    if not {start, end} <= set(names):
        return 0, {start}, {end}
    found = csgraph.maximum_flow(room, names.index(start), names.index(end))
    left = room.toarray() > found.flow.toarray()
    near, far = (
        {names[i] for i in csgraph.breadth_first_order(way, names.index(place), return_predecessors=False)}
        for way, place in ((left, start), (left.T, end))
    )
    return int(found.flow_value), near, far


def _changed(p: Params) -> tuple[list[Link], list[Link]]:
    links = p["links"]
    wider = [(a, b, w + p["more"] * (i == p["wide"])) for i, (a, b, w) in enumerate(links)]
    return wider, [link for i, link in enumerate(links) if i != p["shut"]]


def _hall_solve(p: Params) -> Answer | None:
    links, start, end = p["links"], p["start"], p["end"]
    total, near, far = _flow(links, start, end)
    cut = sorted(f"{a}-{b}" for a, b, _ in links if a in near and b not in near)
    if near | far != set(p["places"]) or len(cut) < 3:
        return None
    more, less = (_flow(changed, start, end)[0] for changed in _changed(p))
    if more in (total, total + p["more"]) or less in (0, total, total - links[p["shut"]][2]):
        return None
    return (total, cut, more, less)


def _least_cut(links: list[Link], p: Params) -> tuple[int, list[str]]:
    inner = [n for n in p["places"] if n not in (p["start"], p["end"])]
    cuts = []
    for chosen in itertools.product((False, True), repeat=len(inner)):
        near = {p["start"], *itertools.compress(inner, chosen)}
        crossing = [(a, b, w) for a, b, w in links if a in near and b not in near]
        cuts.append((_total(crossing), sorted(f"{a}-{b}" for a, b, _ in crossing)))
    return min(cuts)


def _hall_brute(p: Params) -> Answer:
    wider, fewer = _changed(p)
    total, cut = _least_cut(p["links"], p)
    return (total, cut, _least_cut(wider, p)[0], _least_cut(fewer, p)[0])


def _hall_naive(p: Params) -> list[Answer]:
    links = p["links"]
    wide, shut = links[p["wide"]][2], links[p["shut"]][2]
    replies: list[Answer] = []
    for place, name in enumerate((p["start"], p["end"])):
        side = [link for link in links if link[place] == name]
        total = _total(side)
        replies.append((total, [f"{a}-{b}" for a, b, _ in side], total + p["more"], total - shut))
    return [*replies, (wide, [f"{a}-{b}" for a, b, _ in links[:3]], None, None)]


def _hall_told(p: Params) -> Params:
    doors = [f"{a}-{b}" for a, b, _ in p["links"]]
    return {"wide_door": p["links"][p["wide"]], "shut_door": p["links"][p["shut"]], "doors": doors}


# --- every street at least once


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
    total = _total(links)
    extra = _join(links, odd)
    ends = sorted((_join(links, odd ^ {start} ^ {end}), end) for end in p["places"])
    if len(odd) < 4 or ends[0][0] == ends[1][0] or ends[0][0] == 0 or ends[0][1] == start:
        return None
    return (total + extra, extra, total + ends[0][0], ends[0][1])


def _plough_brute(p: Params) -> Answer:
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
    return (home, home - _total(links), open_trip, open_end)


def _plough_naive(p: Params) -> list[Answer]:
    links = p["links"]
    total = _total(links)
    last = links[-1][1]
    back = _distances(links, last)[p["start"]]
    return [(total, 0, total, p["start"]), (2 * total, total, total, last), (total + back, back, total, last)]


NETWORKS = (
    Structure("spanning_tree", _trench_draw, _trench_solve, _trench_brute, _trench_naive, _trench_told),
    Structure("shortest_path", _hut_draw, _hut_solve, _hut_brute, _hut_naive, _hut_told),
    Structure("max_flow", _hall_draw, _hall_solve, _hall_brute, _hall_naive, _hall_told),
    Structure("postman", _plough_draw, _plough_solve, _plough_brute, _plough_naive),
)
