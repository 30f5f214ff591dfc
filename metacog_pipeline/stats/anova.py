"""One-way ANOVA and the comparisons that follow it, from n, mean and sd of each group.

Sources: Fisher (1925), *Statistical Methods for Research Workers* (F); Tukey (1953) and Kramer (1956), *Biometrics*
12 (all pairs, unequal n); Fisher (1935), *The Design of Experiments* (least significant difference); Holm (1979). Cohen
(1988), *Statistical Power Analysis* (d); Hedges & Olkin (1985), ch. 5, eq. 15, for the large-sample variance of d,
(n1 + n2) / (n1 n2) + d² / (2 (n1 + n2)).

Groups are taken as independent (`stats.paired` has the tests of groups on the same items); SciPy's want the values.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc, stdtr

from metacog_pipeline.stats._arrays import LARGEST, counts, floats, same_length, whole
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, Estimate, unavailable
from metacog_pipeline.stats.intervals import sem_interval
from metacog_pipeline.stats.multiple import holm

FEW_GROUPS = "fewer than two groups with items"
NO_ERROR_DF = "no group with two items"
NO_SPREAD = "no spread within groups"
EMPTY_GROUP = "a group without items"
TOO_FEW = "fewer than three items"
LARGEST_EFFECT = 1e8  # beyond this many standard deviations the spread is rounding error
LARGEST_F = 1e30  # a larger F means a spread within groups that is rounding error
LEAST_P = 1e-13  # of the studentized range: SciPy's integral gives 0 for less


@dataclass(frozen=True, slots=True)
class Groups:
    """Sufficient statistics of k groups: ``n`` items, ``mean`` and sample ``sd`` (n - 1 form) of each."""

    n: tuple[int, ...]
    mean: tuple[float, ...]
    sd: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Anova:
    """One-way analysis of variance of ``k`` groups that have items, ``n`` items in all.

    Mean squares are in the squared unit of the data; ``ms_error`` is the pooled variance, None without degrees of freedom.
    ``f`` and ``p``, its upper tail, are None where ``status`` says why.
    """

    groups: Groups
    k: int
    n: int
    df_between: int
    df_error: int
    ms_between: float | None
    ms_error: float | None
    f: float | None = None
    p: float | None = None
    status: str = OK


@dataclass(frozen=True, slots=True)
class Comparison:
    """Groups ``first`` and ``second``: the difference of their means, and its test.

    ``statistic`` is q (Tukey-Kramer, 0 or more) or t (LSD, signed). ``p`` of Tukey-Kramer is family-wise over all
    pairs; that of LSD is two-sided and **not corrected**, ``p_holm`` is.
    """

    first: int
    second: int
    difference: float | None
    statistic: float | None = None
    p: float | None = None
    p_holm: float | None = None
    status: str = OK


def anova(n: ArrayLike, mean: ArrayLike, sd: ArrayLike) -> Anova:
    """Return the one-way analysis of variance from each group's ``n``, ``mean`` and ``sd`` (n - 1 form), shapes ``(k,)``.

    Groups with n = 0 are left out; of a group with n = 1 the sd is not read.

    >>> found = anova([10, 10, 10], [0.5, 0.7, 0.9], [0.2, 0.2, 0.2])
    >>> round(found.f, 2), found.df_between, found.df_error, round(found.p, 5)
    (10.0, 2, 27, 0.00056)
    """
    size = counts("n", n).astype(np.float64)
    means, sds = (np.atleast_1d(np.asarray(each, dtype=np.float64)) for each in (mean, sd))
    same_length(n=size, mean=means, sd=sds)
    # What an empty group or a single item lacks may come as NaN: it is not read.
    centre = floats("mean", np.where(size > 0, means, 0.0))
    spread = floats("sd", np.where(size > 1, sds, 0.0))
    if spread.size and float(spread.min()) < 0:
        raise ValueError(f"sd is {spread.min()}, below 0")
    groups = Groups(tuple(map(int, size)), tuple(map(float, centre)), tuple(map(float, spread)))
    k, total = int((size > 0).sum()), int(size.sum())
    grand = float(size @ centre) / total if total else 0.0
    between = float(size @ (centre - grand) ** 2)
    error = float(np.maximum(size - 1, 0) @ spread**2)
    df_between, df_error = max(k - 1, 0), total - k
    ms_between = between / df_between if df_between else None
    ms_error = error / df_error if df_error else None
    found = Anova(groups, k, total, df_between, df_error, ms_between, ms_error)
    if ms_between is None or ms_error is None:
        return replace(found, status=FEW_GROUPS if ms_between is None else NO_ERROR_DF)
    if ms_error == 0 or ms_between / LARGEST_F > ms_error:
        return replace(found, status=NO_SPREAD)
    f = ms_between / ms_error
    return replace(found, f=f, p=float(fdtrc(df_between, df_error, f)))


def tukey_kramer(result: Anova, wanted: Sequence[tuple[int, int]] | None = None) -> tuple[Comparison, ...]:
    """Return the ``wanted`` pairs of groups, by default all, with q = |m_i - m_j| / sqrt(MSE / 2 (1/n_i + 1/n_j)).

    >>> [round(pair.p, 3) for pair in tukey_kramer(anova([10, 10, 10], [0.5, 0.7, 0.9], [0.2, 0.2, 0.2]))]
    [0.083, 0.0, 0.083]
    """
    from scipy.stats import studentized_range  # late: it takes longer to import than all of this package

    pairs = combinations(range(len(result.groups.n)), 2) if wanted is None else wanted
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of SciPy's own integral where p is near 1
        for pair in (_compared(result, i, j) for i, j in pairs):
            if pair.statistic is not None:
                q = abs(pair.statistic) * math.sqrt(2)
                p = float(studentized_range.sf(q, result.k, result.df_error))
                pair = replace(pair, statistic=q, p=min(max(p, LEAST_P), 1.0))
            found.append(pair)
    return tuple(found)


def fisher_lsd(result: Anova, baseline: int = 0) -> tuple[Comparison, ...]:
    """Return every other group of ``result`` against ``baseline``, t = (m_i - m_0) / sqrt(MSE (1/n_i + 1/n_0)), df N - k.

    >>> [round(pair.p, 3) for pair in fisher_lsd(anova([10, 10, 10], [0.5, 0.7, 0.9], [0.2, 0.2, 0.2]))]
    [0.034, 0.0]
    """
    k = len(result.groups.n)
    if whole("baseline", baseline) >= k:
        raise ValueError(f"baseline {baseline} is none of the {k} groups")
    rows = [_compared(result, i, baseline) for i in range(k) if i != baseline]
    t = [row.statistic for row in rows]
    p = [None if each is None else 2 * float(stdtr(result.df_error, -abs(each))) for each in t]
    return tuple(replace(row, p=own, p_holm=adj) for row, own, adj in zip(rows, p, holm(p), strict=True))


def _compared(result: Anova, i: int, j: int) -> Comparison:
    """Return the difference of two means with its t, or why there is none."""
    n_i, n_j = result.groups.n[i], result.groups.n[j]
    if n_i == 0 or n_j == 0:
        return Comparison(i, j, None, status=EMPTY_GROUP)
    difference = result.groups.mean[i] - result.groups.mean[j]
    if result.ms_error is None or result.status == NO_SPREAD:
        return Comparison(i, j, difference, status=NO_ERROR_DF if result.ms_error is None else NO_SPREAD)
    return Comparison(i, j, difference, difference / math.sqrt(result.ms_error * (1 / n_i + 1 / n_j)))


def cohen_d(n1: int, mean1: float, sd1: float, n2: int, mean2: float, sd2: float) -> Estimate:
    """Return d = (mean1 - mean2) / s_p with the pooled sample standard deviation s_p, as an estimate; n is n1 + n2.

    Means in any unit; sd1 and sd2 (n - 1 form) in the same, not read where n is below 2. No value where a group is empty,
    n1 + n2 < 3, or nothing varies within the groups.

    >>> found = cohen_d(20, 0.8, 0.4, 25, 0.5, 0.45)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.7, 0.094, 1.305)
    """
    n1, n2 = whole("n1", n1), whole("n2", n2)
    if n1 == 0 or n2 == 0 or n1 + n2 < 3:
        return unavailable(n1 + n2, "cohen d", TOO_FEW if n1 and n2 else NO_ITEMS)
    sd1, sd2 = sd1 if n1 > 1 else 0.0, sd2 if n2 > 1 else 0.0
    if not all(abs(x) <= LARGEST for x in (mean1, mean2, sd1, sd2)) or sd1 < 0 or sd2 < 0:
        raise ValueError(f"means {mean1}, {mean2} and sds {sd1}, {sd2} must be finite, sds 0 or more")
    pooled = math.sqrt(((n1 - 1) * sd1**2 + (n2 - 1) * sd2**2) / (n1 + n2 - 2))
    difference = mean1 - mean2
    if pooled == 0 or abs(difference) / LARGEST_EFFECT > pooled:
        return unavailable(n1 + n2, "cohen d", NO_SPREAD)
    d = difference / pooled
    sem = math.sqrt((n1 + n2) / (n1 * n2) + d * d / (2 * (n1 + n2)))
    return Estimate(d, *sem_interval(d, sem), n1 + n2, "cohen d", sem=sem)
