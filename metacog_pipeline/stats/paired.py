"""Comparisons of models that answered the same items.

Sources: McNemar (1947), *Psychometrika* 12; its mid-p form, Fagerland, Lydersen & Laake (2013), *BMC Med. Res. Methodol.*
13; Cochran (1950), *Biometrika* 37 (Q); Efron & Tibshirani (1993), ch. 13 and 16, for the bootstrap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, chdtrc

from metacog_pipeline.stats import exact
from metacog_pipeline.stats._arrays import Ints, binary, whole
from metacog_pipeline.stats.estimate import NO_ITEMS, OK

NO_DISCORDANT = "no item on which they differ"
FEW_MODELS = "fewer than two models"
SAME_DIFFERENCE = "the same difference on every item"
# Of right answers among models, in one step of counting them: some tens of milliseconds.
_MOST_WAYS = 10_000


@dataclass(frozen=True, slots=True)
class McNemar:
    """Two models on the same items, one run."""

    first_only: int
    second_only: int
    n: int
    p_exact: float | None
    p_mid: float | None
    chi2: float | None
    status: str = OK


@dataclass(frozen=True, slots=True)
class CochranQ:
    """Several models on the same items: Q, with k - 1 df as chi-square; ``p`` is exact where few items differ."""

    q: float | None
    df: int
    p: float | None
    n: int
    status: str = OK


def mcnemar(first_only: int, second_only: int, n: int | None = None) -> McNemar:
    """Return McNemar's test of the numbers of items that ``first_only`` and ``second_only`` got right, among ``n``.

    >>> found = mcnemar(2, 9)
    >>> round(found.p_exact, 4), round(found.p_mid, 4)
    (0.0654, 0.0386)
    """
    b, c = whole("first_only", first_only), whole("second_only", second_only)
    n = b + c if n is None else whole("n", n)
    if n < b + c:
        raise ValueError(f"{b + c} discordant items among {n}")
    if b + c == 0:
        return McNemar(b, c, n, None, None, None, NO_DISCORDANT if n else NO_ITEMS)
    few, m = min(b, c), b + c
    tail = float(bdtr(few, m, 0.5))
    at = tail - (float(bdtr(few - 1, m, 0.5)) if few else 0.0)
    # The mid-p takes half of the observed outcome's probability off each tail.
    p_exact = min(1.0, 2 * tail)
    p_mid = 2 * tail - at if b != c else 1.0 - at / 2
    return McNemar(b, c, n, p_exact, min(1.0, max(0.0, p_mid)), (b - c) ** 2 / m)


def cochran_q(outcomes: ArrayLike) -> CochranQ:
    """Return Cochran's Q of 0/1 ``outcomes``, shape ``(items, models)``.

    Q = (k - 1) (k Σ C_j² - T²) / (k T - Σ R_i²) with model totals C, item totals R and grand total T. Where some models
    but not all are right on at most 12 items, p is the share of all ways to place the right answers to each item among
    the models whose Q is as large, unless these are many; else it is that of chi-square.

    >>> found = cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0]])
    >>> found.q, found.df, round(found.p, 3)
    (6.0, 2, 0.074)
    """
    table = binary("outcomes", outcomes, 2)
    n, k = table.shape
    df = max(k - 1, 0)
    if n == 0:
        return CochranQ(None, df, None, 0, NO_ITEMS)
    if k < 2:
        return CochranQ(None, df, None, n, FEW_MODELS)
    by_model, by_item = table.sum(axis=0), table.sum(axis=1)
    total = int(table.sum())
    divisor = k * total - int(by_item @ by_item)
    if divisor == 0:
        return CochranQ(None, df, None, n, NO_DISCORDANT)
    q = (k - 1) * (k * int(by_model @ by_model) - total * total) / divisor
    differ = table[(by_item > 0) & (by_item < k)]
    p = _exact_q(differ) if len(differ) <= exact.MOST_SWAPPED else None
    return CochranQ(q, df, float(chdtrc(df, q)) if p is None else p, n)


def _exact_q(differ: Ints) -> float | None:
    """Return the share of all ways whose squares of the totals of models are as large; None where that takes long."""
    k = differ.shape[1]
    found = {(0,) * k: 1}  # totals in rising order, which is as good as any, and the ways that lead there
    for right in sorted(differ.sum(axis=1).tolist()):
        if len(found) * math.comb(k, right) > _MOST_WAYS:
            return None
        reached: dict[tuple[int, ...], int] = {}
        for (totals, ways), own in product(found.items(), combinations(range(k), right)):
            more = tuple(sorted(total + (place in own) for place, total in enumerate(totals)))
            reached[more] = reached.get(more, 0) + ways
        found = reached
    seen = int(np.square(differ.sum(axis=0)).sum())
    large = sum(ways for totals, ways in found.items() if sum(total * total for total in totals) >= seen)
    return large / sum(found.values())
