"""Shares, sensitivity and criterion of one group.

Rates of 0 and 1 have no z, and small groups meet them often, so sensitivity and criterion stand on log-linear corrected
rates (Hautus 1995) in every group alike; ``method`` says so. With one answer per item their intervals are those of the
delta method; where runs repeat, items are resampled with all their runs.

A model that only ever gave one response has no d′ and no criterion: what the correction makes of it is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.benchmarks.signaldetection.grid import Counts, Grid, Totals, counts_of
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.estimate import NO_ITEMS, Estimate, unavailable
from metacog_pipeline.stats.identifiability import gated
from metacog_pipeline.stats.type1 import Type1, type1_from_table

Floats = NDArray[np.float64]

CORRECTION = "loglinear"
TYPE1 = ("d", "c", "c_prime", "ln_beta")
ONE_RESPONSE = "one response only: the model never gave the other"


def share(top: Callable[[Grid], Floats], bottom: Callable[[Grid], Floats]) -> Callable[[Group], Estimate]:
    """Return the measure that divides the responses at some places by those at others, with Wilson's interval."""

    def compute(group: Group) -> Estimate:
        counts = counts_of(group)
        return resampling.ratio(counts.patterns, top(counts.grid), bottom(counts.grid))

    return compute


# Over all answers: one without a readable response counts as wrong.
accuracy = share(Grid.correct, Grid.answered)
# Of all items asked, answered or not, those with a readable response.
coverage = share(
    lambda grid: grid.where(response=0) + grid.where(response=1), lambda grid: np.ones(grid.places)
)
hit_rate = share(lambda grid: grid.where(1, 1), lambda grid: grid.where(1, 0) + grid.where(1, 1))
false_alarm_rate = share(lambda grid: grid.where(0, 1), lambda grid: grid.where(0, 0) + grid.where(0, 1))


def type1_estimates(groups: Sequence[Counts]) -> list[dict[str, Estimate]]:
    """Return d′, c, c′ and ln β of every group."""
    if not groups:
        return []
    table = type1_of(np.array([counts.totals for counts in groups]), groups[0].grid)
    found = []
    for place, counts in enumerate(groups):
        why, n = no_type1(counts), n_readable(counts)
        if why is not None:
            found.append({name: unavailable(n, _method(counts), why) for name in TYPE1})
        elif counts.clustered:
            found.append(_resampled(counts, table, place))
        else:  # the table's own n holds what the correction added
            found.append({name: replace(table.estimate(name, place), n=n) for name in TYPE1})
    return [{**each, "c_prime": gated(each["c_prime"], each["d"].low, each["d"].high)} for each in found]


def type1_of(totals: Floats, grid: Grid) -> Type1:
    """Return the type-1 measures of totals ``(..., places)`` on log-linear corrected rates."""
    return type1_from_table(*grid.outcomes(totals), CORRECTION)


def both_given(hits: Floats, misses: Floats, false_alarms: Floats, rejections: Floats) -> NDArray[np.bool_]:
    """Return where both responses were given: elsewhere d′ and c are made by the correction."""
    given: NDArray[np.bool_] = (hits + false_alarms > 0) & (misses + rejections > 0)
    return given


def n_readable(counts: Counts) -> int:
    """Return the number of readable responses."""
    return int(sum(counts.outcomes))


def no_type1(counts: Counts | Totals) -> str | None:
    """Say why a group has neither d′ nor criterion, or None where it has."""
    return no_outcomes(*counts.outcomes)


def no_outcomes(hits: float, misses: float, false_alarms: float, rejections: float) -> str | None:
    """Say why four counts have neither d′ nor criterion, or None where they have."""
    if hits + misses + false_alarms + rejections == 0:
        return NO_ITEMS
    if hits + misses == 0:
        return "no responses to stimulus S2"
    if false_alarms + rejections == 0:
        return "no responses to stimulus S1"
    return ONE_RESPONSE if hits + false_alarms == 0 or misses + rejections == 0 else None


def percentile(value: float, drawn: Floats, n: int, method: str) -> Estimate:
    """Return ``value`` with the percentile interval of ``drawn`` (NaN: undefined), and how many were usable."""
    usable = int(np.isfinite(drawn).sum())
    if usable < len(drawn):
        method = f"{method}, {usable} of {len(drawn)} usable"
    return resampling.from_draws(value, drawn, n, method)


def _resampled(counts: Counts, table: Type1, place: int) -> dict[str, Estimate]:
    drawn = type1_of(counts.draws, counts.grid)
    given = both_given(*counts.grid.outcomes(counts.draws))
    n, found = n_readable(counts), {}
    for name in TYPE1:
        value = float(getattr(table, name)[place])
        if np.isfinite(value):
            draws = np.where(given, getattr(drawn, name), np.nan)
            found[name] = percentile(value, draws, n, _method(counts))
        else:
            found[name] = replace(table.estimate(name, place), n=n)
    return found


def _method(counts: Counts) -> str:
    return f"{'item bootstrap' if counts.clustered else 'delta'}, correction {CORRECTION}"
