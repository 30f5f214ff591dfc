"""Answers with a confidence and a correctness as counts, and their resamples: what the measures of confidence share.

Beyond `MOST_LEVELS` distinct confidences a resample is counted over as many groups of equal size, each standing for its
mean confidence; values are made of the confidences as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import auroc as areas
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints, binary, floats, same_length
from metacog_pipeline.stats.estimate import ALL_CORRECT, ALL_WRONG, NO_ITEMS, ONE_LEVEL, Estimate
from metacog_pipeline.stats.resampling import Patterns

MOST_LEVELS = 101  # whole percents are as they are
FEWEST = 5  # items with an answer of the rarer kind: with fewer, the status of a number says so


@dataclass(frozen=True, slots=True)
class Trials:
    """Answers as counts; L distinct confidences, G groups of them in a resample."""

    stated: Floats  # (L,), rising
    totals: Ints  # (2 L,): level × (wrong, correct)
    grouped: Floats  # (G,): the confidence of each level of a resample
    patterns: Patterns  # items over 2 G cells
    draws: Floats  # (B, 2 G): resampled totals
    n_items: int
    n_wrong: int  # items with a wrong answer
    n_right: int
    area: Estimate  # AUROC2 with its interval, or why there is none

    @property
    def n(self) -> int:
        """Number of answers."""
        return int(self.totals.sum())

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
        return f"few {'errors' if self.n_wrong == self.rarer else 'correct'}: {self.rarer}"


def trials(
    confidence: ArrayLike,
    correct: ArrayLike,
    items: ArrayLike | None = None,
    *,
    stream: resampling.Stream = 0,
    n_draws: int = 1000,
) -> Trials:
    """Count answers and draw their items.

    confidence, correct: shape ``(N,)``: finite numbers on any scale, and 0/1 or booleans.
    items: the item of each answer (integers are fastest); None means one answer per item.
    stream, n_draws: seed and number of resamples.

    >>> found = trials([0.9, 0.5, 0.9], [1, 0, 0], stream=1)
    >>> found.stated, found.totals, found.draws.shape
    (array([0.5, 0.9]), array([1, 0, 1, 1]), (1000, 4))
    """
    given, right = floats("confidence", confidence), binary("correct", correct)
    rows = np.arange(len(given)) if items is None else np.asarray(items)
    same_length(confidence=given, correct=right, items=rows)
    stated, level = np.unique(given, return_inverse=True)
    totals: Ints = np.bincount(2 * level + right, minlength=2 * len(stated))
    grouped, group = _grouped(stated, totals)
    names, item = (rows, rows) if items is None else np.unique(rows, return_inverse=True)
    patterns = Patterns(np.zeros((0, 0), dtype=np.int64), np.zeros(0, dtype=np.int64))
    if len(item):
        patterns = resampling.patterns_of(item, 2 * group[level] + right, 2 * len(grouped))
    wrong, correct_ones = (int(np.count_nonzero(np.bincount(item[right == kind]))) for kind in (0, 1))
    if items is not None or len(stated) > MOST_LEVELS:
        area = areas.auroc(given, right, None if items is None else item)
    else:  # answers of one level are alike: counted once for all of them
        area = areas.auroc_from_patterns(Patterns(np.eye(len(totals), dtype=np.int64), totals))
    draws = resampling.patterns(patterns, n_draws, stream)
    return Trials(stated, totals, grouped, patterns, draws, len(names), wrong, correct_ones, area)


def _grouped(stated: Floats, totals: Ints) -> tuple[Floats, Ints]:
    """Return the confidence of each group of levels, and the group of each level."""
    if len(stated) <= MOST_LEVELS:
        return stated, np.arange(len(stated))
    size = totals[0::2] + totals[1::2]
    middle = np.cumsum(size) - (size + 1) // 2
    _, group = np.unique(middle * MOST_LEVELS // int(size.sum()), return_inverse=True)
    return np.bincount(group, weights=size * stated) / np.bincount(group, weights=size), group
