"""Estimates over clusters with a standard error of their own: shares, means, ratios.

Accuracy, recall, a choice's share, mean confidence, weighted accuracy and the Brier score are all
sum(a_c N_c) / sum(b_c N_c) over cells c. With repeated runs the standard error is that of a ratio of cluster
totals, I / (I - 1) Σ (y_i - R m_i)² / (Σ m_i)² (Cochran 1977, *Sampling Techniques*, §6.3): for one run it is
s / sqrt(n).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import estimate
from metacog_pipeline.stats._arrays import Floats, counts, floats, same_length
from metacog_pipeline.stats._arrays import ratio as _divided
from metacog_pipeline.stats.proportions import proportion, sem_interval, wilson_interval
from metacog_pipeline.stats.resampling.counting import Patterns, merge_patterns
from metacog_pipeline.stats.resampling.intervals import interval


def share(patterns: Patterns, top: ArrayLike, bottom: ArrayLike) -> estimate.Estimate:
    """Return the share of observations counted by ``bottom`` that ``top`` counts as well.

    Parameters
    ----------
    patterns
        Clusters over C cells.
    top, bottom
        Shape ``(C,)``, 0 or 1, or booleans.

    Returns
    -------
    Estimate
        Value in 0..1 with Wilson's interval: that of `~..proportions.proportion` where no cluster counts twice, else of
        `ratio`, on the effective number of clusters.

    Examples
    --------
    >>> items = Patterns(np.eye(3, dtype=int), np.array([6, 3, 1]))  # right, wrong, not read
    >>> found = share(items, [1, 0, 0], [1, 1, 0])
    >>> found.value, found.n, found.method
    (0.6666666666666666, 9, 'wilson')
    """
    below = np.asarray(bottom, dtype=np.float64)
    above = np.asarray(top, dtype=np.float64) * below
    hits, n = (patterns.by_pattern(each).astype(np.int64) for each in (above, below))
    if n.max(initial=0) <= 1:
        return proportion(int(patterns.weights @ hits), int(patterns.weights @ n))
    merged = merge_patterns(np.column_stack([hits, n - hits]), patterns.weights)
    return ratio(merged, [1.0, 0.0], [1.0, 1.0])


def mean(values: ArrayLike, clusters: ArrayLike) -> estimate.Estimate:
    """Return the mean of ``values`` ``(N,)`` with ± 1.96 standard errors over their clusters.

    Parameters
    ----------
    values
        Shape ``(N,)``, 1 or more.
    clusters
        Shape ``(N,)``: whole numbers from 0, the cluster of each value.

    Examples
    --------
    >>> found = mean([0.2, 0.4, 0.9, 0.9], [0, 0, 1, 1])
    >>> round(found.value, 3), round(found.sem, 3), found.method
    (0.6, 0.3, 'sem, clustered')
    """
    given, cluster = floats("values", values), counts("clusters", clusters)
    n = same_length(values=given, clusters=cluster)
    if not n:
        return estimate.unavailable(0, "sem", estimate.NO_ITEMS)
    value = float(given.mean())
    sums = np.bincount(cluster, weights=given - value)
    k = int((np.bincount(cluster) > 0).sum())
    method = "sem, clustered" if k < n else "sem"
    if k < 2:
        return estimate.Estimate(value, None, None, n, method, estimate.SINGLE_ITEM)
    sem = float(np.sqrt(k / (k - 1) * (sums @ sums))) / n
    return estimate.Estimate(value, *sem_interval(value, sem), n, method, sem=sem)


def ratio_statistic(numerator: ArrayLike, denominator: ArrayLike) -> Callable[[Floats], Floats]:
    """Return the function ``(B, C) -> (B,)`` of a ratio, for a bootstrap; both weights have shape ``(C,)``."""
    top, bottom = floats("numerator", numerator), floats("denominator", denominator)

    def statistic(totals: Floats) -> Floats:
        return _divided(totals @ top, totals @ bottom)

    return statistic


def ratio(
    patterns: Patterns, numerator: ArrayLike, denominator: ArrayLike, draws: Floats | None = None
) -> estimate.Estimate:
    """Estimate sum(numerator · N) / sum(denominator · N) over items.

    Parameters
    ----------
    patterns
        Items over C cells.
    numerator, denominator
        Shape ``(C,)``, weights of a cell; the denominator is not negative, and where it is 0 so is the numerator.
    draws
        Resampled totals ``(B, C)`` of the same cells (`~.kernels.patterns`).

    Returns
    -------
    Estimate
        Weights of 0 and 1 only: a share with Wilson's interval (``"wilson"``), on the effective number of
        items p (1 - p) / SEM² + 1 where an item has several runs (``"wilson, clustered"``; Korn & Graubard 1998).
        A 0/1 denominator only: a mean with ± 1.96 SEM (``"sem"``, ``"sem, clustered"``).
        Otherwise: percentiles of ``draws`` (``"item bootstrap"``), or ± 1.96 linearised SEM without them.
        ``n`` counts the observations (runs of items) the denominator takes in.

    Examples
    --------
    >>> items = Patterns(np.array([[2, 0], [1, 1]]), np.array([5, 5]))  # two runs: right, wrong
    >>> found = ratio(items, [1.0, 0.0], [1.0, 1.0])
    >>> found.value, found.n, found.method, round(found.sem, 4)
    (0.75, 20, 'wilson, clustered', 0.0833)
    """
    top, bottom = _weights(patterns, numerator, denominator)
    y, m = patterns.by_pattern(top), patterns.by_pattern(bottom)
    is_mean = _is_0_or_1(bottom)
    is_share = is_mean and _is_0_or_1(top)
    n_by_pattern = m if is_mean else patterns.by_pattern((bottom > 0).astype(np.float64))
    n = round(float(patterns.weights @ n_by_pattern))
    clustered = bool((n_by_pattern > 1).any())
    method = ("wilson" if is_share else "sem") + (", clustered" if clustered else "")
    method = method if is_mean else "sem, linearised" if draws is None else "item bootstrap"
    whole = float(patterns.weights @ m)
    if whole == 0:
        return estimate.unavailable(n, method, estimate.NO_WEIGHT if n else estimate.NO_ITEMS)
    value = float(patterns.weights @ y) / whole
    items = int(patterns.weights[n_by_pattern > 0].sum())
    if items == 1:
        return estimate.Estimate(value, None, None, n, method, estimate.SINGLE_ITEM)
    squares = float(patterns.weights @ (y - value * m) ** 2)
    sem = math.sqrt(items / (items - 1) * squares) / whole
    if is_share:
        value = min(value, 1.0)
        n_effective = _effective_n(value, sem, items, n) if clustered else float(n)
        return estimate.Estimate(value, *wilson_interval(value, n_effective), n, method, sem=sem)
    if is_mean or draws is None:
        return estimate.Estimate(value, *sem_interval(value, sem), n, method, sem=sem)
    low, high = interval(_divided(draws @ top, draws @ bottom))
    return estimate.Estimate(
        value, low, high, n, method, estimate.OK if low is not None else estimate.OFTEN_UNDEFINED, sem
    )


def _is_0_or_1(weights: Floats) -> bool:
    return bool(((weights == 0) | (weights == 1)).all())


def _effective_n(share: float, sem: float, items: int, observations: int) -> float:
    """Return how many independent items would have the same standard error; never more than observations."""
    spread = share * (1 - share)
    if spread <= 0:
        return float(items)
    if sem * sem * observations <= spread:
        return float(observations)
    return max(1.0, min(spread / (sem * sem) + 1, float(observations)))


def _weights(patterns: Patterns, numerator: ArrayLike, denominator: ArrayLike) -> tuple[Floats, Floats]:
    top, bottom = floats("numerator", numerator), floats("denominator", denominator)
    cells = patterns.counts.shape[1]
    if len(top) != cells or len(bottom) != cells:
        raise ValueError(f"numerator has {len(top)}, denominator {len(bottom)} weights for {cells} cells")
    if bool((bottom < 0).any()) or bool((top[bottom == 0] != 0).any()):
        raise ValueError("denominator weights must not be negative, and 0 only where the numerator's are 0")
    return top, bottom
