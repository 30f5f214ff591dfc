"""Differences of models that answered the same items: one resampling of items serves all models of a task.

Every resample draws items once and takes each model's answers to them, so what makes an item easy for all models leaves
their difference alone. p is that of difference / standard error, the latter being the width of the 95 % percentile
interval over 3.92 (M-ratios have tails that a standard deviation would follow). It has no floor, so it stands up to
Holm's correction over many pairs, as a share of resamples would not. Verdicts join Holm's p with the plain interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from metacog_pipeline.benchmarks.signaldetection.contrasts.criteria import ROPE
from metacog_pipeline.benchmarks.signaldetection.contrasts.efficiency import MOST_PAIRED, ROPE_D, ROPE_M_RATIO
from metacog_pipeline.benchmarks.signaldetection.groups import Group, derived_seed, in_groups
from metacog_pipeline.benchmarks.signaldetection.measures.meta_d import (
    no_meta_d,
    point_meta_d,
    resampled_meta_d,
)
from metacog_pipeline.benchmarks.signaldetection.measures.plain import CORRECTION, N_BOOT, no_type1
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE
from metacog_pipeline.benchmarks.signaldetection.rows import Comparison
from metacog_pipeline.stats.auroc import auroc_statistic
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.decisions import rope
from metacog_pipeline.stats.multiple import holm
from metacog_pipeline.stats.paired import mcnemar_from_data
from metacog_pipeline.stats.type1 import type1_from_table

Floats = NDArray[np.float64]

NO_SHARED = "no shared items"
_ROPES = {"m_ratio": ROPE_M_RATIO, "d": ROPE_D, "c": ROPE}
_BLOCK = 8_000_000  # drawn items held at once


@dataclass(frozen=True, slots=True)
class Measured:
    """One measure of several models: its value and its resamples, NaN where there is none."""

    value: Floats
    draws: Floats
    why: Sequence[str | None]


def paired_rows(groups: Sequence[Group], seed: int, n_boot: int = N_BOOT) -> Iterator[Comparison]:
    """Yield families ``models_paired`` and ``mcnemar`` of complete groups, per data set, task and condition.

    Measures: d′ and c under every condition, and meta-d′, M-ratio and AUROC2 where confidence is asked for; McNemar's
    test of accuracy where every item was answered once. p is Holm-adjusted over the pairs of one measure.
    """
    for group in in_groups(groups, 1, 2, 3).values():
        if len(group) > 1:
            yield from _differences(group, seed, n_boot)
            yield from _mcnemar(group)


def joint_draws(groups: Sequence[Group], n_boot: int, seed: int) -> list[Floats]:
    """Return resampled totals ``(n_boot, places)`` of every group, the same resampled items for all."""
    items = np.unique(np.concatenate([group.item for group in groups]))
    n = len(items)
    tables = [_table(group, items) for group in groups]
    rng = np.random.Generator(np.random.PCG64(seed))
    step = max(1, _BLOCK // max(n, 1))
    blocks: list[list[NDArray[np.float32]]] = [[] for _ in groups]
    for start in range(0, n_boot, step):
        size = min(step, n_boot - start)
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float32)
        for place, table in enumerate(tables):
            blocks[place].append(weights @ table.astype(np.float32))  # sums below 2^24: exact
    return [np.concatenate(parts).astype(np.float64) for parts in blocks]


def _table(group: Group, items: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Return how often the group has each item at each place; items × places, narrow because there may be many."""
    table = np.zeros((len(items), group.grid.places), dtype=np.uint16)
    np.add.at(table, (np.searchsorted(items, group.item), group.place), group.number.astype(np.uint16))
    return table


def _differences(groups: Sequence[Group], seed: int, n_boot: int) -> Iterator[Comparison]:
    """Yield every pair's difference in every measure of one condition."""
    first = groups[0]
    draws = joint_draws(groups, n_boot, derived_seed(seed, "paired", *first.key[:4]))
    measured = {**_type1(groups, draws)}
    if first.condition == CONFIDENCE:
        measured |= {**_meta_d(groups, draws), "auroc2": _auroc(groups, draws)}
    for measure, of_models in measured.items():
        rows = [_row(groups, measure, of_models, i, j) for i, j in _pairs(of_models.value)]
        adjusted = holm([row.p for row in rows])
        yield from (_decided(replace(row, p_adjusted=p)) for row, p in zip(rows, adjusted, strict=True))


def _decided(row: Comparison) -> Comparison:
    """Add the verdict where there is a region of practical equivalence: Holm's p, and the plain interval."""
    half_width = _ROPES.get(row.measure)
    if half_width is None or row.low is None or row.high is None or row.p_adjusted is None:
        return row
    return replace(row, verdict=rope(row.low, row.high, half_width, row.p_adjusted < 0.05))


def _pairs(value: Floats) -> list[tuple[int, int]]:
    if len(value) <= MOST_PAIRED:
        return list(combinations(range(len(value)), 2))
    best = int(np.argmax(np.where(np.isfinite(value), value, -np.inf)))
    return [(best, place) for place in range(len(value)) if place != best]


def _row(groups: Sequence[Group], measure: str, found: Measured, i: int, j: int) -> Comparison:
    a, b = groups[i], groups[j]
    shared = len(np.intersect1d(a.item, b.item))
    why = found.why[i] or found.why[j] or (None if shared else NO_SHARED)
    row = _base(a, b, "models_paired", measure, shared)
    if why is not None:
        return replace(row, status=why)
    delta = found.draws[i] - found.draws[j]
    delta = np.where(np.isfinite(delta), delta, np.nan)
    difference = float(found.value[i] - found.value[j])
    low, high = percentile_interval(delta)
    if low is None or high is None:
        return replace(row, difference=difference, status="undefined in most resamples")
    se = (high - low) / (2 * 1.959964)
    row = replace(row, difference=difference, se=se, low=low, high=high)
    if se == 0:
        same = "the same in every resample"
        return replace(row, p=1.0, note=same) if difference == 0 else replace(row, status=same)
    z = difference / se
    usable = int(np.isfinite(delta).sum())
    few = f", {usable} of {len(delta)} usable" if usable < len(delta) else ""
    return replace(
        row,
        statistic=z,
        p=float(2 * ndtr(-abs(z))),
        note=f"paired item bootstrap, {len(delta)} resamples{few}",
    )


def _base(a: Group, b: Group, family: str, measure: str, n: int) -> Comparison:
    _, dataset, task, condition, _ = a.key
    return Comparison(dataset, a.source, task, condition, None, family, measure, a.key[4], b.key[4], n=n)


def _type1(groups: Sequence[Group], draws: Sequence[Floats]) -> dict[str, Measured]:
    grid, why = groups[0].grid, [no_type1(group) for group in groups]

    def measures(totals: Floats) -> tuple[Floats, Floats]:
        hits, misses, false_alarms, rejections = grid.outcomes(totals)
        found = type1_from_table(hits, misses, false_alarms, rejections, CORRECTION)
        meant = (hits + false_alarms > 0) & (misses + rejections > 0)
        return np.where(meant, found.d, np.nan), np.where(meant, found.c, np.nan)

    point = measures(np.array([group.totals for group in groups]))
    drawn = [measures(each) for each in draws]
    return {
        name: Measured(point[place], np.array([each[place] for each in drawn]), why)
        for place, name in enumerate(("d", "c"))
    }


def _meta_d(groups: Sequence[Group], draws: Sequence[Floats]) -> dict[str, Measured]:
    why = [no_meta_d(group) for group in groups]
    told = [place for place, reason in enumerate(why) if reason is None]
    names = ("meta_d", "m_ratio")
    value = {name: np.full(len(groups), np.nan) for name in names}
    drawn = {name: np.full((len(groups), len(draws[0])), np.nan) for name in names}
    if told:
        point, undefined = point_meta_d([groups[place] for place in told])
        # A fit may have no number though most of its resamples have one: d′ of exactly 0 leaves none.
        for place, reason in zip(told, undefined, strict=True):
            why[place] = reason
        resampled = resampled_meta_d([draws[place] for place in told], groups[0].grid)
        for name in names:
            value[name][told], drawn[name][told] = point[name], resampled[name]
    return {name: Measured(value[name], drawn[name], why) for name in names}


def _auroc(groups: Sequence[Group], draws: Sequence[Floats]) -> Measured:
    level = groups[0].grid.by_level()
    collapse = (level[:, None] == np.arange(2 * groups[0].grid.ratings)).astype(np.float64)
    value = auroc_statistic(np.array([group.totals for group in groups]) @ collapse)
    why = [no_meta_d(group) for group in groups]
    return Measured(value, np.array([auroc_statistic(each @ collapse) for each in draws]), why)


def _mcnemar(groups: Sequence[Group]) -> Iterator[Comparison]:
    """Compare accuracy on shared items; an answer without a readable response counts as wrong."""
    if any(group.clustered for group in groups):
        return
    right = [group.grid.correct()[group.place] for group in groups]
    accuracy = np.array([each.mean() for each in right])
    rows = []
    for i, j in _pairs(accuracy):
        a, b = groups[i], groups[j]
        _, mine, theirs = np.intersect1d(a.item, b.item, assume_unique=True, return_indices=True)
        one, two = right[i][mine].astype(np.int64), right[j][theirs].astype(np.int64)
        test = mcnemar_from_data(one, two)
        rows.append(
            replace(
                _base(a, b, "mcnemar", "accuracy", len(mine)),
                difference=float(one.mean() - two.mean()) if len(mine) else None,
                statistic=test.chi2,
                p=test.p_mid,
                note=f"only a right {test.first_only}, only b right {test.second_only}; mid-p",
                status=test.status if len(mine) else NO_SHARED,
            )
        )
    adjusted = holm([row.p for row in rows])
    yield from (replace(row, p_adjusted=p) for row, p in zip(rows, adjusted, strict=True))
