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
    return names, [
        (a, b, w) for (a, b), w in zip(pairs, rng.sample(range(low, high), len(pairs)), strict=True)
    ]


def _links(params: Params) -> list[Link]:
    return [(a, b, int(w)) for a, b, w in params["links"]]


def _label(a: str, b: str) -> str:
    return "-".join(sorted((a, b)))


def _ways(links: Iterable[Link]) -> dict[str, list[tuple[str, int]]]:
    ways: dict[str, list[tuple[str, int]]] = {}
    for a, b, w in links:
        ways.setdefault(a, []).append((b, w))
        ways.setdefault(b, []).append((a, w))
    return ways


def _table(links: Iterable[Link]) -> tuple[list[str], sparse.csr_array]:
    """Return the places of the links and their lengths as a table of one direction."""
    links = list(links)
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
    if len(names) < places:
        return None
    kept = set(zip(*csgraph.minimum_spanning_tree(table).nonzero(), strict=True))
    at = {name: i for i, name in enumerate(names)}
    chosen = [link for link in sorted(links, key=lambda each: each[2]) if (at[link[0]], at[link[1]]) in kept]
    return chosen if len(chosen) == places - 1 else None


def _trench_draw(rng: random.Random) -> Params:
    names, links = _network(rng, 7, 6, 130, 690)
    return {"places": names, "links": links, "far": names[-1], "pick": rng.randrange(6)}


def _trench_rest(p: Params, chosen: list[Link]) -> tuple[Link, list[Link]]:
    gone = sorted(chosen)[p["pick"]]
    return gone, [link for link in _links(p) if link != gone]


def _trench_solve(p: Params) -> Answer | None:
    chosen = _spanning(_links(p), 7)
    if chosen is None:
        return None
    _, rest = _trench_rest(p, chosen)
    other = _spanning(rest, 7)
    if other is None:
        return None
    return (
        sum(w for *_, w in chosen),
        sorted(_label(a, b) for a, b, _ in chosen),
        sum(w for *_, w in other),
        _distances(chosen, p["places"][0])[p["far"]],
    )


def _cheapest(links: list[Link], places: int) -> list[Link]:
    best: list[Link] = []
    least = INFINITE
    for subset in itertools.combinations(links, places - 1):
        total = sum(w for *_, w in subset)
        if total < least and len(_distances(subset, subset[0][0])) == places:
            least, best = total, list(subset)
    return best


def _trench_brute(p: Params) -> Answer:
    chosen = _cheapest(_links(p), 7)
    _, rest = _trench_rest(p, chosen)
    ((path, _),) = _paths(chosen, p["places"][0], p["far"])
    return (
        sum(w for *_, w in chosen),
        sorted(_label(a, b) for a, b, _ in chosen),
        sum(w for *_, w in _cheapest(rest, 7)),
        path,
    )


def _trench_naive(p: Params) -> list[Answer]:
    links, start, far = _links(p), p["places"][0], p["far"]
    distances = _distances(links, start)
    fan = [
        min(
            (link for link in links if name in link[:2] and _leads(link, name, distances)), key=lambda x: x[2]
        )
        for name in p["places"][1:]
    ]
    cheapest = sorted(links, key=lambda link: link[2])[:6]
    return [
        (
            sum(w for *_, w in plan),
            [_label(a, b) for a, b, _ in plan],
            sum(w for *_, w in sorted(links, key=lambda link: link[2])[1:7]),
            distances[far],
        )
        for plan in (fan, cheapest)
    ]


def _leads(link: Link, name: str, distances: dict[str, int]) -> bool:
    other = link[0] if link[1] == name else link[1]
    return distances[other] + link[2] == distances[name]


def _trench_told(p: Params) -> Params:
    gone, _ = _trench_rest(p, _spanning(_links(p), 7) or [])
    return {"rock": gone[:2], "pairs": [_label(a, b) for a, b, _ in _links(p)]}


# --- shortest route


def _hut_draw(rng: random.Random) -> Params:
    names, links = _network(rng, 8, 7, 31, 140)
    return {"places": names, "links": links, "start": names[0], "end": names[-1], "pick": rng.randrange(9)}


def _closed(p: Params, route: tuple[str, ...]) -> tuple[str, str]:
    at = p["pick"] % (len(route) - 1)
    return route[at], route[at + 1]


def _without(links: list[Link], ends: tuple[str, str]) -> list[Link]:
    return [link for link in links if {link[0], link[1]} != set(ends)]


def _best_route(p: Params) -> tuple[str, ...]:
    """Walk back from the end along distances from the start."""
    links, route = _links(p), [p["end"]]
    distances, ways = _distances(links, p["start"]), _ways(links)
    while route[-1] != p["start"]:
        here = route[-1]
        route.append(next(b for b, w in ways[here] if distances[b] + w == distances[here]))
    return tuple(reversed(route))


def _hut_solve(p: Params) -> Answer | None:
    links, start, end = _links(p), p["start"], p["end"]
    route = _best_route(p)
    best = _distances(links, start)[end]
    detours = [
        _distances(_without(links, (a, b)), start).get(end, INFINITE) for a, b in itertools.pairwise(route)
    ]
    closed = detours[p["pick"] % (len(route) - 1)]
    if len(route) < 4 or min(detours) == best or closed in (min(detours), INFINITE):
        return None
    return (best, list(route), min(detours), closed)


def _hut_brute(p: Params) -> Answer:
    (best, route), (second, _), *_ = found = sorted(_paths(_links(p), p["start"], p["end"]))
    a, b = _closed(p, route)
    still = [n for n, path in found if not {(a, b), (b, a)} & set(itertools.pairwise(path))]
    return (best, list(route), second, min(still))


def _hut_naive(p: Params) -> list[Answer]:
    links, start, end = _links(p), p["start"], p["end"]
    ways, walk, length = _ways(links), [start], 0
    while walk[-1] != end:
        onward = [(w, b) for b, w in ways[walk[-1]] if b not in walk]
        if not onward:
            break
        w, b = min(onward)
        walk.append(b)
        length += w
    stops, few = min((len(path), n) for n, path in _paths(links, start, end))
    straight = next(path for n, path in _paths(links, start, end) if (len(path), n) == (stops, few))
    return [
        (length, walk, few, few),
        (few, list(straight), length, length),
    ]


def _hut_told(p: Params) -> Params:
    return {"shut": _closed(p, _best_route(p))}


# --- throughput


def _hall_draw(rng: random.Random) -> Params:
    names = rng.sample(NAMES["places"], 7)
    pairs = [
        (a, b) for i, a in enumerate(names) for b in names[i + 1 : i + 4] if (a, b) != (names[0], names[-1])
    ]
    pairs = sorted(rng.sample(pairs, 12))
    links = [(a, b, w) for (a, b), w in zip(pairs, rng.sample(range(21, 80), 12), strict=True)]
    return {
        "places": names,
        "links": links,
        "start": names[0],
        "end": names[-1],
        "wide": rng.randrange(12),
        "shut": rng.randrange(12),
        "more": rng.randint(11, 18),
    }


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
    links = _links(p)
    wider = [(a, b, w + p["more"] * (i == p["wide"])) for i, (a, b, w) in enumerate(links)]
    return wider, [link for i, link in enumerate(links) if i != p["shut"]]


def _hall_solve(p: Params) -> Answer | None:
    links, start, end = _links(p), p["start"], p["end"]
    total, near, far = _flow(links, start, end)
    cut = sorted(f"{a}-{b}" for a, b, _ in links if a in near and b not in near)
    if near | far != set(p["places"]) or len(cut) < 3:
        return None
    more, less = (_flow(changed, start, end)[0] for changed in _changed(p))
    if more in (total, total + p["more"]) or less in (0, total):
        return None
    if total - less == links[p["shut"]][2]:
        return None
    return (total, cut, more, less)


def _least_cut(links: list[Link], p: Params) -> tuple[int, list[str]]:
    inner = [n for n in p["places"] if n not in (p["start"], p["end"])]
    cuts = []
    for size in range(len(inner) + 1):
        for side in itertools.combinations(inner, size):
            near = {p["start"], *side}
            crossing = [(a, b, w) for a, b, w in links if a in near and b not in near]
            cuts.append((sum(w for *_, w in crossing), sorted(f"{a}-{b}" for a, b, _ in crossing)))
    return min(cuts)


def _hall_brute(p: Params) -> Answer:
    wider, fewer = _changed(p)
    total, cut = _least_cut(_links(p), p)
    return (total, cut, _least_cut(wider, p)[0], _least_cut(fewer, p)[0])


def _hall_naive(p: Params) -> list[Answer]:
    links = _links(p)
    out = [link for link in links if link[0] == p["start"]]
    into = [link for link in links if link[1] == p["end"]]
    wide, shut = links[p["wide"]][2], links[p["shut"]][2]
    return [
        (total, [f"{a}-{b}" for a, b, _ in side], total + p["more"], total - shut)
        for side in (out, into)
        for total in (sum(w for *_, w in side),)
    ] + [(wide, [f"{a}-{b}" for a, b, _ in links[:3]], None, None)]


def _hall_told(p: Params) -> Params:
    links = _links(p)
    doors = [f"{a}-{b}" for a, b, _ in links]
    return {"wide_door": links[p["wide"]], "shut_door": links[p["shut"]], "doors": doors}


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
    links, start = _links(p), p["start"]
    odd = frozenset(name for name, ways in _ways(links).items() if len(ways) % 2)
    total = sum(w for *_, w in links)
    extra = _join(links, odd)
    ends = sorted((_join(links, odd ^ {start} ^ {end}), end) for end in p["places"])
    if len(odd) < 4 or ends[0][0] == ends[1][0] or ends[0][0] == 0 or ends[0][1] == start:
        return None
    return (total + extra, extra, total + ends[0][0], ends[0][1])


def _plough_brute(p: Params) -> Answer:
    """Search over (where the plough is, which streets are done)."""
    links, start = _links(p), p["start"]
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


def _plough_naive(p: Params) -> list[Answer]:
    links = _links(p)
    total = sum(w for *_, w in links)
    last = links[-1][1]
    back = _distances(links, last)[p["start"]]
    return [
        (total, 0, total, p["start"]),
        (2 * total, total, total, last),
        (total + back, back, total, last),
    ]


NETWORKS = (
    Structure("spanning_tree", _trench_draw, _trench_solve, _trench_brute, _trench_naive, _trench_told),
    Structure("shortest_path", _hut_draw, _hut_solve, _hut_brute, _hut_naive, _hut_told),
    Structure("max_flow", _hall_draw, _hall_solve, _hall_brute, _hall_naive, _hall_told),
    Structure("postman", _plough_draw, _plough_solve, _plough_brute, _plough_naive),
)
