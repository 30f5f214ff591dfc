"""The four draw kernels and the seeds of their streams of random numbers.

Every kernel takes its stream explicitly, so that a number can be drawn again by anybody who knows its names. The generator
is NumPy's PCG64. The order in which a kernel asks for numbers is part of every published interval: blocks of any size give
the same bytes as one call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, Ints, drawable, floats, whole
from metacog_pipeline.stats.resampling.counting import Patterns

#: A seed, several, or a generator that goes on where it stands.
Stream = int | Sequence[int] | np.random.SeedSequence | np.random.Generator

# Patterns × draws held at once; bounds memory (64 MB).
_CHUNK = 8_000_000


def stream(*names: object) -> int:
    """Return the seed that belongs to ``names`` (JSON values): other names, another stream.

    The names are, in this order: who draws (a benchmark, ``"calibration"``, ``"compare"``, …), the seed of the study, and
    what is drawn, down to the cell where cells shall not share it. Nothing else in the package makes a seed. It is the
    first 12 hexadecimal digits (48 bits) of the SHA-256 of the names as canonical JSON.

    >>> stream(3, "a", None, ["b", 1])
    158127368282260
    """
    listed = json.dumps([*names], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return int(hashlib.sha256(listed.encode("ascii")).hexdigest()[:12], 16)


def generator(stream: Stream) -> np.random.Generator:
    """Return the PCG64 generator of a stream; a generator is returned as it is."""
    if isinstance(stream, np.random.Generator):
        return stream
    seeds = stream if isinstance(stream, np.random.SeedSequence) else _seeds(stream)
    return np.random.Generator(np.random.PCG64(seeds))


def sequence(*names: object) -> np.random.SeedSequence:
    """Return the `stream` of ``names`` as one that streams of its own can be spawned from: chains, rounds."""
    return np.random.SeedSequence(stream(*names))


def blocks(n_draws: int, width: int, most: int = _CHUNK) -> Iterator[int]:
    """Yield numbers of draws that add up to ``n_draws``, each of no more than ``most`` / ``width``, at least 1.

    >>> list(blocks(10, 4, 16))
    [4, 4, 2]
    """
    step = max(1, most // max(width, 1))
    for start in range(0, n_draws, step):
        yield min(step, n_draws - start)


def patterns(table: Patterns, n_draws: int, stream: Stream) -> Floats:
    """Draw clusters by their distinct count vectors: totals ``(n_draws, C)``.

    table: clusters over C cells. The order of its patterns is part of the stream.
    n_draws: number of resamples, 1 or more.
    stream: seed or generator.

    >>> table = Patterns(np.eye(2, dtype=int), np.array([3, 7]))
    >>> patterns(table, 3, 1)
    array([[3., 7.],
           [5., 5.],
           [1., 9.]])
    """
    n_draws = whole("n_draws", n_draws, 1)
    rng = generator(stream)
    n = table.n_items
    if n == 0:
        return np.zeros((n_draws, table.counts.shape[1]))
    shares = table.weights / n
    totals = _totals_of(table)
    return np.concatenate(
        [totals(rng.multinomial(n, shares, size=size)) for size in blocks(n_draws, len(shares), _CHUNK)]
    )


def _totals_of(table: Patterns) -> Callable[[Ints], Floats]:
    """Return the function that takes numbers of clusters ``(B, P)`` to totals of cells ``(B, C)``."""
    place = table.place
    if place is None or len(np.unique(place)) < len(place):
        return lambda drawn: drawn @ table.matrix

    def spread(drawn: Ints) -> Floats:  # a pattern is one observation of its own cell: nothing to multiply
        found = np.zeros((len(drawn), table.counts.shape[1]))
        found[:, place] = drawn
        return found

    return spread


def weights(n: int, n_draws: int, stream: Stream) -> Floats:
    """Draw how often each of ``n`` clusters is in a resample: ``(n_draws, n)``, rows add up to n.

    For statistics that are linear in the clusters, at one matrix product for all resamples.

    n, n_draws: numbers of clusters and of resamples.
    stream: the seed that belongs to names, of `stream`.

    >>> weights(4, 2, 1)
    array([[1., 2., 0., 1.],
           [2., 0., 1., 1.]])
    """
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
    """Draw independent trials over the bins of one or more tables: ``(n_draws, cells, bins)``.

    counts: shape ``(cells, bins)``, 0 or more. Each cell keeps its number of trials; fractions are rounded to whole
        trials.
    n_draws: number of resamples, 1 or more.
    stream: seed or generator.

    >>> table([[4, 6]], 2, 1)[:, 0]
    array([[4., 6.],
           [7., 3.]])
    """
    given = floats("counts", counts, 2)
    n_draws = whole("n_draws", n_draws, 1)
    if (given < 0).any():
        raise ValueError("counts must be 0 or more")
    total = given.sum(axis=1, keepdims=True)
    # A cell without trials draws nothing; its shares only have to be some.
    probability = np.where(total > 0, given / np.where(total > 0, total, 1.0), 1 / max(given.shape[1], 1))
    size = (n_draws, len(given))
    drawn = generator(stream).multinomial(drawable(given.sum(axis=1)), probability, size=size)
    return drawn.astype(np.float64)


def _seeds(stream: int | Sequence[int]) -> int | tuple[int, ...]:
    if isinstance(stream, Sequence):
        return tuple(whole("seed", each) for each in stream)
    return whole("seed", stream)
