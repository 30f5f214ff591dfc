"""Means of many columns over instances with intervals: instances are drawn with replacement, for all columns at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metacog_pipeline.benchmarks.medley.rule_based.panel import Floats
from metacog_pipeline.stats import intervals, resampling
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, SINGLE_ITEM, Estimate, unavailable

# Products of matrices above this size are handed to threads that then spin for more, which costs more than it saves.
_SMALL = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Means of k columns.

    Attributes
    ----------
    values, sizes, sem
        Shape ``(k,)``: mean, NaN without a value; how many instances have a value; standard deviation over resamples.
    ends
        Shape ``(k, 2)``: 95 % intervals, NaN where there is none.
    draws
        Shape ``(k, B)``: means of the resamples, NaN where one has no value.
    """

    values: Floats
    sizes: Floats
    draws: Floats
    ends: Floats
    sem: Floats

    def estimate(self, place: int, method: str, why: str) -> Estimate:
        """Return the mean of one column with its interval; ``why`` is told where it has none."""
        value, n = float(self.values[place]), int(self.sizes[place])
        low, high = map(float, self.ends[place])
        if n == 0 or np.isnan(value):
            return unavailable(0, method, why)
        if n == 1:
            return Estimate(value, None, None, 1, method, SINGLE_ITEM)
        if np.isnan(low):
            return Estimate(value, None, None, n, method, OFTEN_UNDEFINED)
        return Estimate(value, min(low, value), max(high, value), n, method, sem=float(self.sem[place]))

    def difference(self, first: int, second: int) -> Means:
        """Return the mean of one column minus that of another over the same resamples, as a single column."""
        values = self.values[[first]] - self.values[[second]]
        sizes = np.minimum(self.sizes[[first]], self.sizes[[second]])
        return _means(values, sizes, self.draws[[first]] - self.draws[[second]])


def resampled_means(columns: Floats, n_boot: int, seed: int, *, signed: bool = False) -> Means:
    """Return the means of ``columns`` ``(instances, k)``, whose NaN are left out; the same seed gives the same bytes.

    ``signed``: values that happen to be in 0..1 are no shares, so that resamples give the ends.
    """
    table = np.asarray(columns, dtype=np.float64)
    here = ~np.isnan(table)
    known, sizes = np.where(here, table, 0.0), here.sum(axis=0).astype(np.float64)
    weights = resampling.weights(len(table), n_boot, seed)
    partly = (sizes > 0) & (sizes < len(table))
    drawn = np.broadcast_to(np.where(sizes > 0, sizes, np.nan), (n_boot, len(sizes))).copy()
    drawn[:, partly] = _product(weights, here[:, partly].astype(np.float64))
    with np.errstate(invalid="ignore"):
        draws = np.ascontiguousarray((_product(weights, known) / drawn).T)
        found = _means(known.sum(axis=0) / sizes, sizes, draws)
    if signed:
        return found
    return replace(
        found, ends=np.array([_ends(table[here[:, k], k], found.ends[k]) for k in range(len(sizes))])
    )


def _ends(values: Floats, drawn: Floats) -> tuple[float, float]:
    """Return the ends of a mean of values in 0..1 (`intervals.mean`), of others those of its resamples."""
    if len(values) < 2 or values.min() < 0 or values.max() > 1:
        return float(drawn[0]), float(drawn[1])
    found = intervals.mean(values, np.arange(len(values)))
    assert found.low is not None and found.high is not None
    return found.low, found.high


def _product(weights: Floats, table: Floats) -> Floats:
    step = max(1, _SMALL // max(table.size, 1))
    return np.concatenate([weights[i : i + step] @ table for i in range(0, len(weights), step)])


def _means(values: Floats, sizes: Floats, draws: Floats) -> Means:
    sem = draws.std(axis=1)
    for row in np.flatnonzero(np.isnan(sem) & ~np.isnan(draws).all(axis=1)):
        sem[row] = np.nanstd(draws[row])
    return Means(values, sizes, draws, resampling.intervals(draws), sem)
