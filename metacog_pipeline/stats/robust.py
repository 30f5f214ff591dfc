"""Scores of models over items when single items must not decide: trimmed mean, median, double step, resampled ranks.

The trimmed mean drops ⌊N / 10⌋ items at each end (Tukey 1962); the double step is the mean minus one population standard
deviation. NaN are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints, floats, whole
from metacog_pipeline.stats.estimate import NO_ITEMS, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.ranks import fisher_interval, spearman_rows

Location = Literal["mean", "trimmed_mean", "median", "double_step"]
LOCATIONS: tuple[Location, ...] = ("mean", "trimmed_mean", "median", "double_step")
TRIMMED = 0.10
N_BOOT = 1000
_CHUNK = 4_000_000  # doubles held at once while resampling


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """How sure the ranks of models are; rank 1 has the largest score, equal scores share the better rank."""

    observed: Ints
    low: Ints
    high: Ints
    share: Floats


@dataclass(frozen=True, slots=True)
class Shift:
    """Two rankings of the same models: their Spearman correlation, and the largest change of rank."""

    rho: Estimate
    largest: int


def location(values: ArrayLike, statistic: Location = "trimmed_mean") -> Floats:
    """Return the ``statistic`` of each row of ``values`` ``(rows, items)``; NaN for a row without items.

    >>> location([[0.1, 0.4, 0.5, 0.6, 9.0]], "median")
    array([0.5])
    """
    return _location(_table(values), statistic)


def location_estimate(
    values: ArrayLike, statistic: Location, *, n_boot: int = N_BOOT, seed: int = 0
) -> Estimate:
    """Return the ``statistic`` of ``values`` ``(items,)`` with its percentile interval over resampled items.

    >>> location_estimate([0.1, 0.4, 0.5, 0.6, 0.9], "median").value
    0.5
    """
    row = _table(np.asarray(values)[None, :])
    row = row[:, ~np.isnan(row[0])]
    n, method = row.shape[1], f"{statistic}, item bootstrap"
    if n == 0:
        return unavailable(0, method, NO_ITEMS)
    value = float(location(row, statistic)[0])
    if n == 1:
        return Estimate(value, None, None, 1, method, SINGLE_ITEM)
    own = resampled_locations(row, statistic, n_boot=n_boot, seed=seed)[:, 0]
    # Not (1 - 0.95) / 2, as in `resampling.interval`: the last digit of published ends is that of 0.025.
    low, high = map(float, np.quantile(own, [0.025, 0.975]))
    return Estimate(value, min(low, value), max(high, value), n, method, sem=float(own.std()))


def resampled_locations(
    values: ArrayLike, statistic: Location = "trimmed_mean", *, n_boot: int = N_BOOT, seed: int = 0
) -> Floats:
    """Return ``(n_boot, rows)``: the ``statistic`` of each row of ``values`` ``(rows, items)`` over resampled items, the
    same for every row; NaN where a row has none of them.

    >>> resampled_locations([[0.1, 0.4, 0.9], [0.2, 0.5, 1.0]], "mean", n_boot=2).round(2)
    array([[0.57, 0.67],
           [0.1 , 0.2 ]])
    """
    table, n_boot, seed = _table(values), whole("n_boot", n_boot, 1), whole("seed", seed)
    rows, items = table.shape
    if not items:
        return np.full((n_boot, rows), np.nan)
    drawn, start, found = resampling.indices(items, n_boot, seed), 0, []
    for size in resampling.blocks(n_boot, rows * items, _CHUNK):
        picked = table[:, drawn[start : start + size]].transpose(1, 0, 2).reshape(-1, items)
        found.append(_location(picked, statistic).reshape(-1, rows))
        start += size
    return np.concatenate(found)


def rank_distribution(scores: ArrayLike, draws: Floats) -> Ranks:
    """Return the ranks of models from ``scores`` ``(models,)``, more is better, and resampled ones ``(B, models)``.

    >>> found = rank_distribution([0.9, 0.5], np.array([[0.9, 0.5], [0.8, 0.6], [0.4, 0.6], [0.7, 0.5]]))
    >>> found.observed, found.share.tolist()
    (array([1, 2]), [[0.75, 0.25], [0.25, 0.75]])
    """
    observed, table = _table(np.asarray(scores)[None, :]), _table(draws)
    models = observed.shape[1]
    tally = np.zeros((models, models + 1))
    np.add.at(tally, (np.arange(models), _competition_ranks(table)), 1)
    tally = tally[:, 1:]  # without those that have no rank
    known = tally.sum(axis=1, keepdims=True)
    share = np.divide(tally, known, out=np.zeros((models, models)), where=known > 0)
    below = np.cumsum(share, axis=1)
    # The rank at which the cumulated share reaches each end; a hair's breadth allows for rounding of the sum.
    low, high = (
        np.where(known[:, 0] > 0, (below < end - 1e-12).sum(axis=1) + 1, 0).astype(np.int64)
        for end in (0.025, 0.975)
    )
    return Ranks(_competition_ranks(observed)[0], low, high, share)


def rank_shift(first: ArrayLike, second: ArrayLike) -> Shift:
    """Return how two scorings of the same models ``(models,)`` differ; a NaN leaves a model out.

    >>> rank_shift([0.9, 0.7, 0.5, 0.3], [0.9, 0.5, 0.7, 0.3]).largest
    1
    """
    a, b = _table(np.asarray(first)[None, :]), _table(np.asarray(second)[None, :])
    both = ~np.isnan(a[0]) & ~np.isnan(b[0])
    a, b = a[:, both], b[:, both]
    found = spearman_rows(a, b)
    n, status = int(found.n[0]), str(found.status[0])
    known = status == "ok"
    rho = fisher_interval(float(found.rho[0]), n) if known else unavailable(n, "spearman, fisher z", status)
    moved = np.abs(_competition_ranks(a)[0] - _competition_ranks(b)[0])
    return Shift(rho, int(moved.max(initial=0)))


def _location(table: Floats, statistic: Location) -> Floats:
    if not table.shape[1]:
        return np.full(len(table), np.nan)
    if statistic in ("trimmed_mean", "median"):
        return _by_order(np.sort(table, axis=1), statistic == "median")
    here = ~np.isnan(table)
    n = here.sum(axis=1)
    with np.errstate(invalid="ignore"):  # 0 / 0 of a row without items
        mean: Floats = np.where(here, table, 0.0).sum(axis=1) / n
        if statistic == "double_step":
            gap = np.where(here, table - mean[:, None], 0.0)
            mean = mean - np.sqrt((gap * gap).sum(axis=1) / n)
    return mean


def _by_order(ordered: Floats, median: bool) -> Floats:
    """Return the median or trimmed mean of each row of sorted values, NaN at their end."""
    ordered = np.ascontiguousarray(ordered)  # so that the sums do not depend on how it lies in memory
    items = ordered.shape[1]
    n = np.array([items])  # of all rows, in a third of the time
    if np.isnan(ordered[:, -1]).any():
        n = items - np.isnan(ordered).sum(axis=1)
    if median:
        rows = np.arange(len(ordered))
        return np.where(n > 0, (ordered[rows, (n - 1) // 2] + ordered[rows, n // 2]) / 2, np.nan)
    # 0.1 · 130 must be 13 for any last bit.
    dropped = np.floor(TRIMMED * n + 1e-9).astype(np.int64)
    place = np.arange(items)[None, :]
    kept = (place >= dropped[:, None]) & (place < (n - dropped)[:, None])
    with np.errstate(invalid="ignore"):  # 0 / 0 of a row without items
        return np.asarray(np.where(kept, ordered, 0.0).sum(axis=1) / (n - 2 * dropped))


def _competition_ranks(scores: Floats) -> Ints:
    """Return 1 + the number of larger scores in each row; 0 for NaN."""
    from scipy.stats import rankdata  # late: it takes longer to import than all of this package

    ranks = rankdata(-scores, method="min", axis=1, nan_policy="omit")
    return np.asarray(np.nan_to_num(ranks), dtype=np.int64).reshape(scores.shape)


def _table(values: ArrayLike) -> Floats:
    return floats("the table (rows, items)", values, 2, gaps=True)
