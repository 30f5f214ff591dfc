"""Two models, or two ways of asking one, on the same items: tiers, and the composites that rest on them.

An item counts for a pair of models where the replies of both could be read in every run. Up to 12 items, those of all tiers
of a composite together, p is that of all exchanges between the two; above, that of the resamples, which both sides share
(`tested`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Comparison, Group, lost_items
from metacog_pipeline.benchmarks.metacogbench.composites import COMPOSITES, TIER_MEASURES, composed, tiers_of
from metacog_pipeline.benchmarks.metacogbench.run_estimates import (
    BINS,
    RunEstimate,
    calibration_error,
    changed,
    rate,
    rate_values,
    rates,
)
from metacog_pipeline.benchmarks.metacogbench.tier_groups import Floats, TierGroup, tier_groups
from metacog_pipeline.stats import calibration, exact, resampling
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED

NO_SHARED = "no shared items"
RUNS_DIFFER = "no p: asked in different numbers of runs, so that items cannot be exchanged"
SAME = 1e-12  # resamples this close to 0 count on both sides
Tiers = Mapping[str, TierGroup]
#: What the headline of a tier is the rate of; None: 1 minus the calibration error of the predictions.
HEADLINE: Mapping[str, str | None] = {tier: None if tier == "1b" else "passed" for tier in TIER_MEASURES}
#: What a row says besides what it is about: values of fields of `Comparison`.
Fields = dict[str, Any]
#: From the ways to exchange items to the difference of each way; None where there is none.
Exchanged = Callable[[NDArray[np.bool_]], Floats | None]
#: A tier of two models on the items both answered, and how many were lost on either side.
Shared = tuple[TierGroup, TierGroup, int, int]
#: Headlines of whole tiers, and those with their composites by the tiers there are.
_WHOLE: WeakKeyDictionary[Group, dict[str, RunEstimate]] = WeakKeyDictionary()
_COMPOSED: WeakKeyDictionary[Group, dict[tuple[str, ...], Mapping[str, RunEstimate]]] = WeakKeyDictionary()
_TIERS_OF = {name: tiers_of(name) for name in COMPOSITES}


def of_two(base: Callable[..., Comparison], first: Group, second: Group) -> Iterator[Comparison]:
    """Yield a row of ``first`` minus ``second`` per tier both were asked, and per composite; ``base`` makes a row from the
    name of the measure and other fields."""
    shared = _shared(tier_groups(first), tier_groups(second))
    kept = {name: each for name, each in shared.items() if each[0].n_items}
    own = headlines(first, {name: each[0] for name, each in kept.items()})
    other = headlines(second, {name: each[1] for name, each in kept.items()})
    differ = {name: _differ(one, two, HEADLINE[name]) for name, (one, two, _, _) in kept.items()}
    rest_on = _rest_on(shared)
    found = differences({name: (own[name], other[name]) for name in rest_on if name in own and name in other})
    for name, of in rest_on.items():
        lost = _lost([shared[tier] for tier in of])
        if name not in found:
            yield base(name, note=lost, status=NO_SHARED)
            continue
        tiers = [kept[tier][:2] for tier in of]
        unlike = sum(differ[tier] for tier in of)
        exchanged = partial(_exchanged_together, tiers, name)
        told = tested({**found[name], "note": lost}, [each.n_items for each, _ in tiers], unlike, exchanged)
        yield base(name, **told)


def of_tier(base: Comparison, first: TierGroup, second: TierGroup, column: str | None) -> Comparison:
    """Return the row of a tier asked in one way minus the same items asked in another.

    Parameters
    ----------
    base
        The row without numbers.
    first, second
        The tier, with a reply to each item in every run.
    column
        What a `rate` is that of; None: the calibration error of the predictions.
    """
    one, two = (predicted(tier) if column is None else rate(tier, column) for tier in (first, second))
    found = {**differences({base.measure: (one, two)})[base.measure], "note": base.note}
    exchanged = partial(_exchanged, first, second, column)
    return replace(base, **tested(found, [first.n_items], _differ(first, second, column), exchanged))


def tested(found: Fields, sizes: Sequence[int], differ: int, exchanged: Exchanged) -> Fields:
    """Return what a row of resamples says, with the p it is judged by.

    Up to 12 items that is the p of all exchanges between the two sides. Above it is that of the resamples; these are too
    narrow where items are few, so it is not below Student's, nor below the least p of all exchanges. An exchange of items
    that are alike on both sides changes nothing.

    Parameters
    ----------
    found
        The difference with what its resamples say; without a p it stays as it is.
    sizes
        How many items each tier has.
    differ
        How many of all items are not alike on both sides.
    exchanged
        From ``(ways, items)``, whether an item is exchanged, to the difference of each way, ``(ways,)``; None where items
        cannot be exchanged.
    """
    p, statistic = found.get("p"), found.get("statistic")
    if p is None:
        return found
    if sum(sizes) <= exact.MOST_SWAPPED:
        moved = exchanged(exact.exchanges(sum(sizes)))
        note = "; ".join(
            each for each in (RUNS_DIFFER if moved is None else exact.NOTE, found["note"]) if each
        )
        return {**found, "p": None if moved is None else exact.exchange_p(moved), "note": note}
    student = 0.0 if statistic is None else resampling.wald_p(statistic, max(min(sizes) - 1, 1))
    return {**found, "p": max(p, student, exact.least_p(differ))}


def differences(sides: Mapping[str, tuple[RunEstimate, RunEstimate]]) -> dict[str, Fields]:
    """Return by measure what a row says of the first minus the second, over the same resampled items.

    ``p`` is twice the smaller share of resamples on either side of 0; ``statistic`` the difference over its standard error.
    """
    found: dict[str, Fields] = {}
    drawn: dict[str, Floats] = {}
    for name, (first, second) in sides.items():
        n, one, two = min(first.n, second.n), first.value, second.value
        if one is None or two is None:
            found[name] = {"n": n, "status": "undefined in one of them"}
        elif first.draws is None or second.draws is None or n < 2:
            found[name] = {"n": n, "value": one - two, "status": "single item"}
        else:
            found[name] = {"n": n, "value": one - two}
            drawn[name] = first.draws - second.draws
    told = resampled([found[name]["value"] for name in drawn], np.array(list(drawn.values())))
    for name, own in zip(drawn, told, strict=True):
        found[name] |= own
    return found


def resampled(values: Sequence[float], draws: Floats) -> list[Fields]:
    """Return what rows of differences say, from their resamples, ``(rows, B)``."""
    rows: list[Fields] = []
    found = resampling.differences(values, draws, tolerance=SAME) if values else []
    for each, own in zip(found, draws, strict=True):
        if each.low is None or each.high is None:
            rows.append({"status": OFTEN_UNDEFINED})
            continue
        p = resampling.p_value(own, SAME) if each.p is None else each.p
        low, high = min(each.low, each.value), max(each.high, each.value)
        rows.append({"se": each.se, "low": low, "high": high, "statistic": each.statistic, "p": p})
    return rows


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
            a, b = answered(first[name]), answered(second[name])
            one, two = common(a, b)
            found[name] = one, two, a.n_items - one.n_items, b.n_items - two.n_items
    return found


def answered(tier: TierGroup) -> TierGroup:
    """Return a tier with the items that were answered, and could be read, in every run."""
    lacking = set(tier.frame.filter(~pl.col("_answered") | ~pl.col("_read"))["item_id"])
    if not lacking:
        return tier
    return tier.of([name for name in tier.item_ids if name not in lacking])


def _rest_on(shared: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return what is compared, and which tiers it rests on: all that there are for it."""
    found = {TIER_MEASURES[tier]: (tier,) for tier in shared}
    return found | {name: of for name, of in _TIERS_OF.items() if set(of) <= set(shared)}


def _lost(tiers: Sequence[Shared]) -> str | None:
    n, first, second = (sum(each) for each in zip(*((t[0].n_items, t[2], t[3]) for t in tiers), strict=True))
    return lost_items(n + first, n + second, n)


def headlines(group: Group, tiers: Tiers) -> Mapping[str, RunEstimate]:
    """Return headlines and composites; those of a whole tier are computed once for all pairs of its group."""
    known, whole = _WHOLE.setdefault(group, {}), tier_groups(group)
    found, joint = {}, _COMPOSED.setdefault(group, {})
    for name, tier in tiers.items():
        kept = known.get(name) if tier is whole[name] else None
        found[TIER_MEASURES[name]] = made = kept or _headline(tier)
        if tier is whole[name]:
            known[name] = made
    if any(tier is not whole[name] for name, tier in tiers.items()):
        return found | composed(found)
    of = tuple(tiers)
    if of not in joint:
        joint[of] = found | composed(found)
    return joint[of]


def prepare(groups: Iterable[Group]) -> None:
    """Compute the headlines of whole tiers that are rates for many groups together, as `headlines` has them afterwards."""
    alike: dict[tuple[str, int, int, int], list[tuple[dict[str, RunEstimate], TierGroup]]] = {}
    for group in groups:
        known = _WHOLE.setdefault(group, {})
        for name, tier in tier_groups(group).items():
            whole = tier.asked == tier.n_items * tier.n_runs and not tier.n_failed
            if whole and HEADLINE[name] is not None and name not in known:
                key = name, tier.seed, tier.n_items, tier.n_runs
                alike.setdefault(key, []).append((known, tier))
    for (name, *_), several in alike.items():
        made = rates([tier for _, tier in several], str(HEADLINE[name]))
        for (known, _), each in zip(several, made, strict=True):
            known[name] = each


def predicted(tier: TierGroup) -> RunEstimate:
    """Return the calibration error of what was predicted beforehand."""
    return calibration_error(tier, tier.column("pre"), tier.column("correct"), alone=False)


def _headline(tier: TierGroup) -> RunEstimate:
    column = HEADLINE[tier.tier]
    if column is not None:
        return rate(tier, column)
    error = predicted(tier)
    return changed(error, lambda value: 1 - value, error.method)


def _compared(tier: TierGroup, column: str | None) -> Floats:
    """Return what is compared of each item, ``(items, values)``: its rate over runs, or predictions and outcomes."""
    if column is None:
        return tier.once(
            "pre, correct", lambda own: np.hstack([own.column(name) for name in ("pre", "correct")])
        )
    return tier.once(
        f"rate of {column}", lambda own: np.asarray(rate_values(own, column).mean(axis=1, keepdims=True))
    )


def _differ(first: TierGroup, second: TierGroup, column: str | None) -> int:
    """Return how many items are not alike on both sides in what is compared; all where predictions differ in number."""
    one, two = _compared(first, column), _compared(second, column)
    if one.shape != two.shape:
        return first.n_items
    alike = (np.abs(one - two) <= SAME) | (np.isnan(one) & np.isnan(two))
    return int((~alike).any(axis=1).sum())


def _exchanged_together(
    tiers: Sequence[tuple[TierGroup, TierGroup]], name: str, swapped: NDArray[np.bool_]
) -> Floats | None:
    """Return the difference of a headline or composite for each way to exchange the items of ``tiers``."""
    found: dict[str, RunEstimate] = {}
    start = 0
    for first, second in tiers:
        own = swapped[:, start : start + first.n_items]
        start += first.n_items
        moved = _exchanged(first, second, HEADLINE[first.tier], own)
        if moved is None:
            return None
        moved = -moved if HEADLINE[first.tier] is None else moved  # 1 - error
        # Composites are means: that of differences is the difference of composites.
        found[TIER_MEASURES[first.tier]] = RunEstimate(moved[:1], moved, first.n_items)
    whole = (found | composed(found)).get(name)
    return None if whole is None else whole.draws


def _exchanged(
    first: TierGroup, second: TierGroup, column: str | None, swapped: NDArray[np.bool_]
) -> Floats | None:
    """Return the difference of a tier for each way to exchange its items; None where runs differ in number."""
    if first.n_runs != second.n_runs:
        return None
    own = swapped.astype(np.float64)
    if column is not None:
        apart = _compared(first, column) - _compared(second, column)
        return np.asarray((1 - 2 * own) @ apart[:, 0] / len(apart))
    both = (first, second)
    stated, right = (np.vstack([each.column(name) for each in both]) for name in ("pre", "correct"))
    stated = np.where(np.isnan(right), np.nan, stated) / 100
    sides = (np.hstack([1 - own, own]), np.hstack([own, 1 - own]))
    moved = [
        np.subtract(*(calibration.ece_draws(*run, weights, BINS, "floor") for weights in sides))
        for run in zip(stated.T, right.T, strict=True)
    ]
    return np.asarray(np.mean(moved, axis=0))
