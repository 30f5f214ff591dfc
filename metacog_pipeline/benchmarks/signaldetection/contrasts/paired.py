"""Differences of models that answered the same items: one resampling of items serves all models of a task.

Every resample draws items once and takes each model's answers to them, so what makes an item easy for all models leaves
their difference alone. p is that of the resamples, 2 (1 + k) / (1 + B). Meta-d′ and the M-ratio are fitted anew in 1,000
of them; there p is Wald's, of difference / standard error, and the note says so, the error being the width of the 95 %
percentile interval over 3.92 (M-ratios have tails that a standard deviation would follow). Verdicts join Holm's p with the
plain interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Group
from metacog_pipeline.benchmarks.signaldetection import grid
from metacog_pipeline.benchmarks.signaldetection.contrasts.criteria import ROPE
from metacog_pipeline.benchmarks.signaldetection.contrasts.efficiency import MOST_PAIRED, ROPE_D, ROPE_M_RATIO
from metacog_pipeline.benchmarks.signaldetection.grid import Counts, counts_of, numbered
from metacog_pipeline.benchmarks.signaldetection.measures.meta_d import (
    no_confidence,
    no_meta_d,
    point_meta_d,
    resampled_meta_d,
)
from metacog_pipeline.benchmarks.signaldetection.measures.type1 import both_given, no_type1, type1_of
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.auroc import auroc_statistic
from metacog_pipeline.stats.decisions import rope
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED
from metacog_pipeline.stats.multiple import holm
from metacog_pipeline.stats.paired import mcnemar_from_data

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_SHARED = "no shared items"
SAME = "the same in every resample"
_ROPES = {"m_ratio": ROPE_M_RATIO, "d": ROPE_D, "c": ROPE}
_FITTED = ("meta_d", "m_ratio")  # a refit costs: fewer resamples, and Wald's p
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class _Models:
    """The models of one data set, task and condition, in one order."""

    groups: Sequence[Group]
    counts: Sequence[Counts]
    item: Sequence[Ints]  # of each count, numbered alike
    n_items: int


@dataclass(frozen=True, slots=True)
class _Resampled:
    """One measure of several models: its value and its resamples, NaN where there is none, and why."""

    value: Floats
    draws: Floats
    why: Sequence[str | None]


def differences(benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield family ``models_paired``: every pair's difference in every measure of a condition.

    Measures: d′ and c under every condition, and meta-d′, M-ratio and AUROC2 where confidence is asked for. p is
    Holm-adjusted over the pairs of one measure.
    """
    for models in _on_shared_items(groups):
        first = models.groups[0]
        names = ("paired", benchmark.name, first.dataset, first.task, first.condition)
        draws = joint_draws(models.counts, models.item, models.n_items, benchmark.stream(*names))
        measured = _type1(models.counts, draws)
        if first.condition == CONFIDENCE:
            measured |= {**_meta_d(models.counts, draws), "auroc2": _auroc(models.counts, draws)}
        for measure, found in measured.items():
            rows = [_row(models, measure, found, i, j) for i, j in _pairs(found.value)]
            adjusted = holm([row.p for row in rows])
            yield from (_decided(replace(row, p_adjusted=p)) for row, p in zip(rows, adjusted, strict=True))


def accuracy(benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield family ``mcnemar``: accuracy where every item was answered once; an unreadable response counts as wrong."""
    for models in _on_shared_items(groups):
        if any(counts.clustered for counts in models.counts):
            continue
        right = [counts.grid.correct()[counts.place] for counts in models.counts]
        rows = []
        for i, j in _pairs(np.array([each.mean() for each in right])):
            _, mine, theirs = np.intersect1d(
                models.item[i], models.item[j], assume_unique=True, return_indices=True
            )
            one, two = right[i][mine].astype(np.int64), right[j][theirs].astype(np.int64)
            test = mcnemar_from_data(one, two)
            rows.append(
                replace(
                    _base(models.groups[i], models.groups[j], "mcnemar", "accuracy", len(mine)),
                    value=float(one.mean() - two.mean()) if len(mine) else None,
                    statistic=test.chi2,
                    p=test.p_mid,
                    note=f"only a right {test.first_only}, only b right {test.second_only}; mid-p",
                    status=test.status if len(mine) else NO_SHARED,
                )
            )
        adjusted = holm([row.p for row in rows])
        yield from (replace(row, p_adjusted=p) for row, p in zip(rows, adjusted, strict=True))


def joint_draws(counts: Sequence[Counts], item: Sequence[Ints], n_items: int, stream: int) -> list[Floats]:
    """Return resampled totals ``(N_TESTED, places)`` of every model, the same resampled items for all."""
    tables = [each.by_item(own, n_items) for each, own in zip(counts, item, strict=True)]
    return resampling.joint_by_index(tables, resampling.N_TESTED, stream)


def _on_shared_items(groups: Sequence[Group]) -> Iterator[_Models]:
    """Yield the complete models of each source, data set, task and condition that has several."""
    together: dict[tuple[str | None, ...], list[Group]] = {}
    for group in groups:
        if group.complete:
            key = (group.source, group.dataset, group.task, group.condition)
            together.setdefault(key, []).append(group)
    for own in together.values():
        if len(own) > 1:
            counts = [counts_of(group) for group in own]
            yield _Models(own, counts, *numbered(counts))


def _pairs(value: Floats) -> list[tuple[int, int]]:
    if len(value) <= MOST_PAIRED:
        return list(combinations(range(len(value)), 2))
    best = int(np.argmax(np.where(np.isfinite(value), value, -np.inf)))
    return [(best, place) for place in range(len(value)) if place != best]


def _row(models: _Models, measure: str, found: _Resampled, i: int, j: int) -> Comparison:
    shared = len(np.intersect1d(models.item[i], models.item[j]))
    why = found.why[i] or found.why[j] or (None if shared else NO_SHARED)
    row = _base(models.groups[i], models.groups[j], "models_paired", measure, shared)
    if why is not None:
        return replace(row, status=why)
    value = float(found.value[i] - found.value[j])
    delta = found.draws[i] - found.draws[j]
    told = resampling.difference(value, delta, "percentile", tolerance=_ROUNDING, wald=measure in _FITTED)
    if told.low is None:
        return replace(row, value=value, status=OFTEN_UNDEFINED)
    row = replace(row, value=value, se=told.se, low=told.low, high=told.high, p=told.p)
    if told.statistic is None:
        return replace(row, note=SAME) if told.p is not None else replace(row, status=SAME)
    return replace(row, statistic=told.statistic, note=f"paired item bootstrap, {told.usable_note}")


def _decided(row: Comparison) -> Comparison:
    """Add the verdict where there is a region of practical equivalence: Holm's p, and the plain interval."""
    half_width = _ROPES.get(row.measure)
    if half_width is None or row.low is None or row.high is None or row.p_adjusted is None:
        return row
    return replace(row, verdict=rope(row.low, row.high, half_width, row.p_adjusted < 0.05))


def _base(a: Group, b: Group, family: str, measure: str, n: int) -> Comparison:
    return Comparison(
        family,
        measure,
        a.model,
        b.model,
        dataset=a.dataset,
        task=a.task,
        condition=a.condition,
        source=a.source,
        n=n,
    )


def _type1(counts: Sequence[Counts], draws: Sequence[Floats]) -> dict[str, _Resampled]:
    places, why = counts[0].grid, [no_type1(each) for each in counts]

    def measures(totals: Floats) -> tuple[Floats, Floats]:
        found, given = type1_of(totals, places), both_given(totals, places)
        return np.where(given, found.d, np.nan), np.where(given, found.c, np.nan)

    point = measures(np.array([each.totals for each in counts]))
    drawn = [measures(each) for each in draws]
    return {
        name: _Resampled(point[place], np.array([each[place] for each in drawn]), why)
        for place, name in enumerate(("d", "c"))
    }


def _meta_d(counts: Sequence[Counts], draws: Sequence[Floats]) -> dict[str, _Resampled]:
    why = [no_meta_d(each) for each in counts]
    told = [place for place, reason in enumerate(why) if reason is None]
    names = ("meta_d", "m_ratio")
    value = {name: np.full(len(counts), np.nan) for name in names}
    drawn = {name: np.full((len(counts), min(grid.N_BOOT, len(draws[0]))), np.nan) for name in names}
    if told:
        point, undefined = point_meta_d([counts[place] for place in told])
        # A fit may have no number though most of its resamples have one: d′ of exactly 0 leaves none.
        for place, reason in zip(told, undefined, strict=True):
            why[place] = reason
        found = resampled_meta_d([draws[place][: grid.N_BOOT] for place in told], counts[0].grid)
        for name in names:
            value[name][told], drawn[name][told] = point[name], found[name]
    return {name: _Resampled(value[name], drawn[name], why) for name in names}


def _auroc(counts: Sequence[Counts], draws: Sequence[Floats]) -> _Resampled:
    places = counts[0].grid
    collapse = (places.by_level()[:, None] == np.arange(2 * places.ratings)).astype(np.float64)
    value = auroc_statistic(np.array([each.totals for each in counts]) @ collapse)
    return _Resampled(
        value,
        np.array([auroc_statistic(each @ collapse) for each in draws]),
        [no_confidence(each) for each in counts],
    )
