"""Differences of models on the items both answered: one resampling of items serves all models of a task.

Every resample draws items once and takes each model's answers to them, so what makes an item easy for all models leaves
their difference alone. p is that of the resamples, 2 (1 + k) / (1 + B). Meta-d′ and the M-ratio are fitted anew in 1,000
of them; there p is Wald's, of difference / standard error, and the note says so, the error being the width of the 95 %
percentile interval over 3.92 (M-ratios have tails that a standard deviation would follow). AUROC2 has the interval and
the p of its two score intervals (`stats.two_intervals`): with three errors percentiles cover 84 to 90 %, these 95 to 97.
Up to 12 shared items p is that of all exchanges between the two. Verdicts join Holm's p with the plain interval.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Group, lost_items
from metacog_pipeline.benchmarks.signaldetection import grid
from metacog_pipeline.benchmarks.signaldetection.contrasts import refits
from metacog_pipeline.benchmarks.signaldetection.contrasts.refits import FITTED
from metacog_pipeline.benchmarks.signaldetection.grid import Counts, Grid, Totals, all_counts, numbered
from metacog_pipeline.benchmarks.signaldetection.measures import meta_d
from metacog_pipeline.benchmarks.signaldetection.measures.type1 import both_given, no_outcomes
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE
from metacog_pipeline.stats import exact, resampling, two_intervals
from metacog_pipeline.stats.auroc import auroc_statistic, aurocs_from_patterns, influences
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, Estimate
from metacog_pipeline.stats.paired import mcnemar
from metacog_pipeline.stats.resampling.intervals import Z95
from metacog_pipeline.stats.resampling.products import Pair, Side, shared_draws
from metacog_pipeline.stats.type1 import d_and_c

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Wanted = Collection[tuple[str, str]]

TYPE1 = ("d", "c")
NO_SHARED = "no shared items"
SAME = "the same in every resample"
_ROUNDING = 1e-12
_AT_ONCE = 100  # pairs whose resamples are held at once (8 MB)
_AT_HAND = 10  # of them whose differences are made at once: few enough to stay in the processor's cache


@dataclass(frozen=True)
class _Models:
    """The models of one data set, task and condition that answered anything, in one order, and the pairs wanted."""

    groups: Sequence[Group]
    counts: Sequence[Counts]
    tables: Ints  # items × models × places, answers only
    pairs: Sequence[tuple[int, int]]

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Who answered what, items × models."""
        return np.asarray(self.tables.sum(axis=2) > 0)

    @property
    def grid(self) -> Grid:
        """The places."""
        return self.counts[0].grid

    @cached_property
    def by_level(self) -> Ints:
        """Rated answers by level × (wrong, correct), items × models × cells."""
        cells = self.grid.by_level()[:, None] == np.arange(2 * self.grid.ratings)
        return _products(self.tables, cells)

    @cached_property
    def _most(self) -> int:
        """How often an item was answered at most."""
        return int(self.tables.sum(axis=2).max(initial=0))

    @property
    def once(self) -> bool:
        """Whether no item was asked more than once."""
        return self._most <= 1

    def row(self, pair: tuple[int, int], family: str, measure: str, n: int, **found: Any) -> Comparison:
        """Return a row of a pair."""
        a, b = (self.groups[place] for place in pair)
        return Comparison(
            family, measure, a.model, b.model, dataset=a.dataset, task=a.task, condition=a.condition, source=a.source,
            n=n, **found,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Resampled:
    """One measure of one model: its value and its resamples, NaN where there is none, and why."""

    value: float
    draws: Floats
    why: str | None


@dataclass(frozen=True, slots=True)
class _Area:
    """AUROC2 of one model, how far each item moves it, and why there is none."""

    estimate: Estimate
    moved: Floats
    why: str | None


def differences(
    benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group], wanted: Wanted
) -> Iterator[Comparison]:
    """Yield family ``models_paired``: the difference of each wanted pair in every measure of a condition.

    Measures: d′ and c under every condition, and meta-d′, M-ratio and AUROC2 where confidence is asked for.
    """
    for models in _on_shared_items(groups, wanted):
        first = models.groups[0]
        stream = benchmark.stream("paired", first.dataset, first.task, first.condition)
        drawn = partial(
            shared_draws,
            wanted=models.pairs,
            n_draws=resampling.N_TESTED,
            stream=stream,
            answered=models.answered,
        )
        given = drawn(_products(models.tables, models.grid.to_outcomes()))  # all that d′ and c need
        if first.condition != CONFIDENCE:
            for some in _batches(given):
                for name in TYPE1:
                    yield from _rows(models, some, name, _type1)
            continue
        fits = partial(_fits, models.grid, benchmark.context.cache("fits"))
        whole = drawn(models.tables, kept=grid.N_BOOT)
        for some in _batches(given):
            for name in TYPE1:
                yield from _rows(models, some, name, _type1)
            refitted = list(islice(whole, len(some)))
            for name in FITTED:
                yield from _rows(models, refitted, name, fits)
            _score_areas(models, some)
            yield from (_area(models, pair) for pair in some)


def _products(tables: Ints, weights: ArrayLike) -> Ints:
    """Return ``tables @ weights`` of whole numbers, in floats: whole ones are multiplied many times slower."""
    found: Ints = (tables.astype(np.float64) @ np.asarray(weights, dtype=np.float64)).astype(np.int64)
    return found


def _batches(pairs: Iterator[Pair], size: int = _AT_ONCE) -> Iterator[list[Pair]]:
    while some := list(islice(pairs, size)):
        yield some


def accuracy(
    benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group], wanted: Wanted
) -> Iterator[Comparison]:
    """Yield family ``mcnemar``: accuracy where every item was answered once; an unreadable response counts as wrong."""
    for models in _on_shared_items(groups, wanted):
        if not models.once:
            continue
        answered = models.answered.T.copy()
        right = (_products(models.tables, models.grid.correct()) > 0).T
        i, j = np.array(models.pairs).T
        both = answered[i] & answered[j]
        counted = both, right[i] & both, right[j] & both, right[i] & right[j], answered[i], answered[j]
        numbers = (np.count_nonzero(each, axis=1).tolist() for each in counted)
        for pair, n, one, two, shared, of_first, of_second in zip(models.pairs, *numbers, strict=True):
            test = mcnemar(one - shared, two - shared, n)
            note = f"only a right {test.first_only}, only b right {test.second_only}; mid-p"
            yield models.row(
                pair, "mcnemar", "accuracy", n,
                value=one / n - two / n if n else None, statistic=test.chi2, p=test.p_mid,
                note=_joined(note, lost_items(of_first, of_second, n)), status=test.status if n else NO_SHARED,
            )  # fmt: skip


def _on_shared_items(groups: Sequence[Group], wanted: Wanted) -> Iterator[_Models]:
    """Yield the models of each source, data set, task and condition, complete or not, of which pairs are wanted."""
    together: dict[tuple[str | None, ...], list[Group]] = {}
    for group in groups:
        if group.rows.height:
            key = (group.source, group.dataset, group.task, group.condition)
            together.setdefault(key, []).append(group)
    for own in together.values():
        place = {group.model: number for number, group in enumerate(own)}
        pairs = [(place[a], place[b]) for a, b in wanted if a in place and b in place]
        if pairs:
            counts = all_counts(own)
            yield _Models(own, counts, tables_of(counts), pairs)


def tables_of(counts: Sequence[Counts]) -> Ints:
    """Return the answers of several models, items × models × places: the same row is the same item."""
    numbers, n = numbered(counts)
    grid = counts[0].grid
    tables = np.zeros((n, len(counts), grid.places), dtype=np.int64)
    model = np.repeat(np.arange(len(counts)), [len(each) for each in numbers])
    place, number = (np.concatenate([getattr(each, name) for each in counts]) for name in ("place", "number"))
    tables[np.concatenate(numbers), model, place] = number  # an item stands once at each place
    tables[:, :, grid.answered() == 0] = 0
    return tables


def _rows(
    models: _Models, pairs: Sequence[Pair], name: str, measured: Callable[[Side], dict[str, _Resampled]]
) -> Iterator[Comparison]:
    """Yield the rows of one measure."""
    for some in _batches(iter(pairs), _AT_HAND):
        sides = [[side.once("measured", measured)[name] for side in pair.sides] for pair in some]
        delta = np.empty((len(some), len(sides[0][0].draws)))
        for row, (one, two) in zip(delta, sides, strict=True):
            np.subtract(one.draws, two.draws, out=row)
        values = [one.value - two.value for one, two in sides]
        told = resampling.differences(values, delta, tolerance=_ROUNDING, wald=name in FITTED)
        for pair, (one, two), found in zip(some, sides, told, strict=True):
            yield _row(models, pair, name, (one.why or two.why) if pair.n_items else NO_SHARED, found)


def _row(models: _Models, pair: Pair, name: str, why: str | None, told: resampling.Difference) -> Comparison:
    n, lost = pair.n_items, _lost(pair)
    row = partial(models.row, (pair.first, pair.second), "models_paired", name, n)
    if why is not None:
        return row(note=lost, status=why)
    if told.low is None:
        return row(note=lost, value=told.value, status=OFTEN_UNDEFINED)
    known = partial(row, value=told.value, se=told.se, low=told.low, high=told.high)
    if told.statistic is None and told.p is None:
        return known(note=lost, status=SAME)
    p, note = told.p, SAME if told.statistic is None else f"paired item bootstrap, {told.usable_note}"
    if told.statistic is not None and n <= exact.MOST_SWAPPED:
        p, note = _exact_p(models, pair, name), exact.NOTE
    return known(p=p, statistic=told.statistic, note=_joined(note, lost))


def _lost(pair: Pair) -> str | None:
    return lost_items(pair.n_items + pair.lost[0], pair.n_items + pair.lost[1], pair.n_items)


def _joined(*notes: str | None) -> str:
    return "; ".join(each for each in notes if each)


def _area(models: _Models, pair: Pair) -> Comparison:
    """Return the difference of AUROC2: interval and p of the two score intervals and what the items make of both."""
    n, lost = pair.n_items, _lost(pair)
    row = partial(models.row, (pair.first, pair.second), "models_paired", "auroc2", n)
    one, two = (side.known["auroc2"] for side in pair.sides)
    why = NO_SHARED if not n else one.why or two.why
    if why is not None:
        return row(note=lost, status=why)
    spread = float(np.sqrt((one.moved @ one.moved) * (two.moved @ two.moved)))
    together = float(one.moved @ two.moved) / spread if spread > 0 else 0.0
    low, high, p = two_intervals.difference(one.estimate, two.estimate, together, n)
    value = float(one.estimate.value or 0.0) - float(two.estimate.value or 0.0)
    if low is None or high is None or n < 2:
        return row(note=lost, value=value, status=OFTEN_UNDEFINED)
    se = (high - low) / (2 * Z95)
    note = "score intervals of both and their correlation over items"
    if n <= exact.MOST_SWAPPED:
        p, note = _exact_p(models, pair, "auroc2"), exact.NOTE
    return row(
        value=value,
        se=se,
        low=low,
        high=high,
        p=p,
        statistic=value / se if se > 0 else None,
        note=_joined(note, lost),
    )


def _score_areas(models: _Models, pairs: Sequence[Pair]) -> None:
    """Give each side of ``pairs`` its area on the items that both answered, so that pairs which share them share it."""
    new: dict[Side, tuple[int, NDArray[np.bool_]]] = {}
    for pair in pairs:
        for side, place in zip(pair.sides, (pair.first, pair.second), strict=True):
            if side not in new and "auroc2" not in side.known:
                new[side] = place, models.answered[:, pair.first] & models.answered[:, pair.second]
    counts = [models.by_level[both, place] for place, both in new.values()]
    totals = [models.tables[both, place].sum(axis=0).astype(np.float64) for place, both in new.values()]
    why = [each for each, _ in meta_d.untold([Totals(models.grid, each) for each in totals])]
    rated = [each[each.any(axis=1)] for each in counts]
    estimates = aurocs_from_patterns(
        [resampling.merge_patterns(each, np.ones(len(each), dtype=np.int64)) for each in rated]
    )
    for side, (_, both), own, reason, estimate in zip(new, new.values(), counts, why, estimates, strict=True):
        moved = np.zeros(len(both))
        moved[both] = influences(own, own.sum(axis=0))
        reason = reason or (None if estimate.value is not None else estimate.status)
        side.known["auroc2"] = _Area(estimate, moved, reason)


def _exact_p(models: _Models, pair: Pair, name: str) -> float | None:
    """Return the p of all exchanges of items."""
    own = models.tables[:, [pair.first, pair.second]]
    both = own[(own.sum(axis=2) > 0).all(axis=1)].astype(np.float64)
    statistic = _STATISTICS[name]
    return exact.paired_p(both[:, 0], both[:, 1], lambda each: statistic(each.sum(axis=1), models.grid))


def _type1(side: Side) -> dict[str, _Resampled]:
    """Return d′ and c of the four outcomes, observed and resampled."""
    found = _both(*side.sample.T)
    why = no_outcomes(*side.observed[0].tolist())
    return {name: _Resampled(float(each[0]), each[1:], why) for name, each in found.items()}


def _fits(places: Grid, folder: Path, side: Side) -> dict[str, _Resampled]:
    """Return meta-d′ and M-ratio; a fit may have no number though its resamples have: d′ of exactly 0 leaves none."""
    own = Totals(places, side.observed[0])
    why, totals = meta_d.no_meta_d(own), side.drawn
    if why is not None:
        return dict.fromkeys(FITTED, _Resampled(np.nan, totals[:, 0], why))
    key = refits.digest(np.array([places.ratings], dtype=np.float64), side.observed, totals)
    fits = refits.read(folder, key)
    if fits is None:
        point, undefined = meta_d.point_meta_d([own])
        drawn = meta_d.resampled_meta_d(totals, places)
        fits = {name: (float(point[name][0]), drawn[name]) for name in FITTED}
        if undefined[0] is not None:
            return {name: _Resampled(*fits[name], undefined[0]) for name in FITTED}
        refits.write(folder, key, fits)
    return {name: _Resampled(*fits[name], None) for name in FITTED}


def _both(*outcomes: Floats) -> dict[str, Floats]:
    """Return d′ and c of outcomes."""
    given, found = both_given(*outcomes), dict(zip(TYPE1, d_and_c(*outcomes), strict=True))
    if given.all():
        return found
    return {name: np.where(given, each, np.nan) for name, each in found.items()}


def _of_outcomes(name: str) -> Callable[[Floats, Grid], Floats]:
    return lambda totals, places: _both(*places.outcomes(totals))[name]


def _fit(name: str) -> Callable[[Floats, Grid], Floats]:
    return lambda totals, places: meta_d.resampled_meta_d(totals, places)[name]


def _auroc(totals: Floats, places: Grid) -> Floats:
    collapse = (places.by_level()[:, None] == np.arange(2 * places.ratings)).astype(np.float64)
    return auroc_statistic(totals @ collapse)


_STATISTICS: dict[str, Callable[[Floats, Grid], Floats]] = {
    **{name: _of_outcomes(name) for name in TYPE1},
    "auroc2": _auroc,
    **{name: _fit(name) for name in FITTED},
}
