"""Two models on the items both answered: headlines of the tiers and the composites that rest on them.

An item counts for a pair where both models answered it in every run. p is that of the resamples, which models of one item
set share; up to 12 items, those of all tiers of a composite together, it is that of all exchanges between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Comparison, Group, lost_items
from metacog_pipeline.benchmarks.metacogbench.composites import COMPOSITES, TIER_MEASURES, composed, tiers_of
from metacog_pipeline.benchmarks.metacogbench.run_estimates import (
    BINS,
    RunEstimate,
    calibration_error,
    changed,
    rate,
    rate_values,
    weighted_mean,
)
from metacog_pipeline.benchmarks.metacogbench.tier_groups import Floats, TierGroup, tier_groups
from metacog_pipeline.stats import calibration, exact, resampling
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED

NO_SHARED = "no shared items"
SAME = 1e-12  # resamples this close to 0 count on both sides
Tiers = Mapping[str, TierGroup]
#: A tier of two models on the items both answered, and how many were lost on either side.
Shared = tuple[TierGroup, TierGroup, int, int]
_WHOLE: WeakKeyDictionary[Group, dict[str, RunEstimate]] = WeakKeyDictionary()


def of_two(base: Callable[[str], Comparison], first: Group, second: Group) -> Iterator[Comparison]:
    """Yield a row of ``first`` minus ``second`` per tier both were asked, and per composite; ``base`` gives its row."""
    shared = _shared(tier_groups(first), tier_groups(second))
    kept = {name: each for name, each in shared.items() if each[0].n_items}
    own = headlines(first, {name: each[0] for name, each in kept.items()})
    other = headlines(second, {name: each[1] for name, each in kept.items()})
    for name, of in _rest_on(shared).items():
        rows, lost = base(name), _lost([shared[tier] for tier in of])
        if name not in own or name not in other:
            yield replace(rows, note=lost, status=NO_SHARED)
            continue
        row = difference(replace(rows, note=lost), own[name], other[name])
        n = sum(kept[tier][0].n_items for tier in of)
        if row.p is not None and row.statistic is not None:
            # Resamples of a few items are too narrow: p is not below Student's, of the items of the smallest tier.
            least = min(kept[tier][0].n_items for tier in of)
            row = replace(row, p=max(row.p, resampling.wald_p(row.statistic, max(least - 1, 1))))
        if row.p is not None and n <= exact.MOST_SWAPPED:
            p = _exact_p([kept[tier] for tier in of], name)
            note = "; ".join(each for each in (exact.NOTE, lost) if each)
            row = replace(row, p=p, note=note)
        yield row


def difference(base: Comparison, first: RunEstimate, second: RunEstimate) -> Comparison:
    """Return the row of ``first`` minus ``second``, over the same resampled items.

    ``p`` is twice the smaller share of resamples on either side of 0; ``statistic`` the difference over its standard error.
    """
    n = min(first.n, second.n)
    if first.value is None or second.value is None:
        return replace(base, n=n, status="undefined in one of them")
    value = first.value - second.value
    if first.draws is None or second.draws is None or n < 2:
        return replace(base, value=value, n=n, status="single item")
    return resampled(base, value, first.draws - second.draws, n)


def resampled(base: Comparison, value: float, draws: Floats, n: int) -> Comparison:
    """Return the row of a difference with what its resamples say."""
    found = resampling.difference(value, draws, tolerance=SAME)
    if found.low is None:
        return replace(base, value=value, n=n, status=OFTEN_UNDEFINED)
    p = resampling.p_value(draws, SAME) if found.p is None else found.p
    made = replace(base, value=value, se=found.se, low=found.low, high=found.high)
    return replace(made, statistic=found.statistic, p=p, n=n)


def common(first: TierGroup, second: TierGroup) -> tuple[TierGroup, TierGroup]:
    """Return both over the items both were asked."""
    if first.item_ids == second.item_ids:
        return first, second
    both = sorted(set(first.item_ids) & set(second.item_ids))
    return first.of(both), second.of(both)


def _shared(first: Tiers, second: Tiers) -> dict[str, Shared]:
    """Return the tiers that both were asked, on the items both answered in every run."""
    found = {}
    for name in first:
        if name in second:
            a, b = _answered(first[name]), _answered(second[name])
            one, two = common(a, b)
            found[name] = one, two, a.n_items - one.n_items, b.n_items - two.n_items
    return found


def _answered(tier: TierGroup) -> TierGroup:
    if not tier.n_failed:
        return tier
    lacking = set(tier.frame.filter(~pl.col("_answered"))["item_id"])
    return tier.of([name for name in tier.item_ids if name not in lacking])


def _rest_on(shared: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return what is compared, and which tiers it rests on: all that there are for it."""
    found = {TIER_MEASURES[tier]: (tier,) for tier in shared}
    whole = {name: tiers_of(name) for name in COMPOSITES}
    return found | {name: of for name, of in whole.items() if set(of) <= set(shared)}


def _lost(tiers: Sequence[Shared]) -> str | None:
    n, first, second = (sum(each) for each in zip(*((t[0].n_items, t[2], t[3]) for t in tiers), strict=True))
    return lost_items(n + first, n + second, n)


def headlines(group: Group, tiers: Tiers) -> dict[str, RunEstimate]:
    """Return headlines and composites; those of a whole tier are computed once for all pairs of its group."""
    known, whole = _WHOLE.setdefault(group, {}), tier_groups(group)
    found = {}
    for name, tier in tiers.items():
        kept = known.get(name) if tier is whole[name] else None
        found[TIER_MEASURES[name]] = made = kept or _headline(tier)
        if tier is whole[name]:
            known[name] = made
    return found | composed(found)


def _headline(tier: TierGroup) -> RunEstimate:
    if tier.tier != "1b":
        return rate(tier, "passed")
    error = calibration_error(tier, tier.column("pre"), tier.column("correct"), alone=False)
    return changed(error, lambda value: 1 - value, error.method)


def _exact_p(tiers: Sequence[Shared], name: str) -> float | None:
    """Return the p of all exchanges of the items of ``tiers`` between the two; None where their runs differ in number."""
    if any(first.n_runs != second.n_runs for first, second, _, _ in tiers):
        return None
    swapped = exact.exchanges(sum(first.n_items for first, _, _, _ in tiers)).astype(np.float64)
    sides: list[dict[str, RunEstimate]] = [{}, {}]
    start = 0
    for first, second, _, _ in tiers:
        own = swapped[:, start : start + first.n_items]
        start += first.n_items
        for place, weights in enumerate((np.hstack([1 - own, own]), np.hstack([own, 1 - own]))):
            draws = _exchanged(first, second, weights)
            sides[place][TIER_MEASURES[first.tier]] = RunEstimate(draws[:1], draws, first.n_items)
    one, two = (found | composed(found) for found in sides)
    if name not in one or name not in two:
        return None
    a, b = one[name].draws, two[name].draws
    return None if a is None or b is None else exact.exchange_p(a - b)


def _exchanged(first: TierGroup, second: TierGroup, weights: Floats) -> Floats:
    """Return the headline of a tier for each way to take its items from the two: ``weights`` are ``(ways, 2 items)``."""
    both = (first, second)
    if first.tier != "1b":
        found = weighted_mean(weights, np.vstack([rate_values(each, "passed") for each in both])).draws
        assert found is not None, "a mean of weights has draws"
        return found
    stated, right = (np.vstack([each.column(name) for each in both]) for name in ("pre", "correct"))
    here = ~np.isnan(stated) & ~np.isnan(right)
    stated = np.where(here, stated, np.nan) / 100
    runs = zip(stated.T, right.T, strict=True)
    errors = [calibration.ece_draws(said, correct, weights, BINS, "floor") for said, correct in runs]
    averaged: Floats = 1 - np.mean(errors, axis=0)
    return averaged
