"""Does confidence go with correctness? Measures from counts that assume no model, and quantile bins for meta-d'.

* Rates by confidence: HR2 = P(confidence >= k | correct, response), FAR2 the same of wrong answers, k = 2 .. K.
* AUROC2 of many cells at once; from confidences on any scale, never binned, it is `stats.auroc`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import estimate
from metacog_pipeline.stats._arrays import Floats, Ints, floats, mean_ranks, ratio, same_length, whole
from metacog_pipeline.stats._arrays import counts as whole_counts
from metacog_pipeline.stats.auroc import area_of, delong
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import OK, Estimate, of_numbers
from metacog_pipeline.stats.identifiability import by_response
from metacog_pipeline.stats.intervals import SCALED, scaled_score
from metacog_pipeline.stats.type1 import Texts


def type2_rates(table: Counts) -> tuple[Floats, Floats]:
    """Return HR2 and FAR2 ``(cells, 2, K - 1)`` by response (S1, S2) and k = 2 .. K; NaN without such answers.

    >>> hits, alarms = type2_rates(Counts(np.array([[9.0, 4, 3, 2]]), np.array([[2.0, 3, 5, 8]])))
    >>> hits.round(2).tolist(), alarms.round(2).tolist()
    ([[[0.69], [0.62]]], [[[0.4], [0.4]]])
    """
    sides = by_response(table.n_s1, table.n_s2)
    hits, alarms = (
        ratio(side[..., ::-1].cumsum(axis=2)[..., ::-1][..., 1:], side.sum(axis=2)[..., None])
        for side in sides
    )
    return hits, alarms


@dataclass(frozen=True, slots=True)
class Auroc2:
    """Area under the type-2 ROC of many cells; arrays of shape ``(cells,)``."""

    value: Floats
    low: Floats
    high: Floats
    sem: Floats
    n: Floats
    status: Texts
    method: str

    def estimate(self, cell: int = 0) -> Estimate:
        """Return one cell's area as an estimate."""
        numbers = (self.value, self.low, self.high, self.sem, self.n)
        value, low, high, sem, n = (float(each[cell]) for each in numbers)
        return of_numbers(value, low, high, sem, n, self.method, str(self.status[cell]))


def auroc2(table: Counts, plus_one: bool = False) -> Auroc2:
    """Return the area of every cell of ``table``, responses pooled; fractions allowed.

    ``plus_one`` adds 1 to each of the 2 K pooled counts first, a widespread variant that shrinks the area towards 1/2.

    >>> auroc2(Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]]))).value.round(3)
    array([0.619])
    """
    if plus_one and table.correction != "none":
        raise ValueError("the counts are padded already: plus one on top would correct twice")
    right, wrong = (part + plus_one for part in table.by_confidence)
    n_right, n_wrong = right.sum(axis=1), wrong.sum(axis=1)
    value = np.minimum(area_of(right, wrong), 1.0)
    status = outcome_status(n_right, n_wrong)
    one_level = ((right + wrong) > 0).sum(axis=1) == 1
    status = np.select([status != OK, one_level], [status, estimate.ONE_LEVEL], default=OK)
    variance = np.maximum(delong(right, wrong), 0.0)
    low, high = (np.full(value.shape, np.nan) for _ in range(2))
    some = status == OK
    low[some], high[some] = scaled_score(value[some], n_right[some], n_wrong[some], variance[some])
    sem = np.where(some & (value > 0) & (value < 1), np.sqrt(variance), np.nan)
    method = f"{SCALED}, plus one" if plus_one else SCALED
    ends = np.minimum(low, value), np.maximum(high, value)
    return Auroc2(value, *ends, sem, n_right + n_wrong, status, method)


def bin_confidence(confidence: ArrayLike, bins: int, groups: ArrayLike | None = None) -> tuple[Ints, Texts]:
    """Cut ``confidence`` ``(N,)`` into ``bins`` of about equal size within each group; ratings 1 .. K, 0 for NaN; status.

    Equal confidences share a bin: a run of ties goes, whole, to the bin its middle rank lies in. So bins may come out
    unequal or empty, which the status of the group says; any rising change of scale leaves the ratings as they are.
    ``groups`` ``(N,)`` are whole numbers from 0; None: one. ±inf is refused.
    """
    k, stated = whole("bins", bins, 1), floats("confidence", confidence, gaps=True)
    group = np.zeros(len(stated), dtype=np.int64) if groups is None else whole_counts("groups", groups)
    same_length(confidence=stated, groups=group)
    cells = 1 if groups is None else int(group.max(initial=-1)) + 1
    rating, status = np.zeros(len(stated), dtype=np.int64), np.full(cells, estimate.NO_ITEMS, dtype=object)
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
    reasons = [(n_right <= 0) & (n_wrong <= 0), n_wrong <= 0, n_right <= 0]
    names = [estimate.NO_ITEMS, estimate.ALL_CORRECT, estimate.ALL_WRONG]
    return np.select(reasons, names, default=OK).astype(np.str_)
