"""Cells of rating counts in the form the likelihood takes: two mirrored response sides, unused ratings taken out.

Seen from the type-1 criterion, and mirrored for response S1, both responses look alike: edges 0 = e_0 < e_1 < … <
e_{K-1} < e_K = ∞ in order of confidence, and two rows of counts (correct, wrong), each a normal distribution of mean
κ m and inverse standard deviation σ, cut off below 0. With θ = c / d the fixed relative criterion::

    response S1    correct (stimulus S1)  κ =  ½ + θ, σ = 1      wrong (S2)  κ = -½ + θ, σ = s
    response S2    correct (stimulus S2)  κ =  ½ - θ, σ = s      wrong (S1)  κ = -½ - θ, σ = 1

Axes of all arrays: side, row, confidence, cell (the cell last, so that arithmetic runs along memory).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.counts import Counts

Mask = NDArray[np.bool_]
# The reference procedure looks for meta-d' in -10 .. 10.
LARGEST_META_D = 10.0
# exp(230) = 1e100: a width beyond which no normal distribution has any mass.
UNUSED_LOG_WIDTH = 230.0


@dataclass(frozen=True, slots=True)
class Problem:
    """Likelihoods of many cells."""

    # (S, 2, K, C): share of the cell's trials by side, row (correct, wrong) and used rating, lowest first
    counts: Floats
    # slope, sigma: (S, 2, C): mean of each row per unit of x, and its inverse standard deviation
    slope: Floats
    sigma: Floats
    # (S, K, C): places at the end that no rating takes, because the cell used fewer ratings on this side
    inactive: Mask
    # (C,): meta-d' = unit · x. It is 1, but for |c| > |d| it is |d / c|: as d goes to 0 the means stay regular
    unit: Floats
    total: Floats  # total, pull: (S, 2, C): sums of counts over ratings, and slope times sigma
    pull: Floats

    @property
    def bound(self) -> Floats:
        """Largest |x|, ``(C,)``: that of |meta-d'| = 10."""
        bound: Floats = LARGEST_META_D / self.unit
        return bound

    def take(self, cells: Mask | Ints) -> Problem:
        """Return the problem of the chosen cells."""
        return Problem(*(getattr(self, name)[..., cells] for name in Problem.__slots__))

    def side(self, index: int) -> Problem:
        """Return the problem of one response side alone."""
        one = slice(index, index + 1)
        return Problem(
            self.counts[one], self.slope[one], self.sigma[one], self.inactive[one], self.unit,
            self.total[one], self.pull[one],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Collapsed:
    """Counts by side with unused ratings moved behind the used ones."""

    counts: Floats  # (2, 2, K, C): side, row, rating, cell; unused ratings at the end, with zeros
    rank: Ints  # (2, K, C): number of used ratings up to and with each original rating

    @property
    def used(self) -> Ints:
        """Number of used ratings, ``(2, C)``."""
        used: Ints = self.rank[:, -1]
        return used


def by_side(table: Counts) -> Floats:
    """Return the counts as ``(2, 2, K, C)``: side (S1, S2), row (correct, wrong), confidence 1 .. K, cell."""
    k = table.ratings
    n_s1, n_s2 = table.n_s1.T, table.n_s2.T
    return np.stack([np.stack([n_s1[:k][::-1], n_s2[:k][::-1]]), np.stack([n_s2[k:], n_s1[k:]])])


def collapse(counts: Floats) -> Collapsed:
    """Delete ratings that no trial of a side uses: any width given to them is wasted, so the maximum is at width 0."""
    used = counts.any(axis=1)
    rank: Ints = np.cumsum(used, axis=1, dtype=np.int64)
    if bool(used.all()):
        return Collapsed(counts, rank)
    order = np.argsort(~used, axis=1, kind="stable")
    return Collapsed(np.take_along_axis(counts, order[:, None], axis=2), rank)


def restore(edges: Floats, rank: Ints) -> Floats:
    """Return the K - 1 edges between all original ratings from those between the used ones, ``(S, K - 1, C)``.

    A deleted rating has width 0 (its edge is its inner neighbour's); outside the last used rating the edge is ∞.
    """
    sides, _, cells = edges.shape
    zero, far = np.zeros((sides, 1, cells)), np.full((sides, 1, cells), np.inf)
    ladder = np.concatenate([zero, edges, far], axis=1)
    place = rank[:, :-1]
    found = np.take_along_axis(ladder, place, axis=1)
    return np.where(place == rank[:, -1:], np.inf, found)


def problem_of(collapsed: Collapsed, d: Floats, c: Floats, s: Floats) -> Problem:
    """Return the likelihoods of cells with finite type-1 sensitivity ``d`` (not 0) and criterion ``c``, all ``(C,)``."""
    unit = np.abs(d) / np.maximum(np.abs(d), np.abs(c))
    half = 0.5 * unit
    # unit · c / d is formed as c over the larger of |d| and |c|: no overflow however small d is.
    shift = np.sign(d) * c / np.maximum(np.abs(d), np.abs(c))
    one = np.ones_like(d)
    slope = np.stack([np.stack([half + shift, shift - half]), np.stack([half - shift, -half - shift])])
    sigma = np.stack([np.stack([one, s]), np.stack([s, one])])
    counts = collapsed.counts / collapsed.counts.sum(axis=(0, 1, 2))
    places = np.arange(counts.shape[2])[None, :, None]
    inactive = places >= np.maximum(collapsed.used, 1)[:, None]
    return Problem(counts, slope, sigma, inactive, unit, counts.sum(axis=2), slope * sigma)
