"""Trials of a binary task with ratings -> counts, the form every signal detection measure here starts from.

A trial is (stimulus, response, confidence): stimulus and response 0 for S1 and 1 for S2, confidence 1 .. K. Its counts
are two vectors of length 2 K, one per stimulus, whose bins run along the internal evidence (the layout of Maniscalco &
Lau 2012, *Consciousness and Cognition* 21)::

    index        0     1    ...  K-1   K    ...  2K-1
    response     S1    S1   ...  S1    S2   ...  S2
    confidence   K     K-1  ...  1     1    ...  K

A table holds many cells (a cell: say, one model on one task) of equal K. Corrections against rates of 0 and 1, none of them
ever applied unasked, and each recorded in the result:

=============  ====================================================================================================
``none``       the counts as they are
``pad``        1 / (2 K) added to each of the 4 K counts of every cell, with or without zeros
``loglinear``  type 1 only: (hits + 1/2) / (N + 1), Hautus (1995); d' and c are those of ``pad``
``half``       a rate of 0 becomes 1 / (2 n), a rate of 1 becomes 1 - 1 / (2 n); other rates stay
=============  ====================================================================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, floats, same_length, whole
from metacog_pipeline.stats._arrays import counts as whole_counts

CORRECTIONS = ("none", "pad", "loglinear", "half")


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of many cells with the same number of ratings K."""

    # (cells, 2 K): trials with stimulus S1 and S2, in the order of the module's table; fractions allowed
    n_s1: Floats
    n_s2: Floats
    correction: str = "none"  # ``"none"``, or ``"pad"`` where :func:`padded` was applied
    pad: float = 0.0  # what was added to each of the 4 K counts of a cell

    def __post_init__(self) -> None:
        n_s1, n_s2 = _side("n_s1", self.n_s1), _side("n_s2", self.n_s2)
        if n_s1.shape != n_s2.shape:
            raise ValueError(f"n_s1 has shape {n_s1.shape} and n_s2 {n_s2.shape}: they must be equal")
        if n_s1.shape[1] == 0 or n_s1.shape[1] % 2:
            raise ValueError(f"counts of length {n_s1.shape[1]}: an even length 2 K is needed")
        object.__setattr__(self, "n_s1", n_s1)
        object.__setattr__(self, "n_s2", n_s2)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.n_s1)

    @property
    def ratings(self) -> int:
        """Number of confidence levels K."""
        return int(self.n_s1.shape[1]) // 2

    @property
    def n1(self) -> Floats:
        """Trials with stimulus S1 (with what was padded), shape ``(cells,)``, as the next six."""
        return np.asarray(self.n_s1.sum(axis=1))

    @property
    def n2(self) -> Floats:
        """Trials with stimulus S2."""
        return np.asarray(self.n_s2.sum(axis=1))

    @property
    def n(self) -> Floats:
        """All trials."""
        return self.n1 + self.n2

    @property
    def hits(self) -> Floats:
        """S2 called S2."""
        return np.asarray(self.n_s2[:, self.ratings :].sum(axis=1))

    @property
    def misses(self) -> Floats:
        """S2 called S1."""
        return np.asarray(self.n_s2[:, : self.ratings].sum(axis=1))

    @property
    def false_alarms(self) -> Floats:
        """S1 called S2."""
        return np.asarray(self.n_s1[:, self.ratings :].sum(axis=1))

    @property
    def correct_rejections(self) -> Floats:
        """S1 called S1."""
        return np.asarray(self.n_s1[:, : self.ratings].sum(axis=1))

    @property
    def by_confidence(self) -> tuple[Floats, Floats]:
        """Correct and wrong trials by confidence 1 .. K, responses pooled, each of shape ``(cells, K)``."""
        k = self.ratings
        correct = self.n_s1[:, :k][:, ::-1] + self.n_s2[:, k:]
        return correct, self.n_s2[:, :k][:, ::-1] + self.n_s1[:, k:]

    def take(self, rows: ArrayLike) -> Counts:
        """Return the cells of the given indices (or boolean mask), in that order; an int gives one cell."""
        index = np.atleast_1d(np.asarray(rows))
        return Counts(self.n_s1[index], self.n_s2[index], self.correction, self.pad)


def counts(n_s1: ArrayLike, n_s2: ArrayLike) -> Counts:
    """Return given counts as a table: ``n_s1``, ``n_s2`` ``(2 K,)`` or ``(cells, 2 K)``, 0 or more, in the module's order.

    >>> table = counts([9, 4, 3, 2], [2, 3, 5, 8])
    >>> table.cells, table.ratings, table.hits.tolist(), table.false_alarms.tolist()
    (1, 2, [13.0], [5.0])
    """
    return Counts(np.atleast_2d(np.asarray(n_s1)), np.atleast_2d(np.asarray(n_s2)))


def counts_from_trials(
    stimulus: ArrayLike, response: ArrayLike, confidence: ArrayLike, ratings: int, groups: ArrayLike | None = None,
    cells: int = 1,
) -> Counts:  # fmt: skip
    """Count trials of ``stimulus`` and ``response`` 0 (S1) or 1 (S2), and ``confidence`` 1 .. ``ratings``, ``(N,)`` each.

    ``groups`` ``(N,)``: the cell of each trial, 0 .. ``cells`` - 1; None: one cell. A trial with a part that is NaN or none
    of these is not counted. Unequal lengths and text are a ValueError.

    >>> counts_from_trials([0, 1, 1], [0, 1, np.nan], [2, 1, 1], 2).n_s1.tolist()
    [[1.0, 0.0, 0.0, 0.0]]
    """
    k = whole("ratings", ratings, 1)
    given = {"stimulus": stimulus, "response": response, "confidence": confidence}
    shown, said, rating = (floats(name, values, gaps=True) for name, values in given.items())
    n = same_length(stimulus=shown, response=said, confidence=rating)
    group = np.zeros(n, dtype=np.int64) if groups is None else whole_counts("groups", groups)
    same_length(stimulus=shown, groups=group)
    # Comparisons with NaN are false, so a missing part is never good; the floor finds fractions.
    good = ((shown == 0) | (shown == 1)) & ((said == 0) | (said == 1))
    good &= (rating >= 1) & (rating <= k) & (rating == np.floor(rating))
    first, second, level = (part[good].astype(np.int64) for part in (shown, said, rating))
    position = np.where(second == 0, k - level, k + level - 1)
    code = (group[good] * 2 + first) * 2 * k + position
    table = np.bincount(code, minlength=cells * 4 * k).reshape(cells, 2, 2 * k).astype(np.float64)
    return Counts(table[:, 0], table[:, 1])


def padded(table: Counts, amount: float | None = None) -> Counts:
    """Add ``amount``, 0 or more, by default 1 / (2 K), to each of the 4 K counts of every cell of an unpadded ``table``.

    >>> padded(counts([9, 4, 3, 2], [2, 3, 5, 8])).n_s1.tolist()
    [[9.25, 4.25, 3.25, 2.25]]
    """
    if table.correction != "none":
        raise ValueError(f"the counts are padded already, by {table.pad:g} per cell")
    added = 1 / (2 * table.ratings) if amount is None else float(amount)
    if not 0 <= added <= 1e6:
        raise ValueError(f"amount to pad is {added}: a number in 0 .. 1e6 is needed")
    if added == 0:
        return table
    return Counts(table.n_s1 + added, table.n_s2 + added, "pad", added)


def check_correction(correction: str, table_correction: str = "none") -> str:
    """Return the name of the correction in force, or raise a ValueError for an unknown one or a second one."""
    if correction not in CORRECTIONS:
        raise ValueError(f"correction {correction!r} is unknown: one of {', '.join(CORRECTIONS)}")
    if "none" not in (correction, table_correction):
        raise ValueError(
            f"the counts are corrected already ({table_correction}): correction {correction!r} would be twice"
        )
    return correction if table_correction == "none" else table_correction


def corrected_rate(successes: Floats, n: Floats, correction: str) -> tuple[Floats, Floats]:
    """Return (rate, n in force) after a correction; NaN where there were no trials and nothing was added.

    ``pad`` and ``loglinear`` are the same for a rate: (successes + 1/2) / (n + 1), which is 1/2 of an empty set.
    """
    if correction in ("pad", "loglinear"):
        return (successes + 0.5) / (n + 1), n + 1
    observed = np.where(n > 0, n, 1.0)
    rate = successes / observed
    if correction == "half":
        rate = np.where(successes <= 0, 0.5 / observed, np.where(successes >= n, 1 - 0.5 / observed, rate))
    return np.where(n > 0, rate, np.nan), n


def _side(name: str, values: ArrayLike) -> Floats:
    array = floats(name, values, 2)
    if array.size and float(array.min()) < 0:
        raise ValueError(f"{name} holds the negative count {float(array.min()):g}")
    return array


_NUMBER = re.compile(r"[^\s;,\[\]()]+")
LARGEST_COUNT = 1e15


def count_columns(names: Sequence[str]) -> tuple[str, str] | None:
    """Return those of ``names`` that are ``nR_S1`` and ``nR_S2``, 2 K counts of either stimulus, in any case; else None.

    >>> count_columns(["cell", "nR_S1", "nR_S2"])
    ('nR_S1', 'nR_S2')
    """
    found = {name.lower(): name for name in names}
    return (found["nr_s1"], found["nr_s2"]) if {"nr_s1", "nr_s2"} <= {*found} else None


def read_counts(first: Any, second: Any) -> Counts:
    """Return one cell from its counts of S1 and of S2, lists or text of numbers; anything else is a ValueError.

    >>> read_counts("9;4;3;2", [2, 3, 5, 8]).hits.tolist()
    [13.0]
    """
    sides: list[list[float]] = []
    for side in (first, second):
        text = "" if side is None else str(side)[:100_000]
        try:
            sides.append([*map(float, side if isinstance(side, list) else _NUMBER.findall(text))])
        except (TypeError, ValueError):
            raise ValueError(f"{text[:40]!r} is no count: 2 K numbers joined by ; are needed") from None
        if LARGEST_COUNT < max(sides[-1], default=0) < math.inf:
            raise ValueError(f"a count is above {LARGEST_COUNT:g}; correct the counts")
    return counts(*sides)
