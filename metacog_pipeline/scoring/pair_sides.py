"""One side of a pair of models: what a model answered of the items that both did, and what is made of it once.

Items are drawn once for all models that were asked the same ones (`~.stats.resampling.products`): a model that stands in 80
pairs is resampled once, and a pair is the difference of two lists of numbers. Items that either of the two answered are
drawn, so that most pairs share their draws and no pair depends on who else was asked. Sums are of whole numbers and exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.scoring.confidence_grid import CELLS, STATISTICS, SUMS, Floats, Ints, of_sums
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.auroc import auroc_from_patterns, influences
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.resampling import Patterns
from metacog_pipeline.stats.resampling.products import item_weights, products

#: Items beyond which a pair draws its own patterns, a second for each: how often each item is drawn, which all pairs share,
#: would take more than 100 MB.
MOST_WEIGHED = 10_000


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one model to one set of items.

    ``items`` in order, the ``cells`` that hold any, rising, and how often each item is in each, ``(items, cells)``.
    """

    items: NDArray[Any]
    cells: Ints
    counts: Ints

    @classmethod
    def of(cls, item: NDArray[Any], cell: Ints) -> Answers:
        """Return the answers to items of these names, each in its cell."""
        items, place = np.unique(item, return_inverse=True)
        cells, of_cell = np.unique(cell, return_inverse=True)
        shape = len(items), len(cells)
        counts = np.bincount(place * len(cells) + of_cell, minlength=shape[0] * shape[1]).reshape(shape)
        return cls(items, cells, counts)

    @cached_property
    def whole(self) -> Side:
        """All of them: most models answered the same items and are resampled once for all their pairs."""
        return Side(self.cells, self.counts, np.arange(len(self.items)), len(self.items))


def paired_sides(one: Answers, two: Answers) -> tuple[Side, Side]:
    """Return both on the items that both answered, in one order."""
    if np.array_equal(one.items, two.items):
        return one.whole, two.whole
    drawn = np.union1d(one.items, two.items)
    first, second = (np.isin(a.items, b.items) for a, b in ((one, two), (two, one)))
    place = np.searchsorted(drawn, one.items[first])
    sides = [
        Side(each.cells, each.counts[here], place, len(drawn)) for each, here in ((one, first), (two, second))
    ]
    return sides[0], sides[1]


@dataclass(frozen=True, eq=False)
class Side:
    """One model on the items that both of a pair answered: ``counts`` are ``(items, cells)``.

    The items stand at ``place`` among the ``n_drawn`` that are drawn.
    """

    cells: Ints
    counts: Ints
    place: Ints
    n_drawn: int
    _draws: dict[tuple[str, int, int], Floats] = field(default_factory=dict, repr=False)
    _scores: dict[str, tuple[Estimate, Floats]] = field(default_factory=dict, repr=False)

    @property
    def n_items(self) -> int:
        """The number of items that both answered."""
        return len(self.counts)

    @cached_property
    def totals(self) -> Floats:
        """The answers in each of all cells, ``(CELLS,)``."""
        found = np.zeros(CELLS)
        found[self.cells] = self.counts.sum(axis=0)
        return found

    @property
    def of_items(self) -> Ints:
        """The answers to each item in each of all cells, ``(items, CELLS)``."""
        found = np.zeros((self.n_items, CELLS), dtype=np.int64)
        found[:, self.cells] = self.counts
        return found

    @cached_property
    def _values(self) -> dict[str, float]:
        return {name: float(each(self.totals[None])[0]) for name, each in STATISTICS.items()}

    def value(self, name: str) -> float:
        """Return the measure of that name of what was answered, NaN where there is none."""
        return self._values[name]

    def draws(self, name: str, seed: int, n_draws: int) -> Floats:
        """Return it of every resample, from draws that all models on as many items share."""
        key = name, seed, n_draws
        if key not in self._draws:
            placed = np.zeros((self.n_drawn, SUMS.shape[1]), dtype=np.int64)
            placed[self.place] = self.counts @ SUMS[self.cells]
            made = of_sums(products(item_weights(self.n_drawn, n_draws, (seed,)), placed))
            self._draws.update({(each, seed, n_draws): draws for each, draws in made.items()})
        return self._draws[key]

    def by_score(self, name: str) -> tuple[Estimate, Floats]:
        """Return the estimate with a score interval of its own, and how far each item moves it."""
        if name not in self._scores:
            items = self.of_items
            estimate, moved = BY_SCORE[name]
            self._scores[name] = (
                estimate(resampling.merge_patterns(items, np.ones(len(items), dtype=np.int64))),
                moved(items, items.sum(axis=0)),
            )
        return self._scores[name]


def drawn(sides: tuple[Side, Side], seed: int, n_draws: int, name: str) -> tuple[Floats, Floats]:
    """Return the measure of that name of every resample, of both on the same draws."""
    if sides[0].n_drawn <= MOST_WEIGHED:
        first, second = (side.draws(name, seed, n_draws) for side in sides)
        return first, second
    counts = np.hstack([side.counts for side in sides])
    patterns = resampling.merge_patterns(counts, np.ones(len(counts), dtype=np.int64))
    totals, width = resampling.patterns(patterns, n_draws, seed), len(sides[0].cells)
    first, second = (
        of_sums(part @ SUMS[side.cells])[name]
        for part, side in zip((totals[:, :width], totals[:, width:]), sides, strict=True)
    )
    return first, second


def _share(patterns: Patterns) -> Estimate:
    return resampling.ratio(patterns, _RIGHT, np.ones(CELLS))


def _of_share(items: Ints, totals: Ints) -> Floats:
    """Return how far each item moves the share of right answers, but for a factor."""
    moved: Floats = items @ _RIGHT - items.sum(axis=1) * float(totals @ _RIGHT) / float(totals.sum())
    return moved


_RIGHT = np.tile([0.0, 1.0], CELLS // 2)
#: Measures with a score interval of their own: the estimate of one model, and how far each item moves it.
BY_SCORE: Mapping[str, tuple[Callable[[Patterns], Estimate], Callable[[Ints, Ints], Floats]]] = {
    "accuracy": (_share, _of_share),
    "auroc2": (auroc_from_patterns, influences),
}
