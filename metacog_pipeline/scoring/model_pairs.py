"""Paired comparison of two models on the items both answered: is one better, and by how much.

Items are the unit: one counts with all its runs under both models, so what makes an item hard for everybody cancels.
All but the difference of ECE have the interval and the p of the two models' own intervals and what the items make of both
(`stats.intervals.difference`): resamples of few errors cover too little. ECE has those of the bootstrap. The p of accuracy,
where both answered every item as often, and every p up to 12 items is that of all exchanges. Where a p of 0.05 or more has
an interval that just leaves out 0, the interval is extended to 0.

Items that either of the two answered are drawn, with the same draws for all models on as many items: a model is resampled
once for all its pairs, and no pair depends on who else was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Comparison, lost_items
from metacog_pipeline.scoring.harmonised import PREFIX
from metacog_pipeline.stats import coverage, exact, intervals, resampling
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.auroc import auroc_from_patterns, influences
from metacog_pipeline.stats.calibration import brier_loss, turned
from metacog_pipeline.stats.confidence_grid import CELLS, SHARE, STATISTICS, SUMS, cells_at, of_sums
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, Estimate
from metacog_pipeline.stats.resampling.products import item_weights, products

N_BOOT = resampling.N_TESTED
FEW_ITEMS = 10
NOTHING_SHARED = "no item was answered by both"
UNSTATED = "no item was answered with a confidence by both"
_STATED = tuple(name for name in STATISTICS if name != "accuracy")  # measures of answers with a confidence
_DRAWN = ("ece",)  # without a linear share of each item
_ALPHA = 0.05
#: What an answer in each of so many cells, level × (wrong, right), adds to a mean.
_VALUES: Mapping[str, Callable[[int], Floats]] = {
    "accuracy": lambda n_cells: np.tile([0.0, 1.0], n_cells // 2),
    "mean_confidence": lambda n_cells: np.repeat(SHARE, 2),
    "brier": lambda n_cells: brier_loss(SHARE),
}
FAMILY = "confidence_models"
Counts = NDArray[np.int32]


def between_models(
    answers: pl.DataFrame, *, seed: int, lacks: pl.DataFrame | None = None, n_boot: int = N_BOOT
) -> Iterator[Comparison]:
    """Yield the comparison of every two models of one source on the items that both answered, a row per measure.

    answers: rows of `schemas.HARMONISED`; accuracy is of all of them, the other measures of those with a confidence.
    lacks: rows of `harmonised.LACKING`; a model with unanswered items is left out, with a row that says so, where the study
    does not show incomplete numbers.
    """
    hidden: dict[tuple[str, str, str], str] = {}
    if lacks is not None:
        rows = lacks.filter(~pl.col("shown")).select("dataset", "condition", "model", "lacking", "asked")
        hidden = {tuple(place): f"{lacking} of {asked}" for *place, lacking, asked in rows.iter_rows()}
    parts = answers.partition_by("dataset", "condition", "source", as_dict=True)
    for (dataset, condition, source), part in sorted(parts.items(), key=str):
        where = Comparison(FAMILY, "", dataset=dataset, condition=condition, source=source)
        sides: dict[str, Model] = {}
        for name in sorted(part["model"].unique()):
            if counts := hidden.get((dataset, condition, name)):
                status = f"not compared: incomplete: {counts} not answered"
                yield replace(where, a=name, status=status)
            else:
                sides[name] = Model.of(part.filter(model=name), seed, n_boot)
        for a, b in combinations(sides, 2):
            for row in differences(sides[a], sides[b], replace(where, a=a, b=b)):
                yield replace(row, measure=PREFIX + row.measure)


@dataclass(frozen=True, eq=False)
class Side:
    """Answers of one model to the items of a pair; what is computed of them is kept for its other pairs."""

    items: NDArray[Any]  # rising names
    counts: Counts  # how often each was answered in each cell, (items, cells)
    place: Ints  # of the items among those that are drawn
    n_drawn: int
    seed: int
    n_boot: int
    n_all: int  # items before those that the other model did not answer are left out
    known: dict[str, tuple[Estimate, Floats]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, item: NDArray[Any], cell: Ints, n_cells: int, seed: int, n_boot: int) -> Side:
        """Return the answers to items of these names, each in its cell."""
        items, place = np.unique(item, return_inverse=True)
        counts = np.bincount(place * n_cells + cell, minlength=len(items) * n_cells).astype(np.int32)
        every = np.arange(len(items))
        return cls(items, counts.reshape(len(items), n_cells), every, len(items), seed, n_boot, len(items))

    def shared(self, other: Side) -> Side:
        """Return it on the items that ``other`` answered as well."""
        if np.array_equal(self.items, other.items):
            return self
        here, drawn = np.isin(self.items, other.items), np.union1d(self.items, other.items)
        items = self.items[here]
        place = np.searchsorted(drawn, items)
        return replace(self, items=items, counts=self.counts[here], place=place, n_drawn=len(drawn), known={})

    @cached_property
    def totals(self) -> Floats:
        """The answers in each cell, ``(cells,)``."""
        found: Floats = self.counts.sum(axis=0).astype(np.float64)
        return found

    @cached_property
    def draws(self) -> dict[str, Floats]:
        """ECE, and what else is a sum, of every resample, ``(n_boot,)`` each."""
        sums = np.zeros((self.n_drawn, SUMS.shape[1]), dtype=np.int64)
        sums[self.place] = self.counts @ SUMS
        return of_sums(products(item_weights(self.n_drawn, self.n_boot, (self.seed,)), sums))

    @cached_property
    def patterns(self) -> resampling.Patterns:
        """The items by their distinct answers."""
        return resampling.merge_patterns(self.counts.astype(np.int64), np.ones(len(self.counts), np.int64))

    def scored(self, name: str) -> tuple[Estimate, Floats]:
        """Return a measure with its own interval, and how far each item moves it, ``(items,)``."""
        if name not in self.known:
            counts, n_cells = self.counts.astype(np.int64), self.counts.shape[1]
            if name == "auroc2":
                self.known[name] = auroc_from_patterns(self.patterns), influences(counts, counts.sum(axis=0))
            else:
                values = _VALUES[name](n_cells)
                outcome = turned(n_cells) if name != "mean_confidence" else None
                found = intervals.ratio(self.patterns, values, np.ones(n_cells), outcome)
                mean = float(self.totals @ values) / float(self.totals.sum())
                self.known[name] = found, counts @ values - counts.sum(axis=1) * mean
        return self.known[name]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What one model answered, for all its pairs: right or wrong, and what has a confidence with it."""

    every: Side
    stated: Side

    @classmethod
    def of(cls, answers: pl.DataFrame, seed: int, n_boot: int | None = None) -> Model:
        """Return the model whose ``answers``, rows of `schemas.HARMONISED`, are given."""
        item = answers["cluster"].to_numpy()
        right = answers["correct"].to_numpy().astype(np.int64)
        confidence = answers["confidence"].cast(pl.Float64).to_numpy()
        stated = ~np.isnan(confidence)
        cell = cells_at(confidence[stated], right[stated])
        stream, n_boot = resampling.stream("compare", seed), n_boot or N_BOOT
        return cls(
            Side.of(item, right, 2, stream, n_boot), Side.of(item[stated], cell, CELLS, stream, n_boot)
        )


def differences(one: Model, two: Model, row: Comparison) -> list[Comparison]:
    """Return ``row`` for each measure, with ``one`` minus ``two``, of answers to one set of items."""
    every = one.every.shared(two.every), two.every.shared(one.every)
    stated = one.stated.shared(two.stated), two.stated.shared(one.stated)
    why = UNSTATED if len(every[0].items) else NOTHING_SHARED
    return [*_compared(every, ("accuracy",), NOTHING_SHARED, row), *_compared(stated, _STATED, why, row)]


def _compared(
    sides: tuple[Side, Side], names: Iterable[str], why: str, row: Comparison
) -> Iterator[Comparison]:
    first, second = sides
    if not len(first.items):
        yield from (replace(row, measure=name, status=why) for name in names)
        return
    answers = np.stack([side.totals.reshape(-1, 2).sum(axis=0) for side in sides])  # model × (wrong, right)
    (n_a, n_b), n_items = map(int, answers.sum(axis=1)), len(first.items)
    row = replace(row, n=n_items, note=lost_items(first.n_all, second.n_all, n_items))
    for name in names:
        made = _difference(replace(row, measure=name), first, second)
        of = (f"difference_{name}", "paired", made.low, made.low, min(n_a, n_b), int(answers.min()))
        yield replace(made, low_n=coverage.low_n(*of, several=n_a + n_b > 2 * n_items))


def _difference(row: Comparison, first: Side, second: Side) -> Comparison:
    name, n_items, statistic = row.measure, row.n, STATISTICS[row.measure]
    value_a, value_b = (float(statistic(side.totals[None])[0]) for side in (first, second))
    if not (np.isfinite(value_a) and np.isfinite(value_b)):
        return replace(row, status=f"undefined{': all correct or all wrong' * (name == 'auroc2')}")
    row = replace(row, value=value_a - value_b)
    if name not in _DRAWN:
        low, high, p, why = _by_score(name, first, second)
    else:
        draws = first.draws[name] - second.draws[name]
        (low, high), p = resampling.interval(draws), resampling.p_value(draws)
        why = OFTEN_UNDEFINED
    if n_items < 2 or low is None:
        return replace(row, status=why if n_items > 1 else f"too few items for an interval: {n_items}")
    if n_items <= exact.MOST_SWAPPED:
        one, two = (side.counts.astype(np.float64) for side in (first, second))
        p = exact.paired_p(one, two, lambda each: statistic(each.sum(axis=1)))
    few = (exact.too_few(n_items) or f"few items: {n_items}") if n_items < FEW_ITEMS else "ok"
    return replace(row, low=low, high=high, p=p, status=few)


def _by_score(name: str, first: Side, second: Side) -> tuple[float | None, float | None, float | None, str]:
    """Return the interval and the p that follow from the intervals of the two models, or why there are none."""
    (of_a, moved_a), (of_b, moved_b) = first.scored(name), second.scored(name)
    spread = float(np.sqrt((moved_a @ moved_a) * (moved_b @ moved_b)))
    correlation = float(moved_a @ moved_b) / spread if spread > 0 else 0.0
    one, two = first.counts, second.counts
    low, high, p = intervals.difference(of_a, of_b, correlation, int((one != two).any(axis=1).sum()))
    if name == "accuracy" and p is not None and np.array_equal(one.sum(axis=1), two.sum(axis=1)):
        p = exact.sum_p((one - two)[:, 1])
    if low is not None and high is not None and p is not None and p >= _ALPHA:
        low, high = min(low, 0.0), max(high, 0.0)  # what the items do not separate from 0 reaches 0
    return low, high, p, of_b.status if of_a.low is not None else of_a.status
