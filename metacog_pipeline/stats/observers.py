"""Observers with known d', M-ratio, criterion and confidence criteria: exact expected counts.

The model of Maniscalco & Lau (2012), *Consciousness and Cognition* 21: answers follow S1 ~ N(-d/2, 1), S2 ~ N(d/2, 1) cut
at c; given the answer, confidence follows the same with m = M d instead of d, cut at meta-c = M c. Confidence criteria lie
on the axis on which the means are ∓m/2, as the fits report them::

    criteria_s1 = (a_K-1, …, a_1), rising, below meta-c        a_j parts confidence j from j + 1 of answers S1
    criteria_s2 = (b_1, …, b_K-1), rising, above meta-c        b_j parts confidence j from j + 1 of answers S2

Parameters are a number or one per observer; criteria ``(K - 1,)`` or ``(cells, K - 1)``, ±inf for a rating never used.
Criteria that fall, and numbers out of range, are a ValueError.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.counts import Counts


def expected_counts(
    d: ArrayLike, m_ratio: ArrayLike, c: ArrayLike, criteria_s1: ArrayLike, criteria_s2: ArrayLike, n: ArrayLike
) -> Counts:  # fmt: skip
    """Return expected counts of ``n`` trials per observer, half of them S2, fractions and all.

    >>> expected_counts(1.5, 0.8, 0.0, [-0.5], [0.5], 100).n_s1.round(1).tolist()
    [[28.8, 9.9, 5.7, 5.6]]
    """
    shares = _shares(d, m_ratio, c, criteria_s1, criteria_s2)
    each = np.broadcast_to(np.asarray(n, dtype=np.float64), (len(shares),))[:, None] / 2
    return Counts(shares[:, 0] * each, shares[:, 1] * each)


def _shares(d: ArrayLike, m_ratio: ArrayLike, c: ArrayLike, low: ArrayLike, high: ArrayLike) -> Floats:
    """Return the share of each count among the trials of a stimulus, ``(cells, 2, 2 K)``."""
    single = [np.atleast_1d(np.asarray(each, dtype=np.float64)) for each in (d, m_ratio, c)]
    sides = [np.atleast_2d(np.asarray(each, dtype=np.float64)) for each in (low, high)]
    rows = max(len(each) for each in (*single, *sides))
    if not all(bool((np.abs(each) < 1e3).all()) for each in single):
        raise ValueError("d, m_ratio and c must be finite and within ±1000")
    d1, ratio, criterion = (np.broadcast_to(each, (rows,)) for each in single)
    edges = [np.broadcast_to(each, (rows, each.shape[1])) for each in sides]
    axis = np.column_stack([edges[0], ratio * criterion, edges[1]])
    # Written as "rising" rather than "not falling", so that NaN fails too; equal criteria are a rating never used.
    if not bool((axis[:, 1:] >= axis[:, :-1]).all()):
        raise ValueError("criteria must rise: criteria_s1, then meta-c = m_ratio * c, then criteria_s2")
    return np.stack(
        [_rows(d1 * sign / 2, ratio * d1 * sign / 2, criterion, axis) for sign in (-1, 1)], axis=1
    )


def _rows(mean: Floats, meta_mean: Floats, c: Floats, axis: Floats) -> Floats:
    """P(response, confidence) for one stimulus: P(response) of type 1 times P(confidence | response) of type 2."""
    k = (axis.shape[1] + 1) // 2
    u = axis - meta_mean[:, None]
    nothing = np.zeros((len(axis), 1))
    # Each side from its own tail: differences keep their digits there.
    below = np.diff(np.hstack([nothing, ndtr(u[:, :k])]), axis=1)
    above = -np.diff(np.hstack([ndtr(-u[:, k - 1 :]), nothing]), axis=1)
    parts = []
    for answer, side in ((ndtr(c - mean), below), (ndtr(mean - c), above)):
        total = side.sum(axis=1, keepdims=True)
        parts.append(answer[:, None] * side / np.where(total > 0, total, 1.0))
    row = np.hstack(parts)
    return np.asarray(row / row.sum(axis=1, keepdims=True))
