"""Tests that are exact where there is little: every order of a few models, every exchange of a few items.

Sources: Fisher (1935), *The Design of Experiments*, §21; Pitman (1937), *J. R. Stat. Soc. Suppl.* 4, 119 and 225. p is the
share of all arrangements that are as extreme as what was seen, itself among them. Below `LEAST_ITEMS` items or
`LEAST_MODELS` models no arrangement reaches 0.05 on two sides, and no verdict is given.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from metacog_pipeline.stats._arrays import Floats, Rows, floats, mean_ranks, same_length, whole
from metacog_pipeline.stats.ranks import spearman_p, spearman_rows

MOST_SWAPPED = 12  # items: 2^12 exchanges
MOST_ORDERED = 9  # models: 9! orders
LEAST_ITEMS = 6  # 2 / 2^6 = 0.031
LEAST_MODELS = 5  # 2 / 5! = 0.017
NOTE = "p of all exchanges of items between the two"
# Arrangements this close to what was seen are as extreme: sums of doubles in another order.
_TIE = 1e-9


def too_few(n: int, unit: str = "items") -> str | None:
    """Return why ``n`` items (or models, the ``unit``) bear no verdict; None where they do.

    >>> too_few(2), too_few(6), too_few(5, "models")
    ('no verdict: 2 items, at least 6 needed', None, None)
    """
    least = LEAST_MODELS if unit == "models" else LEAST_ITEMS
    return None if n >= least else f"no verdict: {n} {unit}, at least {least} needed"


def order_p(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return the exact two-sided p of Pearson's r of ``x`` and ``y`` ``(n,)``, three to nine points that differ; else None.

    >>> round(order_p([1, 2, 3], [1, 2, 4]), 4)
    0.3333
    """
    first, second = floats("x", x), floats("y", y)
    if not 3 <= same_length(x=first, y=second) <= MOST_ORDERED:
        return None
    a, b = _standardised(first), _standardised(second)
    if a is None or b is None:
        return None
    null = _null(tuple(np.sort(a).tolist()), tuple(np.sort(b).tolist()))
    below = int(np.searchsorted(null, abs(float(a @ b)) - _TIE))
    return (len(null) - below) / len(null)


def rank_p(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return the two-sided p of Spearman's ρ of ``x`` and ``y`` ``(pairs,)``: exact up to nine pairs, ties and all.

    That of t above, never below 2 / n!. None where guarded.

    >>> round(rank_p([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]), 4)
    0.0167
    """
    first, second = floats("x", x), floats("y", y)
    found = spearman_rows(first[None], second[None], least=None)
    if found.status[0] != "ok":
        return None
    if len(first) > MOST_ORDERED:
        return spearman_p(float(found.rho[0]), len(first))
    return order_p(mean_ranks(first), mean_ranks(second))


def exchanges(n: int) -> Rows:
    """Return every way to exchange two respondents' answers to ``n`` items, ``(2^n, n)``, the first without any.

    >>> exchanges(2).tolist()
    [[False, False], [True, False], [False, True], [True, True]]
    """
    if whole("n", n) > MOST_SWAPPED:
        raise ValueError(f"{n} items: all exchanges of at most {MOST_SWAPPED} are made")
    return np.asarray((np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1)


def least_p(n: int) -> float:
    """Return the least two-sided p there is where ``n`` items can be exchanged.

    >>> least_p(6), least_p(0)
    (0.03125, 1.0)
    """
    return min(1.0, 2.0 ** (1 - whole("n", n)))


def exchange_p(differences: ArrayLike) -> float | None:
    """Return the share of exchanges whose difference is as far from 0 as the first, of which nothing is exchanged.

    ``differences`` ``(2^n,)`` are in the order of `exchanges`; None where the first is undefined.

    >>> exchange_p([2.0, 0.5, -0.5, -2.0])
    0.5
    """
    sizes = np.abs(np.asarray(differences, dtype=np.float64))
    if not len(sizes) or not np.isfinite(sizes[0]):
        return None
    # An exchange without a number counts as being as far: p is rather too large.
    sizes = np.where(np.isfinite(sizes), sizes, np.inf)
    return float(np.mean(sizes >= sizes[0] * (1 - _TIE) - 1e-12))


def sum_p(differences: ArrayLike) -> float:
    """Return the exact p of all exchanges of a sum of whole ``differences`` ``(items,)``, of any number of items.

    Exchanging an item turns the sign of its difference. Of differences -1, 0 and 1 it is the exact p of McNemar.

    >>> [round(sum_p(each), 5) for each in ([1, 1, 1, 0, -1], [1] * 12 + [-1], [2, 1, -1])]
    [0.625, 0.00342, 0.75]
    """
    moved = np.asarray(differences, dtype=np.int64)
    total, reach, chances = abs(int(moved.sum())), 0, np.ones(1)
    for size, n in zip(*np.unique(np.abs(moved[moved != 0]), return_counts=True), strict=True):
        steps = np.zeros(2 * n * size + 1)  # chances of the sums -n · size, …, n · size
        k = np.arange(n + 1)
        steps[:: 2 * size] = np.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) - n * np.log(2.0))
        chances, reach = np.convolve(chances, steps), reach + int(n * size)
    return min(1.0, 2 * float(chances[: reach - total + 1].sum())) if total else 1.0


def paired_p(first: Floats, second: Floats, statistic: Callable[[Floats], Floats]) -> float | None:
    """Return the exact p of a ``statistic``, ``(B, items, cells)`` to ``(B,)``, of one respondent minus that of another.

    ``first`` and ``second`` ``(items, cells)`` are what either has on each of at most 12 shared items.

    >>> paired_p(np.ones((5, 1)), np.zeros((5, 1)), lambda each: each[:, :, 0].mean(axis=1))
    0.0625
    """
    swapped = exchanges(len(first))[:, :, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        one = statistic(np.where(swapped, second, first))
    # The last exchange leaves the other with what the first leaves the one, and so on.
    return exchange_p(one - one[::-1])


def _standardised(values: Floats) -> Floats | None:
    gap = values - values.mean()
    largest = float(np.abs(gap).max())
    if largest <= 1e-12 * float(np.abs(values).max()):
        return None
    gap = gap / largest
    return np.asarray(gap / np.sqrt(gap @ gap))


@lru_cache(maxsize=32)
def _null(a: tuple[float, ...], b: tuple[float, ...]) -> Floats:
    """Return |r| of every order of ``b`` with ``a``, sorted; rankings without ties share one."""
    return np.sort(np.abs(np.array(b)[_orders(len(b))] @ np.array(a)))


@lru_cache(maxsize=2)
def _orders(n: int) -> NDArray[np.int8]:
    return np.array(list(permutations(range(n))), dtype=np.int8)
