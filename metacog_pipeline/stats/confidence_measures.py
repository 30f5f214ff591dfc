"""What confidence is worth beyond AUROC2 and the calibration error: risk against coverage, calibration in the large.

All start from answers as counts with their resamples (`trials`). Beyond `MOST_LEVELS` distinct confidences a resample is
counted over as many groups of equal size; values are made of the confidences as they are.

The risk is the share of the answers kept, surest first, that is wrong (Geifman & El-Yaniv 2017, NeurIPS; the excess:
Geifman, Uziel & El-Yaniv 2019, ICLR). With E(k) the wrong answers among the k surest of n and H(k) = 1 + … + 1/k::

    AURC   = 1/n Σ_{k=1..n} E(k) / k
    excess = AURC - 1/n [E - (n - E) (H(n) - H(n - E))]        AURC of the order that puts every wrong answer last

Equal confidences leave the order open. AURC is its mean over all orders of the tied answers: within a group of m answers
of which e are wrong, after N of which E are wrong, the sum over the group is e + (E - N e / m) (H(N + m) - H(N)).

Calibration in the large: Van Calster et al. 2019, *BMC Medicine* 17.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from metacog_pipeline.stats import auroc as areas
from metacog_pipeline.stats import estimate, intervals, resampling
from metacog_pipeline.stats._arrays import Floats, Ints, binary, floats, ratio, same_length
from metacog_pipeline.stats.calibration import turned
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable
from metacog_pipeline.stats.intervals import LOSS, loss_ends
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
            return estimate.NO_ITEMS
        if self.rarer == 0:
            return estimate.ALL_WRONG if self.n_wrong else estimate.ALL_CORRECT
        return estimate.ONE_LEVEL if len(self.stated) == 1 else None

    @property
    def few(self) -> str | None:
        """A status where fewer than `FEWEST` items hold an answer of the rarer kind."""
        if not 0 < self.rarer < FEWEST:
            return None
        return f"few {'errors' if self.n_wrong == self.rarer else 'correct'}: {self.rarer}"


def trials(
    confidence: ArrayLike, correct: ArrayLike, items: ArrayLike | None = None, *, stream: resampling.Stream = 0,
    n_draws: int = 1000,
) -> Trials:  # fmt: skip
    """Count answers ``correct`` (0/1) with ``confidence`` on any scale, ``(N,)``, and draw their items.

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


def of_trials(made: Trials, *, probability: bool = True) -> dict[str, Estimate]:
    """Return all measures of ``made``; without ``probability`` confidences have an order only.

    >>> list(of_trials(trials([3, 5], [0, 1]), probability=False))
    ['aurc', 'excess_aurc']
    """
    found = {"aurc": _area(made, aurc_statistic), "excess_aurc": _area(made, excess_aurc_statistic)}
    if not probability:
        return found
    if made.n and not (made.stated[0] >= 0.0 and made.stated[-1] <= 1.0):
        raise ValueError(f"confidences {made.stated[0]} to {made.stated[-1]} are outside 0..1")
    return {**found, "calibration_in_the_large": in_the_large(made)}


def aurc_statistic(totals: Floats) -> Floats:
    """Return the area under risk against coverage of each row of totals ``(B, 2 L)``, levels rising; NaN of no answers."""
    wrong = totals[:, -2::-2]
    size = wrong + totals[:, ::-2]
    after, errors = np.cumsum(size, axis=1), np.cumsum(wrong, axis=1)
    share = np.divide(wrong, size, out=np.zeros_like(wrong), where=size > 0)
    harmonic = np.diff(digamma(after + 1), axis=1, prepend=digamma(1.0))
    area = (wrong + (errors - wrong - (after - size) * share) * harmonic).sum(axis=1)
    return ratio(np.maximum(area, 0.0), after[:, -1])


def excess_aurc_statistic(totals: Floats) -> Floats:
    """Return how far each area of `aurc_statistic` is above that of the best order."""
    wrong, n = totals[:, 0::2].sum(axis=1), totals.sum(axis=1)
    best = wrong - (n - wrong) * (digamma(n + 1) - digamma(n - wrong + 1))
    return np.maximum(aurc_statistic(totals) - ratio(best, n), 0.0)


def _area(made: Trials, statistic: resampling.Statistic) -> Estimate:
    """Return an area with its `loss_ends`; no interval where the order is perfect."""
    if made.why_not is not None:
        return unavailable(made.n, LOSS, made.why_not)
    value = float(statistic(made.totals[None].astype(np.float64))[0])
    spread = float(np.nanstd(statistic(made.draws)))
    low, high = loss_ends(value, spread, made.rarer)
    if low is None:
        return Estimate(value, None, None, made.n, LOSS, made.few or estimate.PERFECT)
    return Estimate(value, low, high, made.n, LOSS, made.few or OK, spread)


def in_the_large(made: Trials) -> Estimate:
    """Return mean confidence minus the share correct, -1..1; confidences are 0..1."""
    gap = np.repeat(made.grouped, 2) - np.tile([0.0, 1.0], len(made.grouped))
    return intervals.ratio(made.patterns, gap, np.ones(len(gap)), turned(len(gap)))
