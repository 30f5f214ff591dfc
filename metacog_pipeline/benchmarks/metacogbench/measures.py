"""Measures of one tier from its sheet: a value in every run, resamples over items, and why there is none.

A measure over several runs is the mean of its runs. Resamples draw items with all their runs; a measure that moves when
items are drawn twice, as the calibration error does, has its resamples moved back to the value (recentred).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.metacogbench.cells import N_BOOT, Sheet, resamples
from metacog_pipeline.benchmarks.metacogbench.composites import run_stats
from metacog_pipeline.benchmarks.metacogbench.ece import BINS, Edges, ece, resampled_ece
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.estimate import MOSTLY_UNDEFINED, NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.proportions import wilson_interval

Floats = NDArray[np.float64]
MEAN = "item bootstrap"
RECENTRED = "item bootstrap, recentred"
ALIKE = "wilson, every item alike"


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A measure of one cell.

    Attributes
    ----------
    by_run
        Shape ``(runs,)``; NaN in a run that has no value.
    draws
        Shape ``(B,)``: the mean over runs in each resample of items; None where there are none.
    n
        Items it rests on.
    share
        Whether it is a share of items, so that an interval exists where all are alike.
    status
        ``ok`` or why there is no value.
    flag
        ``ok`` or what to know about the value.
    """

    by_run: Floats
    draws: Floats | None
    n: int
    method: str = MEAN
    share: bool = False
    status: str = OK
    flag: str = OK

    @property
    def value(self) -> float | None:
        """Mean over runs; None where a run has none."""
        if not len(self.by_run) or bool(np.isnan(self.by_run).any()):
            return None
        return run_stats(self.by_run.tolist())[0]

    def estimate(self) -> Estimate:
        """Return the mean over runs with its 95 % interval."""
        value = self.value
        if value is None:
            return unavailable(self.n, self.method, self.status if self.status != OK else self._why())
        if self.draws is None:
            return Estimate(value, None, None, self.n, self.method, self.flag)
        if self.n < 2:
            return Estimate(value, None, None, self.n, self.method, SINGLE_ITEM)
        if self.share and value in (0.0, 1.0):
            low, high = wilson_interval(value, self.n)
            return Estimate(value, low, high, self.n, ALIKE, self.flag)
        ends = percentile_interval(self.draws)
        if ends[0] is None or ends[1] is None:
            return Estimate(value, None, None, self.n, self.method, MOSTLY_UNDEFINED)
        low, high = min(ends[0], value), max(ends[1], value)
        return Estimate(value, low, high, self.n, self.method, self.flag, float(np.nanstd(self.draws)))

    def spread(self) -> Estimate:
        """Return the standard deviation over runs, n - 1."""
        method = f"sd over {len(self.by_run)} runs, n - 1; not an interval"
        if self.value is None or len(self.by_run) < 2:
            why = "single run" if len(self.by_run) < 2 else self._why()
            return unavailable(self.n, method, why)
        return Estimate(run_stats(self.by_run.tolist())[1], None, None, self.n, method)

    def _why(self) -> str:
        undefined = int(np.isnan(self.by_run).sum())
        if undefined in (0, len(self.by_run)):
            return NO_ITEMS
        return f"undefined in {undefined} of {len(self.by_run)} runs"


def absent(n_runs: int, why: str, method: str = MEAN) -> Measured:
    """Return a measure without a value."""
    return Measured(np.full(max(n_runs, 1), np.nan), None, 0, method, status=why)


def mean(sheet: Sheet, values: Floats, seed: int, n_boot: int = N_BOOT, *, share: bool = False) -> Measured:
    """Return the mean of ``values`` ``(items, runs)`` over items, NaN left out."""
    weights = resamples(sheet.tier, sheet.n_items, n_boot, seed)
    here = ~np.isnan(values)
    known, n = np.where(here, values, 0.0), here.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_run = known.sum(axis=0) / n
        drawn = (weights @ known) / (weights @ here.astype(np.float64))
    return Measured(by_run, drawn.mean(axis=1), int(here.any(axis=1).sum()), share=share)


def rate(sheet: Sheet, name: str, seed: int, n_boot: int = N_BOOT) -> Measured:
    """Return the share of items for which column ``name`` holds; an answered item without a value counts as not."""
    values, answered = sheet.column(name), sheet.column("_answered")
    return mean(sheet, np.where(np.isnan(answered), np.nan, np.nan_to_num(values)), seed, n_boot, share=True)


def calibration_error(
    sheet: Sheet,
    percent: Floats,
    correct: Floats,
    seed: int,
    n_boot: int = N_BOOT,
    *,
    bins: int = BINS,
    edges: Edges = "floor",
) -> Measured:
    """Return the calibration error, formed in each run, of percentages and outcomes ``(items, runs)``."""
    here = ~np.isnan(percent) & ~np.isnan(correct)
    stated = np.where(here, percent, np.nan)
    weights = resamples(sheet.tier, sheet.n_items, n_boot, seed)
    by_run, draws = [], []
    for run in range(percent.shape[1]):
        own = here[:, run]
        value = ece(stated[own, run], correct[own, run], bins, edges)
        by_run.append(np.nan if value is None else value)
        draws.append(resampled_ece(stated[:, run], correct[:, run], weights, bins, edges))
    values, drawn = np.array(by_run), np.mean(draws, axis=0)
    return Measured(values, recentred(drawn, float(values.mean())), int(here.any(axis=1).sum()), RECENTRED)


def recentred(draws: Floats, value: float) -> Floats:
    """Return draws of something in 0..1 moved so that their mean is ``value``."""
    known = draws[~np.isnan(draws)]
    if not len(known) or np.isnan(value):
        return draws
    moved: Floats = np.clip(draws + (value - float(known.mean())), 0.0, 1.0)
    return moved


def along_runs(values: Floats, statistic: Callable[[Floats, Floats], float | None], other: Floats) -> Floats:
    """Return a statistic of two columns in each run, over the items both have; NaN where it has no value."""
    found = []
    for run in range(values.shape[1]):
        own = ~np.isnan(values[:, run]) & ~np.isnan(other[:, run])
        value = statistic(values[own, run], other[own, run]) if own.any() else None
        found.append(np.nan if value is None else value)
    return np.array(found)


def changed(found: Measured, change: Callable[[Floats], Floats], method: str | None = None) -> Measured:
    """Return a measure whose runs and resamples are changed alike."""
    draws = None if found.draws is None else change(found.draws)
    return replace(found, by_run=change(found.by_run), draws=draws, method=method or found.method)


def joined(parts: Mapping[str, Measured], change: Callable[..., Floats], method: str) -> Measured:
    """Return a measure made from several, run by run and resample by resample."""
    several = list(parts.values())
    runs = max(len(part.by_run) for part in several)
    if any(part.value is None or len(part.by_run) != runs for part in several):
        lacking = [name for name, part in parts.items() if part.value is None]
        return absent(runs, f"undefined: {', '.join(lacking) or 'runs differ'}", method)
    draws = [part.draws for part in several if part.draws is not None]
    drawn = change(*draws) if len(draws) == len(several) else None
    return Measured(
        change(*(part.by_run for part in several)), drawn, sum(part.n for part in several), method
    )
