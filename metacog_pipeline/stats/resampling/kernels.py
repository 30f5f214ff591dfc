"""Clusters as counts, the draw kernels, and the seeds of their streams of random numbers.

With discrete outcomes a cluster is nothing but its counts over cells (a cell: say, confidence level × correct), and
clusters with equal counts are interchangeable. Drawing n clusters is then drawing a multinomial over the distinct count
vectors: the same distribution, at a cost that depends on the number of patterns instead of the number of clusters.

Every kernel takes its stream explicitly, so that a number can be drawn again by anybody who knows its names. The generator
is NumPy's PCG64. The order in which a kernel asks for numbers is part of every published interval: blocks of any size give
the same bytes as one call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import MOST_DRAWN, Floats, Ints, counts, floats, same_length, whole

#: A seed, several, or a generator in its present state.
Stream = int | Sequence[int] | np.random.SeedSequence | np.random.Generator

# Patterns × draws held at once; bounds memory (64 MB).
_CHUNK = 8_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Items reduced to their distinct count vectors."""

    counts: Ints  # (P, C): observations of one item of pattern p in cell c
    weights: Ints  # (P,): number of items of each pattern, above 0
    matrix: Floats = field(
        init=False, repr=False
    )  # counts as floats: integers are multiplied many times slower
    #: (P,): the cell of each pattern where every item is one observation, else None.
    place: Ints | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        matrix, weights = counts("counts", self.counts, 2), counts("weights", self.weights)
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
        """Return the patterns over coarser cells: ``groups`` ``(C,)`` are -1 (left out) .. ``n_cells`` - 1."""
        target = np.asarray(groups)
        n_cells = whole("n_cells", n_cells)
        if target.shape != (self.counts.shape[1],) or (target.size and target.dtype.kind not in "iu"):
            raise ValueError(f"groups has shape {target.shape}: one integer per cell needed")
        if target.size and (int(target.min()) < -1 or int(target.max()) >= n_cells):
            raise ValueError(f"groups must lie in -1 .. {n_cells - 1}")
        merge = (target[:, None] == np.arange(n_cells)).astype(np.float64)
        return merge_patterns((self.matrix @ merge).astype(np.int64), self.weights)


def patterns_of(items: ArrayLike, cells: ArrayLike, n_cells: int) -> Patterns:
    """Reduce observations to patterns: of each its item (equal values are one item) and its cell, 0 .. ``n_cells`` - 1."""
    cell, item = counts("cells", cells), np.asarray(items)
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
    rows, number = counts("matrix", matrix, 2), counts("weights", weights)
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


def stream(*names: object) -> int:
    """Return the seed that belongs to ``names`` (JSON values): other names, another stream.

    The names are, in this order: who draws (a benchmark, ``"calibration"``, ``"compare"``, …), the seed of the study, and
    what is drawn, down to the cell where cells shall not share it. Nothing else in the package makes a seed. It is the
    first 12 hexadecimal digits (48 bits) of the SHA-256 of the names as canonical JSON.
    """
    listed = json.dumps([*names], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return int(hashlib.sha256(listed.encode("ascii")).hexdigest()[:12], 16)


def generator(stream: Stream) -> np.random.Generator:
    """Return the PCG64 generator of a ``stream``; a generator is returned as it is."""
    if isinstance(stream, np.random.Generator):
        return stream
    if isinstance(stream, Sequence):
        return generator(np.random.SeedSequence(tuple(whole("seed", each) for each in stream)))
    seeds = stream if isinstance(stream, np.random.SeedSequence) else whole("seed", stream)
    return np.random.Generator(np.random.PCG64(seeds))


def sequence(*names: object) -> np.random.SeedSequence:
    """Return the `stream` of ``names`` as one that streams of its own can be spawned from: chains, rounds."""
    return np.random.SeedSequence(stream(*names))


def blocks(n_draws: int, width: int, most: int = _CHUNK) -> Iterator[int]:
    """Yield numbers of draws that add up to ``n_draws``, each of no more than ``most`` / ``width``, at least 1."""
    step = max(1, most // max(width, 1))
    for start in range(0, n_draws, step):
        yield min(step, n_draws - start)


def patterns(table: Patterns, n_draws: int, stream: Stream) -> Floats:
    """Draw clusters by their distinct count vectors: totals ``(n_draws, C)`` of the ``table``.

    The order of its patterns is part of the ``stream``.
    """
    n_draws, rng, n = whole("n_draws", n_draws, 1), generator(stream), table.n_items
    if n == 0:
        return np.zeros((n_draws, table.counts.shape[1]))
    shares, place = table.weights / n, table.place
    alone = place is not None and len(np.unique(place)) == len(place)
    found = []
    for size in blocks(n_draws, len(shares), _CHUNK):
        drawn = rng.multinomial(n, shares, size=size)
        if alone:  # a pattern is one observation of its own cell: nothing to multiply
            totals = np.zeros((size, table.counts.shape[1]))
            totals[:, place] = drawn
        else:
            totals = drawn @ table.matrix
        found.append(totals)
    return np.concatenate(found)


def weights(n: int, n_draws: int, stream: Stream) -> Floats:
    """Draw how often each of ``n`` clusters is in a resample of the ``stream``: ``(n_draws, n)``, rows add up to n."""
    n, n_draws = whole("n", n), whole("n_draws", n_draws, 1)
    if n == 0:
        return np.zeros((n_draws, 0))
    return generator(stream).multinomial(n, np.full(n, 1 / n), size=n_draws).astype(np.float64)


def indices(n: int, n_draws: int, stream: Stream) -> Ints:
    """Draw clusters by number: ``(n_draws, n)`` of 0 .. n - 1."""
    n, n_draws = whole("n", n, 1), whole("n_draws", n_draws, 1)
    return generator(stream).integers(0, n, size=(n_draws, n))


def occurrences(drawn: Ints) -> Floats:
    """Return how often each cluster is in each row of `indices`, ``(n_draws, n)``: weights, drawn the other way.

    Quicker than a multinomial over many clusters; the numbers are others than those of `weights`.
    """
    counted = [np.bincount(row, minlength=drawn.shape[1]) for row in drawn]
    return np.array(counted, dtype=np.float64).reshape(drawn.shape)


def table(counts: ArrayLike, n_draws: int, stream: Stream) -> Floats:
    """Draw independent trials over the bins of ``counts`` ``(cells, bins)``, 0 or more: ``(n_draws, cells, bins)``.

    Each cell keeps its number of trials; fractions are rounded to whole trials.
    """
    given, n_draws = floats("counts", counts, 2), whole("n_draws", n_draws, 1)
    if (given < 0).any():
        raise ValueError("counts must be 0 or more")
    total = given.sum(axis=1)
    if total.size and float(total.max()) > MOST_DRAWN:
        raise ValueError(f"{float(total.max()):g} trials in a cell: no more than {MOST_DRAWN:g} can be drawn")
    # A cell without trials draws nothing; its shares only have to be some.
    shares = given / np.where(total > 0, total, 1.0)[:, None]
    shares[total <= 0] = 1 / max(given.shape[1], 1)
    size = (n_draws, len(given))
    drawn = generator(stream).multinomial(np.rint(total).astype(np.int64), shares, size=size)
    return drawn.astype(np.float64)
