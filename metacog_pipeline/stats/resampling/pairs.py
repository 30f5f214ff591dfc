"""Two or more groups on the same clusters: what makes a cluster hard for everybody cancels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, counts, same_length
from metacog_pipeline.stats.resampling.counting import merge_patterns
from metacog_pipeline.stats.resampling.kernels import Stream, patterns


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
