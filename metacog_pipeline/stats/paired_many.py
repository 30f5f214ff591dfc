"""Shares of many respondents on shared items: the difference of every pair with its standard error, from a few products.

The standard error is that of two ratios over items, linearised; the sums over items that it takes are
whole numbers and exact, so that no pair depends on which others are computed with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from metacog_pipeline.stats import intervals
from metacog_pipeline.stats._arrays import Floats, Ints, counts
from metacog_pipeline.stats.intervals import wilson_ends

# A variance this small against those of the two shares is what is left of them by rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class PairedShares:
    """One entry per pair, NaN where there is no number, as of intervals and errors with fewer than two items."""

    n: Ints  # items that both answered
    value: Floats  # share of the first minus that of the second on those items
    low: Floats  # ends of the 95 % interval: Wilson's of the two, on effective numbers of items, and their correlation
    high: Floats
    sem: Floats  # standard error over items
    p: Floats  # of value / sem on n - 1 degrees of freedom: 1 where nothing differs, NaN where all items differ alike
    first_only: (
        Ints  # hits of the first on items without one of the second, asked once; and the other way round
    )
    second_only: Ints


def paired_shares(hits: ArrayLike, asked: ArrayLike, wanted: Sequence[tuple[int, int]]) -> PairedShares:
    """Return the differences of ``wanted`` pairs of respondents, by their places, on the items that both were asked.

    ``hits`` and ``asked`` ``(items, respondents)`` count right answers and answers asked for.

    >>> found = paired_shares([[1, 1], [1, 0], [1, 0], [0, 0]], np.ones((4, 2), dtype=int), [(0, 1)])
    >>> found.n, found.value, found.sem.round(3), found.first_only
    (array([4]), array([0.5]), array([0.289]), array([2]))
    """
    given, runs = counts("hits", hits, 2), counts("asked", asked, 2)
    if given.shape != runs.shape or bool((given > runs).any()):
        raise ValueError(
            "an item has more right answers than answers asked for, or the tables differ in shape"
        )
    i, j = (np.array([pair[side] for pair in wanted], dtype=np.int64) for side in (0, 1))
    # Only respondents that are first in some pair are multiplied with those that are second in one.
    (firsts, at), (seconds, to) = (np.unique(each, return_inverse=True) for each in (i, j))
    h, r, here = (each[:, firsts].astype(np.float64) for each in (given, runs, runs > 0))
    g, q, there = (each[:, seconds].astype(np.float64) for each in (given, runs, runs > 0))

    def summed(one: Floats, other: Floats) -> Floats:
        """Return sums over the items that both of a pair answered; of whole numbers, so they are exact."""
        return np.asarray((one.T @ other)[at, to])

    first = {name: summed(each, there) for name, each in _own(h, r).items()}
    second = {name: summed(here, each) for name, each in _own(g, q).items()}
    size, hh, hr, rh, rr = summed(here, there), summed(h, g), summed(h, q), summed(r, g), summed(r, q)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = first["h"] / first["r"], second["h"] / second["r"]
        spread = [
            (each["hh"] - 2 * share * each["hr"] + share * share * each["rr"]) / (each["r"] * each["r"])
            for each, share in ((first, a), (second, b))
        ]
        cross = hh - b * hr - a * rh + a * b * rr
        variance = spread[0] + spread[1] - 2 * cross / (first["r"] * second["r"])
        variance[variance <= _ROUNDING * (spread[0] + spread[1])] = 0.0
        sem = np.where(size > 1, np.sqrt(size / (size - 1) * variance), np.nan)
        p = np.minimum(1.0, 2 * stdtr(size - 1, -np.abs((a - b) / sem)))
    same = sem == 0
    p[same] = np.where(np.abs(a - b)[same] <= 1e-12, 1.0, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = cross / (first["r"] * second["r"]) / np.sqrt(spread[0] * spread[1])
        low_a, high_a = _wilson(a, size, first["r"], spread[0])
        low_b, high_b = _wilson(b, size, second["r"], spread[1])
        both = intervals.both_ends((a, low_a, high_a), (b, low_b, high_b), correlation)
        low, high = (np.where(size > 1, end, np.nan) for end in both)
    only = [(each["h"] - hh).astype(np.int64) for each in (first, second)]
    return PairedShares(size.astype(np.int64), a - b, low, high, sem, p, *only)


def _wilson(share: Floats, items: Floats, answers: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's interval on as many independent items as have the error of these (`~.intervals.ratio`)."""
    error = items / (items - 1) * spread
    n = np.clip(share * (1 - share) / error + 1, 1.0, answers)
    n = np.where(share * (1 - share) > 0, np.where(error > 0, n, answers), items)
    return wilson_ends(share, n)


def _own(hits: Floats, asked: Floats) -> dict[str, Floats]:
    return {"h": hits, "r": asked, "hh": hits * hits, "hr": hits * asked, "rr": asked * asked}
