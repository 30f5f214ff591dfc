"""Shares of many respondents on shared items: the difference of every pair with its standard error, from a few products.

The standard error is that of two ratios over items, linearised; the sums over items that it takes are
whole numbers and exact, so that no pair depends on which others are computed with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from metacog_pipeline.stats import two_intervals
from metacog_pipeline.stats._arrays import Floats, Ints, counts
from metacog_pipeline.stats.proportions import wilson_ends

# A variance this small beside those of the two shares is what is left of them by rounding.
_ROUNDING = 1e-13
# Whole numbers below are exact in single precision.
_EXACT = 2**24


@dataclass(frozen=True, slots=True, eq=False)
class PairedShares:
    """One entry per pair, NaN where there is no number.

    Attributes
    ----------
    n, value
        Items that both answered; share of the first minus that of the second on those items.
    low, high
        Ends of the 95 % interval: what follows from Wilson's intervals of the two, on their effective numbers of items, and
        their correlation over items. NaN with fewer than two items.
    sem, p
        Standard error over items, and two-sided p of value / sem on n - 1 degrees of freedom: 1 where nothing differs, NaN
        where every item differs by the same amount.
    first_only, second_only
        Hits of the first on items without one of the second, and the other way round; of items asked once.
    """

    n: Ints
    value: Floats
    low: Floats
    high: Floats
    sem: Floats
    p: Floats
    first_only: Ints
    second_only: Ints


def paired_shares(hits: ArrayLike, asked: ArrayLike, wanted: Sequence[tuple[int, int]]) -> PairedShares:
    """Return the differences of ``wanted`` pairs of respondents, by their places in the tables.

    ``hits`` and ``asked`` ``(items, respondents)`` count right answers and answers asked for; an item counts where
    both were asked.

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
    # Only respondents that stand first in some pair are multiplied with those that stand second in one.
    (firsts, at), (seconds, to) = (np.unique(each, return_inverse=True) for each in (i, j))
    sums = _sums(given[:, firsts], runs[:, firsts], given[:, seconds], runs[:, seconds])
    of_first, of_second, *products = sums
    first = {name: table[at, to] for name, table in of_first.items()}
    second = {name: table[at, to] for name, table in of_second.items()}
    size, hh, hr, rh, rr = (table[at, to] for table in products)
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
        both = two_intervals.both_ends((a, low_a, high_a), (b, low_b, high_b), correlation)
        low, high = (np.where(size > 1, end, np.nan) for end in both)
    only = [(first["h"] - hh), (second["h"] - hh)]
    return PairedShares(_whole(size), a - b, low, high, sem, p, _whole(only[0]), _whole(only[1]))


def _wilson(share: Floats, items: Floats, answers: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's interval on as many independent items as have the error of these (`~.resampling.ratio`)."""
    error = items / (items - 1) * spread
    n = np.clip(share * (1 - share) / error + 1, 1.0, answers)
    n = np.where(share * (1 - share) > 0, np.where(error > 0, n, answers), items)
    return wilson_ends(share, n)


def _sums(
    hits: Ints, asked: Ints, other_hits: Ints, other_asked: Ints
) -> tuple[dict[str, Floats], dict[str, Floats], Floats, Floats, Floats, Floats, Floats]:
    """Return sums over the items that two respondents share, all of ``hits`` × all of ``other_hits``: of the first's hits,
    answers, their squares and product; of the second's; the number of items; products of hits with hits, hits with
    answers, answers with hits, answers with answers.
    """
    most = max(int(asked.max(initial=0)), int(other_asked.max(initial=0)))
    exact = len(hits) * most * most < _EXACT
    kind: type[np.floating[Any]] = np.float32 if exact else np.float64
    h: NDArray[Any]
    r: NDArray[Any]
    h, r, g, q = (each.astype(kind) for each in (hits, asked, other_hits, other_asked))
    hh, hr, rh, rr = (_product(a, b) for a, b in ((h, g), (h, q), (r, g), (r, q)))
    if most <= 1:  # squares and products of 0 and 1 are themselves
        return (_own(hr, rr, hr, hr, rr), _own(rh, rr, rh, rh, rr), rr, hh, hr, rh, rr)
    here, there = (r > 0).astype(kind), (q > 0).astype(kind)
    first = _own(*(_product(each, there) for each in (h, r, h * h, h * r, r * r)))
    second = _own(*(_product(here, each) for each in (g, q, g * g, g * q, q * q)))
    return first, second, _product(here, there), hh, hr, rh, rr


def _own(*sums: Floats) -> dict[str, Floats]:
    return dict(zip(("h", "r", "hh", "hr", "rr"), sums, strict=True))


def _product(first: NDArray[Any], second: NDArray[Any]) -> Floats:
    made: Floats = (first.T @ second).astype(np.float64)
    return made


def _whole(values: Floats) -> NDArray[np.int64]:
    return values.astype(np.int64)
