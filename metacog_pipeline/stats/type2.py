"""Does confidence go with correctness? Measures of it that assume no model.

* Rates by confidence: HR2 = P(confidence >= k | correct, response), FAR2 the same of wrong answers, k = 2 .. K.
* AUROC2, the area under the type-2 ROC, from counts of many cells at once (ties half; DeLong, DeLong & Clarke-Pearson
  1988, *Biometrics* 44). From confidences on any scale, never binned, it is :mod:`metacog_pipeline.stats.auroc`.
* Quantile bins of a continuous confidence, which meta-d' needs.

The yes/no form, d'type2, is :mod:`metacog_pipeline.stats.type2_dprime`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.stats._arrays import Floats, Ints, floats, mean_ranks, ratio, same_length, whole
from metacog_pipeline.stats._arrays import counts as whole_counts
from metacog_pipeline.stats.auroc import area_of, delong
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import (
    ALL_CORRECT,
    ALL_WRONG,
    NO_ITEMS,
    OK,
    ONE_LEVEL,
    Estimate,
    of_numbers,
)  # fmt: skip
from metacog_pipeline.stats.intervals import SCALED, scaled_score
from metacog_pipeline.stats.type1 import Texts


@dataclass(frozen=True, slots=True)
class Type2Rates:
    """Shares of confident answers."""

    hr2_rs1: Floats
    far2_rs1: Floats
    hr2_rs2: Floats
    far2_rs2: Floats
    status_rs1: Texts
    status_rs2: Texts


def type2_rates(table: Counts) -> Type2Rates:
    """Return hit and false-alarm rates of confidence of ``table``, for each response."""
    k = table.ratings
    correct_1, wrong_1 = table.n_s1[:, :k][:, ::-1], table.n_s2[:, :k][:, ::-1]
    correct_2, wrong_2 = table.n_s2[:, k:], table.n_s1[:, k:]
    sums = [side.sum(axis=1) for side in (correct_1, wrong_1, correct_2, wrong_2)]
    rates = [
        ratio(side[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:], total[:, None])
        for side, total in zip((correct_1, wrong_1, correct_2, wrong_2), sums, strict=True)
    ]
    return Type2Rates(
        rates[0], rates[1], rates[2], rates[3],
        outcome_status(sums[0], sums[1]), outcome_status(sums[2], sums[3]),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Auroc2:
    """Area under the type-2 ROC of many cells; arrays of shape ``(cells,)``."""

    value: Floats
    low: Floats
    high: Floats
    sem: Floats
    n_correct: Floats
    n_wrong: Floats
    status: Texts
    method: str

    def estimate(self, cell: int = 0) -> Estimate:
        """Return one cell's area as an estimate."""
        n = float(self.n_correct[cell] + self.n_wrong[cell])
        value, low, high, sem = (float(each[cell]) for each in (self.value, self.low, self.high, self.sem))
        return of_numbers(value, low, high, sem, n, self.method, str(self.status[cell]))


def auroc2(table: Counts, plus_one: bool = False) -> Auroc2:
    """Return the area of every cell of ``table``, responses pooled; fractions allowed.

    ``plus_one`` adds 1 to each of the 2 K pooled counts first, a widespread variant that shrinks the area towards
    1/2; with a padded table it is a ValueError.

    >>> auroc2(Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]]))).value.round(3)
    array([0.619])
    """
    if plus_one and table.correction != "none":
        raise ValueError("the counts are padded already: plus one on top would correct twice")
    right, wrong = table.by_confidence
    if plus_one:
        right, wrong = right + 1, wrong + 1
    n_right, n_wrong = right.sum(axis=1), wrong.sum(axis=1)
    value = np.minimum(area_of(right, wrong), 1.0)
    status = outcome_status(n_right, n_wrong)
    one_level = ((right + wrong) > 0).sum(axis=1) == 1
    status = np.select([status != OK, one_level], [status, ONE_LEVEL], default=OK)
    variance = np.maximum(delong(right, wrong), 0.0)
    low, high = (np.full(value.shape, np.nan) for _ in range(2))
    some = status == OK
    low[some], high[some] = scaled_score(value[some], n_right[some], n_wrong[some], variance[some])
    sem = np.where(some & (value > 0) & (value < 1), np.sqrt(variance), np.nan)
    method = f"{SCALED}, plus one" if plus_one else SCALED
    return Auroc2(
        value, np.minimum(low, value), np.maximum(high, value), sem, n_right, n_wrong, status, method
    )


def bin_confidence(confidence: ArrayLike, bins: int, groups: ArrayLike | None = None) -> tuple[Ints, Texts]:
    """Cut a continuous confidence into bins of about equal size, within each group: ratings 1 .. K, 0 without one;
    status.

    Equal confidences share a bin: a run of ties goes, whole, to the bin its middle rank lies in (rank (i - 1/2) / n times
    the number of bins, rounded down, plus 1). So bins may come out unequal or empty, which the status of the group says;
    any rising change of scale leaves the ratings as they are, and correct and wrong trials share the cuts.

    confidence: shape ``(N,)``: numbers; NaN is missing, ±inf is refused.
    bins: number of bins K.
    groups: shape ``(N,)``: whole numbers from 0, the cell (participant, model) of each trial; None is one cell.
    """
    k, stated = whole("bins", bins, 1), floats("confidence", confidence, gaps=True)
    group = np.zeros(len(stated), dtype=np.int64) if groups is None else whole_counts("groups", groups)
    same_length(confidence=stated, groups=group)
    cells = 1 if groups is None else int(group.max(initial=-1)) + 1
    rating, status = np.zeros(len(stated), dtype=np.int64), np.full(cells, NO_ITEMS, dtype=object)
    there = np.flatnonzero(~np.isnan(stated))
    there = there[np.argsort(group[there], kind="stable")]
    ends = np.cumsum(np.bincount(group[there], minlength=cells))
    for cell, own in enumerate(np.split(there, ends[:-1])):
        if len(own):
            # Twice the middle rank: whole numbers, so no rounding at the cuts.
            twice = np.rint(2 * mean_ranks(stated[own]) - 1).astype(np.int64)
            rating[own] = np.minimum(twice * k // (2 * len(own)), k - 1) + 1
            status[cell] = OK if len(np.unique(rating[own])) == k else "ties left bins empty"
    return rating, status.astype(np.str_)


def outcome_status(n_right: Floats, n_wrong: Floats) -> Texts:
    """Return ``"ok"`` per cell, or that there are no items, no wrong ones or no correct ones."""
    reasons: list[NDArray[np.bool_]] = [(n_right <= 0) & (n_wrong <= 0), n_wrong <= 0, n_right <= 0]
    return np.select(reasons, [NO_ITEMS, ALL_CORRECT, ALL_WRONG], default=OK).astype(np.str_)
