"""Scores of models over items when single items must not decide: trimmed mean, median, double step, resampled ranks.

The trimmed mean drops ⌊share · N⌋ items at each end (Tukey 1962). The double step is the mean minus one population standard
deviation: it prefers steady respondents. Items are resampled for all models at once, so that ranks are compared on the
same items (Efron & Tibshirani 1993, *An Introduction to the Bootstrap*).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, Ints, whole
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.estimate import MOSTLY_UNDEFINED, NO_ITEMS, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.ranks import fisher_interval, spearman_rows

Location = Literal["mean", "trimmed_mean", "median", "double_step"]
LOCATIONS: tuple[Location, ...] = ("mean", "trimmed_mean", "median", "double_step")
TRIMMED = 0.10
N_BOOT = 1000
_CHUNK = 4_000_000  # doubles held at once while resampling


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """How sure the ranks of models are; rank 1 has the largest score, equal scores share the better rank.

    Attributes
    ----------
    observed
        Shape ``(models,)``: rank by the scores themselves; 0 for a model without a score.
    low, high
        Shape ``(models,)``: central 95 % of the ranks over resamples; 0 for a model without a score.
    share
        Shape ``(models, models)``: share of the resamples in which a model (row) has rank 1, 2, … (column); a row sums
        to 1, or to 0 for a model without a score.
    """

    observed: Ints
    low: Ints
    high: Ints
    share: Floats


@dataclass(frozen=True, slots=True)
class Shift:
    """Two rankings of the same models: their Spearman correlation, and the largest change of rank."""

    rho: Estimate
    largest: int


def location(values: ArrayLike, statistic: Location = "trimmed_mean", share: float = TRIMMED) -> Floats:
    """Return the chosen location of each row of ``values`` ``(rows, items)``; NaN items are left out.

    ``share`` 0 .. below 0.5 is what the trimmed mean drops at each end. A row without items gives NaN.
    """
    table = _table(values)
    if statistic not in LOCATIONS:
        raise ValueError(f"unknown statistic {statistic!r}: one of {', '.join(LOCATIONS)}")
    if not 0.0 <= share < 0.5:
        raise ValueError(f"share is {share}, outside 0 .. below 0.5")
    return _location(table, statistic, share)


def location_estimate(
    values: ArrayLike,
    statistic: Location = "trimmed_mean",
    *,
    n_boot: int = N_BOOT,
    seed: int = 0,
    share: float = TRIMMED,
) -> Estimate:
    """Return the location of ``values`` ``(items,)`` with its percentile interval over resampled items."""
    row = _table(np.asarray(values)[None, :])
    row = row[:, ~np.isnan(row[0])]
    method, n = f"{statistic}, item bootstrap", row.shape[1]
    if n == 0:
        return unavailable(0, method, NO_ITEMS)
    value = float(location(row, statistic, share)[0])
    if n == 1:
        return Estimate(value, None, None, 1, method, SINGLE_ITEM)
    draws = resampled_locations(row, statistic, n_boot=n_boot, seed=seed, share=share)[:, 0]
    low, high = percentile_interval(draws)
    if low is None or high is None:
        return Estimate(value, None, None, n, method, MOSTLY_UNDEFINED)
    return Estimate(value, min(low, value), max(high, value), n, method, sem=float(draws.std()))


def resampled_locations(
    values: ArrayLike,
    statistic: Location = "trimmed_mean",
    *,
    n_boot: int = N_BOOT,
    seed: int = 0,
    share: float = TRIMMED,
) -> Floats:
    """Return ``(n_boot, rows)``: the location of each row over resampled items, the same items for every row.

    NaN where a row has none of the resampled items. The same seed gives the same bytes.
    """
    table = _table(values)
    n_boot = whole("n_boot", n_boot, 1)
    rng = np.random.Generator(np.random.PCG64(whole("seed", seed)))
    rows, items = table.shape
    if not items:
        return np.full((n_boot, rows), np.nan)
    drawn = rng.integers(0, items, size=(n_boot, items))
    step = max(1, _CHUNK // max(rows * items, 1))
    blocks = []
    for start in range(0, n_boot, step):
        picked = table[:, drawn[start : start + step]].transpose(1, 0, 2)
        blocks.append(location(picked.reshape(-1, items), statistic, share).reshape(-1, rows))
    return np.concatenate(blocks)


def rank_distribution(scores: ArrayLike, draws: Floats) -> Ranks:
    """Return the ranks of models from their scores ``(models,)`` and resampled scores ``(B, models)``."""
    observed = _table(np.asarray(scores)[None, :])
    table = _table(draws)
    models = observed.shape[1]
    if table.shape[1] != models:
        raise ValueError(f"draws are of {table.shape[1]} models, scores of {models}")
    ranks = _competition_ranks(table)
    tally = np.zeros((models, models + 1))
    for model in range(models):
        tally[model] = np.bincount(ranks[:, model], minlength=models + 1)
    known = tally[:, 1:].sum(axis=1)
    share = np.divide(tally[:, 1:], known[:, None], out=np.zeros((models, models)), where=known[:, None] > 0)
    below = np.cumsum(share, axis=1)
    scored = known > 0
    # The rank at which the cumulated share reaches each end; a hair's breadth allows for rounding of the sum.
    low = np.where(scored, (below < 0.025 - 1e-12).sum(axis=1) + 1, 0)
    high = np.where(scored, (below < 0.975 - 1e-12).sum(axis=1) + 1, 0)
    return Ranks(_competition_ranks(observed)[0], low.astype(np.int64), high.astype(np.int64), share)


def rank_shift(first: ArrayLike, second: ArrayLike) -> Shift:
    """Return how two scorings of the same models, shapes ``(models,)``, differ; a NaN in either leaves a model out."""
    a, b = _table(np.asarray(first)[None, :]), _table(np.asarray(second)[None, :])
    if a.shape != b.shape:
        raise ValueError(f"scorings are of {a.shape[1]} and {b.shape[1]} models")
    both = ~np.isnan(a[0]) & ~np.isnan(b[0])
    a, b = a[:, both], b[:, both]
    found = spearman_rows(a, b)
    n, status = int(found.n[0]), str(found.status[0])
    told = status == "ok"
    rho = fisher_interval(float(found.rho[0]), n) if told else unavailable(n, "spearman, fisher z", status)
    moved = np.abs(_competition_ranks(a)[0] - _competition_ranks(b)[0])
    return Shift(rho, int(moved.max(initial=0)))


def _location(table: Floats, statistic: Location, share: float) -> Floats:
    n = (~np.isnan(table)).sum(axis=1)
    result = np.full(len(table), np.nan)
    some = n > 0
    table, n = table[some], n[some]
    if not len(table):
        return result
    if statistic == "median":
        ordered = np.sort(table, axis=1)
        rows = np.arange(len(table))
        result[some] = (ordered[rows, (n - 1) // 2] + ordered[rows, n // 2]) / 2
        return result
    if statistic == "trimmed_mean":
        # 0.1 · 130 must be 13 whatever the last bit says.
        dropped = np.floor(share * n + 1e-9).astype(np.int64)
        ordered = np.sort(table, axis=1)  # NaN at the end
        place = np.arange(table.shape[1])[None, :]
        kept = (place >= dropped[:, None]) & (place < (n - dropped)[:, None])
        result[some] = np.where(kept, ordered, 0.0).sum(axis=1) / (n - 2 * dropped)
        return result
    mean = np.nansum(table, axis=1) / n
    if statistic == "double_step":
        gap = np.where(np.isnan(table), 0.0, table - mean[:, None])
        mean = mean - np.sqrt((gap * gap).sum(axis=1) / n)
    result[some] = mean
    return result


def _competition_ranks(scores: Floats) -> Ints:
    """Return 1 + the number of larger scores in each row; 0 for NaN."""
    larger = np.zeros(scores.shape, dtype=np.int64)
    for column in scores.T[:, :, None]:
        larger += column > scores
    return np.where(np.isnan(scores), 0, larger + 1)


def _table(values: ArrayLike) -> Floats:
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"values hold something that is no number: {error}") from None
    if table.ndim != 2:
        raise ValueError(f"values have shape {table.shape}: (rows, items) needed")
    if not bool((np.isnan(table) | (np.abs(table) <= 1e140)).all()) or math.inf in table:
        raise ValueError("values are infinite or beyond ±1e140")
    return table
