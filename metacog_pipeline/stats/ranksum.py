"""Whether one of two independent samples tends to be larger: the test of Mann and Whitney, and its effect size.

`scipy.stats.mannwhitneyu` (Mann & Whitney 1947, *Ann. Math. Stat.* 18): U counts the pairs in which the value of the first
sample is the larger one, ties half. The rank-biserial correlation r = 2 U / (n₁ n₂) - 1 (Cureton 1956; Wendt 1972) is 1
where every value of the first sample is larger, -1 where every one is smaller, and 0 where neither is.

p is exact where the smaller sample has at most eight values, or with ties, where there are at most `MOST_ARRANGED`
arrangements: the share of them whose U is as far from its mean. Else it is that of the normal distribution with corrections
for ties and continuity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, floats, mean_ranks
from metacog_pipeline.stats.estimate import OK

EMPTY = "a sample without values"
NO_SPREAD = "all values are equal"
MOST_EXACT = 8
MOST_ARRANGED = 20_000  # some tens of milliseconds


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
    different = len(np.unique(np.concatenate([a, b])))
    if different == 1:
        return RankSum(n * m / 2, 0.0, None, n, m, "mann-whitney", NO_SPREAD)
    tied = different < n + m
    exact = math.comb(n + m, n) <= MOST_ARRANGED if tied else min(n, m) <= MOST_EXACT
    found = mannwhitneyu(a, b, method="exact" if exact and not tied else "asymptotic")
    u, p = float(found.statistic), float(found.pvalue)
    if exact and tied:
        p = _of_all_arrangements(a, b)
    how = "mann-whitney, exact" if exact else "mann-whitney, normal"
    return RankSum(u, 2 * u / (n * m) - 1, p, n, m, how)


def _of_all_arrangements(first: Floats, second: Floats) -> float:
    """Return the share of ways to choose the smaller sample whose sum of ranks is as far from its mean as the one seen."""
    small, large = sorted((first, second), key=len)
    ranks, n = mean_ranks(np.concatenate([small, large])), len(small)
    # SciPy's own exact p takes no ties. The first way is the one seen; sums of half ranks have no rounding.
    sums = ranks[np.array([*combinations(range(len(ranks)), n)])].sum(axis=1)
    far = np.abs(2 * sums - n * (len(ranks) + 1))
    return float(np.mean(far >= far[0]))
