"""Shares of many respondents on shared items: the difference of every pair with its standard error, from a few products.

The standard error is the linearised one of `~.paired.paired_difference_from_counts`; the sums over items that it takes are
whole numbers and exact, so that no pair depends on which others are computed with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from metacog_pipeline.stats._arrays import Floats, Ints, counts

# A variance this small beside those of the two shares is what is left of them by rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class PairedShares:
    """One entry per pair, NaN where there is no number.

    Attributes
    ----------
    n
        Items that both answered.
    value
        Share of the first minus that of the second on those items.
    sem, p
        Standard error over items, and two-sided p of value / sem on n - 1 degrees of freedom: 1 where nothing differs, NaN
        where every item differs by the same amount.
    first_only, second_only
        Hits of the first on items without one of the second, and the other way round; of items asked once.
    """

    n: Ints
    value: Floats
    sem: Floats
    p: Floats
    first_only: Ints
    second_only: Ints


def paired_shares(hits: ArrayLike, asked: ArrayLike, wanted: Sequence[tuple[int, int]]) -> PairedShares:
    """Return the differences of ``wanted`` pairs of respondents.

    Parameters
    ----------
    hits, asked
        Shape ``(items, respondents)``: right answers and answers asked for; an item counts where both were asked.
    wanted
        Places of the two respondents of each pair.

    Examples
    --------
    >>> found = paired_shares([[1, 1], [1, 0], [1, 0], [0, 0]], np.ones((4, 2), dtype=int), [(0, 1)])
    >>> found.n, found.value, found.sem.round(3), found.first_only
    (array([4]), array([0.5]), array([0.289]), array([2]))
    """
    h, r = counts("hits", hits, 2).astype(np.float64), counts("asked", asked, 2).astype(np.float64)
    if h.shape != r.shape or bool((h > r).any()):
        raise ValueError(
            "an item has more right answers than answers asked for, or the tables differ in shape"
        )
    i, j = (np.array([pair[side] for pair in wanted], dtype=np.int64) for side in (0, 1))
    here = (r > 0).astype(np.float64)
    own = {
        name: table.T @ here
        for name, table in (("h", h), ("r", r), ("hh", h * h), ("hr", h * r), ("rr", r * r))
    }
    n, hh, hr, rr = here.T @ here, h.T @ h, h.T @ r, r.T @ r
    first = {name: table[i, j] for name, table in own.items()}
    second = {name: table[j, i] for name, table in own.items()}
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = first["h"] / first["r"], second["h"] / second["r"]
        spread = [
            (each["hh"] - 2 * share * each["hr"] + share * share * each["rr"]) / (each["r"] * each["r"])
            for each, share in ((first, a), (second, b))
        ]
        cross = hh[i, j] - b * hr[i, j] - a * hr[j, i] + a * b * rr[i, j]
        variance = spread[0] + spread[1] - 2 * cross / (first["r"] * second["r"])
        variance[variance <= _ROUNDING * (spread[0] + spread[1])] = 0.0
        size = n[i, j]
        sem = np.where(size > 1, np.sqrt(size / (size - 1) * variance), np.nan)
        p = np.minimum(1.0, 2 * stdtr(size - 1, -np.abs((a - b) / sem)))
    same = sem == 0
    p[same] = np.where(np.abs(a - b)[same] <= 1e-12, 1.0, np.nan)
    only = [(first["h"] - hh[i, j]), (second["h"] - hh[i, j])]
    return PairedShares(_whole(size), a - b, sem, p, _whole(only[0]), _whole(only[1]))


def _whole(values: Floats) -> NDArray[np.int64]:
    return values.astype(np.int64)
