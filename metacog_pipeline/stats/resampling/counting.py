"""Clusters as counts: what is drawn when an item is drawn with all its runs.

With discrete outcomes a cluster is nothing but its counts over cells (a cell: say, confidence level × correct), and
clusters with equal counts are interchangeable. Drawing n clusters is then drawing a multinomial over the distinct count
vectors: the same distribution, at a cost that depends on the number of patterns instead of the number of clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, Ints, counts, same_length, whole


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Items reduced to their distinct count vectors.

    counts: shape ``(P, C)``: observations of one item of pattern p in cell c.
    weights: shape ``(P,)``: number of items of each pattern, above 0.
    matrix: ``counts`` as floats: integer matrices are multiplied many times slower.
    place: shape ``(P,)``: the cell of each pattern where every item is one observation, else None.
    """

    counts: Ints
    weights: Ints
    matrix: Floats = field(init=False, repr=False)
    place: Ints | None = field(init=False, repr=False)

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
        single = bool(matrix.size) and bool((matrix.sum(axis=1) == 1).all())
        object.__setattr__(self, "place", matrix.argmax(axis=1) if single else None)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.weights.sum())

    @property
    def totals(self) -> Ints:
        """Observations per cell over all items, shape ``(C,)``."""
        if self.place is not None:
            found = np.zeros(self.counts.shape[1], dtype=np.int64)
            np.add.at(found, self.place, self.weights)
            return found
        totals: Ints = self.weights @ self.counts
        return totals

    def by_pattern(self, values: Floats) -> Floats:
        """Return the sum of ``values`` ``(C,)`` or ``(C, k)`` over the observations of an item of each pattern."""
        return values[self.place] if self.place is not None else self.matrix @ values

    def collapse(self, groups: ArrayLike, n_cells: int) -> Patterns:
        """Return the patterns over coarser cells, equal ones merged."""
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

    items: shape ``(N,)``: which item each observation belongs to; equal values are one item (integers are fastest).
    cells: shape ``(N,)``: cell of each observation, 0 .. n_cells - 1.
    n_cells: number of cells C.

    >>> items = patterns_of(["a", "a", "b", "b"], [0, 1, 0, 1], 2)
    >>> items.counts.tolist(), items.weights.tolist()
    ([[1, 1]], [2])
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
    """Merge equal rows of ``matrix`` ``(P, C)``, adding their ``weights`` ``(P,)``.

    >>> merge_patterns([[1, 0], [0, 1], [1, 0]], [1, 1, 1]).weights.tolist()
    [1, 2]
    """
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
