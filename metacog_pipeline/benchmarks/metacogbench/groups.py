"""Tiers of a group as arrays, and estimates that are sums over items: rates, calibration error, d′ and criterion.

The item is the unit of chance: it is resampled with all its runs. Resamples of a tier depend on the seed, the tier and the
number of items alone, so models that were asked the same items get the same resamples, and their differences are paired.
A measure over several runs is the mean of its runs. Every measure adds up ``parts`` over items and makes its value of the
sums; resamples are other sums of the same parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.benchmarks.metacogbench.items import TIERS
from metacog_pipeline.benchmarks.metacogbench.read import NOT_READ, UNANSWERED
from metacog_pipeline.stats import calibration, intervals, resampling
from metacog_pipeline.stats.calibration import Edges
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.type1 import d_and_c, type1_from_table

Floats = NDArray[np.float64]
Ends = tuple[float, float]
# ends of a 95 % interval then vary by about 1 % of its width
N_BOOT = 10_000
# the 95th percentile of chance to about one rank in a hundred
NULL_DRAWS = 2_000
BINS = 5  # the paper's
MEAN = "item bootstrap"
RECENTRED = "item bootstrap, recentred"
INVERTED = "item bootstrap, test inversion"
BALANCED = "mean of two rates, their intervals joined (MOVER)"
DETECTION = "log-linear, item bootstrap or delta, the wider"
_TIERS: WeakKeyDictionary[Group, dict[str, TierGroup]] = WeakKeyDictionary()


# --- tiers ------------------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class TierGroup:
    """What one tier of a group was asked: items in the order of their names, each in ``n_runs`` runs."""

    tier: str
    seed: int
    n_runs: int
    frame: pl.DataFrame = field(repr=False)
    _columns: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.item_ids: tuple[str, ...] = tuple(self.frame["item_id"].unique().sort())
        self.n_items = len(self.item_ids)
        #: The rows with a reply, and how many lack one.
        self.replies = self.frame.filter(~pl.col("status").is_in(UNANSWERED))
        self.n_failed = self.frame.height - self.replies.height

    @property
    def given(self) -> NDArray[np.bool_]:
        """Whether there is a reply, shape ``(items, runs)``."""
        return np.asarray(self.column(pl.col("status").is_not_null()) == 1)

    @cached_property
    def _place(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Item and run of each reply."""
        items = np.searchsorted(np.array(self.item_ids), self.replies["item_id"].to_numpy())
        runs = np.searchsorted(self.frame["run"].unique().sort().to_numpy(), self.replies["run"].to_numpy())
        return items, runs

    def column(self, name: str | pl.Expr) -> Floats:
        """Return a column as numbers, shape ``(items, runs)``; NaN where there was no reply, or no value."""
        key = str(name)
        if key not in self._columns:
            values = self.replies.select(pl.col(name) if isinstance(name, str) else name).to_series()
            made = self._columns[key] = np.full((self.n_items, self.n_runs), np.nan)
            made[self._place] = values.cast(pl.Float64)
            made.flags.writeable = False
        return self._columns[key]

    def fact(self, name: str) -> NDArray[np.str_]:
        """Return what ``name`` says of each item, ``""`` for nothing."""
        by_item = dict(self.frame.select("item_id", pl.col(name).fill_null("")).iter_rows())
        return np.array([by_item[each] for each in self.item_ids])

    def of(self, item_ids: Sequence[str]) -> TierGroup:
        """Return the tier with some of its items, itself where these are all."""
        if len(item_ids) == self.n_items:
            return self
        some = self.frame.filter(pl.col("item_id").is_in(list(item_ids)))
        return TierGroup(self.tier, self.seed, self.n_runs, some)

    @cached_property
    def answered(self) -> TierGroup:
        """The tier with the items that were answered, and could be read, in every run."""
        lacking = {*self.frame.filter(pl.col("status").is_in((*UNANSWERED, NOT_READ)))["item_id"]}
        return self.of([each for each in self.item_ids if each not in lacking])

    def weights(self, n: int | None = None) -> Floats:
        """Return how often each of ``n`` items (None: all) is drawn in each resample, ``(N_BOOT, n)``."""
        return item_weights(self.tier, self.n_items if n is None else n, self.seed)

    @cached_property
    def headline(self) -> RunEstimate:
        """What the composites are made of: a rate; 1b: 1 - the calibration error; 2a and 2b: balanced accuracy."""
        if self.tier != "1b":
            return balanced(self, "passed") if self.tier in ("2a", "2b") else rate(self, "passed")
        error = calibration_error(self, self.column("pre"), self.column("correct"))

        def ends() -> Ends | None:
            found = error.ends()
            return found and (1 - found[1], 1 - found[0])

        draws = None if error.draws is None else 1 - error.draws
        return replace(error, by_run=1 - error.by_run, draws=draws, ends=ends, method=f"1 - ECE, {INVERTED}")


def item_weights(tier: str, n: int, seed: int) -> Floats:
    """Return how often each of ``n`` items of a tier is drawn in each resample, ``(N_BOOT, n)``."""
    return _weights(tier, n, seed, N_BOOT)


# Every measure of a tier takes the same draws, and drawing them anew was half of the time of scoring. Sixteen: five
# tiers, pairs of twins and a few subsets, 3 MB each.
@lru_cache(maxsize=16)
def _weights(tier: str, n: int, seed: int, draws: int) -> Floats:
    made = resampling.weights(n, draws, resampling.stream("metacogbench", seed, "items", tier))
    made.flags.writeable = False
    return made


def tier_groups(group: Group) -> dict[str, TierGroup]:
    """Return the tiers a group was asked, in their order."""
    if group not in _TIERS:
        parts = group.frame.partition_by("tier", as_dict=True)
        runs, seed = group.frame["run"].n_unique(), group.benchmark.seed
        _TIERS[group] = {
            tier: TierGroup(tier, seed, runs, parts[tier,]) for tier in TIERS if (tier,) in parts
        }
    return _TIERS[group]


# --- estimates --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class RunEstimate:
    """A measure of one tier, or of several together, that rests on ``n`` items."""

    # (runs,), NaN in a run that has no value
    by_run: Floats
    # (B,), the mean over runs in each resample of items
    draws: Floats | None
    n: int
    method: str = MEAN
    status: str = OK  # or why there is no value
    # or what to know about the value
    flag: str = OK
    # of the interval, where they are not those of the draws
    ends: Callable[[], Ends | None] = lambda: None
    # What is summed over items, (items, runs, k).
    parts: Floats = field(default_factory=lambda: np.zeros((0, 1, 1)), repr=False)

    @property
    def value(self) -> float | None:
        """Mean over runs; None where a run has none."""
        values = self.by_run.tolist()
        return None if any(map(math.isnan, values)) else run_stats(values)[0]

    def estimate(self) -> Estimate:
        """Return the mean over runs with its 95 % interval."""
        value = self.value
        if value is None:
            return unavailable(self.n, self.method, self._why())
        if self.draws is None or self.n < 2:
            return Estimate(
                value, None, None, self.n, self.method, self.flag if self.draws is None else SINGLE_ITEM
            )
        found = resampling.from_draws(value, self.draws, self.n, self.method, self.flag, kind="widened")
        ends = self.ends()
        if ends is None or found.low is None:
            return found
        return replace(found, low=min(ends[0], value), high=max(ends[1], value))

    def spread(self) -> Estimate:
        """Return the standard deviation over runs, n - 1."""
        method = f"sd over {len(self.by_run)} runs, n - 1; not an interval"
        if self.value is None or len(self.by_run) < 2:
            return unavailable(self.n, method, "single run" if len(self.by_run) < 2 else self._why())
        return Estimate(run_stats(self.by_run.tolist())[1], None, None, self.n, method)

    def _why(self) -> str:
        undefined = int(np.isnan(self.by_run).sum())
        if self.status != OK or undefined in (0, len(self.by_run)):
            return self.status if self.status != OK else NO_ITEMS
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


def summed(weights: Floats, parts: Floats, made: Callable[[Floats], Floats], **more: Any) -> RunEstimate:
    """Return what ``made`` makes of sums of ``parts`` over items: in each run, and in each resample over the runs."""
    items, runs, k = parts.shape
    n = int((parts != 0).any(axis=(1, 2)).sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        by_run = made(parts.sum(axis=0))
        drawn = made((weights @ parts.reshape(items, -1)).reshape(len(weights), runs, k)).mean(axis=1)
    return RunEstimate(by_run, drawn, n, parts=parts, **more)


def _ratio(totals: Floats) -> Floats:
    made: Floats = totals[..., 0] / totals[..., 1]
    return made


def mean(
    tier: TierGroup, values: Floats, within: Ends = (0.0, 1.0), turned: Floats | None = None
) -> RunEstimate:
    """Return the mean of ``values`` ``(items, runs)`` over items, NaN left out; ``within`` holds every possible value."""
    # Turned are the values had the outcomes been the other ones. A tier may be resampled by other units than its items, as
    # many as values has rows.
    here = ~np.isnan(values)
    unit, run = np.nonzero(here)
    found = intervals.mean(values[unit, run], unit, within, None if turned is None else turned[unit, run])
    ends = None if found.low is None or found.high is None else (found.low, found.high)
    parts = np.stack([np.where(here, values, 0.0), here.astype(np.float64)], axis=-1)
    return summed(tier.weights(len(values)), parts, _ratio, method=found.method, ends=lambda: ends)


def rate(tier: TierGroup, name: str) -> RunEstimate:
    """Return the share of items for which column ``name`` holds; one that words alone do not decide is left out."""
    return mean(tier, _verdicts(tier, name))


def _verdicts(tier: TierGroup, name: str) -> Floats:
    """Return 1 and 0, items × runs: NaN where there was no reply, or none that words alone decide."""
    values, unread = tier.column(name), tier.column(pl.col("status") == NOT_READ)
    return np.where(np.isnan(values) & (unread != 0), np.nan, np.nan_to_num(values))


def balanced(tier: TierGroup, name: str) -> RunEstimate:
    """Return the mean of the share of signal and that of noise for which column ``name`` holds."""
    values, signal = _verdicts(tier, name), tier.column("signal")
    rates = [mean(tier, np.where(signal == kind, values, np.nan)) for kind in (1, 0)]
    parts = np.concatenate([each.parts for each in rates], axis=-1)
    whole = parts.sum(axis=(0, 1))

    def ends() -> Ends | None:
        found = [each.estimate() for each in rates]
        shares, lows, highs = np.array([(each.value, each.low, each.high) for each in found], np.float64).T
        if np.isnan([shares, lows, highs]).any():
            return None
        middle, down, up = shares.mean(), math.hypot(*(shares - lows)) / 2, math.hypot(*(highs - shares)) / 2
        return max(float(middle) - down, 0.0), min(float(middle) + up, 1.0)

    def made(totals: Floats) -> Floats:
        # A resample without one of the two kinds takes the rate of that kind in the sample.
        kinds = (
            np.where(totals[..., at + 1] > 0, _ratio(totals[..., at : at + 2]), _ratio(whole[at : at + 2]))
            for at in (0, 2)
        )
        return np.asarray(sum(kinds) / 2)

    return summed(tier.weights(), parts, made, method=BALANCED, ends=ends)


def detection(tier: TierGroup) -> dict[str, RunEstimate]:
    """Return hits, false alarms, d′ and criterion (log-linear, Hautus 1995) of a tier: acting on signal, and on noise."""
    acted, signal, name = tier.column("acted"), tier.column("signal"), tier.tier
    on_signal, on_noise = (np.where(signal == kind, acted, np.nan) for kind in (1, 0))
    parts = np.nan_to_num(np.stack([on_signal, 1 - on_signal, on_noise, 1 - on_noise], axis=-1))
    table = parts.sum(axis=(0, 1)) / parts.shape[1]
    found = {f"hits_{name}": mean(tier, on_signal), f"false_alarms_{name}": mean(tier, on_noise)}
    for place, measure in enumerate((f"d_{name}", f"c_{name}")):
        one_sided = table[:2].sum() == 0 or table[2:].sum() == 0
        why = absent(tier.n_runs, "no signal, or no noise", DETECTION)
        found[measure] = why if one_sided else _detected(tier.weights(), parts, table, place)
    return found


def _detected(weights: Floats, parts: Floats, table: Floats, place: int) -> RunEstimate:
    """Return d′ (``place`` 0) or the criterion (1)."""

    def made(totals: Floats) -> Floats:
        return np.asarray(d_and_c(*totals.reshape(-1, 4).T)[place]).reshape(totals.shape[:-1])

    def ends() -> Ends | None:
        # What was never seen is never drawn: with a rate of 0 or 1 the delta method counts where it reaches further.
        if (table > 0).all() or found.value is None or found.draws is None:
            return None
        hits, misses, alarms, rejections = table
        exact = type1_from_table(hits, misses, alarms, rejections, "loglinear")
        half = 1.96 * math.sqrt(float((exact.var_c if place else exact.var_d)[0]))
        low, high = resampling.interval(found.draws)
        low, high = (found.value if each is None else each for each in (low, high))
        return min(low, found.value - half), max(high, found.value + half)

    found = summed(weights, parts, made, method=DETECTION, ends=ends)
    return found


# --- calibration ------------------------------------------------------------------------------------------------------
def calibration_error(
    tier: TierGroup, percent: Floats, correct: Floats, edges: Edges = "floor"
) -> RunEstimate:
    """Return the calibration error, formed in each run, of percentages and outcomes ``(items, runs)``."""
    here = ~np.isnan(percent) & ~np.isnan(correct)
    member = np.zeros((*percent.shape, BINS))
    stated = np.where(here, percent, 0.0) / 100
    member[here, calibration.bin_index(stated[here], BINS, edges)] = 1.0
    right, said = (np.where(here, each, 0.0)[..., None] * member for each in (correct, stated))
    parts = np.concatenate([right, said, member], axis=-1)
    weights = tier.weights()

    def ends() -> Ends | None:
        if found.n < 2 or found.value is None:
            return None
        # bins of all runs
        columns = [each.reshape(len(each), -1) for each in (right, said, member)]
        seen, drawn = [each.sum(axis=0) for each in columns], [weights @ each for each in columns]
        return intervals.of_gaps(seen[0], seen[1], seen[2], (drawn[0], drawn[1], drawn[2]))

    found = summed(weights, parts, _error, method=INVERTED, ends=ends)
    # An error moves when items are drawn twice: its resamples are moved back to its value.
    return replace(found, draws=_recentred(found.draws, float(found.by_run.mean())))


def _error(totals: Floats) -> Floats:
    right, said, number = (totals[..., start : start + BINS] for start in range(0, 3 * BINS, BINS))
    made: Floats = np.abs(right - said).sum(axis=-1) / number.sum(axis=-1)
    return made


def _recentred(draws: Floats | None, value: float) -> Floats | None:
    """Return draws of something in 0..1 moved so that their mean is ``value``."""
    if draws is None or np.isnan(value) or np.isnan(draws).all():
        return draws
    moved: Floats = np.clip(draws + (value - float(draws[~np.isnan(draws)].mean())), 0.0, 1.0)
    return moved


def null_errors(percent: Floats, seed: int) -> Floats:
    """Return errors ``(NULL_DRAWS,)`` of a respondent who says ``percent`` and is right just as often."""
    source = resampling.generator(resampling.stream("metacogbench", seed, "calibrated"))
    # One number per item for all runs: who knows an item knows it in every run, so runs do not average chance away.
    luck = source.random((NULL_DRAWS, len(percent)))
    by_run = []
    for column in percent.T:
        here = ~np.isnan(column)
        if here.any():
            own = column[here] / 100
            one_of = np.eye(BINS)[calibration.bin_index(own, BINS, "floor")]
            gaps = (luck[:, here] < own).astype(np.float64) - own
            by_run.append(np.abs(gaps @ one_of).sum(axis=1) / len(own))
    # The error is formed in each run and averaged over those that have any.
    averaged: Floats = np.mean(by_run, axis=0) if by_run else np.full(NULL_DRAWS, np.nan)
    return averaged


# --- several together -------------------------------------------------------------------------------------------------
def joined(parts: Mapping[str, RunEstimate], change: Callable[..., Floats], method: str) -> RunEstimate:
    """Return a measure made from several, run by run and resample by resample."""
    several = list(parts.values())
    runs = max(len(part.by_run) for part in several)
    lacking = [name for name, part in parts.items() if part.value is None]
    if lacking or any(len(part.by_run) != runs for part in several):
        return absent(runs, f"undefined: {', '.join(lacking) or 'runs differ'}", method)
    draws = [part.draws for part in several if part.draws is not None]
    drawn, n = change(*draws) if len(draws) == len(several) else None, sum(part.n for part in several)
    return RunEstimate(change(*(part.by_run for part in several)), drawn, n, method)


# From tiers to composites, formed in each run and then averaged: MS (monitoring) = (1a + 1b) / 2, SAF (holding back) =
# (2a + 2b) / 2, CDTC (carrying over) = 3, overall = their mean. A tier that is missing leaves every composite that needs it
# undefined: the other tier of the pair never takes its place.
TIER_MEASURES: Mapping[str, str] = {tier: f"t{tier}" for tier in TIERS}
PARTS: Mapping[str, tuple[str, ...]] = {
    "ms": ("t1a", "t1b"),
    "saf": ("t2a", "t2b"),
    "cdtc": ("t3",),
    "overall": ("ms", "saf", "cdtc"),
}
COMPOSITES = tuple(PARTS)


def composites(
    tiers: Mapping[str, Any], mean: Callable[..., Any] = lambda parts: sum(parts.values()) / len(parts)
) -> dict[str, Any]:
    """Return ``ms``, ``saf``, ``cdtc``, ``overall`` from ``t1a`` .. ``t3``, each 0..1; None where a part is lacking."""
    made = dict(tiers)
    for name, parts in PARTS.items():
        known = {part: made[part] for part in parts if made.get(part) is not None}
        made[name] = mean(known) if len(known) == len(parts) else None
    return {name: made[name] for name in COMPOSITES}


def mean_of_parts(parts: Mapping[str, RunEstimate]) -> RunEstimate:
    """Return the mean of several measures, run by run."""
    return joined(parts, lambda *each: sum(each) / len(each), f"mean of tiers, {MEAN} in each")


def tiers_of(measure: str) -> tuple[str, ...]:
    """Return the tiers that a composite, or a tier's own measure, rests on."""
    measures = {part for name in PARTS.get(measure, (measure,)) for part in PARTS.get(name, (name,))}
    return tuple(tier for tier in TIERS if TIER_MEASURES[tier] in measures)
