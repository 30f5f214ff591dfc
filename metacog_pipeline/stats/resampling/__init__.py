"""Resampling: the unit of chance is the cluster.

Runs of one item are not independent, nor are twins made from one source, so whole clusters are drawn with replacement, each
with all its observations (Davison & Hinkley 1997, *Bootstrap Methods and their Application*, §3.8). No other module draws
clusters; `products` draws the same ones for many respondents.

With discrete outcomes a cluster is its counts over cells (say, confidence level × correct). Drawing n clusters is drawing a
multinomial over the distinct count vectors. The order in which NumPy's PCG64 is asked for numbers is part of every
interval: blocks of any size give the same bytes as one call.

Where more than 5 % of the resamples have no value there is neither an interval nor a p (`usable`). Sources: Efron &
Tibshirani (1993), *An Introduction to the Bootstrap*, ch. 13 (percentiles) and 16 (tests); Davison & Hinkley, eq. 4.11.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtr

from metacog_pipeline.stats._arrays import Floats, Ints, counts, same_length, whole
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, OK, Estimate

Statistic = Callable[[Floats], Floats]
#: A seed, several, or a generator in its present state.
Stream = int | Sequence[int] | np.random.SeedSequence | np.random.Generator

# Patterns × draws held at once; bounds memory (64 MB).
_CHUNK = 8_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Items reduced to their distinct count vectors."""

    counts: Ints  # (P, C): observations of one item of pattern p in cell c
    weights: Ints  # (P,): number of items of each pattern, above 0
    #: counts as floats: integers are multiplied many times slower
    matrix: Floats = field(init=False, repr=False)
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
        merge = (np.asarray(groups)[:, None] == np.arange(n_cells)).astype(np.float64)
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
    """Return the seed of ``names`` (JSON values): 48 bits of their SHA-256. Nothing else in the package makes a seed."""
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
    """Draw clusters by their distinct count vectors, in the order of the ``table``: totals ``(n_draws, C)``."""
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
    """Return how often each cluster is in each row of `indices`, ``(n_draws, n)``: weights, drawn the quicker way."""
    counted = [np.bincount(row, minlength=drawn.shape[1]) for row in drawn]
    return np.array(counted, dtype=np.float64).reshape(drawn.shape)


# --- intervals and p of draws -------------------------------------------------------------------------------------------
#: Percentiles, or percentiles that are moved out, where needed, so as to hold the value.
Kind = Literal["percentile", "widened"]

LEVEL = 0.95
ENDS = (1 - LEVEL) / 2, (1 + LEVEL) / 2
# Half width of a 95 % interval of a normal distribution, in standard deviations.
Z95 = 1.959963984540054
#: Share of the resamples that need a value: with fewer there is no interval and no p.
LEAST_USABLE = 0.95
#: Resamples of a test: Holm's correction can reach 0.05 over 250 pairs (see `p_value`).
N_TESTED = 10_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference with what its draws say about it; None where there is no such number."""

    value: float  # in the unit of the measure
    low: float | None  # ends of the 95 % interval
    high: float | None
    se: float | None
    statistic: float | None  # value / se
    p: float | None  # two-sided
    usable: int  # finite draws
    drawn: int
    wald: bool = False  # whether p is Wald's instead of that of the draws

    @property
    def usable_note(self) -> str:
        """``"4000 resamples"``, how many of them were usable where not all were, and that p is Wald's where it is."""
        few = f", {self.usable} of {self.drawn} usable" if self.usable < self.drawn else ""
        return f"{self.drawn} resamples{few}{'; Wald p' if self.wald else ''}"


def usable(draws: Floats) -> Floats | None:
    """Return the finite ones of ``draws`` ``(B,)``; None where more than 5 % have no value."""
    finite = np.isfinite(draws)
    known = draws if finite.all() else draws[finite]
    return known if len(known) and len(known) >= LEAST_USABLE * len(draws) else None


def interval(draws: Floats, value: float | None = None) -> tuple[float | None, float | None]:
    """Return the central 95 % of `usable` ``draws`` ``(B,)``, widened to hold a ``value`` that is given."""
    known = usable(draws)
    if known is None:
        return None, None
    low, high = np.quantile(known, ENDS).tolist()
    return (low, high) if value is None else (min(low, value), max(high, value))


def from_draws(
    value: float, draws: Floats, n: int, method: str, status: str = OK, kind: Kind = "percentile"
) -> Estimate:
    """Return ``value`` with the `interval` of its ``draws`` ``(B,)`` and their standard deviation as ``sem``."""
    known = usable(draws)
    if known is None:
        return Estimate(value, None, None, n, method, OFTEN_UNDEFINED)
    ends = interval(known, value if kind == "widened" else None)
    return Estimate(value, *ends, n, method, status, float(known.std()))


def p_value(draws: Floats, tolerance: float = 0.0) -> float | None:
    """Return the two-sided p of a difference, from its resamples ``draws`` ``(B,)``: ``2 (1 + k) / (1 + B)``.

    k is the smaller number of resamples on either side of 0, draws within ``tolerance`` of it counted on both; the added 1
    is the sample itself. Below 0.05 the percentile interval leaves out 0. None where not `usable`.
    """
    known = usable(draws)
    if known is None:
        return None
    fewer = min(int(np.count_nonzero(known <= tolerance)), int(np.count_nonzero(known >= -tolerance)))
    return min(1.0, 2 * (fewer + 1) / (len(known) + 1))


def wald_p(statistic: float, df: int | None = None) -> float:
    """Return the two-sided p of value / standard error: normal, or Student's t with ``df``."""
    # It has no floor and trusts the shape of the distribution far beyond what resamples show: whoever uses it names
    # it.
    size = -abs(statistic)
    return min(1.0, 2 * float(ndtr(size) if df is None else stdtr(df, size)))


def difference(
    value: float, draws: Floats, kind: Kind = "widened", *, tolerance: float = 0.0, wald: bool = False
) -> Difference:
    """Return a difference with interval (of this ``kind``), standard error and p from its ``draws`` ``(B,)``.

    A standard error up to ``tolerance`` leaves p 1 for a ``value`` as small, and None for any other. With ``wald`` p is
    Wald's, for statistics of which thousands of resamples cost too much.
    """
    known, n = usable(draws), int(np.isfinite(draws).sum())
    if known is None:
        return Difference(value, None, None, None, None, None, n, len(draws), wald)
    low, high = np.quantile(known, ENDS).tolist()
    # A few wild draws move a standard deviation, and hardly the width of the percentile interval.
    se = (high - low) / (2 * Z95) if wald else float(known.std())
    if kind == "widened":
        low, high = min(low, value), max(high, value)
    if se <= tolerance:  # the same in every resample
        same = 1.0 if abs(value) <= tolerance else None
        return Difference(value, low, high, se, None, same, n, len(draws), wald)
    p = wald_p(value / se) if wald else p_value(known, tolerance)
    return Difference(value, low, high, se, value / se, p, n, len(draws), wald)
