"""Two or more groups on the same clusters: what makes a cluster hard for everybody cancels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, counts, same_length
from metacog_pipeline.stats.resampling.counting import merge_patterns
from metacog_pipeline.stats.resampling.intervals import N_TESTED, Difference, Kind, difference
from metacog_pipeline.stats.resampling.kernels import (
    Stream,
    blocks,
    generator,
    indices,
    occurrences,
    patterns,
)

Statistic = Callable[[Floats], Floats]

# Drawn clusters held at once (32 MB).
_BLOCK = 8_000_000
# Whole numbers below are exact in single precision, which halves the time of the products.
_EXACT = 2**24


def joint(tables: Sequence[ArrayLike], n_draws: int, stream: Stream) -> list[Floats]:
    """Draw the same clusters for several tables, by their joint patterns.

    Parameters
    ----------
    tables
        Each ``(clusters, C_i)``: counts; row k of all is the same cluster. Their order is part of the stream.
    n_draws, stream
        Number of resamples and their seed.

    Returns
    -------
    list
        Totals ``(n_draws, C_i)`` of each table.

    Examples
    --------
    >>> first, second = joint([[[1], [0]], [[0], [2]]], 3, 1)
    >>> (2 * first + second).ravel()
    array([4., 4., 4.])
    """
    rows = [counts("a table of clusters", each, 2) for each in tables]
    n = same_length(**{f"table {place}": each for place, each in enumerate(rows)})
    drawn = patterns(merge_patterns(np.hstack(rows), np.ones(n, dtype=np.int64)), n_draws, stream)
    ends = np.cumsum([0, *(each.shape[1] for each in rows)])
    return [drawn[:, start:end] for start, end in pairwise(ends)]


def joint_by_index(tables: Sequence[ArrayLike], n_draws: int, stream: Stream) -> list[Floats]:
    """Draw the same clusters for several tables, cluster by cluster: what `joint` gives, from other random numbers.

    For many tables at once, whose joint patterns would be as many as the clusters.

    >>> first, second = joint_by_index([[[1], [0]], [[0], [2]]], 3, 1)
    >>> (2 * first + second).ravel()
    array([4., 4., 4.])
    """
    rows = [counts("a table of clusters", each, 2) for each in tables]
    n = same_length(**{f"table {place}": each for place, each in enumerate(rows)})
    small = all(n * int(each.max(initial=0)) < _EXACT for each in rows)
    held = [each.astype(np.float32 if small else np.float64) for each in rows]
    rng = generator(stream)
    found: list[list[Floats]] = [[] for _ in rows]
    for size in blocks(n_draws, n, _BLOCK):
        weights = occurrences(indices(n, size, rng)).astype(held[0].dtype)
        for parts, each in zip(found, held, strict=True):
            parts.append((weights @ each).astype(np.float64))
    return [np.concatenate(parts) for parts in found]


def paired(
    groups: Sequence[ArrayLike],
    statistic: Statistic | Sequence[Statistic],
    stream: Stream,
    n_draws: int = N_TESTED,
    kind: Kind = "widened",
    *,
    tolerance: float = 0.0,
) -> Difference:
    """Return a statistic of the first group minus that of the second over the same resampled clusters.

    Parameters
    ----------
    groups
        Two tables ``(clusters, C_i)`` of counts; row k of both is the same cluster.
    statistic
        Maps totals ``(B, C_i)`` to ``(B,)``, NaN where undefined; one for both groups, or one for each.
    stream, n_draws
        Seed and number of resamples.
    kind, tolerance
        Of `difference`.

    Examples
    --------
    >>> def accuracy(totals):
    ...     return totals[:, 1] / totals.sum(axis=1)
    >>> right, wrong = [0, 1], [1, 0]
    >>> found = paired([[right] * 8 + [wrong] * 2, [right] * 5 + [wrong] * 5], accuracy, stream=1)
    >>> round(found.value, 2), round(found.se, 2), round(found.p, 2)
    (0.3, 0.15, 0.06)
    """
    if len(groups) != 2:
        raise ValueError(f"{len(groups)} groups: a pair is two")
    first, second = (statistic, statistic) if callable(statistic) else statistic
    totals = [counts("a table of clusters", each, 2).sum(axis=0)[None].astype(np.float64) for each in groups]
    value = float(first(totals[0])[0] - second(totals[1])[0])
    drawn = joint(groups, n_draws, stream)
    return difference(value, first(drawn[0]) - second(drawn[1]), kind, tolerance=tolerance)
