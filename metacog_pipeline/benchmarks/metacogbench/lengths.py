"""Pass rates at matched length: long replies collect keywords for nothing, so models are compared at the same lengths.

Replies of all models to a tier are cut into four groups by their number of words, at the quartiles over all models. The
matched rate of a model is the mean of its rates in the groups, weighted by how many replies all models together have
there; groups in which a model has none are left out for every model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Group, Scored, schema_of
from metacog_pipeline.benchmark.groups import Ints
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.tier_groups import Floats, TierGroup, tier_groups
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, OK, SINGLE_ITEM
from metacog_pipeline.stats.resampling import interval

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench import MetaCogBench

QUARTERS = 4
ALL = "all"
MEASURES: Mapping[str, tuple[str, str]] = {
    "t2a": ("2a", "passed"),
    "t2a_keywords": ("2a", "passed_keywords"),
    "t2b": ("2b", "passed"),
    "t2b_keywords": ("2b", "passed_keywords"),
}
ONE_MODEL, NOTHING_SHARED = "single model: nothing to match", "no length that all models have"
Matched = tuple[float | None, float | None, float | None]
Often = NDArray[np.unsignedinteger[Any]]
_UNMATCHED: Matched = (None, None, None)


@dataclass(slots=True)
class LengthRate:
    """A model's pass rate among replies of about one length, or (``words`` is ``all``) over all and at matched length.

    ``words`` is ``all`` or the quarter, 1 the shortest; ``n`` counts replies; ``rate`` is the share passed, ``matched``
    (rows ``all``) the share at matched length with its 95 % interval; all 0..1. ``mean_keywords`` counts the
    paper's keywords of caution (2a).
    """

    benchmark: str
    dataset: str
    condition: str
    model: str
    measure: str
    words: str
    words_from: float
    words_to: float
    mean_words: float | None
    mean_keywords: float | None
    rate: float | None
    matched: float | None
    low: float | None
    high: float | None
    n: int
    status: str
    source: str


def lengths(benchmark: MetaCogBench, scored: Scored) -> pl.DataFrame:
    """Return per model and measure one row per quarter of lengths, and one over all.

    Simulated and measured models are matched among themselves; models that lack replies to a tier are left out of it.
    """
    together: dict[tuple[str, str, str], list[Group]] = {}
    for group in scored.groups:
        together.setdefault((group.dataset, group.condition, group.source), []).append(group)
    rows = [row for groups in together.values() for row in _rows(groups)]
    return pl.DataFrame(rows, schema=schema_of(LengthRate), orient="row")


def _rows(groups: list[Group]) -> Iterator[tuple[object, ...]]:
    for name in dict.fromkeys(name for name, _ in MEASURES.values()):
        own = [(g, tier) for g in groups if (tier := tier_groups(g).get(name)) and not tier.n_failed]
        columns = {m: column for m, (tier, column) in MEASURES.items() if tier == name}
        read = {m: c for m, c in columns.items() if own and not np.isnan(_replies(own, c)).any()}
        if read:
            yield from _of_tier(own, read)


def _of_tier(
    own: Sequence[tuple[Group, TierGroup]], columns: Mapping[str, str]
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of all models in each measure of a tier."""
    words = _replies(own, "words")
    known = words[~np.isnan(words)]
    if not len(known):
        return
    edges = np.quantile(known, np.arange(1, QUARTERS) / QUARTERS)
    ends = (float(known.min()), *map(float, edges), float(known.max()))
    place = np.where(np.isnan(words), -1, np.searchsorted(edges, words))
    sizes = [tier.n_items * tier.n_runs for _, tier in own]
    model = np.repeat(np.arange(len(own)), sizes)
    counts = _sums(np.ones(len(words)), model, place)[:, :QUARTERS]
    shared = np.where((counts > 0).all(axis=0), counts.sum(axis=0), 0.0)
    passed = np.array([np.nan_to_num(_replies(own, column)) for column in columns.values()])
    matched = _matched(own, np.cumsum([0, *sizes]), place, passed, shared)
    words_and_keywords = [_means(words, model, place)]
    if own[0][1].tier == "2a":
        words_and_keywords.append(_means(_replies(own, "n_keywords"), model, place))
    else:
        words_and_keywords.append([[None] * (QUARTERS + 1)] * len(own))
    n = _sums(np.ones(len(words)), model, place).astype(np.int64).tolist()
    spans = [*((str(q + 1), *ends[q : q + 2]) for q in range(QUARTERS)), (ALL, ends[0], ends[-1])]
    for number, measure in enumerate(columns):
        rates = _means(passed[number], model, place)
        for k, (group, tier) in enumerate(own):
            status = ONE_MODEL if len(own) == 1 else OK if shared.any() else NOTHING_SHARED
            found = matched[k][number]
            if status == OK and found[0] is not None and found[1] is None:
                status = SINGLE_ITEM if tier.n_items == 1 else OFTEN_UNDEFINED
            told = [*[(_UNMATCHED, OK)] * QUARTERS, (found, status)]
            by_length = zip(spans, *(each[k] for each in (*words_and_keywords, rates, n)), told, strict=True)
            for span, of_words, of_keywords, rate, of, (at, said) in by_length:
                yield (
                    *(BENCHMARK, group.dataset, group.condition, group.model, measure, *span),
                    *(of_words, of_keywords, rate, *at, of, said, group.source),
                )


def _replies(own: Sequence[tuple[Group, TierGroup]], column: str) -> Floats:
    """Return a column of the replies of all models, ``(replies,)``, model by model and item by item."""
    return np.concatenate([tier.column(column).ravel() for _, tier in own])


def _sums(values: Floats, model: Ints, place: Ints) -> Floats:
    """Return sums of whole numbers ``(replies,)`` by model and length, ``(models, quarters + 1)``, the last over all."""
    here = place >= 0
    cell = model[here] * QUARTERS + place[here]
    size = (int(model[-1]) + 1) * QUARTERS
    by_quarter = np.bincount(cell, weights=values[here], minlength=size).reshape(-1, QUARTERS)
    return np.column_stack([by_quarter, by_quarter.sum(axis=1)])


def _means(values: Floats, model: Ints, place: Ints) -> list[list[float | None]]:
    """Return means of whole numbers by model and length, None where there is no reply."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means = _sums(np.where(known, values, 0.0), model, place) / _sums(known * 1.0, model, place)
    here = _sums(np.ones(len(values)), model, place) > 0
    return [
        [mean if any_ else None for mean, any_ in zip(*each, strict=True)]
        for each in zip(means.tolist(), here.tolist(), strict=True)
    ]


def _matched(
    own: Sequence[tuple[Group, TierGroup]], ends: Ints, place: Ints, passed: Floats, shared: Floats
) -> list[list[Matched]]:
    """Return by model the rate at matched length of each of ``passed``, ``(measures, replies)``; the replies of a model
    stand between two of ``ends``."""
    quarters = np.flatnonzero(shared).tolist()
    if not quarters:
        return [[_UNMATCHED] * len(passed)] * len(own)
    drawn: dict[tuple[int, int], Often] = {}
    found = []
    for (_, tier), (start, end) in zip(own, pairwise(ends.tolist()), strict=True):
        size = tier.n_items, tier.n_runs
        if size not in drawn:
            drawn[size] = _drawn(tier)
        totals = _totals(drawn[size], place[start:end], passed[:, start:end])[:, quarters]
        rates = [_weighted(right, totals[0], shared[quarters]) for right in totals[1:]]
        found.append([_interval(float(rate[0]), rate[1:], tier.n_items) for rate in rates])
    return found


def _drawn(tier: TierGroup) -> Often:
    """Return how often each reply counts, once as it was given, then in each resample: ``(items × runs, 1 + B)``."""
    most = tier.n_items * tier.n_runs  # in small numbers, which are added up in a fraction of the time
    kind = np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.uint32
    often = np.vstack([np.ones(tier.n_items), tier.weights()]).astype(kind)
    return np.repeat(np.ascontiguousarray(often.T), tier.n_runs, axis=0)


def _totals(drawn: Often, place: Ints, passed: Floats) -> Floats:
    """Return how many replies count in each quarter, and how many of them passed, ``(1 + measures, quarters, 1 + B)``."""
    totals = np.zeros((1 + len(passed), QUARTERS, drawn.shape[1]), dtype=drawn.dtype)
    for often, quarter, *right in zip(drawn, place.tolist(), *passed.tolist(), strict=True):
        if quarter >= 0:
            for of, counts in zip(totals, (True, *right), strict=True):
                if counts:
                    of[quarter] += often
    return totals.astype(np.float64)


def _weighted(right: Floats, asked: Floats, shared: Floats) -> Floats:
    """Return the mean of rates over quarters, by how many replies all models have there."""
    total = np.zeros(right.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        for rate, weight in zip(right / asked, shared, strict=True):
            total += rate * weight / shared.sum()
    return total


def _interval(value: float, draws: Floats, n_items: int) -> Matched:
    low, high = interval(draws) if n_items > 1 else (None, None)
    if low is None or high is None:
        return value, None, None
    return value, min(low, value), max(high, value)
