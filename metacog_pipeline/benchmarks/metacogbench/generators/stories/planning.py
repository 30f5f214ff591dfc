"""Stories on work and numbers that hang together: a barn, a price that feeds back, clubs that share members."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import scipy  # loads scipy.optimize where it is first used: few commands need it, and it takes long

from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import Answer, Params, Structure
from metacog_pipeline.benchmarks.metacogbench.generators.wording import NAMES, joined

# --- a barn


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


def _hours(p: Params, *delayed: str) -> dict[str, int]:
    return {job: h + p["delay"] * (job in delayed) for job, h, _ in p["jobs"]}


def _barn_times(p: Params, *delayed: str) -> tuple[int, dict[str, int], dict[str, int]]:
    """Return the total, the earliest ends and the latest ends of all jobs, forwards and backwards."""
    hours = _hours(p, *delayed)
    before = {job: needs for job, _, needs in p["jobs"]}
    early: dict[str, int] = {}
    for job in p["order"]:
        early[job] = hours[job] + max((early[need] for need in before[job]), default=0)
    total = max(early.values())
    late = dict.fromkeys(p["order"], total)
    for job in reversed(p["order"]):
        for need in before[job]:
            late[need] = min(late[need], late[job] - hours[job])
    return total, early, late


def _barn_asked(p: Params) -> tuple[str, str]:
    return p["order"][p["pick"]], p["order"][p["late"]]


def _barn_solve(p: Params) -> Answer | None:
    total, early, late = _barn_times(p)
    pick, delayed = _barn_asked(p)
    slack = late[pick] - early[pick]
    tight = sorted(job for job in p["order"] if late[job] == early[job])
    after, _, _ = _barn_times(p, delayed)
    if slack == 0 or after in (total, total + p["delay"]) or not 3 <= len(tight) <= 6 or pick == delayed:
        return None
    return (total, tight, slack, after)


def _barn_chains(p: Params, *delayed: str) -> list[tuple[int, list[str]]]:
    """List every chain of jobs from one without need to one nobody needs, with its length."""
    before, hours = {job: needs for job, _, needs in p["jobs"]}, _hours(p, *delayed)
    needed = {need for needs in before.values() for need in needs}
    stack = [[job] for job in p["order"] if job not in needed]
    found = []
    while stack:
        chain = stack.pop()
        if not before[chain[-1]]:
            found.append((sum(hours[job] for job in chain), chain))
        stack += [[*chain, need] for need in before[chain[-1]]]
    return found


def _barn_brute(p: Params) -> Answer:
    chains, (pick, delayed) = _barn_chains(p), _barn_asked(p)
    total = max(length for length, _ in chains)
    tight = sorted({job for length, chain in chains if length == total for job in chain})
    slack = total - max(length for length, chain in chains if pick in chain)
    return (total, tight, slack, max(length for length, _ in _barn_chains(p, delayed)))


def _barn_naive(p: Params) -> list[Answer]:
    hours = _hours(p)
    total = sum(hours.values())
    longest, jobs = max(_barn_chains(p), key=lambda found: len(found[1]))
    big = sorted(hours, key=lambda job: -hours[job])[: len(jobs)]
    return [
        (total, p["order"], 0, total + p["delay"]),
        (longest, jobs, 0, longest + p["delay"]),
        (longest, big, hours[_barn_asked(p)[0]], longest),
    ]


def _barn_told(p: Params) -> Params:
    picked, delayed = _barn_asked(p)
    after = [f"only after {joined(needs)}" if needs else "can begin at once" for *_, needs in p["jobs"]]
    jobs = [(job, h, when) for (job, h, _), when in zip(p["jobs"], after, strict=True)]
    return {"jobs": jobs, "picked": picked, "delayed": delayed}


# --- a price that feeds back


def _price_draw(rng: random.Random) -> Params:
    rent, each, most = rng.randrange(150, 420, 10), rng.randint(60, 190) / 100, rng.randrange(150, 330, 10)
    per_euro, start = rng.randint(15, 38), rng.randint(200, 560) / 100
    return {"rent": rent, "each": each, "most": most, "per_euro": per_euro, "start": start}


def _price_next(p: Params, price: float) -> float:
    return float(p["each"] + p["rent"] / (p["most"] - p["per_euro"] * price))


def _price_solve(p: Params) -> Answer | None:
    highest = 0.97 * (p["most"] / p["per_euro"])
    prices, settled = [p["start"]], 0
    while len(prices) == 1 or abs(prices[-1] - prices[-2]) >= 1e-13:
        if prices[-1] >= highest or len(prices) > 2900:
            return None
        prices.append(_price_next(p, prices[-1]))
        if abs(prices[-1] - prices[-2]) < 0.01 and not settled:
            settled = len(prices) - 1
    guests = p["most"] - p["per_euro"] * prices[-1]
    factor = p["rent"] * p["per_euro"] / guests**2
    if not 0.35 < factor < 0.85 or not 4 <= settled <= 14:
        return None
    near = [abs(abs(prices[w] - prices[w - 1]) - 0.01) for w in (settled, settled - 1)]
    if min(near) < 0.0015 or guests < 30:
        return None
    return (prices[-1], guests, settled, factor)


def _prices(p: Params, weeks: int) -> list[float]:
    prices = [float(p["start"])]
    while len(prices) < weeks:
        prices.append(_price_next(p, prices[-1]))
    return prices


def _price_brute(p: Params) -> Answer:
    """Search for the price that repeats itself; a difference quotient there; a count of exact weeks in whole hundredths."""

    def rise(price: float) -> float:
        return _price_next(p, price) - price

    high = float(p["each"])
    while rise(high) > 0:
        high += 0.01
    low = float(scipy.optimize.brentq(rise, p["each"], high, xtol=1e-13))
    step = 1e-5
    slope = (_price_next(p, low + step) - _price_next(p, low - step)) / (2 * step)
    weeks = next(w for w, (a, b) in enumerate(itertools.pairwise(_prices(p, 40)), 1) if abs(b - a) < 0.01)
    return (low, p["most"] - p["per_euro"] * low, weeks, slope)


def _price_naive(p: Params) -> list[Answer]:
    first, second, third = _prices(p, 3)
    guesses = (
        (second, 1, 1.0), (third, 2, 0.5), (first + 4 * (second - first), 4, 0.5), ((first + second) / 2, 3, 0.25),
    )  # fmt: skip
    return [(price, p["most"] - p["per_euro"] * price, weeks, share) for price, weeks, share in guesses]


# --- clubs that share members


def _club_draw(rng: random.Random) -> Params:
    clubs = rng.sample(NAMES["clubs"], 4)
    regions = {
        "".join(map(str, some)): rng.randint(3, 31 - 6 * size)
        for size in range(1, 5)
        for some in itertools.combinations(range(4), size)
    }
    return {"clubs": clubs, "regions": regions, "nobody": rng.randint(12, 60)}


def _club_known(p: Params) -> tuple[int, dict[str, int], list[int]]:
    """Return how many pupils there are, are in all of a set of clubs, and are so in all sets of a size together."""
    regions = p["regions"]
    shared = {key: sum(n for other, n in regions.items() if set(key) <= set(other)) for key in regions}
    sums = [sum(n for key, n in shared.items() if len(key) == size) for size in range(5)]
    return sum(regions.values()) + p["nobody"], shared, sums


def _club_solve(p: Params) -> Answer | None:
    total, shared, (_, one, two, three, four) = _club_known(p)
    return (
        total - one + two - three + four,
        one - 2 * two + 3 * three - 4 * four,
        two - 3 * three + 6 * four,
        shared["01"] - shared["012"] - shared["013"] + shared["0123"],
    )


def _club_brute(p: Params) -> Answer:
    """Write down every pupil's clubs and count heads."""
    pupils = [key for key, n in p["regions"].items() for _ in range(n)] + [""] * p["nobody"]
    sizes = Counter(map(len, pupils))
    return (sizes[0], sizes[1], sizes[2], pupils.count("01"))


def _club_naive(p: Params) -> list[Answer]:
    total, shared, (_, one, two, three, _) = _club_known(p)
    both = shared["01"]
    return [
        (max(0, total - one), one, two, both),
        (max(0, total - one + two), one - two, two - three, both - shared["0123"]),
        (
            max(0, total - one + two - three),
            one - 2 * two,
            two - 3 * three,
            both - shared["012"] - shared["013"],
        ),
    ]


def _club_told(p: Params) -> Params:
    total, shared, _ = _club_known(p)
    in_order = sorted(shared.items(), key=lambda each: (len(each[0]), each[0]))
    return {"total": total, "counts": [([p["clubs"][int(i)] for i in key], n) for key, n in in_order]}


PLANNING = (
    Structure("critical_path", _barn_draw, _barn_solve, _barn_brute, _barn_naive, _barn_told),
    Structure("fixed_point", _price_draw, _price_solve, _price_brute, _price_naive),
    Structure("inclusion_exclusion", _club_draw, _club_solve, _club_brute, _club_naive, _club_told),
)
