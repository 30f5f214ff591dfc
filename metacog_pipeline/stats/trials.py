"""Answers with a confidence and a correctness as counts, and their resamples: what the measures of confidence share.

Beyond `MOST_LEVELS` distinct confidences a resample is counted over as many groups of equal size, each standing for its
mean confidence; values are made of the confidences as they are. Beyond `MOST_ITEMS` items with several answers, items are
drawn in `BLOCKS` random groups: items are exchangeable, and a thousand groups give a standard error to 2 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import auroc as areas
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints, binary, floats, same_length, whole
from metacog_pipeline.stats.estimate import ALL_CORRECT, ALL_WRONG, NO_ITEMS, ONE_LEVEL, Estimate
from metacog_pipeline.stats.resampling import Patterns

MOST_LEVELS = 101  # whole percents are as they are
MOST_ITEMS = 4_000
BLOCKS = 1_000
FOLDS = 5
FEWEST = 5  # items with an answer of the rarer kind: with fewer, the status of a number says so


@dataclass(frozen=True, slots=True)
class Trials:
    """Answers as counts."""

    # stated, totals: ``(L,)`` distinct confidences in rising order, and ``(2 L,)`` counts: level × (wrong, correct)
    stated: Floats
    totals: Ints
    grouped: Floats  # ``(G,)``: the confidence of each level of a resample
    patterns: Patterns  # items over folds × ``2 G`` cells; an item, with all its answers, is in one fold
    folds: int  # number of folds
    drawn: Floats  # ``(B, folds × 2 G)``: resampled totals of these cells
    draws: Floats  # ``(B, 2 G)``: the same, folds summed
    # n_items, n_wrong and n_right: number of items, of those with a wrong answer and of those with a correct one
    n_items: int
    n_wrong: int
    n_right: int
    area: Estimate  # AUROC2 with its interval, or why there is none

    @property
    def n(self) -> int:
        """Number of answers."""
        return int(self.totals.sum())

    @property
    def folded(self) -> Floats:
        """The counts of each fold, ``(folds, 2 G)``."""
        return self.patterns.totals.reshape(self.folds, -1).astype(np.float64)

    @property
    def rarer(self) -> int:
        """Number of items with a wrong answer or of those with a correct one, the smaller."""
        return min(self.n_wrong, self.n_right)

    @property
    def why_not(self) -> str | None:
        """Why confidence says nothing of correctness here, from the counts as they are; None where it may."""
        if self.n == 0:
            return NO_ITEMS
        if self.rarer == 0:
            return ALL_WRONG if self.n_wrong else ALL_CORRECT
        return ONE_LEVEL if len(self.stated) == 1 else None

    @property
    def few(self) -> str | None:
        """A status where fewer than `FEWEST` items hold an answer of the rarer kind."""
        if not 0 < self.rarer < FEWEST:
            return None
        kind = "errors" if self.n_wrong == self.rarer else "correct"
        return f"few {kind}: {self.rarer}"


def trials(
    confidence: ArrayLike,
    correct: ArrayLike,
    items: ArrayLike | None = None,
    *,
    stream: resampling.Stream = 0,
    n_draws: int = 1000,
    folds: int = FOLDS,
) -> Trials:
    """Count answers and draw their items.

    confidence, correct: shape ``(N,)``: finite numbers on any scale, and 0/1 or booleans.
    items: the item of each answer (integers are fastest); None means one answer per item.
    stream, n_draws: seed and number of resamples. The same seed and items give the same folds, for any answers.
        Without items the answers are numbered by rising confidence, wrong before correct: the order of rows changes
        nothing.
    folds: 2 or more.

    >>> found = trials([0.9, 0.5, 0.9], [1, 0, 0], stream=1)
    >>> found.stated, found.totals, found.drawn.shape, found.draws.shape
    (array([0.5, 0.9]), array([1, 0, 1, 1]), (1000, 20), (1000, 4))
    """
    given, right = floats("confidence", confidence), binary("correct", correct)
    same_length(confidence=given, correct=right)
    folds = whole("folds", folds, 2)
    stated, level = np.unique(given, return_inverse=True)
    totals: Ints = np.bincount(2 * level + right, minlength=2 * len(stated))
    rows = _numbered(2 * level + right) if items is None else np.asarray(items)
    same_length(confidence=given, items=rows)
    grouped, group = _grouped(stated, totals)
    names, item = (rows, rows) if items is None else np.unique(rows, return_inverse=True)
    rng = resampling.generator(stream)
    fold = (rng.permutation(len(names)) % folds)[item]
    size = 2 * len(grouped)
    cells = fold * size + 2 * group[level] + right
    patterns = _patterns(item, fold, cells, folds * size, rng)
    drawn = resampling.patterns(patterns, n_draws, rng)
    wrong, correct_ones = (int(np.count_nonzero(np.bincount(item[right == kind]))) for kind in (0, 1))
    return Trials(
        stated, totals, grouped, patterns, folds, drawn, drawn.reshape(n_draws, folds, size).sum(axis=1),
        len(names), wrong, correct_ones, _area(given, right, None if items is None else item, totals),
    )  # fmt: skip


def _numbered(cell: Ints) -> Ints:
    """Return the place of each answer when they are ordered by their cell."""
    place = np.empty(len(cell), dtype=np.int64)
    place[np.argsort(cell, kind="stable")] = np.arange(len(cell))
    return place


def _area(given: Floats, right: Ints, item: Ints | None, totals: Ints) -> Estimate:
    if item is not None or len(totals) > 2 * MOST_LEVELS:
        return areas.auroc(given, right, item)
    # Answers of one level are alike: counted once for all of them.
    return areas.auroc_from_patterns(Patterns(np.eye(len(totals), dtype=np.int64), totals))


def _grouped(stated: Floats, totals: Ints) -> tuple[Floats, Ints]:
    """Return the confidence of each group of levels, and the group of each level."""
    if len(stated) <= MOST_LEVELS:
        return stated, np.arange(len(stated))
    size = totals[0::2] + totals[1::2]
    middle = np.cumsum(size) - (size + 1) // 2
    _, group = np.unique(middle * MOST_LEVELS // int(size.sum()), return_inverse=True)
    return np.bincount(group, weights=size * stated) / np.bincount(group, weights=size), group


def _patterns(item: Ints, fold: Ints, cell: Ints, n_cells: int, rng: np.random.Generator) -> Patterns:
    """Return what is drawn: items, or random groups of items of one fold where many items have several answers."""
    if not len(item):
        return Patterns(np.zeros((0, n_cells), dtype=np.int64), np.zeros(0, dtype=np.int64))
    n_items = int(item.max()) + 1
    if n_items == len(item) or n_items <= MOST_ITEMS:
        return resampling.patterns_of(item, cell, n_cells)
    folds = int(fold.max()) + 1
    block = rng.integers(0, BLOCKS // folds, n_items)[item]
    return resampling.patterns_of(fold * (BLOCKS // folds) + block, cell, n_cells)
