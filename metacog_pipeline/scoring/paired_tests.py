"""Paired tests of groups on shared items: the resamples both share, and all exchanges where items are few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Comparison
from metacog_pipeline.benchmark.groups import Counts, counted
from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, SINGLE_ITEM
from metacog_pipeline.stats.resampling.products import shared_draws

NO_SHARED, SAME = "no shared items", "the same in every resample"
_ROUNDING = 1e-12  # differences below are rounding
#: Measures ``(measures, B)`` of totals ``(B, cells)``, NaN where one is undefined.
Measured = Callable[[Floats], Floats]


def joined(*notes: str | None) -> str | None:
    """Return the notes there are, as one."""
    return "; ".join(each for each in notes if each) or None


def tables_of(frames: Sequence[pl.DataFrame], coded: Sequence[str]) -> tuple[Ints, Counts]:
    """Return responses counted over the same clusters, ``(clusters, frames, combinations)``, and the combinations."""
    every = pl.concat([frame.select("cluster", *coded) for frame in frames])
    cluster = every["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1
    n, side = int(cluster.max()) + 1, np.repeat(np.arange(len(frames)), [frame.height for frame in frames])
    matrix, codes = counted(every, coded, side * n + cluster, n * len(frames))
    # Weights depend on the codes alone: the counts themselves may be empty.
    none = resampling.Patterns(np.zeros((0, matrix.shape[1]), np.int64), np.zeros(0, np.int64))
    return matrix.reshape(len(frames), n, -1).transpose(1, 0, 2), Counts(none, codes)


def differences(
    rows: Mapping[tuple[int, int], Comparison],
    tables: Ints,
    names: Sequence[str],
    of: Measured,
    stream: int,
    *,
    undefined: Callable[[str, Floats], str | None] = lambda name, totals: None,
    kept: int | None = None,
) -> Iterator[Comparison]:
    """Yield the first group minus the second of each pair, by measure ``names``, on the items that both answered.

    rows: a row without numbers for each pair of places in ``tables``, ``(items, groups, cells)``; ``n`` are shared items.
    undefined: why the totals ``(cells,)`` of a side have no value of a measure; None where they may have one.
    kept: number of resamples; p is then Wald's. By default 10,000, whose p it is.
    """
    for pair in shared_draws(tables, rows, resampling.N_TESTED, stream, kept=kept):
        row, sides = rows[pair.first, pair.second], pair.sides
        one, two = (side.once("measures", lambda own: of(own.sample)) for side in sides)
        items = None
        if 0 < pair.n_items <= exact.MOST_SWAPPED:  # the p of resamples of a few items is too small
            both = tables[:, [pair.first, pair.second]].astype(np.float64)
            items = both[(both.sum(axis=2) > 0).all(axis=1)]
        for at, name in enumerate(names):
            own, drawn = replace(row, measure=name), one[at] - two[at]
            why = [undefined(name, side.observed[0]) for side in sides]
            if not pair.n_items:
                yield replace(own, status=NO_SHARED)
            elif any(why) or not np.isfinite(drawn[0]):
                yield replace(own, status=next(filter(None, why), "undefined in one of them"))
            else:
                found = resampling.difference(
                    float(drawn[0]), drawn[1:], tolerance=_ROUNDING, wald=kept is not None
                )
                yield _tested(own, found, items, lambda made, at=at: of(made.sum(axis=1))[at])  # type: ignore[misc]


def _tested(row: Comparison, found: resampling.Difference, items: Floats | None, of: Measured) -> Comparison:
    """Return ``row`` with the difference; ``of`` is the measure of ``items`` ``(B, items, cells)``."""
    row = replace(row, value=found.value)
    if row.n < 2 or found.low is None:
        return replace(row, status=SINGLE_ITEM if row.n < 2 else OFTEN_UNDEFINED)
    row = replace(row, se=found.se, low=found.low, high=found.high, statistic=found.statistic, p=found.p)
    if found.statistic is None:  # a difference that never moves has no test, but one of 0 is no error
        return replace(row, status=SAME) if found.p is None else replace(row, note=joined(SAME, row.note))
    if items is None:
        return replace(row, note=joined(f"paired item bootstrap, {found.usable_note}", row.note))
    p = exact.paired_p(items[:, 0], items[:, 1], of)
    return replace(row, p=p, note=joined(exact.NOTE, row.note))
