"""Whether one of two independent samples tends to be larger: the test of Mann and Whitney, and its effect size.

`scipy.stats.mannwhitneyu` (Mann & Whitney 1947, *Ann. Math. Stat.* 18): U counts the pairs in which the value of the first
sample is the larger one, ties half. The rank-biserial correlation r = 2 U / (n₁ n₂) - 1 (Cureton 1956; Wendt 1972) is 1
where every value of the first sample is larger, -1 where every one is smaller, and 0 where neither is.

p is exact without ties where the smaller sample has at most eight values. SciPy has no exact p with ties: here it is the
share of all arrangements whose U is as far from its mean, where there are few values or few different ones (`MOST_STEPS`).
Else p is that of the normal distribution with corrections for ties and continuity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, Ints, floats
from metacog_pipeline.stats.estimate import OK

EMPTY = "a sample without values"
NO_SPREAD = "all values are equal"
MOST_EXACT = 8
# Of counting arrangements with ties: some tens of milliseconds; the number of arrangements of more values is no double.
MOST_STEPS, MOST_VALUES = 1_000_000, 1_000


@dataclass(frozen=True, slots=True)
class RankSum:
    """The comparison of two samples; ``u``, ``r`` (-1..1) and the two-sided ``p`` are None where ``status`` says why."""

    u: float | None
    r: float | None
    p: float | None
    n_first: int
    n_second: int
    method: str
    status: str = OK


def mann_whitney(first: ArrayLike, second: ArrayLike) -> RankSum:
    """Compare two samples ``first`` and ``second``, ``(n₁,)`` and ``(n₂,)``, in any unit; NaN are left out.

    >>> found = mann_whitney([3, 5, 8], [1, 2, 4])
    >>> found.u, round(found.r, 3), found.p, found.method
    (8.0, 0.778, 0.2, 'mann-whitney, exact')
    """
    from scipy.stats import mannwhitneyu  # late: it takes longer to import than all of this package

    a, b = (floats(name, each, gaps=True) for name, each in (("first", first), ("second", second)))
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    n, m = len(a), len(b)
    if not n or not m:
        return RankSum(None, None, None, n, m, "mann-whitney", EMPTY)
    _, tied = np.unique(np.concatenate([a, b]), return_counts=True)
    if len(tied) == 1:
        return RankSum(n * m / 2, 0.0, None, n, m, "mann-whitney", NO_SPREAD)
    counted = len(tied) < n + m <= MOST_VALUES and _steps(min(n, m), tied) <= MOST_STEPS
    exact = len(tied) == n + m and min(n, m) <= MOST_EXACT
    found = mannwhitneyu(a, b, method="exact" if exact else "asymptotic")
    u = float(found.statistic)
    p = _exact_tied(u, n, m, tied) if counted else float(found.pvalue)
    how = "mann-whitney, exact" if exact or counted else "mann-whitney, normal"
    return RankSum(u, 2 * u / (n * m) - 1, p, n, m, how)


def _places(tied: Ints) -> tuple[Ints, int]:
    """Return the ranks of groups of tied values, from 0, in the largest unit in which they are whole; twice that unit."""
    twice = 2 * np.cumsum(tied) - tied
    unit = int(np.gcd.reduce(twice - twice[0]))
    return (twice - twice[0]) // unit, unit


def _steps(taken: int, tied: Ints) -> int:
    """Return the most sums that `_exact_tied` makes."""
    most = (taken + 1) * (taken * int(_places(tied)[0][-1]) + 1)
    ways, steps = 1, 0
    for size in tied.tolist():
        steps += ways * (min(size, taken) + 1)
        ways = min(ways * (min(size, taken) + 1), most)
    return steps


def _exact_tied(u: float, n: int, m: int, tied: Ints) -> float:
    """Return p from the number of arrangements for each sum of ranks, where ``tied`` values of each group are alike."""
    taken, (places, unit) = min(n, m), _places(tied)
    base = taken * int(places[-1]) + 1
    # How many values are taken so far, times base, and the sum of their places; and in how many ways.
    states: Ints = np.zeros(1, dtype=np.int64)
    ways: Floats = np.ones(1)
    for size, place in zip(tied.tolist(), places.tolist(), strict=True):
        more = np.arange(min(size, taken) + 1)
        reached = np.add.outer(states, more * (base + place)).ravel()
        number = np.outer(ways, [float(math.comb(size, each)) for each in more.tolist()]).ravel()
        kept = reached < (taken + 1) * base
        states, which = np.unique(reached[kept], return_inverse=True)
        ways = np.bincount(which, number[kept]).astype(np.float64)
    whole = states >= taken * base
    # How far each sum is from its mean, times the number of values and twice the unit of ranks: whole numbers.
    far = np.abs((n + m) * (states[whole] - taken * base) - taken * int(tied @ places)) * unit
    return float(ways[whole][far >= (n + m) * round(abs(2 * u - n * m))].sum() / ways[whole].sum())
