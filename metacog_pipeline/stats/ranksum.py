"""Whether one of two independent samples tends to be larger: the test of Mann and Whitney, and its effect size.

Mann & Whitney (1947), *Ann. Math. Stat.* 18. U counts the pairs in which the value of the first sample is the larger one,
ties half. The rank-biserial correlation r = 2 U / (n₁ n₂) - 1 (Cureton 1956; Wendt 1972) is 1 where every value of the
first sample is larger, -1 where every one is smaller, and 0 where neither is.

p is exact where the smaller sample has at most eight values and none are tied, else that of the normal distribution with
corrections for ties and continuity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.stats.ranks import average_ranks

EMPTY = "a sample without values"
NO_SPREAD = "all values are equal"
MOST_EXACT = 8


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
    """Compare two samples, shapes ``(n₁,)`` and ``(n₂,)``; NaN are left out, infinite values a ValueError.

    Parameters
    ----------
    first, second
        Numbers in any unit; only their order counts.

    Examples
    --------
    >>> found = mann_whitney([3, 5, 8], [1, 2, 4])
    >>> found.u, round(found.r, 3), found.p, found.method
    (8.0, 0.778, 0.2, 'mann-whitney, exact')
    """
    a, b = _sample("first", first), _sample("second", second)
    n, m = len(a), len(b)
    if not n or not m:
        return RankSum(None, None, None, n, m, "mann-whitney", EMPTY)
    ranks = average_ranks(np.concatenate([a, b])[None, :])[0]
    u = float(ranks[:n].sum() - n * (n + 1) / 2)
    r = 2 * u / (n * m) - 1
    _, tied = np.unique(ranks, return_counts=True)
    if len(tied) == 1:
        return RankSum(u, r, None, n, m, "mann-whitney", NO_SPREAD)
    if min(n, m) <= MOST_EXACT and len(tied) == n + m:
        return RankSum(u, r, _exact(u, n, m), n, m, "mann-whitney, exact")
    return RankSum(u, r, _normal(u, n, m, tied.astype(np.float64)), n, m, "mann-whitney, normal")


def _exact(u: float, n: int, m: int) -> float:
    """Return p from the number of arrangements of n + m different values for each U."""
    small, large = min(n, m), max(n, m)
    ways = np.zeros(small * large + 1)
    ways[0] = 1.0
    # The Gaussian binomial: times (1 - x^(large + i)), divided by (1 - x^i).
    for i in range(1, small + 1):
        ways[large + i :] -= ways[: -(large + i)].copy() if large + i < len(ways) else 0.0
        for place in range(i, len(ways)):
            ways[place] += ways[place - i]
    at_most = round(min(u, n * m - u))
    return min(1.0, 2 * float(ways[: at_most + 1].sum() / ways.sum()))


def _normal(u: float, n: int, m: int, tied: Floats) -> float:
    size = n + m
    ties = float((tied**3 - tied).sum()) / (size * (size - 1))
    spread = math.sqrt(n * m / 12 * (size + 1 - ties))
    z = (abs(u - n * m / 2) - 0.5) / spread
    return min(1.0, 2 * float(ndtr(-max(z, 0.0))))


def _sample(name: str, values: ArrayLike) -> Floats:
    row = np.asarray(values, dtype=np.float64)
    if row.ndim != 1:
        raise ValueError(f"{name} has shape {row.shape}: 1 dimension needed")
    row = row[~np.isnan(row)]
    if np.isinf(row).any():
        raise ValueError(f"{name} holds an infinite value")
    return row
