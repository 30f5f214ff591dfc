"""Stories on work and numbers that hang together: a barn, a price that feeds back, clubs that share members."""

from __future__ import annotations

import itertools
import random

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
    return {
        "jobs": [[jobs[i], hours[i], after[jobs[i]]] for i in shown],
        "order": jobs,
        "pick": rng.randrange(9),
        "late": rng.randrange(9),
        "delay": rng.randint(15, 45),
    }


def _barn_times(p: Params, extra: dict[str, int] | None = None) -> tuple[int, dict[str, int], dict[str, int]]:
    """Return the total, the earliest ends and the latest ends of all jobs, forwards and backwards."""
    hours = {job: h + (extra or {}).get(job, 0) for job, h, _ in p["jobs"]}
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
    after, _, _ = _barn_times(p, {delayed: p["delay"]})
    if slack == 0 or after in (total, total + p["delay"]) or not 3 <= len(tight) <= 6 or pick == delayed:
        return None
    return (total, tight, slack, after)


def _barn_chains(p: Params, extra: dict[str, int]) -> list[tuple[int, list[str]]]:
    """List every chain of jobs from one without need to one nobody needs, with its length."""
    before = {job: needs for job, _, needs in p["jobs"]}
    hours = {job: h + extra.get(job, 0) for job, h, _ in p["jobs"]}
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
    chains = _barn_chains(p, {})
    total = max(length for length, _ in chains)
    pick, delayed = _barn_asked(p)
    return (
        total,
        sorted({job for length, chain in chains if length == total for job in chain}),
        total - max(length for length, chain in chains if pick in chain),
        max(length for length, _ in _barn_chains(p, {delayed: p["delay"]})),
    )


def _barn_naive(p: Params) -> list[Answer]:
    hours = {job: h for job, h, _ in p["jobs"]}
    total = sum(hours.values())
    jobs, most = max(((chain, len(chain)) for _, chain in _barn_chains(p, {})), key=lambda each: each[1])
    longest = sum(hours[job] for job in jobs)
    big = sorted(hours, key=lambda job: -hours[job])[:most]
    return [
        (total, p["order"], 0, total + p["delay"]),
        (longest, jobs, 0, longest + p["delay"]),
        (longest, big, hours[_barn_asked(p)[0]], longest),
    ]


def _barn_told(p: Params) -> Params:
    picked, delayed = _barn_asked(p)
    jobs = [
        (job, h, f"only after {joined(needs)}" if needs else "can begin at once")
        for job, h, needs in p["jobs"]
    ]
    return {"jobs": jobs, "picked": picked, "delayed": delayed}


# --- a price that feeds back


def _price_draw(rng: random.Random) -> Params:
    return {
        "rent": rng.randrange(150, 420, 10),
        "each": rng.randint(60, 190) / 100,
        "most": rng.randrange(150, 330, 10),
        "per_euro": rng.randint(15, 38),
        "start": rng.randint(200, 560) / 100,
    }


def _price_next(p: Params, price: float) -> float:
    return float(p["each"] + p["rent"] / (p["most"] - p["per_euro"] * price))


def _price_solve(p: Params) -> Answer | None:
    low_price = p["most"] / p["per_euro"]
    price, weeks, settled = p["start"], 0, 0
    for week in range(1, 3000):
        if price >= 0.97 * low_price:
            return None
        after = _price_next(p, price)
        weeks, price, moved = week, after, abs(after - price)
        if moved < 0.01 and not settled:
            settled = week
        if moved < 1e-13:
            break
    guests = p["most"] - p["per_euro"] * price
    factor = p["rent"] * p["per_euro"] / guests**2
    if not settled or weeks > 2900 or not 0.35 < factor < 0.85 or not 4 <= settled <= 14:
        return None
    near = [abs(abs(_price_after(p, w) - _price_after(p, w - 1)) - 0.01) for w in (settled, settled - 1)]
    if min(near) < 0.0015 or guests < 30:
        return None
    return (price, guests, settled, factor)


def _price_after(p: Params, weeks: int) -> float:
    price = float(p["start"])
    for _ in range(weeks):
        price = _price_next(p, price)
    return price


def _price_brute(p: Params) -> Answer:
    """Search for the price that repeats itself; a difference quotient there; a count of exact weeks in whole hundredths."""
    high = float(p["each"])
    while _price_next(p, high) > high:
        high += 0.01
    low = float(
        scipy.optimize.brentq(lambda price: _price_next(p, price) - price, p["each"], high, xtol=1e-13)
    )
    step = 1e-5
    slope = (_price_next(p, low + step) - _price_next(p, low - step)) / (2 * step)
    prices = [_price_after(p, week) for week in range(40)]
    weeks = next(w for w in range(1, 40) if abs(prices[w] - prices[w - 1]) < 0.01)
    return (low, p["most"] - p["per_euro"] * low, weeks, slope)


def _price_naive(p: Params) -> list[Answer]:
    prices = [_price_after(p, week) for week in range(3)]
    line = prices[0] + 4 * (prices[1] - prices[0])
    mean = (prices[0] + prices[1]) / 2
    return [
        (price, p["most"] - p["per_euro"] * price, weeks, share)
        for price, weeks, share in ((prices[1], 1, 1.0), (prices[2], 2, 0.5), (line, 4, 0.5), (mean, 3, 0.25))
    ]


# --- clubs that share members


def _club_draw(rng: random.Random) -> Params:
    clubs = rng.sample(NAMES["clubs"], 4)
    regions = {
        "".join(map(str, some)): rng.randint(3, 31 - 6 * size)
        for size in range(1, 5)
        for some in itertools.combinations(range(4), size)
    }
    return {"clubs": clubs, "regions": regions, "nobody": rng.randint(12, 60)}


def _club_known(p: Params) -> tuple[int, dict[str, int]]:
    """Return the number of pupils and, for every set of clubs, how many are in all of them."""
    regions = p["regions"]
    shared = {key: sum(n for other, n in regions.items() if set(key) <= set(other)) for key in regions}
    return sum(regions.values()) + p["nobody"], shared


def _club_solve(p: Params) -> Answer | None:
    total, shared = _club_known(p)
    sums = [sum(n for key, n in shared.items() if len(key) == size) for size in range(5)]
    return (
        total - sums[1] + sums[2] - sums[3] + sums[4],
        sums[1] - 2 * sums[2] + 3 * sums[3] - 4 * sums[4],
        sums[2] - 3 * sums[3] + 6 * sums[4],
        shared["01"] - shared["012"] - shared["013"] + shared["0123"],
    )


def _club_brute(p: Params) -> Answer:
    """Write down every pupil's clubs and count heads."""
    pupils = [set(key) for key, n in p["regions"].items() for _ in range(n)] + [set[str]()] * p["nobody"]
    return (
        sum(not clubs for clubs in pupils),
        sum(len(clubs) == 1 for clubs in pupils),
        sum(len(clubs) == 2 for clubs in pupils),
        sum(clubs == {"0", "1"} for clubs in pupils),
    )


def _club_naive(p: Params) -> list[Answer]:
    total, shared = _club_known(p)
    sums = [sum(n for key, n in shared.items() if len(key) == size) for size in range(5)]
    return [
        (max(0, total - sums[1]), sums[1], sums[2], shared["01"]),
        (
            max(0, total - sums[1] + sums[2]),
            sums[1] - sums[2],
            sums[2] - sums[3],
            shared["01"] - shared["0123"],
        ),
        (
            max(0, total - sums[1] + sums[2] - sums[3]),
            sums[1] - 2 * sums[2],
            sums[2] - 3 * sums[3],
            shared["01"] - shared["012"] - shared["013"],
        ),
    ]


def _club_told(p: Params) -> Params:
    total, shared = _club_known(p)
    in_order = sorted(shared.items(), key=lambda each: (len(each[0]), each[0]))
    return {"total": total, "counts": [([p["clubs"][int(i)] for i in key], n) for key, n in in_order]}


PLANNING = (
    Structure("critical_path", _barn_draw, _barn_solve, _barn_brute, _barn_naive, _barn_told),
    Structure("fixed_point", _price_draw, _price_solve, _price_brute, _price_naive),
    Structure("inclusion_exclusion", _club_draw, _club_solve, _club_brute, _club_naive, _club_told),
)
