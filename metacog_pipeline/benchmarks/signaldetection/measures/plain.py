"""The measures of one group that need no fit: shares, sensitivity and criterion, and what confidence is worth.

Rates of 0 and 1 have no z, and small groups meet them often, so sensitivity and criterion stand on log-linear corrected
rates (Hautus 1995) in every group alike; ``method`` says so. With one answer per item their intervals are those of the
delta method; where runs repeat, items are resampled with all their runs.

A model that only ever gave one response has no d′ and no criterion: what the correction makes of it is not shown.

Confidence k of K is read as the probability 0.5 + (k - 1) / (2 (K - 1)) that the response is right: of two responses,
the lowest rating, a guess, is right half of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.signaldetection.groups import Group
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.calibration import brier_from_patterns, ece_estimate, level_use
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.estimate import (
    MOSTLY_UNDEFINED,
    NO_ITEMS,
    ONE_LEVEL,
    Estimate,
    unavailable,
)
from metacog_pipeline.stats.ratios import ratio_estimate
from metacog_pipeline.stats.type1 import Type1, type1_from_table

Floats = NDArray[np.float64]

N_BOOT = 1000
CORRECTION = "loglinear"
TYPE1 = ("d", "c", "c_prime", "ln_beta")
ONE_RESPONSE = "one response only: the model never gave the other"
NOT_INFORMATIVE = "confidence analysis: not informative (one confidence level)"


def shares(group: Group) -> dict[str, Estimate]:
    """Return accuracy, hit rate, false-alarm rate and coverage with Wilson's interval.

    Accuracy is over all answers: one without a readable response counts as wrong. The two rates are over readable
    responses. Coverage is the share of all items asked, answered or not, that has a readable response.
    """
    grid, patterns = group.grid, group.patterns
    answered = grid.answered()
    responded = grid.where(response=0) + grid.where(response=1)

    def share(top: Floats, bottom: Floats) -> Estimate:
        return ratio_estimate(patterns, top, bottom)

    return {
        "accuracy": share(grid.correct(), answered),
        "hit_rate": share(grid.where(1, 1), grid.where(1, 0) + grid.where(1, 1)),
        "false_alarm_rate": share(grid.where(0, 1), grid.where(0, 0) + grid.where(0, 1)),
        "coverage": share(responded, np.ones(grid.places)),
    }


def type1_estimates(groups: Sequence[Group], draws: Sequence[Floats]) -> list[dict[str, Estimate]]:
    """Return d′, c, c′ and ln β of every group.

    Parameters
    ----------
    groups
        All of one grid.
    draws
        Resampled totals ``(B, places)`` of each group; used where runs repeat.
    """
    if not groups:
        return []
    table = type1(groups)
    found = []
    for place, (group, drawn) in enumerate(zip(groups, draws, strict=True)):
        why, n = no_type1(group), n_readable(group)
        if why is not None:
            found.append({name: unavailable(n, _type1_method(group), why) for name in TYPE1})
        elif group.clustered:
            found.append(_resampled_type1(group, table, place, drawn))
        else:  # the table's own n holds what the correction added
            found.append({name: replace(table.estimate(name, place), n=n) for name in TYPE1})
    return found


def n_readable(group: Group) -> int:
    """Return the number of readable responses."""
    return int(sum(group.grid.outcomes(group.totals)))


def type1(groups: Sequence[Group]) -> Type1:
    """Return the type-1 measures of the groups on log-linear corrected rates."""
    grid = groups[0].grid
    return type1_from_table(*grid.outcomes(np.array([group.totals for group in groups])), CORRECTION)


def no_type1(group: Group) -> str | None:
    """Say why a group has neither d′ nor criterion, or None where it has."""
    hits, misses, false_alarms, rejections = group.grid.outcomes(group.totals)
    if hits + misses + false_alarms + rejections == 0:
        return NO_ITEMS
    if hits + misses == 0:
        return "no responses to stimulus S2"
    if false_alarms + rejections == 0:
        return "no responses to stimulus S1"
    return ONE_RESPONSE if hits + false_alarms == 0 or misses + rejections == 0 else None


def probability(ratings: int) -> Floats:
    """Return the probability of being right each confidence 1..K stands for in a binary task, 0.5 to 1."""
    return np.linspace(0.5, 1.0, ratings) if ratings > 1 else np.array([0.5])


def confidence_estimates(group: Group, drawn: Floats) -> dict[str, Estimate]:
    """Return AUROC2, ECE, Brier score and mean confidence over the rated answers of one group.

    Parameters
    ----------
    group
        Of the condition that asks for confidence.
    drawn
        Resampled totals ``(B, places)``.
    """
    grid = group.grid
    groups, k = grid.by_level(), grid.ratings
    patterns = group.patterns.collapse(groups, 2 * k)
    held = patterns.counts.any(axis=1)  # an item without a rated answer is not resampled with them
    patterns = type(patterns)(patterns.counts[held], patterns.weights[held])
    levels = drawn @ (groups[:, None] == np.arange(2 * k)).astype(np.float64)
    level = np.repeat(np.arange(1.0, k + 1), 2)
    stated = probability(k)
    auroc = auroc_from_patterns(patterns)
    if auroc.status == ONE_LEVEL:
        auroc = unavailable(auroc.n, auroc.method, NOT_INFORMATIVE)
    return {
        "auroc2": auroc,
        "ece": _read_as(ece_estimate(patterns, stated, levels)),
        "brier": _read_as(brier_from_patterns(patterns, stated)),
        "mean_confidence": ratio_estimate(patterns, level, np.ones(2 * k)),
    }


def _read_as(found: Estimate) -> Estimate:
    return replace(found, method=f"{found.method}; k as 0.5+(k-1)/(2(K-1))")


def one_level(group: Group) -> bool:
    """Whether no more than one confidence level was used."""
    k = group.grid.ratings
    table = group.patterns.collapse(group.grid.by_level(), 2 * k).totals.reshape(k, 2)
    return not level_use(table).informative


def percentile(value: float, drawn: Floats, n: int, method: str) -> Estimate:
    """Return ``value`` with the percentile interval of ``drawn`` (NaN: undefined), and how many were usable."""
    usable = drawn[np.isfinite(drawn)]
    low, high = percentile_interval(np.where(np.isfinite(drawn), drawn, np.nan))
    if len(usable) < len(drawn):
        method = f"{method}, {len(usable)} of {len(drawn)} usable"
    if low is None:
        return Estimate(value, None, None, n, method, MOSTLY_UNDEFINED)
    return Estimate(value, low, high, n, method, sem=float(usable.std(ddof=1)))


def _resampled_type1(group: Group, table: Type1, place: int, drawn: Floats) -> dict[str, Estimate]:
    outcomes = group.grid.outcomes(drawn)
    resampled = type1_from_table(*outcomes, CORRECTION)
    said_s2, said_s1 = outcomes[0] + outcomes[2], outcomes[1] + outcomes[3]
    meant = (said_s1 > 0) & (said_s2 > 0)
    n, found = n_readable(group), {}
    for name in TYPE1:
        value = float(getattr(table, name)[place])
        if not np.isfinite(value):
            found[name] = replace(table.estimate(name, place), n=n)
            continue
        draws = np.where(meant, getattr(resampled, name), np.nan)
        found[name] = percentile(value, draws, n, _type1_method(group))
    return found


def _type1_method(group: Group) -> str:
    return f"{'item bootstrap' if group.clustered else 'delta'}, correction {CORRECTION}"
