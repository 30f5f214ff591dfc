"""How much each item moves sensitivity and criterion: variances, and covariances of conditions that share items.

To first order an item moves z of a rate by (y - rate · m) / (N φ(z)), with m its readable responses and y those that
say S2; c, d′ and c′ follow through their gradients. The squares of these influences add up to the variance over items,
repeated runs included, and the products of two conditions' influences on the same item to their covariance (the
infinitesimal jackknife: Efron & Tibshirani 1993, ch. 21). The half answer that the log-linear correction adds to either
side enters as an item of its own, so with one answer per item the variances are exactly those of the delta method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        if not self._on_the_same(other):
            _, mine, theirs = np.intersect1d(self.items, other.items, assume_unique=True, return_indices=True)
            one, two = one[mine], two[theirs]
        shared: Floats = (one * two).sum(axis=0)
        return shared

    def shared(self, other: Influences) -> int:
        """Return how many items both answered."""
        if self._on_the_same(other):
            return len(self.items)
        return len(np.intersect1d(self.items, other.items, assume_unique=True))

    def _on_the_same(self, other: Influences) -> bool:
        return self.items is other.items or np.array_equal(self.items, other.items)


def influences(counts: Counts, item: Ints) -> Influences:
    """Return the influences of a group's items; no numbers where it has no d′ (`no_type1`) or d′ is 0 (c′).

    ``item`` is the number of the item of each count, alike in all groups.
    """
    return all_influences([counts], [item])[0]


def all_influences(every: Sequence[Counts], items: Sequence[Ints]) -> list[Influences]:
    """Return `influences` of each group; those on the same items are computed together."""
    found: dict[int, Influences] = {}
    together: dict[bytes, tuple[Ints, list[int]]] = {}
    for place, (counts, item) in enumerate(zip(every, items, strict=True)):
        if no_type1(counts) is not None:
            nothing = np.full(3, np.nan)
            found[place] = Influences(nothing, nothing, item[:0], np.empty((0, 3)))
        else:
            own = np.unique(item)
            together.setdefault(own.tobytes(), (own, []))[1].append(place)
    for own, places in together.values():
        some = _of_items([every[place] for place in places], [items[place] for place in places], own)
        found |= dict(zip(places, some, strict=True))
    return [found[place] for place in range(len(every))]


def _of_items(every: Sequence[Counts], items: Sequence[Ints], own: Ints) -> Iterator[Influences]:
    """Yield the influences of groups whose items are ``own``."""
    grid, size = every[0].grid, len(own)
    group = np.repeat(np.arange(len(every)), [len(item) for item in items])
    at = group * size + np.searchsorted(own, np.concatenate(items))
    place, number = (np.concatenate([getattr(each, name) for each in every]) for name in ("place", "number"))
    answered = np.zeros((len(every), size))
    z, moved = np.empty((len(every), 2)), np.empty((len(every), size, 2))
    spread = np.empty((len(every), 2))
    for side, stimulus in enumerate((1, 0)):  # hits, then false alarms
        weights = grid.where(stimulus, 1), grid.where(stimulus, 0) + grid.where(stimulus, 1)
        y, m = (
            np.bincount(at, weights=number * weight[place], minlength=answered.size).reshape(answered.shape)
            for weight in weights
        )
        n = m.sum(axis=1) + 1
        rate = (y.sum(axis=1) + 0.5) / n
        z[:, side] = ndtri(rate)
        # Powers of plain numbers, which may differ from squares of an array in the last bit.
        squares = np.array([each**2 for each in z[:, side].tolist()])
        scale = n * np.exp(-squares / 2) / np.sqrt(2 * np.pi)
        excess = (y - rate[:, None] * m) / scale[:, None]
        rests = [
            0.5 * ((1 - r) ** 2 + r**2) / by**2 for r, by in zip(rate.tolist(), scale.tolist(), strict=True)
        ]
        spread[:, side] = (excess**2).sum(axis=1) + rests
        moved[:, :, side] = excess
        answered += m
    for (hits, alarms), told, by_item, kept in zip(z.tolist(), spread, moved, answered > 0, strict=True):
        d, gradients = hits - alarms, _gradients(hits, alarms)
        both = hits + alarms
        value = np.array([-both / 2, d, -both / (2 * d) if d != 0 else np.nan])
        there = own if kept.all() else own[kept]
        influence = (by_item if there is own else by_item[kept]) @ gradients.T
        yield Influences(value, gradients**2 @ told, there, influence)


def _gradients(hits: float, alarms: float) -> Floats:
    """Return the derivatives of c, d′ and c′ by z of the hit and the false-alarm rate, shape ``(3, 2)``."""
    d = hits - alarms
    c_prime = [alarms / d**2, -hits / d**2] if d != 0 else [np.nan, np.nan]
    return np.array([[-0.5, -0.5], [1.0, -1.0], c_prime])
