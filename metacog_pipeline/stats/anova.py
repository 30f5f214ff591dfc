"""Differences between several groups: one-way ANOVA and the comparisons that follow it.

Sources: Fisher (1925), *Statistical Methods for Research Workers* (F); Tukey (1953) and Kramer (1956), *Biometrics*
12 (all pairs, unequal n); Fisher (1935), *The Design of Experiments* (least significant difference); Holm (1979).

Groups are taken as independent. Where the same items are answered by every group they are not, and this ignores
it: :mod:`~metacog_pipeline.stats.paired` holds the tests that do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc, stdtr

from metacog_pipeline.stats._arrays import Floats, counts, floats, same_length, whole
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.stats.multiple import holm
from metacog_pipeline.stats.studentized_range import studentized_range_sf

FEW_GROUPS = "fewer than two groups with items"
NO_ERROR_DF = "no group with two items"
NO_SPREAD = "no spread within groups"
EMPTY_GROUP = "a group without items"


@dataclass(frozen=True, slots=True)
class Groups:
    """Sufficient statistics of k groups: ``n`` items, ``mean`` and sample ``sd`` (n - 1 form) of each."""

    n: tuple[int, ...]
    mean: tuple[float, ...]
    sd: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Anova:
    """One-way analysis of variance.

    Attributes
    ----------
    k, n
        Groups that have items, and items in all.
    ss_between, ss_error
        Sums of squares, squared unit of the data.
    df_between, df_error
        k - 1 and N - k.
    ms_between, ms_error
        Mean squares, None without degrees of freedom; ``ms_error`` is the pooled variance.
    f, p
        The F ratio and its upper tail, None with the reason in ``status``.
    """

    groups: Groups
    k: int
    n: int
    ss_between: float
    ss_error: float
    df_between: int
    df_error: int
    ms_between: float | None
    ms_error: float | None
    f: float | None
    p: float | None
    status: str = OK


@dataclass(frozen=True, slots=True)
class Comparison:
    """One pair of groups.

    Attributes
    ----------
    first, second
        Positions of the groups.
    difference
        Mean of the first minus mean of the second, unit of the data; None where one has no items.
    statistic
        q (Tukey-Kramer, 0 or more) or t (LSD, signed).
    p
        Tukey-Kramer: family-wise over all pairs. LSD: two-sided and **not corrected**.
    p_holm
        LSD only: p with Holm's correction over the comparisons with the baseline.
    """

    first: int
    second: int
    difference: float | None
    statistic: float | None
    p: float | None
    p_holm: float | None = None
    status: str = OK


def summarise(samples: Sequence[ArrayLike]) -> Groups:
    """Return n, mean and sd of each sample (shape ``(n_i,)``); 0 stands for what does not exist (n of 0 or 1).

    Parameters
    ----------
    samples
        Finite numbers in any unit, one array for each group.

    Examples
    --------
    >>> summarise([[1, 2, 3], [4, 6]]).mean
    (2.0, 5.0)
    """
    rows = [_summary(floats(f"sample {i}", sample)) for i, sample in enumerate(samples)]
    return Groups(tuple(r[0] for r in rows), tuple(r[1] for r in rows), tuple(r[2] for r in rows))


def proportions_as_groups(successes: ArrayLike, n: ArrayLike) -> Groups:
    """Return the groups of 0/1 data with the given successes of n, both shape ``(k,)``.

    >>> proportions_as_groups([3, 4], [4, 8]).mean
    (0.75, 0.5)
    """
    hits, size = counts("successes", successes), counts("n", n)
    same_length(successes=hits, n=size)
    if bool((hits > size).any()):
        raise ValueError("more successes than items in a group")
    share = hits / np.maximum(size, 1)
    sd = np.sqrt(share * (1 - share) * size / np.maximum(size - 1, 1))
    return Groups(tuple(map(int, size)), tuple(map(float, share)), tuple(map(float, sd)))


def anova(n: ArrayLike, mean: ArrayLike, sd: ArrayLike) -> Anova:
    """Return the one-way analysis of variance from each group's n, mean and sd (n - 1 form), shapes ``(k,)``.

    Groups with n = 0 are left out; of a group with n = 1 the sd is not read.

    >>> found = anova([10, 10, 10], [0.5, 0.7, 0.9], [0.2, 0.2, 0.2])
    >>> round(found.f, 2), found.df_between, found.df_error, round(found.p, 5)
    (10.0, 2, 27, 0.00056)
    """
    size, centre, spread = _check(n, mean, sd)
    groups = Groups(tuple(map(int, size)), tuple(map(float, centre)), tuple(map(float, spread)))
    k, total = int((size > 0).sum()), int(size.sum())
    grand = float(size @ centre) / total if total else 0.0
    between = float(size @ (centre - grand) ** 2)
    error = float(np.maximum(size - 1, 0) @ spread**2)
    df_between, df_error = max(k - 1, 0), total - k
    ms_between = between / df_between if df_between else None
    ms_error = error / df_error if df_error else None
    status, f, p = OK, None, None
    if ms_between is None:
        status = FEW_GROUPS
    elif ms_error is None:
        status = NO_ERROR_DF
    elif ms_error == 0 or ms_between / LARGEST_F > ms_error:
        status = NO_SPREAD
    else:
        f = ms_between / ms_error
        p = float(fdtrc(df_between, df_error, f))
    return Anova(groups, k, total, between, error, df_between, df_error, ms_between, ms_error, f, p, status)


# A larger F means a spread within groups that is rounding error.
LARGEST_F = 1e30


def tukey_kramer(result: Anova, wanted: Sequence[tuple[int, int]] | None = None) -> tuple[Comparison, ...]:
    """Return every pair of groups, i < j, with q = |m_i - m_j| / sqrt(MSE / 2 (1/n_i + 1/n_j)); or the ``wanted`` ones.

    p is family-wise over all pairs, whichever are wanted.

    Parameters
    ----------
    result
        What `anova` returned: its groups, their MSE and degrees of freedom.
    wanted
        Indices of groups, i < j; None: all pairs.

    Examples
    --------
    >>> [round(pair.p, 3) for pair in tukey_kramer(anova([10, 10, 10], [0.5, 0.7, 0.9], [0.2, 0.2, 0.2]))]
    [0.083, 0.0, 0.083]
    """
    pairs = list(combinations(range(len(result.groups.n)), 2)) if wanted is None else list(wanted)
    scales = [_scale(result, i, j) for i, j in pairs]
    usable = [(pair, s) for pair, s in zip(pairs, scales, strict=True) if isinstance(s, float)]
    q = np.array([abs(_difference(result, *pair)) / (s / math.sqrt(2)) for pair, s in usable])
    p = studentized_range_sf(q, result.k, result.df_error) if len(q) else q
    found = {pair: (float(a), float(b)) for (pair, _), a, b in zip(usable, q, p, strict=True)}
    return tuple(
        Comparison(i, j, _difference(result, i, j), *found[i, j])
        if isinstance(scale, float)
        else _no_comparison(result, i, j, scale)
        for (i, j), scale in zip(pairs, scales, strict=True)
    )


def fisher_lsd(result: Anova, baseline: int = 0) -> tuple[Comparison, ...]:
    """Return every other group against the baseline, t = (m_i - m_0) / sqrt(MSE (1/n_i + 1/n_0)), df N - k.

    ``p`` is uncorrected, as the least significant difference is; ``p_holm`` is the corrected one beside it.

    Parameters
    ----------
    result
        What `anova` returned.
    baseline
        Index of the group the others are compared with.

    Examples
    --------
    >>> [round(pair.p, 3) for pair in fisher_lsd(anova([10, 10, 10], [0.5, 0.7, 0.9], [0.2, 0.2, 0.2]))]
    [0.034, 0.0]
    """
    if not 0 <= whole("baseline", baseline) < len(result.groups.n):
        raise ValueError(f"baseline {baseline} is none of the {len(result.groups.n)} groups")
    rows = []
    for i in range(len(result.groups.n)):
        if i == baseline:
            continue
        scale = _scale(result, i, baseline)
        if isinstance(scale, str):
            rows.append(_no_comparison(result, i, baseline, scale))
            continue
        difference = _difference(result, i, baseline)
        t = difference / scale
        rows.append(Comparison(i, baseline, difference, t, two_sided_t(t, result.df_error)))
    adjusted = holm([row.p for row in rows])
    return tuple(
        Comparison(r.first, r.second, r.difference, r.statistic, r.p, p, r.status)
        for r, p in zip(rows, adjusted, strict=True)
    )


def two_sided_t(t: float, df: float) -> float:
    """Return the two-sided p of Student's t.

    Parameters
    ----------
    t
        Any number; its sign does not matter.
    df
        Degrees of freedom, above 0.

    Examples
    --------
    >>> round(two_sided_t(2.0, 30), 3)
    0.055
    """
    return min(1.0, 2 * float(stdtr(df, -abs(t))))


def _summary(sample: Floats) -> tuple[int, float, float]:
    n = len(sample)
    # Equal values have no spread, though their computed mean may differ from them by rounding.
    if n == 0 or bool((sample == sample[0]).all()):
        return n, float(sample[0]) if n else 0.0, 0.0
    return n, float(sample.mean()), float(np.std(sample, ddof=1))


def _difference(result: Anova, i: int, j: int) -> float:
    return result.groups.mean[i] - result.groups.mean[j]


def _scale(result: Anova, i: int, j: int) -> float | str:
    """Return the standard error of a difference of two means, or why there is none."""
    n_i, n_j = result.groups.n[i], result.groups.n[j]
    if n_i == 0 or n_j == 0:
        return EMPTY_GROUP
    if result.ms_error is None:
        return NO_ERROR_DF
    if result.status == NO_SPREAD:
        return NO_SPREAD
    return math.sqrt(result.ms_error * (1 / n_i + 1 / n_j))


def _no_comparison(result: Anova, i: int, j: int, status: str) -> Comparison:
    difference = None if status == EMPTY_GROUP else _difference(result, i, j)
    return Comparison(i, j, difference, None, None, None, status)


def _check(n: ArrayLike, mean: ArrayLike, sd: ArrayLike) -> tuple[Floats, Floats, Floats]:
    size = counts("n", n).astype(np.float64)
    # What an empty group or a single item lacks may come as NaN: it is not read.
    raw_mean, raw_sd = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    same_length(n=size, mean=np.atleast_1d(raw_mean), sd=np.atleast_1d(raw_sd))
    centre = floats("mean", np.where(size > 0, raw_mean, 0.0))
    spread = floats("sd", np.where(size > 1, raw_sd, 0.0))
    if spread.size and float(spread.min()) < 0:
        raise ValueError(f"sd is {spread.min()}, below 0")
    return size, centre, spread
