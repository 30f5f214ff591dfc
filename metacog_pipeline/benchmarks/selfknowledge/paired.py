"""Two cells over the items both answered: differences of every measure, clusters resampled alike.

A cluster is its counts in both cells side by side; clusters with equal counts are interchangeable, so a resample is one
draw over the distinct pairs, and both sides of a difference see the same clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.special import ndtr

from metacog_pipeline.benchmarks.common.rows import number
from metacog_pipeline.benchmarks.selfknowledge.cells import (
    STUDY,
    Cell,
    Floats,
    Ints,
    Table,
    counted,
    derived_seed,
)
from metacog_pipeline.benchmarks.selfknowledge.measures import counts_of, log_linear
from metacog_pipeline.benchmarks.selfknowledge.rows import Row
from metacog_pipeline.stats.clusters import Patterns, merge_patterns, percentile_interval, resample
from metacog_pipeline.stats.estimate import MOSTLY_UNDEFINED
from metacog_pipeline.stats.paired import mcnemar_from_data
from metacog_pipeline.stats.ratios import ratio_statistic
from metacog_pipeline.stats.roc import area_difference

Statistic = Callable[[Table, Floats], Floats]
NO_SHARED = "no shared items"
UNDEFINED = "undefined in one of them"
SAME = "the same in every resample"


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two cells restricted to the items of both; ``clusters`` numbers what is drawn together, alike in both."""

    first: pl.DataFrame
    second: pl.DataFrame
    clusters: tuple[Ints, Ints]
    n_items: int

    @property
    def repeated(self) -> bool:
        """Whether any cluster holds more than one answer of a side."""
        return any(len(np.unique(each)) < len(each) for each in self.clusters)


def pair_of(first: Cell, second: Cell) -> Pair:
    """Return what the two share."""
    shared = first.rows.select("item_id").unique().join(second.rows.select("item_id").unique(), on="item_id")
    sides = [
        cell.rows.join(shared, on="item_id", how="semi", maintain_order="left") for cell in (first, second)
    ]
    names = pl.concat([side["cluster"] for side in sides]).rank("dense").cast(pl.Int64).to_numpy() - 1
    cut = sides[0].height
    return Pair(sides[0], sides[1], (names[:cut], names[cut:]), shared.height)


def differences(base: Row, pair: Pair, measures: Sequence[str], seed: int, n_boot: int) -> list[Row]:
    """Return a row of first minus second per measure of `STATISTICS`, without a correction for several tests."""
    if not pair.n_items:
        return [replace(base, measure=name, status=NO_SHARED) for name in measures]
    n_clusters = int(max(each.max() for each in pair.clusters)) + 1
    sides = [
        counted(rows, own, n_clusters)
        for rows, own in zip((pair.first, pair.second), pair.clusters, strict=True)
    ]
    ones = np.ones(len(sides[0][0]), dtype=np.int64)
    tables = [Table(Patterns(counts, ones), codes) for counts, codes in sides]
    joint = merge_patterns(np.hstack([counts for counts, _ in sides]), ones)
    draws = resample(
        joint,
        n_boot,
        derived_seed(seed, base.dataset, base.family, base.condition, base.model, base.a, base.b),
    )
    cut = sides[0][0].shape[1]
    drawn = (draws[:, :cut], draws[:, cut:])
    found = []
    for name in measures:
        statistic = STATISTICS[name]
        at, resampled = (
            [statistic(table, each) for table, each in zip(tables, totals, strict=True)]
            for totals in ([table.totals[None, :] for table in tables], drawn)
        )
        row = replace(base, measure=name, n=pair.n_items)
        found.append(_difference(row, float(at[0][0] - at[1][0]), resampled[0] - resampled[1]))
    return found


def graded_difference(base: Row, pair: Pair) -> Row | None:
    """Return the difference of the areas under the type-2 ROC; None where a side has no graded yes."""
    graded = []
    for rows, clusters in zip((pair.first, pair.second), pair.clusters, strict=True):
        kept = rows["confidence"].is_not_null().to_numpy()
        if not kept.any():
            return None
        own = rows.filter(pl.Series(kept))
        graded.append(
            (own["confidence"].to_numpy(), own["correct"].cast(pl.Int64).to_numpy(), clusters[kept])
        )
    found = area_difference(graded[0], graded[1])
    row = replace(base, measure="auroc2", n=pair.n_items, note=found.method)
    if found.value is None or found.sem is None:
        return replace(row, difference=found.value, status=found.status)
    z = found.value / found.sem
    return replace(
        row,
        difference=found.value,
        se=found.sem,
        low=found.low,
        high=found.high,
        statistic=z,
        p=float(2 * ndtr(-abs(z))),
    )


def mcnemar_row(base: Row, pair: Pair) -> Row | None:
    """Return McNemar's mid-p test of accuracy; None where items were asked more than once or hang together."""
    if pair.repeated:
        return None
    joined = pair.first.select("item_id", a="correct").join(
        pair.second.select("item_id", b="correct"), on="item_id"
    )
    a, b = (joined[side].cast(pl.Int64).to_numpy() for side in ("a", "b"))
    test = mcnemar_from_data(a, b)
    return replace(
        base,
        measure="accuracy",
        difference=float(a.mean() - b.mean()) if len(a) else None,
        statistic=number(test.chi2),
        p=test.p_mid,
        n=len(a),
        note=f"only a right {test.first_only}, only b right {test.second_only}; mid-p",
        status=test.status if len(a) else NO_SHARED,
    )


def _difference(row: Row, value: float, drawn: Floats) -> Row:
    if not np.isfinite(value):
        return replace(row, status=UNDEFINED)
    drawn = np.where(np.isfinite(drawn), drawn, np.nan)
    low, high = percentile_interval(drawn)
    if row.n < 2 or low is None or high is None:
        return replace(row, difference=value, status="single item" if row.n < 2 else MOSTLY_UNDEFINED)
    se = float(np.nanstd(drawn))
    row = replace(row, difference=value, se=se, low=min(low, value), high=max(high, value))
    if se <= 1e-12:
        return replace(row, p=1.0, note=SAME) if abs(value) <= 1e-12 else replace(row, status=SAME)
    z = value / se
    usable = int(np.isfinite(drawn).sum())
    few = f", {usable} of {len(drawn)} usable" if usable < len(drawn) else ""
    note = f"paired item bootstrap, {len(drawn)} resamples{few}"
    return replace(row, statistic=z, p=float(2 * ndtr(-abs(z))), note=note)


def _share(top: Callable[[Table], Floats], bottom: Callable[[Table], Floats]) -> Statistic:
    def statistic(table: Table, totals: Floats) -> Floats:
        return ratio_statistic(top(table) * bottom(table), bottom(table))(totals)

    return statistic


def _outcome(top: Sequence[int], bottom: Sequence[int]) -> Statistic:
    """Return a ratio of sums of outcomes: 0 yes and right, 1 no and right, 2 yes and wrong, 3 no and wrong."""

    def statistic(table: Table, totals: Floats) -> Floats:
        weights = table.outcomes(STUDY)
        return ratio_statistic(weights[:, list(top)].sum(axis=1), weights[:, list(bottom)].sum(axis=1))(
            totals
        )

    return statistic


def _d_type2(table: Table, totals: Floats) -> Floats:
    hits, alarms, right, wrong = counts_of(totals, table.outcomes(STUDY))
    made: Floats = np.where((right > 0) & (wrong > 0), log_linear(hits, alarms, right, wrong), np.nan)
    return made


#: Measures as functions of a table and totals ``(B, combinations)``; NaN where undefined.
STATISTICS: Mapping[str, Statistic] = {
    "accuracy": _share(lambda table: table.where(correct=1), lambda table: table.known("correct")),
    "yes_ratio": _share(lambda table: table.where(yes=1), lambda table: table.known("yes")),
    "raw_alignment": _outcome((0, 3), (0, 1, 2, 3)),
    "d_type2": _d_type2,
    "yfr": _outcome((2,), (0, 2)),
    "nfr": _outcome((1,), (1, 3)),
    "all_alignment": _share(
        lambda table: table.where(all_aligned=1), lambda table: table.known("all_aligned")
    ),
}
