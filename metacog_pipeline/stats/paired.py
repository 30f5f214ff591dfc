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

from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats._arrays import Floats, Ints, binary, counts, floats, same_length, whole
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable

NO_DISCORDANT = "no item on which they differ"
FEW_MODELS = "fewer than two models"
SAME_DIFFERENCE = "the same difference on every item"
# Standard errors below are rounding: every item differs by the same amount.
_ROUNDING = 1e-12
# Of right answers among models, in one step of counting them: some tens of milliseconds.
_MOST_WAYS = 10_000


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Share correct of one model minus that of another over shared items.

    Attributes
    ----------
    difference
        -1..1, the percentile interval of resampled items; ``sem`` is the standard error over items and n the
        number of shared items.
    p
        Wald's, two-sided, from t = difference / sem with items - 1 df: no floor, so it stands up to a correction over
        many pairs. 1.0 where nothing differs; None where there is no standard error.
    p_bootstrap
        Of the resamples (`resampling.p_value`): never below 2 / (B + 1).
    """

    difference: Estimate
    p: float | None
    p_bootstrap: float | None
    status: str = OK


@dataclass(frozen=True, slots=True)
class McNemar:
    """Two models on the same items, one run.

    Attributes
    ----------
    first_only, second_only
        Items only one of the two got right.
    p_exact, p_mid
        Two-sided binomial p, and its mid-p form (recommended: the exact one is too cautious).
    chi2, p_chi2
        (b - c)² / (b + c) with 1 df, no continuity correction.
    """

    first_only: int
    second_only: int
    n: int
    p_exact: float | None
    p_mid: float | None
    chi2: float | None
    p_chi2: float | None
    status: str = OK


@dataclass(frozen=True, slots=True)
class CochranQ:
    """Several models on the same items: Q, with k - 1 df as chi-square; ``p`` is exact where few items differ."""

    q: float | None
    df: int
    p: float | None
    n: int
    status: str = OK


def paired_difference_from_counts(
    hits1: ArrayLike, runs1: ArrayLike, hits2: ArrayLike, runs2: ArrayLike, n_boot: int, seed: int
) -> PairedDifference:
    """Return the difference from counts per item, for unequal numbers of scored runs.

    Parameters
    ----------
    hits1, runs1, hits2, runs2
        Shape ``(items,)``: correct answers and scored answers of either model to each item. Items that one of
        the two has no scored answer to are left out. Each model's share is Σ hits / Σ runs.
    n_boot, seed
        Number of resamples and the seed.

    Examples
    --------
    >>> first, second, runs = [2, 2, 1, 2, 0, 2], [1, 2, 0, 1, 0, 2], [2] * 6
    >>> found = paired_difference_from_counts(first, runs, second, runs, 1000, seed=1)
    >>> found.difference.value, round(found.p, 3)
    (0.25, 0.076)
    """
    table = np.column_stack([counts("hits1", hits1), counts("runs1", runs1)])
    other = np.column_stack([counts("hits2", hits2), counts("runs2", runs2)])
    same_length(first=table, second=other)
    rows = np.hstack([table, other])
    if bool((rows[:, 0] > rows[:, 1]).any()) or bool((rows[:, 2] > rows[:, 3]).any()):
        raise ValueError("an item has more correct answers than scored answers")
    rows = rows[(rows[:, 1] > 0) & (rows[:, 3] > 0)]
    n, method = len(rows), "paired item bootstrap"
    if n == 0:
        return PairedDifference(unavailable(0, method, NO_ITEMS), None, None, NO_ITEMS)
    patterns = resampling.merge_patterns(rows, np.ones(n, dtype=np.int64))
    value = float(_difference(patterns.totals[None, :].astype(np.float64))[0])
    if n == 1:
        lone = Estimate(value, None, None, 1, method, SINGLE_ITEM)
        return PairedDifference(lone, None, None, SINGLE_ITEM)
    sem = _sem(patterns.counts, patterns.weights)
    draws = _difference(resampling.patterns(patterns, n_boot, seed))
    estimate = Estimate(value, *resampling.interval(draws), n, method, sem=sem)
    same = sem <= _ROUNDING
    p = resampling.wald_p(value / sem, n - 1) if not same else 1.0 if abs(value) <= _ROUNDING else None
    return PairedDifference(estimate, p, resampling.p_value(draws), SAME_DIFFERENCE if same else OK)


def mcnemar(first_only: int, second_only: int, n: int | None = None) -> McNemar:
    """Return McNemar's test from the numbers of items only the first, and only the second, got right.

    ``n`` is the number of items compared, for the record; by default the discordant ones.

    Parameters
    ----------
    first_only, second_only
        Whole numbers of 0 or more.

    Examples
    --------
    >>> found = mcnemar(2, 9)
    >>> round(found.p_exact, 4), round(found.p_mid, 4)
    (0.0654, 0.0386)
    """
    b, c = whole("first_only", first_only), whole("second_only", second_only)
    n = b + c if n is None else whole("n", n)
    if n < b + c:
        raise ValueError(f"{b + c} discordant items among {n}")
    if b + c == 0:
        return McNemar(b, c, n, None, None, None, None, NO_DISCORDANT if n else NO_ITEMS)
    few, m = min(b, c), b + c
    tail = float(bdtr(few, m, 0.5))
    at = tail - (float(bdtr(few - 1, m, 0.5)) if few else 0.0)
    # The mid-p takes half of the observed outcome's probability off each tail.
    p_exact = min(1.0, 2 * tail)
    p_mid = 2 * tail - at if b != c else 1.0 - at / 2
    chi2 = (b - c) ** 2 / m
    return McNemar(b, c, n, p_exact, min(1.0, max(0.0, p_mid)), chi2, float(chdtrc(1, chi2)))


def mcnemar_from_data(first: ArrayLike, second: ArrayLike) -> McNemar:
    """Return McNemar's test of two models' 0/1 outcomes, shapes ``(items,)``, same items in the same order.

    Parameters
    ----------
    first, second
        0 or 1 for each item.

    Examples
    --------
    >>> mcnemar_from_data([1, 1, 0, 1], [0, 1, 0, 0]).first_only
    2
    """
    a, b = binary("first", first), binary("second", second)
    n = same_length(first=a, second=b)
    return mcnemar(int((a > b).sum()), int((b > a).sum()), n)


def cochran_q(outcomes: ArrayLike) -> CochranQ:
    """Return Cochran's Q of 0/1 ``outcomes``, shape ``(items, models)``.

    Q = (k - 1) (k Σ C_j² - T²) / (k T - Σ R_i²) with model totals C, item totals R and grand total T. Where some models but
    not all are right on at most 12 items, p is the share of all ways to place the right answers to each item among the
    models whose Q is as large, unless these take long to count, as with many models; else it is that of chi-square.

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


def _difference(totals: Floats) -> Floats:
    difference: Floats = totals[:, 0] / totals[:, 1] - totals[:, 2] / totals[:, 3]
    return difference


def _sem(rows: Ints, weights: Ints) -> float:
    """Return the linearised standard error of the difference of two ratios over items."""
    n = int(weights.sum())
    hits1, runs1, hits2, runs2 = floats("rows", rows, 2).T
    total1, total2 = float(weights @ runs1), float(weights @ runs2)
    share1, share2 = float(weights @ hits1) / total1, float(weights @ hits2) / total2
    influence = (hits1 - share1 * runs1) / total1 - (hits2 - share2 * runs2) / total2
    return math.sqrt(n / (n - 1) * float(weights @ influence**2))
