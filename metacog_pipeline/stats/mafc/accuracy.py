"""Accuracy of the ideal observer of a choice among m, and the sensitivity that gives an accuracy.

    A_m(d) = int phi(x - d) Phi(x)^(m-1) dx          d'_m = A_m^{-1}(share correct), in m-AFC units

For m = 2 that is A = Phi(d / sqrt 2): the d' of yes/no detection is sqrt 2 times this one. Green & Dai (1991).
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
STEPS = 60  # six are usual
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
    return shares(d, m)[0]


def error_share(d: ArrayLike, m: ArrayLike) -> Floats:
    """Return 1 - accuracy without cancellation: ``(m - 1) int phi(x) Phi(x)^(m-2) Phi(x - d) dx``."""
    sensitivities, alternatives = np.broadcast_arrays(np.asarray(d, float), np.asarray(m))
    x, weights, log_cdf = _grid()
    rivals, of = np.unique(alternatives, return_inverse=True)
    others = np.exp((rivals[:, None] - 2) * log_cdf - x * x / 2) * weights / np.sqrt(2 * np.pi)
    of = of.ravel()
    found = (others[of] * special.ndtr(x - sensitivities.ravel()[:, None])).sum(axis=1)
    return np.asarray((rivals[of] - 1) * found).reshape(sensitivities.shape)


def shares(d: ArrayLike, m: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the share correct, the share of errors, and the first and second derivative of the former by ``d``."""
    given, alternatives = np.asarray(d, float), np.asarray(m)
    x, weights, log_cdf = _grid()
    rivals, of = np.unique(alternatives, return_inverse=True)
    # phi(x - d) is phi(x) exp(d x - d^2 / 2): one product for all d and all m.
    density = np.exp((rivals[:, None] - 1) * log_cdf - x * x / 2) * weights / np.sqrt(2 * np.pi)
    raised = np.exp(given.reshape(-1, 1) * x - given.reshape(-1, 1) ** 2 / 2)
    powers = (raised @ np.concatenate([density, density * x, density * x * x]).T).reshape(-1, 3, len(rivals))
    place = np.broadcast_arrays(np.arange(given.size).reshape(given.shape), of.reshape(alternatives.shape))
    right, first, second = (powers[place[0], k, place[1]] for k in range(3))
    slope, bend = first - given * right, second - 2 * given * first + (given**2 - 1) * right
    sensitivities, alternatives = np.broadcast_arrays(given, alternatives)
    wrong, near = np.asarray(1 - right), np.asarray(right > NEAR_ONE)
    wrong[near] = error_share(sensitivities[near], alternatives[near])
    return right, wrong, slope, bend


def sensitivity(share: ArrayLike, m: ArrayLike) -> Floats:
    """Return d'_m of a ``share`` correct among ``m``, arrays that broadcast; NaN for 0 and 1. Precise to 1e-10."""
    target, alternatives = np.broadcast_arrays(np.asarray(share, float), np.asarray(m))
    found = np.full(target.shape, np.nan)
    inside = (target > 0) & (target < 1)
    if inside.any():
        pairs = np.stack([target[inside], alternatives[inside].astype(float)])
        (right, rivals), place = np.unique(pairs, axis=1, return_inverse=True)
        each = common_sensitivity(right[:, None], 1 - right[:, None], rivals[:, None].astype(np.int64))
        found[inside] = each[place.ravel()]
    return found


def common_sensitivity(correct: Floats, errors: Floats, m: Ints) -> Floats:
    """Return the maximum-likelihood d' of strata with right and wrong answers ``(N, S)`` and ``m`` alternatives."""
    n = correct + errors
    total = n.sum(axis=1)
    share = np.divide(correct, n, out=np.full(n.shape, 0.5), where=n > 0)
    apart = special.ndtri(np.clip(share, 1e-4, 1 - 1e-4)) - special.ndtri(1.0 / m)
    d = np.clip((n * apart).sum(axis=1) / total, -4.0, 4.0)
    # Newton steps on the score inside a shrinking bracket.
    low, high = np.full(len(d), -LARGEST), np.full(len(d), LARGEST)
    for _ in range(STEPS):
        right, wrong, slope, bend = shares(d[:, None], m)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = (correct * wrong - errors * right) / (right * wrong)
            spread = correct / right**2 + errors / wrong**2
            score = (slope * gain).sum(axis=1)
            step = d - score / (bend * gain - slope**2 * spread).sum(axis=1)
        low, high = np.where(score > 0, d, low), np.where(score > 0, high, d)
        moved = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        if np.all(np.abs(moved - d) <= 1e-11):  # the next step would be far smaller
            return np.asarray(moved)
        d = moved
    return np.asarray(d)
