"""Stories on places and the ways between them: cheapest connection, shortest route, throughput, full coverage."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Iterable, Iterator

from metacog_pipeline.benchmarks.metacogbench.construction.stories.common import (
    PLACES,
    Answer,
    Params,
    Structure,
    listed,
    members,
    one_of,
    whole,
)
from metacog_pipeline.benchmarks.metacogbench.items import Field

Link = tuple[str, str, int]
INFINITE = 10**9


def _network(
    rng: random.Random, places: int, extra: int, low: int, high: int
) -> tuple[list[str], list[Link]]:
    names = rng.sample(PLACES, places)
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


def _text(links: Iterable[Link], unit: str) -> str:
    return listed([f"{a} to {b}: {w} {unit}" for a, b, w in links])


# --- cheapest connection of all places ---------------------------------------------------------------------------


def _kruskal(links: list[Link], places: int) -> list[Link] | None:
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while group.get(name, name) != name:
            name = group[name]
        return name

    chosen = []
    for a, b, w in sorted(links, key=lambda link: link[2]):
        if root(a) != root(b):
            group[root(a)] = root(b)
            chosen.append((a, b, w))
    return chosen if len(chosen) == places - 1 else None


def _trench_draw(rng: random.Random) -> Params:
    names, links = _network(rng, 7, 6, 130, 690)
    return {"places": names, "links": links, "far": names[-1], "pick": rng.randrange(6)}


def _trench_rest(p: Params, chosen: list[Link]) -> tuple[Link, list[Link]]:
    gone = sorted(chosen)[p["pick"]]
    return gone, [link for link in _links(p) if link != gone]


def _trench_solve(p: Params) -> Answer | None:
    chosen = _kruskal(_links(p), 7)
    if chosen is None:
        return None
    _, rest = _trench_rest(p, chosen)
    other = _kruskal(rest, 7)
    if other is None:
        return None
    return {
        "trench_total": sum(w for *_, w in chosen),
        "trenches": sorted(_label(a, b) for a, b, _ in chosen),
        "total_if_rock": sum(w for *_, w in other),
        "water_path": _distances(chosen, p["places"][0])[p["far"]],
    }


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
    return {
        "trench_total": sum(w for *_, w in chosen),
        "trenches": sorted(_label(a, b) for a, b, _ in chosen),
        "total_if_rock": sum(w for *_, w in _cheapest(rest, 7)),
        "water_path": path,
    }


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
        {
            "trench_total": sum(w for *_, w in plan),
            "trenches": [_label(a, b) for a, b, _ in plan],
            "water_path": distances[far],
            "total_if_rock": sum(w for *_, w in sorted(links, key=lambda link: link[2])[1:7]),
        }
        for plan in (fan, cheapest)
    ]


def _leads(link: Link, name: str, distances: dict[str, int]) -> bool:
    other = link[0] if link[1] == name else link[1]
    return distances[other] + link[2] == distances[name]


def _trench_story(p: Params) -> str:
    chosen = _kruskal(_links(p), 7) or []
    gone, _ = _trench_rest(p, chosen)
    return (
        f"A spring rises at {p['places'][0]}, and the growers of the valley want its water at every other hamlet too. "
        "Water runs through a trench either way, and a hamlet may get its water by way of others. The ground allows "
        f"these trenches, with their lengths:{_text(_links(p), 'm')}\n"
        "Digging is hard, so the growers want to dig as few metres as they can. Before they start, they also ask what "
        f"they would have to dig if the ground between {gone[0]} and {gone[1]} turned out to be solid rock, and how "
        f"many metres of trench the water runs through from {p['places'][0]} to {p['far']} in the first plan."
    )


def _trench_fields(p: Params) -> tuple[Field, ...]:
    options = [_label(a, b) for a, b, _ in _links(p)]
    return (
        whole("trench_total", "metres to dig in the plan with the least digging", "m", core=True),
        members("trenches", 'trenches of that plan, each as "Name-Name"', options, edges=True),
        whole("total_if_rock", "least metres to dig when the rocky stretch cannot be dug", "m"),
        whole("water_path", "metres the water runs in the first plan to the hamlet asked about", "m"),
    )


# --- shortest route ----------------------------------------------------------------------------------------------


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
    return {"minutes": best, "route": list(route), "second_best": min(detours), "minutes_if_closed": closed}


def _hut_brute(p: Params) -> Answer:
    (best, route), (second, _), *_ = found = sorted(_paths(_links(p), p["start"], p["end"]))
    a, b = _closed(p, route)
    still = [n for n, path in found if not {(a, b), (b, a)} & set(itertools.pairwise(path))]
    return {"minutes": best, "route": list(route), "second_best": second, "minutes_if_closed": min(still)}


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
        {"minutes": length, "route": walk, "second_best": few, "minutes_if_closed": few},
        {"minutes": few, "route": list(straight), "second_best": length, "minutes_if_closed": length},
    ]


def _hut_story(p: Params) -> str:
    a, b = _closed(p, _best_route(p))
    return (
        f"A courier has to carry medicine from the hut at {p['start']} to the hut at {p['end']}. These footpaths join "
        f"the huts, with walking times that are the same in either direction:{_text(_links(p), 'min')}\n"
        "She wants to be there as early as she can, and notes the next quicker way as well, one that calls at no hut "
        f"more than once and differs from the first. A ranger adds that the footpath between {a} and {b} may be shut "
        "after rain, so she also works out her time for that case."
    )


def _hut_fields(p: Params) -> tuple[Field, ...]:
    return (
        whole("minutes", "least walking time", "min", core=True),
        Field(
            "route", "list", options=tuple(p["places"]), description="huts in order, start and end included"
        ),
        whole("second_best", "walking time of the next quicker way", "min"),
        whole("minutes_if_closed", "least walking time when the footpath named by the ranger is shut", "min"),
    )


# --- throughput --------------------------------------------------------------------------------------------------


def _hall_draw(rng: random.Random) -> Params:
    names = rng.sample(PLACES, 7)
    pairs = [
        (a, b) for i, a in enumerate(names) for b in names[i + 1 : i + 4] if (a, b) != (names[0], names[-1])
    ]
    pairs = sorted(rng.sample(pairs, 12))
    links = [(a, b, w) for (a, b), w in zip(pairs, rng.sample(range(21, 80), 12), strict=True)]
    return {
        "places": names, "links": links, "start": names[0], "end": names[-1],
        "wide": rng.randrange(12), "shut": rng.randrange(12), "more": rng.randint(11, 18),
    }  # fmt: skip


def _augmented(links: list[Link], start: str, end: str) -> tuple[int, set[str], set[str]]:
    """Return the largest flow, the places still reached from the start, and those that still reach the end."""
    room: dict[tuple[str, str], int] = {}
    for a, b, w in links:
        room[a, b] = room.get((a, b), 0) + w
        room.setdefault((b, a), 0)
    total = 0
    while True:
        came, queue = {start: start}, [start]
        for here in queue:
            for (a, b), left in room.items():
                if a == here and left > 0 and b not in came:
                    came[b] = here
                    queue.append(b)
        if end not in came:
            back = {end}
            for _ in room:
                back |= {a for (a, b), left in room.items() if b in back and left > 0}
            return total, set(came), back
        path, here = [], end
        while here != start:
            path.append((came[here], here))
            here = came[here]
        push = min(room[step] for step in path)
        total += push
        for a, b in path:
            room[a, b] -= push
            room[b, a] += push


def _changed(p: Params) -> tuple[list[Link], list[Link]]:
    links = _links(p)
    wider = [(a, b, w + p["more"] * (i == p["wide"])) for i, (a, b, w) in enumerate(links)]
    return wider, [link for i, link in enumerate(links) if i != p["shut"]]


def _hall_solve(p: Params) -> Answer | None:
    links, start, end = _links(p), p["start"], p["end"]
    total, near, far = _augmented(links, start, end)
    wider, fewer = _changed(p)
    more, less = _augmented(wider, start, end)[0], _augmented(fewer, start, end)[0]
    cut = sorted(f"{a}-{b}" for a, b, _ in links if a in near and b not in near)
    if (
        near | far != set(p["places"])
        or more in (total, total + p["more"])
        or less in (0, total)
        or len(cut) < 3
    ):
        return None
    if total - less == links[p["shut"]][2]:
        return None
    return {"per_minute": total, "limiting": cut, "after_widening": more, "after_closing": less}


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
    return {
        "per_minute": total, "limiting": cut,
        "after_widening": _least_cut(wider, p)[0], "after_closing": _least_cut(fewer, p)[0],
    }  # fmt: skip


def _hall_naive(p: Params) -> list[Answer]:
    links = _links(p)
    out = [link for link in links if link[0] == p["start"]]
    into = [link for link in links if link[1] == p["end"]]
    wide, shut = links[p["wide"]][2], links[p["shut"]][2]
    return [
        {
            "per_minute": total, "limiting": [f"{a}-{b}" for a, b, _ in side],
            "after_widening": total + p["more"], "after_closing": total - shut,
        }
        for side in (out, into)
        for total in (sum(w for *_, w in side),)
    ] + [{"per_minute": wide, "limiting": [f"{a}-{b}" for a, b, _ in links[:3]]}]  # fmt: skip


def _hall_story(p: Params) -> str:
    links = _links(p)
    wide, shut = links[p["wide"]], links[p["shut"]]
    lines = listed([f"from {a} to {b}: {w}" for a, b, w in links])
    return (
        f"When the alarm sounds in a large theatre, the audience in the hall called {p['start']} has to reach the "
        f"square outside, called {p['end']}. Doors let people through in a single direction; every door is given with "
        f"the most persons per minute that can pass it, and the foyers in between hold nobody back:{lines}\n"
        "The fire officer asks how many persons per minute can arrive outside, steadily, which doors hold the number "
        f"down, and what the number would be if the door from {wide[0]} to {wide[1]} let {p['more']} more persons per "
        f"minute through, or instead if the door from {shut[0]} to {shut[1]} were locked."
    )


def _hall_fields(p: Params) -> tuple[Field, ...]:
    options = [f"{a}-{b}" for a, b, _ in _links(p)]
    return (
        whole(
            "per_minute", "most persons per minute arriving outside, as things are", "persons/min", core=True
        ),
        members("limiting", 'all doors that together hold the number down, each as "From-To"', options),
        whole("after_widening", "the number with the wider door", "persons/min"),
        whole("after_closing", "the number with the locked door", "persons/min"),
    )


# --- every street at least once ----------------------------------------------------------------------------------


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
    return {
        "round_trip": total + extra, "driven_again": extra,
        "open_trip": total + ends[0][0], "open_end": ends[0][1],
    }  # fmt: skip


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
    return {
        "round_trip": home, "driven_again": home - sum(w for *_, w in links),
        "open_trip": open_trip, "open_end": open_end,
    }  # fmt: skip


def _plough_naive(p: Params) -> list[Answer]:
    links = _links(p)
    total = sum(w for *_, w in links)
    last = links[-1][1]
    back = _distances(links, last)[p["start"]]
    return [
        {"round_trip": total, "driven_again": 0, "open_trip": total, "open_end": p["start"]},
        {"round_trip": 2 * total, "driven_again": total, "open_trip": total, "open_end": last},
        {"round_trip": total + back, "driven_again": back, "open_trip": total, "open_end": last},
    ]


def _plough_story(p: Params) -> str:
    return (
        f"After a night of snow a village has a single plough, kept at {p['start']}. It clears a street in one pass, "
        "whichever way it drives, and may drive along a cleared street again, which costs the same fuel. The streets "
        f"between the crossings, with their lengths:{_text(_links(p), 'm')}\n"
        "The driver wants every street cleared with as little driving as possible and the plough back where it is "
        "kept. The mayor asks what would change if the plough could stay overnight at whichever crossing the driver "
        "likes best."
    )


def _plough_fields(p: Params) -> tuple[Field, ...]:
    return (
        whole("round_trip", "least metres driven when the plough returns", "m", core=True),
        whole("driven_again", "metres of that trip on streets already cleared", "m"),
        whole("open_trip", "least metres driven when it may stay anywhere", "m"),
        one_of("open_end", "crossing where it then stays", p["places"]),
    )


NETWORKS = (
    Structure(
        "spanning_tree",
        _trench_draw,
        _trench_solve,
        _trench_brute,
        _trench_naive,
        _trench_story,
        _trench_fields,
    ),
    Structure("shortest_path", _hut_draw, _hut_solve, _hut_brute, _hut_naive, _hut_story, _hut_fields),
    Structure("max_flow", _hall_draw, _hall_solve, _hall_brute, _hall_naive, _hall_story, _hall_fields),
    Structure(
        "postman", _plough_draw, _plough_solve, _plough_brute, _plough_naive, _plough_story, _plough_fields
    ),
)
