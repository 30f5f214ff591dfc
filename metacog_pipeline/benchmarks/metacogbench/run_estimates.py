"""A measure in every run, its resamples over items, and why there is none.

A measure over several runs is the mean of its runs. Resamples draw items with all their runs; a measure that moves when
items are drawn twice, as the calibration error does, has its resamples moved back to the value (recentred) where others are
made from it. Means and calibration errors have the intervals of `stats.intervals`, what is made of several tiers has those
of its resamples.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metacog_pipeline.benchmarks.metacogbench.tier_groups import Floats, TierGroup
from metacog_pipeline.stats import calibration, intervals, resampling
from metacog_pipeline.stats.calibration import Edges
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable

MEAN = "item bootstrap"
RECENTRED = "item bootstrap, recentred"
INVERTED = "item bootstrap, test inversion"
BINS = 5
NULL_DRAWS = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class RunEstimate:
    """A measure of one tier, or of several together, that rests on ``n`` items.

    ``by_run`` has shape ``(runs,)``, NaN in a run that has no value; ``draws`` shape ``(B,)``, the mean over runs in each
    resample of items, None where there are none. ``status`` is ``ok`` or why there is no value; ``flag`` ``ok`` or what to
    know about the value; ``ends`` are those of the interval, where it is not that of the draws.
    """

    by_run: Floats
    draws: Floats | None
    n: int
    method: str = MEAN
    status: str = OK
    flag: str = OK
    ends: tuple[float, float] | None = None

    @property
    def value(self) -> float | None:
        """Mean over runs; None where a run has none."""
        values = self.by_run.tolist()
        return None if any(map(math.isnan, values)) else run_stats(values)[0]

    def estimate(self) -> Estimate:
        """Return the mean over runs with its 95 % interval."""
        value = self.value
        if value is None:
            return unavailable(self.n, self.method, self.status if self.status != OK else self._why())
        if self.draws is None:
            return Estimate(value, None, None, self.n, self.method, self.flag)
        if self.n < 2:
            return Estimate(value, None, None, self.n, self.method, SINGLE_ITEM)
        found = resampling.from_draws(value, self.draws, self.n, self.method, self.flag, kind="widened")
        if self.ends is None or found.low is None:
            return found
        return replace(found, low=min(self.ends[0], value), high=max(self.ends[1], value))

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


def run_stats(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return mean and standard deviation (n - 1) over runs; None where there are no runs, or only one to spread."""
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def absent(n_runs: int, why: str, method: str = MEAN) -> RunEstimate:
    """Return a measure without a value."""
    return RunEstimate(np.full(max(n_runs, 1), np.nan), None, 0, method, status=why)


def mean(
    tier: TierGroup,
    values: Floats,
    within: tuple[float, float] = (0.0, 1.0),
    turned: Floats | None = None,
) -> RunEstimate:
    """Return the mean of ``values`` ``(items, runs)`` over items, NaN left out.

    ``within`` holds every possible value, ``turned`` are the values had the outcomes been the other ones.
    """
    return weighted_mean(tier.weights(), values, None, within, turned)


def weighted_mean(
    weights: Floats,
    values: Floats,
    method: str | None = None,
    within: tuple[float, float] = (0.0, 1.0),
    turned: Floats | None = None,
) -> RunEstimate:
    """Return the mean of ``values`` ``(units, runs)``, resampled by ``weights`` ``(B, units)``; NaN left out."""
    here = ~np.isnan(values)
    known, n = np.where(here, values, 0.0), here.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_run = known.sum(axis=0) / n
        drawn = (weights @ known) / (weights @ here.astype(np.float64))
    return _mean(by_run, drawn.mean(axis=1), values, method, within, turned)


def _mean(
    by_run: Floats,
    draws: Floats,
    values: Floats,
    method: str | None = None,
    within: tuple[float, float] = (0.0, 1.0),
    turned: Floats | None = None,
) -> RunEstimate:
    """Return a mean with the interval it has everywhere; its draws serve what is made of it."""
    unit, run = np.nonzero(~np.isnan(values))
    other = None if turned is None else turned[unit, run]
    found = intervals.mean(values[unit, run], unit, within, other)
    ends = None if found.low is None or found.high is None else (found.low, found.high)
    n = len(np.unique(unit))
    return RunEstimate(by_run, draws, n, method or found.method, ends=ends)


def rate(tier: TierGroup, name: str) -> RunEstimate:
    """Return the share of items for which column ``name`` holds; one that words alone do not decide is left out."""
    return mean(tier, rate_values(tier, name))


def rates(tiers: Sequence[TierGroup], name: str) -> list[RunEstimate]:
    """Return the `rate` of several tiers that share their draws and lack no reply, from one product of whole numbers: a
    tenth of the time of one after another, and the same numbers."""
    weights, runs = tiers[0].weights(), tiers[0].n_runs
    passed = np.hstack([rate_values(tier, name) for tier in tiers])
    if np.isnan(passed).any():
        return [rate(tier, name) for tier in tiers]
    n = len(passed)
    by_run, drawn = passed.sum(axis=0) / n, (passed.T @ weights.T) / n
    every = (slice(start, start + runs) for start in range(0, len(by_run), runs))
    return [
        _mean(by_run[own], np.ascontiguousarray(drawn[own].T).mean(axis=1), passed[:, own]) for own in every
    ]


def rate_values(tier: TierGroup, name: str) -> Floats:
    """Return what a `rate` is the mean of, items × runs: NaN where there was no reply, or none that could be read."""
    values, read = tier.column(name), tier.column("_read")
    return np.where(np.isnan(values) & (read != 1), np.nan, np.nan_to_num(values))


def calibration_error(
    tier: TierGroup, percent: Floats, correct: Floats, edges: Edges = "floor", *, alone: bool = True
) -> RunEstimate:
    """Return the calibration error, formed in each run, of percentages and outcomes ``(items, runs)``.

    ``alone``: with an interval of its own; where only its draws are wanted that costs four times as much as they do.
    """
    here = ~np.isnan(percent) & ~np.isnan(correct)
    stated, weights = np.where(here, percent, np.nan) / 100, tier.weights()
    by_run = ece_by_run(percent, correct, BINS, edges)
    runs = zip(stated.T, correct.T, strict=True)
    drawn = np.mean([calibration.ece_draws(*run, weights, BINS, edges) for run in runs], axis=0)
    n = int(here.any(axis=1).sum())
    known = alone and n > 1 and not np.isnan(by_run).any()
    ends = _inverted(stated, np.where(here, correct, np.nan), weights, edges) if known else None
    return RunEstimate(by_run, recentred(drawn, float(by_run.mean())), n, INVERTED, ends=ends)


def _inverted(stated: Floats, correct: Floats, weights: Floats, edges: Edges) -> tuple[float, float]:
    """Return the interval of the error over the bins of all runs, items drawn with all of them."""
    parts = []
    for said, right in zip(stated.T, correct.T, strict=True):
        here = ~np.isnan(said)
        member = np.zeros((len(said), BINS))
        member[here, calibration.bin_index(said[here], BINS, edges)] = 1.0
        known = [np.where(here, each, 0.0)[:, None] * member for each in (right, said)]
        parts.append([*known, member])
    columns = [np.hstack(each) for each in zip(*parts, strict=True)]
    seen = [each.sum(axis=0) for each in columns]
    drawn = weights @ columns[0], weights @ columns[1], weights @ columns[2]
    return intervals.of_gaps(seen[0], seen[1], seen[2], drawn)


def ece(percent: Floats, correct: Floats, bins: int = BINS, edges: Edges = "floor") -> float:
    """Return the calibration error of one run's percentages and outcomes ``(items,)``, NaN left out; NaN without any."""
    here = ~np.isnan(percent) & ~np.isnan(correct)
    found = calibration.ece(percent[here] / 100, correct[here], bins, edges).value
    return np.nan if found is None else found


def ece_by_run(percent: Floats, correct: Floats, bins: int, edges: Edges) -> Floats:
    """Return the calibration error of each run of percentages and outcomes ``(items, runs)``."""
    return np.array([ece(*run, bins, edges) for run in zip(percent.T, correct.T, strict=True)])


def null_errors(percent: Floats, seed: int, bins: int = BINS, edges: Edges = "floor") -> Floats:
    """Return errors ``(NULL_DRAWS,)`` of a respondent who says this and is right exactly as often as it says.

    With few items the error is above 0 even for a perfectly calibrated respondent; these draws say by how much.
    ``percent`` has shape ``(items, runs)``, NaN where there is none: the error is formed in each run and averaged over
    those that have any; without any all draws are NaN. Runs share one uniform number per item: whoever knows an item
    knows it in every run, so runs do not average chance away.
    """
    by_run = []
    for own, gaps in _lucky(percent.tobytes(), percent.shape, seed):
        one_of = np.zeros((len(own), bins))
        one_of[np.arange(len(own)), calibration.bin_index(own, bins, edges)] = 1.0
        by_run.append(np.abs(gaps @ one_of).sum(axis=1) / len(own))
    averaged: Floats = np.mean(by_run, axis=0) if by_run else np.full(NULL_DRAWS, np.nan)
    return averaged


@functools.lru_cache(maxsize=2)  # several ways to bin are asked of one tier after the other
def _lucky(percent: bytes, shape: tuple[int, int], seed: int) -> list[tuple[Floats, Floats]]:
    """Return what was said in each run that says anything, and how far each draw lies from it, ``(NULL_DRAWS, items)``."""
    luck = resampling.generator(resampling.stream("metacogbench", seed, "calibrated")).random(
        (NULL_DRAWS, shape[0])
    )
    said = np.frombuffer(percent).reshape(shape)
    own = [(here, column[here] / 100) for column in said.T if (here := ~np.isnan(column)).any()]
    return [(each, (luck[:, here] < each).astype(np.float64) - each) for here, each in own]


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
    for first, second in zip(values.T, other.T, strict=True):
        own = ~np.isnan(first) & ~np.isnan(second)
        value = statistic(first[own], second[own]) if own.any() else None
        found.append(np.nan if value is None else value)
    return np.array(found)


def changed(found: RunEstimate, change: Callable[[Floats], Floats], method: str) -> RunEstimate:
    """Return a measure whose runs and resamples are changed in the same way."""
    draws = None if found.draws is None else change(found.draws)
    ends = None
    if found.ends is not None:
        one, other = change(np.array(found.ends)).tolist()
        ends = min(one, other), max(one, other)
    return replace(found, by_run=change(found.by_run), draws=draws, method=method, ends=ends)


def joined(parts: Mapping[str, RunEstimate], change: Callable[..., Floats], method: str) -> RunEstimate:
    """Return a measure made from several, run by run and resample by resample."""
    several = list(parts.values())
    runs = max(len(part.by_run) for part in several)
    if any(part.value is None or len(part.by_run) != runs for part in several):
        lacking = [name for name, part in parts.items() if part.value is None]
        return absent(runs, f"undefined: {', '.join(lacking) or 'runs differ'}", method)
    draws = [part.draws for part in several if part.draws is not None]
    drawn, n = change(*draws) if len(draws) == len(several) else None, sum(part.n for part in several)
    return RunEstimate(change(*(part.by_run for part in several)), drawn, n, method)
