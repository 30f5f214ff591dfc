"""Accuracy of the ideal observer of a choice among m, and the sensitivity behind an accuracy.

    A_m(d) = int phi(x - d) Phi(x)^(m-1) dx          d'_m = A_m^{-1}(share correct), in m-AFC units

For m = 2 that is A = Phi(d / sqrt 2): the d' of yes/no detection is sqrt 2 times this one. Ratios of two sensitivities do
not depend on the unit. Source: Green & Dai (1991); Hacker & Ratcliff (1979).
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metacog_pipeline.stats._arrays import Floats, Ints

PANELS, NODES = 40, 20  # Gauss-Legendre over LOW .. HIGH: 1e-13
LOW, HIGH = -12.0, 21.0
LARGEST = 9.0  # |d'|: an accuracy beyond it differs from 0 or 1 by less than 1e-9
STEPS = 60  # Newton steps kept inside a shrinking bracket; six are usual
NEAR_ONE = 0.99  # above it the share of errors is integrated itself: no digits cancel


@functools.cache
def _grid() -> tuple[Floats, Floats, Floats]:
    """Return nodes, weights and log Phi at the nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    edges = np.linspace(LOW, HIGH, PANELS + 1)
    half = np.diff(edges)[:, None] / 2
    x = ((edges[1:] + edges[:-1])[:, None] / 2 + half * nodes).ravel()
    return x, (half * weights).ravel(), special.log_ndtr(x)


def accuracy(d: ArrayLike, m: ArrayLike) -> Floats:
    """Return the share correct at sensitivity ``d`` with ``m`` alternatives, arrays that broadcast."""
    sensitivity, alternatives = _paired(d, m)
    return _correct_and_slope(sensitivity, alternatives)[0]


def error_share(d: ArrayLike, m: ArrayLike) -> Floats:
    """Return 1 - accuracy without cancellation: ``(m - 1) int phi(x) Phi(x)^(m-2) Phi(x - d) dx``."""
    sensitivity, alternatives = _paired(d, m)
    x, weights, log_cdf = _grid()
    rivals, of = np.unique(alternatives, return_inverse=True)
    others = np.exp((rivals[:, None] - 2) * log_cdf - x * x / 2) * weights / np.sqrt(2 * np.pi)
    of = of.ravel()
    found = (others[of] * special.ndtr(x - sensitivity.ravel()[:, None])).sum(axis=1)
    return np.asarray((rivals[of] - 1) * found).reshape(sensitivity.shape)


def accuracy_slope(d: ArrayLike, m: ArrayLike) -> Floats:
    """Return the derivative of `accuracy` by ``d``."""
    return _correct_and_slope(*_paired(d, m))[1]


def sensitivity(share: ArrayLike, m: ArrayLike) -> Floats:
    """Return d'_m of a share correct strictly between 0 and 1; NaN for 0 and 1.

    Negative below chance, 1/m. Precise to 1e-10 wherever the share is between 1e-9 and 1 - 1e-9.
    """
    target, alternatives = np.broadcast_arrays(np.asarray(share, float), np.asarray(m))
    shape, target, alternatives = target.shape, target.ravel(), alternatives.ravel()
    inside = (target > 0) & (target < 1)
    found = np.full(target.shape, np.nan)
    if inside.any():
        pairs, place = np.unique(
            np.stack([target[inside], alternatives[inside].astype(float)]), axis=1, return_inverse=True
        )
        found[inside] = _solved(pairs[0], pairs[1].astype(np.int64))[place.ravel()]
    return found.reshape(shape)


def _solved(target: Floats, m: Ints) -> Floats:
    low, high = np.full(target.shape, -LARGEST), np.full(target.shape, LARGEST)
    d = np.clip(special.ndtri(target) - special.ndtri(1.0 / m), -4.0, 4.0)
    for _ in range(STEPS):
        value, slope = _correct_and_slope(d, m)
        excess = value - target
        near = target > NEAR_ONE
        if near.any():
            excess[near] = (1 - target[near]) - error_share(d[near], m[near])
        low, high = np.where(excess < 0, d, low), np.where(excess >= 0, d, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = d - excess / slope
        moved = np.where((step > low) & (step < high), step, (low + high) / 2)
        if np.all(np.abs(moved - d) <= 1e-13 * (1 + np.abs(d))):
            return np.asarray(moved)
        d = moved
    return np.asarray(d)


def _correct_and_slope(d: Floats, m: Ints) -> tuple[Floats, Floats]:
    terms, gap = _terms(d.ravel(), m.ravel())
    return terms.sum(axis=1).reshape(d.shape), (terms * gap).sum(axis=1).reshape(d.shape)


def _terms(d: Floats, m: Ints) -> tuple[Floats, Floats]:
    """Return what is summed over the nodes for the share correct, and how far each node is from d; ``(len(d), nodes)``."""
    x, weights, log_cdf = _grid()
    gap = x - d[:, None]
    return np.exp((m[:, None] - 1) * log_cdf - gap * gap / 2) * weights / np.sqrt(2 * np.pi), gap


def _paired(d: ArrayLike, m: ArrayLike) -> tuple[Floats, Ints]:
    sensitivities, alternatives = np.broadcast_arrays(np.asarray(d, float), np.asarray(m))
    return sensitivities, alternatives
