"""How much each item moves sensitivity and criterion: variances, and covariances of conditions that share items.

To first order an item moves z of a rate by (y - rate · m) / (N φ(z)), with m its readable responses and y those that
say S2; c, d′ and c′ follow through their gradients. The squares of these influences add up to the variance over items,
repeated runs included, and the products of two conditions' influences on the same item to their covariance (the
infinitesimal jackknife: Efron & Tibshirani 1993, ch. 21). The half answer that the log-linear correction adds to either
side enters as an item of its own, so with one answer per item the variances are exactly those of the delta method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from metacog_pipeline.benchmarks.signaldetection.grid import Counts
from metacog_pipeline.benchmarks.signaldetection.measures.type1 import no_type1

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

QUANTITIES = ("c", "d", "c_prime")


@dataclass(frozen=True, slots=True)
class Influences:
    """Criterion and sensitivity of one group, item by item; columns are `QUANTITIES`.

    ``value`` and ``variance`` are ``(3,)``, NaN where the group has no number; ``items`` those with a readable response,
    rising; ``influence`` is ``(items, 3)``.
    """

    value: Floats
    variance: Floats
    items: Ints
    influence: Floats

    def covariance(self, other: Influences) -> Floats:
        """Return the covariance with another condition over the items both answered, shape ``(3,)``."""
        one, two = self.influence, other.influence
        if not np.array_equal(self.items, other.items):
            _, mine, theirs = np.intersect1d(self.items, other.items, assume_unique=True, return_indices=True)
            one, two = one[mine], two[theirs]
        shared: Floats = (one * two).sum(axis=0)
        return shared

    def shared(self, other: Influences) -> int:
        """Return how many items both answered."""
        if np.array_equal(self.items, other.items):
            return len(self.items)
        return len(np.intersect1d(self.items, other.items, assume_unique=True))


def influences(counts: Counts, item: Ints) -> Influences:
    """Return the influences of a group's items; no numbers where it has no d′ (`no_type1`) or d′ is 0 (c′).

    ``item`` is the number of the item of each count, alike in all groups.
    """
    grid = counts.grid
    if no_type1(counts) is not None:
        nothing = np.full(3, np.nan)
        return Influences(nothing, nothing, item[:0], np.empty((0, 3)))
    items, row = np.unique(item, return_inverse=True)
    z, spread, moved = np.empty(2), np.empty(2), np.empty((len(items), 2))
    answered = np.zeros(len(items))
    for side, stimulus in enumerate((1, 0)):  # hits, then false alarms
        said = counts.number * grid.where(stimulus, 1)[counts.place]
        all_said = counts.number * (grid.where(stimulus, 0) + grid.where(stimulus, 1))[counts.place]
        y, m = (np.bincount(row, weights=w, minlength=len(items)) for w in (said, all_said))
        n = m.sum() + 1
        rate = (y.sum() + 0.5) / n
        z[side] = ndtri(rate)
        scale = n * np.exp(-(z[side] ** 2) / 2) / np.sqrt(2 * np.pi)
        moved[:, side] = (y - rate * m) / scale
        spread[side] = (moved[:, side] ** 2).sum() + 0.5 * ((1 - rate) ** 2 + rate**2) / scale**2
        answered += m
    gradients = _gradients(z)
    kept = answered > 0
    d = z[0] - z[1]
    value = np.array([-z.sum() / 2, d, -z.sum() / (2 * d) if d != 0 else np.nan])
    return Influences(value, gradients**2 @ spread, items[kept], moved[kept] @ gradients.T)


def _gradients(z: Floats) -> Floats:
    """Return the derivatives of c, d′ and c′ by z of the hit and the false-alarm rate, shape ``(3, 2)``."""
    d = z[0] - z[1]
    c_prime = [z[1] / d**2, -z[0] / d**2] if d != 0 else [np.nan, np.nan]
    return np.array([[-0.5, -0.5], [1.0, -1.0], c_prime])
