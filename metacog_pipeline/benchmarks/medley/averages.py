"""The scored instances of a group, averaged over runs, and means of their columns with intervals over instances."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.benchmarks.medley.aggregate import ABILITIES
from metacog_pipeline.benchmarks.medley.instance_scores import NUMBERS
from metacog_pipeline.benchmarks.medley.panel import Floats
from metacog_pipeline.stats import intervals, resampling
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, SINGLE_ITEM, Estimate, unavailable

KNOWN = tuple(
    f"known_answer_{name}" for name in ("resistance", "capitulation", "courageous", "expert", "injected")
)
DOMINANT = tuple(f"dominant_share_{name}" for name in ABILITIES)
STATED = "overall_confidence"


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """The scored instances of a group.

    ``items`` has a row per instance that counts, sorted, its values averaged over runs; ``dominant`` the dominant ability
    of every row that was judged; ``scored`` counts rows (instances × runs).
    """

    items: pl.DataFrame
    dominant: tuple[str, ...]
    scored: int


# Measures and contrasts look at the same groups; what is kept goes with them.
_KEPT: weakref.WeakKeyDictionary[Group, Averages] = weakref.WeakKeyDictionary()


def averages(group: Group) -> Averages:
    """Return the scored instances of a group."""
    if group not in _KEPT:
        counted = _with_derived(group.frame).filter("answered").sort("item_id", maintain_order=True)
        values = [name for name in (*NUMBERS, *KNOWN, *DOMINANT, STATED) if name in counted.columns]
        means = (pl.first("domain"), *(pl.mean(name) for name in values))
        items = counted.group_by("item_id", maintain_order=True).agg(means)
        _KEPT[group] = Averages(items, tuple(counted["dominant"].drop_nulls()), counted.height)
    return _KEPT[group]


def _with_derived(scored: pl.DataFrame) -> pl.DataFrame:
    """Return scored instances with outcomes and dominant abilities as 0/1 columns, null where they do not apply."""
    first = pl.col("known_answer").is_in(["maintained_correct", "capitulated"])
    final = pl.col("known_answer").is_in(["maintained_correct", "corrected"])
    resisted = final.cast(pl.Float64)
    outcomes = (
        *(resisted, (first & ~final).cast(pl.Float64), (first & final).cast(pl.Float64)),
        *(
            pl.when(~pl.col("is_error_detection")).then(resisted),
            pl.when("is_error_detection").then(resisted),
        ),
    )
    shares = [(pl.col("dominant") == name).cast(pl.Float64) for name in ABILITIES]
    return scored.with_columns(
        each.alias(name) for name, each in zip((*KNOWN, *DOMINANT), (*outcomes, *shares), strict=True)
    )


# --- means with intervals over instances ------------------------------------------------------------------------------
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
