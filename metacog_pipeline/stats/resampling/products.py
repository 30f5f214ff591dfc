"""Many respondents on the same drawn items: every pair of them from one matrix product.

Items are drawn once for all respondents of an item set: how often each occurs in each resample, times the counts of all. A
pair rests on the items that both answered; its item set is what either answered, so that no result depends on who else was
asked. All sums are of whole numbers and exact.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.stats._arrays import Floats, Ints, Rows, counts
from metacog_pipeline.stats.resampling import blocks, generator, indices, occurrences

T = TypeVar("T")

# Whole numbers below are exact in single precision, which halves the time of the products.
_EXACT = 2**24
# Drawn items held at once while weights are made (32 MB).
_BLOCK = 4_000_000
# Sides on less than all items of a respondent that are kept for the next pair.
_MOST_SIDES = 500


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One respondent on ``n_items`` items: the totals of its cells ``(1, C)``, and those of every resample ``(B, C)``."""

    n_items: int
    observed: Floats
    _sums: NDArray[np.floating[Any]]  # in single precision where exact: all respondents' are held at once
    #: By name, for all pairs that share the side.
    known: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def drawn(self) -> Floats:
        """Return the totals of every resample, ``(B, C)``."""
        return self._sums.astype(np.float64)

    @property
    def sample(self) -> Floats:
        """Return the observed totals and, after them, those of every resample, ``(1 + B, C)``."""
        return np.concatenate([self.observed, self.drawn])

    def once(self, name: str, compute: Callable[[Side], T]) -> T:
        """Return what ``compute`` makes of the side, once for all pairs that share it; ``name`` is its key."""
        if name not in self.known:
            self.known[name] = compute(self)
        found: T = self.known[name]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two respondents on the items that both answered, ``n_items``; ``lost`` are those that only one of them did."""

    first: int
    second: int
    sides: tuple[Side, Side]
    n_items: int
    lost: tuple[int, int]


def shared_draws(
    tables: ArrayLike, wanted: Iterable[tuple[int, int]], n_draws: int, stream: int | Sequence[int], *,
    kept: int | None = None,
) -> Iterator[Pair]:  # fmt: skip
    """Yield the ``wanted`` pairs of respondents, by their places, over the same drawn items, by item set.

    tables: shape ``(items, respondents, C)``: counts; whoever has none has not answered.
    n_draws, stream: number of resamples and their seed. Item sets of one size have the same resamples.
    kept: how many of the resamples are given, the first ones; by default all.

    >>> right, wrong, nothing = [1, 0], [0, 1], [0, 0]
    >>> tables = [[right, wrong], [right, right], [wrong, nothing]]
    >>> (pair,) = shared_draws(tables, [(0, 1)], 100, 1)
    >>> pair.n_items, pair.lost, pair.sides[0].observed
    (2, (1, 0), array([[2., 0.]]))
    """
    rows = counts("tables", tables, 3)
    here: Rows = np.asarray((rows > 0).any(axis=2))
    by_items: dict[bytes, tuple[Ints, list[tuple[int, int]]]] = {}
    packed = np.packbits(here, axis=0).T.copy()
    for i, j in wanted:
        key = (packed[i] | packed[j]).tobytes()
        by_items.setdefault(key, (np.flatnonzero(here[:, i] | here[:, j]), []))[1].append((i, j))
    seeds = tuple(stream) if isinstance(stream, Sequence) else (stream,)
    for items, pairs in by_items.values():
        drawn = item_weights(len(items), n_draws, seeds) if len(items) else np.zeros((n_draws, 0))
        yield from _pairs(rows[items], here[items], drawn[:kept], pairs)


def _pairs(
    tables: Ints, here: Rows, weights: NDArray[Any], wanted: Sequence[tuple[int, int]]
) -> Iterator[Pair]:
    """Yield the ``wanted`` pairs on one item set; ``weights`` ``(B, items)``: how often each item is in each resample."""
    places = sorted({place for pair in wanted for place in pair})
    own, cells = tables[:, places], tables.shape[2]
    drawn = _sums(weights, own.reshape(len(own), len(places) * cells))
    observed = own.sum(axis=0).astype(np.float64)
    whole = {
        place: Side(int(here[:, place].sum()), observed[k][None], drawn[:, k * cells : (k + 1) * cells])
        for k, place in enumerate(places)
    }
    part: dict[tuple[int, bytes], Side] = {}

    def side(place: int, other: int) -> tuple[Side, int]:
        lost, full = np.flatnonzero(here[:, place] & ~here[:, other]), whole[place]
        if not len(lost):
            return full, 0
        key = place, lost.tobytes()
        if key not in part:
            if len(part) >= _MOST_SIDES:
                part.clear()
            less = tables[lost, place].astype(np.float64)
            drawn_less = full.drawn - weights[:, lost].astype(np.float64) @ less
            part[key] = Side(full.n_items - len(lost), full.observed - less.sum(axis=0), drawn_less)
        return part[key], len(lost)

    for i, j in wanted:
        (first, first_lost), (second, second_lost) = side(i, j), side(j, i)
        yield Pair(i, j, (first, second), first.n_items, (first_lost, second_lost))


def products(weights: NDArray[Any], table: Ints) -> Floats:
    """Return totals ``(B, C)`` of resamples: ``weights`` ``(B, items)`` times whole numbers, ``table`` ``(items, C)``.

    >>> products(np.array([[2, 0], [1, 1]]), np.array([[1, 0], [0, 3]])).tolist()
    [[2.0, 0.0], [1.0, 3.0]]
    """
    return _sums(weights, table).astype(np.float64)


def _sums(weights: NDArray[Any], table: Ints) -> NDArray[np.floating[Any]]:
    """Return `products`, in single precision where that is exact."""
    exact = len(table) * int(np.abs(table).max(initial=0)) < _EXACT
    kind: type[np.floating[Any]] = np.float32 if exact else np.float64
    counted: NDArray[Any] = table.T.astype(kind)
    # Column by column, for whoever reads them takes all resamples of a few columns.
    drawn: NDArray[np.floating[Any]] = np.empty((table.shape[1], len(weights)), dtype=kind)
    start = 0
    for size in blocks(len(weights), len(table), _BLOCK):
        part: NDArray[Any] = weights[start : start + size].astype(kind)
        np.matmul(counted, part.T, out=drawn[:, start : start + size])
        start += size
    return drawn.T


@functools.lru_cache(maxsize=2)
def item_weights(n: int, n_draws: int, seeds: tuple[int, ...]) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Return how often each of ``n`` items is drawn in each resample, ``(n_draws, n)``, not to be written to: it is shared.

    >>> item_weights(4, 2, (1,)).sum(axis=1).tolist()
    [4, 4]
    """
    rng = generator(seeds if len(seeds) > 1 else seeds[0])
    drawn = np.empty((n_draws, n), dtype=np.uint8 if n < 256 else np.uint16)
    start = 0
    for size in blocks(n_draws, n, _BLOCK):
        drawn[start : start + size] = occurrences(indices(n, size, rng))
        start += size
    drawn.flags.writeable = False
    return drawn
