"""Means of columns of instances with intervals over instances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metacog_pipeline.benchmarks.medley.panel import Floats
from metacog_pipeline.stats import intervals, resampling
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, SINGLE_ITEM, Estimate, unavailable

# Products of matrices above this size are handed to threads that then spin for more, which costs more than it saves.
_SMALL = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Means of k columns: values, instances that have one, resamples ``(k, B)``, 95 % ends ``(k, 2)``, SEM; NaN: none."""

    values: Floats
    sizes: Floats
    draws: Floats
    ends: Floats
    sem: Floats

    def estimate(self, place: int, method: str, why: str) -> Estimate:
        """Return the mean of one column with its interval; ``why`` is given where it has none."""
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
    for k in range(0 if signed else len(sizes)):
        values = table[here[:, k], k]
        if len(values) > 1 and values.min() >= 0 and values.max() <= 1:
            ends = intervals.mean(values, np.arange(len(values)))
            found.ends[k] = ends.low, ends.high
    return found


def _product(weights: Floats, table: Floats) -> Floats:
    step = max(1, _SMALL // max(table.size, 1))
    return np.concatenate([weights[i : i + step] @ table for i in range(0, len(weights), step)])


def _means(values: Floats, sizes: Floats, draws: Floats) -> Means:
    sem = draws.std(axis=1)
    for row in np.flatnonzero(np.isnan(sem) & ~np.isnan(draws).all(axis=1)):
        sem[row] = np.nanstd(draws[row])
    return Means(values, sizes, draws, resampling.intervals(draws), sem)
