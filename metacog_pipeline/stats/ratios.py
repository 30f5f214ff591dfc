"""Measures that are a ratio of two weighted sums of cell counts.

Accuracy, a bucket's accuracy, recall, a choice's share, mean confidence, weighted accuracy and the Brier score are all
sum(a_c N_c) / sum(b_c N_c) over cells c. With repeated runs the standard error is that of a ratio of item
totals, I / (I - 1) Σ (y_i - R m_i)² / (Σ m_i)² (Cochran 1977, *Sampling Techniques*, §6.3): for one run it is
s / sqrt(n).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, floats, ratio
from metacog_pipeline.stats.clusters import Patterns, Statistic, percentile_interval
from metacog_pipeline.stats.estimate import (
    MOSTLY_UNDEFINED,
    NO_ITEMS,
    NO_WEIGHT,
    OK,
    SINGLE_ITEM,
    Estimate,
    unavailable,
)
from metacog_pipeline.stats.proportions import sem_interval, wilson_interval


def ratio_statistic(numerator: ArrayLike, denominator: ArrayLike) -> Statistic:
    """Return the function ``(B, C) -> (B,)`` of a ratio, for a bootstrap; both weights have shape ``(C,)``."""
    top, bottom = floats("numerator", numerator), floats("denominator", denominator)

    def statistic(totals: Floats) -> Floats:
        return ratio(totals @ top, totals @ bottom)

    return statistic


def ratio_estimate(
    patterns: Patterns, numerator: ArrayLike, denominator: ArrayLike, draws: Floats | None = None
) -> Estimate:
    """Estimate sum(numerator · N) / sum(denominator · N) over items.

    Parameters
    ----------
    patterns
        Items over C cells.
    numerator, denominator
        Shape ``(C,)``, weights of a cell; the denominator is not negative, and where it is 0 so is the numerator.
    draws
        Resampled totals ``(B, C)`` of the same cells (:func:`~metacog_pipeline.stats.clusters.resample`).

    Returns
    -------
    Estimate
        Weights of 0 and 1 only: a share with Wilson's interval (``"wilson"``), on the effective number of
        items p (1 - p) / SEM² + 1 where an item has several runs (``"wilson, clustered"``; Korn & Graubard 1998).
        A 0/1 denominator only: a mean with ± 1.96 SEM (``"sem"``, ``"sem, clustered"``).
        Otherwise: percentiles of ``draws`` (``"item bootstrap"``), or ± 1.96 linearised SEM without them.
        ``n`` counts the observations (runs of items) the denominator takes in.
    """
    top, bottom = _weights(patterns, numerator, denominator)
    y, m = patterns.matrix @ top, patterns.matrix @ bottom
    is_mean = _is_0_or_1(bottom)
    is_share = is_mean and _is_0_or_1(top)
    n_by_pattern = m if is_mean else patterns.matrix @ (bottom > 0).astype(np.float64)
    n = round(float(patterns.weights @ n_by_pattern))
    clustered = bool((n_by_pattern > 1).any())
    method = ("wilson" if is_share else "sem") + (", clustered" if clustered else "")
    method = method if is_mean else "sem, linearised" if draws is None else "item bootstrap"
    whole = float(patterns.weights @ m)
    if whole == 0:
        return unavailable(n, method, NO_WEIGHT if n else NO_ITEMS)
    value = float(patterns.weights @ y) / whole
    items = int(patterns.weights[n_by_pattern > 0].sum())
    if items == 1:
        return Estimate(value, None, None, n, method, SINGLE_ITEM)
    squares = float(patterns.weights @ (y - value * m) ** 2)
    sem = math.sqrt(items / (items - 1) * squares) / whole
    if is_share:
        value = min(value, 1.0)
        n_effective = _effective_n(value, sem, items, n) if clustered else float(n)
        return Estimate(value, *wilson_interval(value, n_effective), n, method, sem=sem)
    if is_mean or draws is None:
        return Estimate(value, *sem_interval(value, sem), n, method, sem=sem)
    low, high = percentile_interval(ratio(draws @ top, draws @ bottom))
    return Estimate(value, low, high, n, method, OK if low is not None else MOSTLY_UNDEFINED, sem)


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
