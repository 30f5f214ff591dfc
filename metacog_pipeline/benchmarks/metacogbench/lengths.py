"""Pass rates at matched length: long replies collect cues for nothing, so models are compared at the same lengths.

Replies of all models to a tier are cut into four groups by their number of words, at the quartiles over all models. The
matched rate of a model is the mean of its rates in the groups, weighted by how many replies all models together have
there; groups in which a model has none are left out for every model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Group, Scored, schema_of
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
    "t2a_grounded": ("2a", "passed_item_specific"),
    "t2b": ("2b", "passed"),
    "t2b_grounded": ("2b", "passed_item_specific"),
}
ONE_MODEL, NOTHING_SHARED = "single model: nothing to match", "no length that all models have"
Matched = tuple[float | None, float | None, float | None]
_UNMATCHED: Matched = (None, None, None)


@dataclass(slots=True)
class LengthRate:
    """A model's pass rate among replies of about one length, or (``words`` is ``all``) over all and at matched length.

    ``words`` is ``all`` or the quarter, 1 the shortest; ``n`` counts replies; ``rate`` is the share passed, ``matched``
    (rows ``all``) the share at matched length with its 95 % interval; all 0..1. ``mean_cues`` counts cues of caution (2a).
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
    mean_cues: float | None
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
        words = [tier.column("words") for _, tier in own]
        known = np.concatenate([each[~np.isnan(each)] for each in words]) if words else np.zeros(0)
        if not len(known):
            continue
        edges = np.quantile(known, np.arange(1, QUARTERS) / QUARTERS)
        placed = [np.where(np.isnan(each), -1, np.searchsorted(edges, each)) for each in words]
        counts = np.array([[(each == q).sum() for q in range(QUARTERS)] for each in placed], dtype=float)
        shared = np.where((counts > 0).all(axis=0), counts.sum(axis=0), 0.0)
        ends = (float(known.min()), *map(float, edges), float(known.max()))
        of_models = [_of_model(*each, shared, ends, len(own)) for each in zip(own, placed, strict=True)]
        for of_measure in zip(*of_models, strict=True):
            yield from (row for of_model in of_measure for row in of_model)


def _of_model(
    asked: tuple[Group, TierGroup], place: Floats, shared: Floats, ends: Sequence[float], n_models: int
) -> list[list[tuple[object, ...]]]:
    """Return the rows of one model in each measure of a tier."""
    group, tier = asked
    columns = {measure: column for measure, (name, column) in MEASURES.items() if name == tier.tier}
    passed = [np.nan_to_num(tier.column(column)) for column in columns.values()]
    parts = [(str(q + 1), ends[q : q + 2], place == q) for q in range(QUARTERS)]
    parts.append((ALL, (ends[0], ends[-1]), place >= 0))
    cues = tier.column("n_cues") if tier.tier == "2a" else None
    means = [(_mean(tier.column("words"), at), _mean(cues, at)) for _, _, at in parts]
    rows = []
    for measure, own, matched in zip(columns, passed, _matched(tier, place, passed, shared), strict=True):
        status = ONE_MODEL if n_models == 1 else OK if shared.any() else NOTHING_SHARED
        if status == OK and matched[0] is not None and matched[1] is None:
            status = SINGLE_ITEM if tier.n_items == 1 else OFTEN_UNDEFINED
        told = [*[(_UNMATCHED, OK)] * QUARTERS, (matched, status)]
        rows.append(
            [
                (
                    *(BENCHMARK, group.dataset, group.condition, group.model, measure, which, *span),
                    *(*both, _mean(own, at), *found, int(at.sum()), said, group.source),
                )
                for (which, span, at), both, (found, said) in zip(parts, means, told, strict=True)
            ]
        )
    return rows


def _matched(tier: TierGroup, place: Floats, passed: Sequence[Floats], shared: Floats) -> list[Matched]:
    """Return the rate at matched length of each of ``passed``."""
    if not shared.any():
        return [_UNMATCHED] * len(passed)
    quarters = np.flatnonzero(shared)
    here = [place == quarter for quarter in quarters]
    # Whole numbers: (asked or passed, quarters) × items, all from one product.
    counts = np.array([(each * at).sum(axis=1) for each in (1.0, *passed) for at in here])
    seen, drawn = (
        each.reshape(1 + len(passed), len(quarters), -1)
        for each in (counts.sum(axis=1), counts @ tier.weights().T)
    )
    rates = (
        [_weighted(right, asked, shared[quarters]) for right in of_passed]
        for asked, *of_passed in (seen, drawn)
    )
    return [_interval(float(value[0]), draws, tier.n_items) for value, draws in zip(*rates, strict=True)]


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


def _mean(values: Floats | None, at: NDArray[np.bool_]) -> float | None:
    if values is None or not at.any():
        return None
    own = values[at]
    return float(np.nanmean(own) if np.isnan(own).any() else own.mean())
