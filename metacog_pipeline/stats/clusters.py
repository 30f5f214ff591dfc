"""The item as the unit of chance: resampling items with all their repeated runs.

Runs of one item are not independent, so whole items are drawn with replacement (the cluster bootstrap: Davison &
Hinkley 1997, *Bootstrap Methods and their Application*, §3.8). With discrete outcomes an item is nothing but its
counts over cells (a cell: say, confidence level × correct), and items with equal counts are interchangeable. Drawing n
items is then drawing a multinomial over the distinct count vectors: the same distribution, at a cost that depends on
the number of patterns instead of the number of items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, Ints, counts, same_length, whole

Statistic = Callable[[Floats], Floats]
# Patterns × draws held at once; bounds memory (64 MB) and leaves the stream of random numbers as it is.
_CHUNK = 8_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Items reduced to their distinct count vectors.

    Attributes
    ----------
    counts
        Shape ``(P, C)``: observations of one item of pattern p in cell c.
    weights
        Shape ``(P,)``: number of items of each pattern, above 0.
    matrix
        ``counts`` as floats: integer matrices are multiplied many times slower.
    """

    counts: Ints
    weights: Ints
    matrix: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        matrix = counts("counts", self.counts, 2)
        weights = counts("weights", self.weights)
        same_length(counts=matrix, weights=weights)
        kept = weights > 0
        if not kept.all():
            matrix, weights = matrix[kept], weights[kept]
        object.__setattr__(self, "counts", matrix)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "matrix", matrix.astype(np.float64))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.weights.sum())

    @property
    def totals(self) -> Ints:
        """Observations per cell over all items, shape ``(C,)``."""
        totals: Ints = self.weights @ self.counts
        return totals

    def collapse(self, groups: ArrayLike, n_cells: int) -> Patterns:
        """Return the patterns over coarser cells, equal ones merged.

        Parameters
        ----------
        groups
            Shape ``(C,)``: the new cell (0 .. n_cells - 1) of each old cell; -1 drops the cell.
        n_cells
            Number of new cells.
        """
        target = np.asarray(groups)
        n_cells = whole("n_cells", n_cells)
        if target.shape != (self.counts.shape[1],) or (target.size and target.dtype.kind not in "iu"):
            raise ValueError(f"groups has shape {target.shape}: one integer per cell needed")
        if target.size and (int(target.min()) < -1 or int(target.max()) >= n_cells):
            raise ValueError(f"groups must lie in -1 .. {n_cells - 1}")
        merge = (target[:, None] == np.arange(n_cells)).astype(np.float64)
        return merge_patterns((self.matrix @ merge).astype(np.int64), self.weights)


def patterns_of(items: ArrayLike, cells: ArrayLike, n_cells: int) -> Patterns:
    """Reduce observations to patterns.

    Parameters
    ----------
    items
        Shape ``(N,)``: which item each observation belongs to; equal values are one item (integers are fastest).
    cells
        Shape ``(N,)``: cell of each observation, 0 .. n_cells - 1.
    n_cells
        Number of cells C.
    """
    cell = counts("cells", cells)
    item = np.asarray(items)
    if item.ndim != 1:
        raise ValueError(f"items has shape {item.shape}: 1 dimension needed")
    same_length(items=item, cells=cell)
    n_cells = whole("n_cells", n_cells, 1)
    if cell.size and int(cell.max()) >= n_cells:
        raise ValueError(f"cell {int(cell.max())} is beyond the {n_cells} cells")
    names, index = np.unique(item, return_inverse=True)
    if len(names) == len(item):  # one run: an item is its cell
        return Patterns(np.eye(n_cells, dtype=np.int64), np.bincount(cell, minlength=n_cells))
    flat = np.bincount(index * n_cells + cell, minlength=len(names) * n_cells)
    return merge_patterns(flat.reshape(len(names), n_cells), np.ones(len(names), dtype=np.int64))


def merge_patterns(matrix: ArrayLike, weights: ArrayLike) -> Patterns:
    """Merge equal rows of ``matrix`` ``(P, C)``, adding their ``weights`` ``(P,)``."""
    rows = counts("matrix", matrix, 2)
    number = counts("weights", weights)
    same_length(matrix=rows, weights=number)
    if not rows.size:
        kept = min(len(rows), 1)
        return Patterns(rows[:kept], np.full(kept, number.sum(), dtype=np.int64))
    # Sorting rows as opaque bytes is many times quicker than column by column; which order does not matter.
    narrow = np.ascontiguousarray(rows.astype(np.uint8) if int(rows.max()) < 256 else rows)
    opaque = narrow.view(np.dtype((np.void, narrow.dtype.itemsize * narrow.shape[1]))).ravel()
    _, first, inverse = np.unique(opaque, return_index=True, return_inverse=True)
    merged = np.zeros(len(first), dtype=np.int64)
    np.add.at(merged, inverse.ravel(), number)
    return Patterns(rows[first], merged)


def resample(patterns: Patterns, n_boot: int, seed: int) -> Floats:
    """Return ``n_boot`` resampled cell totals, shape ``(n_boot, C)``; the same seed gives the same bytes."""
    n_boot = whole("n_boot", n_boot, 1)
    rng = np.random.Generator(np.random.PCG64(whole("seed", seed)))
    n = patterns.n_items
    n_cells = patterns.counts.shape[1]
    if n == 0:
        return np.zeros((n_boot, n_cells))
    shares = patterns.weights / n
    step = max(1, _CHUNK // len(shares))
    blocks = [
        rng.multinomial(n, shares, size=min(step, n_boot - start)) @ patterns.matrix
        for start in range(0, n_boot, step)
    ]
    return np.concatenate(blocks)


def percentile_interval(draws: Floats, level: float = 0.95) -> tuple[float | None, float | None]:
    """Return the central ``level`` share of ``draws`` ``(B,)``; NaN draws are left out.

    Both ends are None when fewer than half of the draws are defined.
    """
    defined = draws[~np.isnan(draws)]
    if 2 * len(defined) < max(len(draws), 1):
        return None, None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def percentile_intervals(draws: Floats, level: float = 0.95) -> Floats:
    """Return what `percentile_interval` does for each row of ``draws`` ``(rows, B)``, as ``(rows, 2)``, NaN for None."""
    ends = np.full((len(draws), 2), np.nan)
    holes = np.isnan(draws).any(axis=1)
    if not holes.all() and draws.shape[1]:
        ends[~holes] = np.quantile(draws[~holes], [(1 - level) / 2, (1 + level) / 2], axis=1).T
    for row in np.flatnonzero(holes):
        low, high = percentile_interval(draws[row], level)
        if low is not None and high is not None:
            ends[row] = low, high
    return ends


def cluster_bootstrap(
    patterns: ArrayLike, weights: ArrayLike, statistic: Statistic, n_boot: int, seed: int
) -> tuple[float | None, float | None]:
    """Return the 95 % percentile interval of a statistic of cell totals, items being the clusters.

    Parameters
    ----------
    patterns
        Shape ``(P, C)``: distinct count vectors of items over cells.
    weights
        Shape ``(P,)``: number of items of each pattern.
    statistic
        Maps resampled totals ``(B, C)`` to ``(B,)``; NaN where undefined in a draw.
    n_boot, seed
        Number of resamples and the seed of the PCG64 generator.

    Returns
    -------
    tuple
        Low and high, both None where there are fewer than two items or most draws are undefined.
    """
    table = Patterns(np.asarray(patterns), np.asarray(weights))
    if table.n_items < 2:
        return None, None
    draws = statistic(resample(table, n_boot, seed))
    if draws.shape != (n_boot,):
        raise ValueError(f"the statistic gave shape {draws.shape}: ({n_boot},) needed")
    return percentile_interval(draws)
