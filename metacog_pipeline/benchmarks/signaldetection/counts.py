"""Responses of a group counted over stimulus, response and confidence: all that a measure needs of them.

Within one stimulus the places are, for K ratings, in this order, and stimulus S2 follows stimulus S1::

    0 .. 2K-1   response with confidence, from "S1, K" over "S1, 1" and "S2, 1" to "S2, K"
    2K, 2K+1    S1, S2 without a confidence
    2K+2        an answer, but no readable response (unparsed or refused)
    2K+3        no answer (not asked, failed, cut): it makes the group incomplete, and counts in coverage alone
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.counts import Counts as RatedCounts

N_BOOT = 1000  # resamples of items for every interval
UNREADABLE, UNANSWERED = -1, -2
_COUNTED: WeakKeyDictionary[Group, Counts] = WeakKeyDictionary()  # every measure asks for the same groups


@dataclass(frozen=True)
class Grid:
    """The places of a table of two stimuli, two responses and K ratings, each with its stimulus, response and rating."""

    ratings: int

    @property
    def width(self) -> int:
        """Places of one stimulus."""
        return 2 * self.ratings + 4

    @property
    def places(self) -> int:
        """All places."""
        return 2 * self.width

    @cached_property
    def stimulus(self) -> Ints:
        """The stimulus of each place."""
        return np.repeat([0, 1], self.width)

    @cached_property
    def response(self) -> Ints:
        """The response of each place, `UNREADABLE` or `UNANSWERED` without one."""
        k = self.ratings
        return np.tile(np.repeat([0, 1, 0, 1, UNREADABLE, UNANSWERED], [k, k, 1, 1, 1, 1]), 2)

    @cached_property
    def confidence(self) -> Ints:
        """The confidence of each place, 1 to K, 0 without one."""
        k = self.ratings
        return np.tile([*range(k, 0, -1), *range(1, k + 1), 0, 0, 0, 0], 2)

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the response of each place is the stimulus."""
        return np.equal(self.response, self.stimulus)

    def where(self, stimulus: int, response: int) -> Floats:
        """Return a weight of 1 for the places of a stimulus and a response, ``(places,)``."""
        found: Floats = ((self.stimulus == stimulus) & (self.response == response)).astype(np.float64)
        return found

    def outcomes(self, totals: Floats) -> tuple[Floats, ...]:
        """Return hits, misses, false alarms and correct rejections of totals ``(..., places)``, each ``(...)``."""
        return tuple(totals @ self.where(*each) for each in ((1, 1), (1, 0), (0, 1), (0, 0)))

    def rated(self, totals: Floats) -> RatedCounts:
        """Return the rated trials of totals ``(cells, places)``."""
        k2 = 2 * self.ratings
        return RatedCounts(totals[:, :k2], totals[:, self.width : self.width + k2])

    def by_level(self) -> Ints:
        """Return the cell level × (wrong, correct) of each place, -1 without a confidence; for `Patterns.collapse`."""
        return np.where(self.confidence > 0, 2 * (self.confidence - 1) + self.correct, -1)

    def places_of(self, frame: pl.DataFrame, unanswered: Sequence[str]) -> Ints:
        """Return the place of each response; a confidence outside 1..K counts as none."""
        k, lost = self.ratings, frame["status"].is_in(unanswered).to_numpy()
        stimulus, response, confidence = (
            frame[name].fill_null(-1).cast(pl.Int64).to_numpy()
            for name in ("stimulus", "response", "confidence")
        )
        rated = (confidence >= 1) & (confidence <= k)
        place = np.where(response >= 0, 2 * k + response, 2 * k + 2)
        place = np.where(rated & (response == 0), k - confidence, place)
        place = np.where(rated & (response == 1), k + confidence - 1, place)
        found: Ints = np.where(lost, 2 * k + 3, place) + self.width * stimulus
        return found


@dataclass(frozen=True, eq=False)
class Counts:
    """The responses of one group in long form: ``number`` of them on one ``item`` at one ``place``.

    ``names`` are the ids of the group's items in order, ``item`` numbers them from 0; ``stream`` is the seed of the group's
    own random numbers.
    """

    grid: Grid
    names: pl.Series = field(repr=False)
    item: Ints
    place: Ints
    number: Ints
    stream: int

    @cached_property
    def clustered(self) -> bool:
        """Whether an item was asked more than once."""
        return int(self.number.sum()) > len(self.names)

    @cached_property
    def patterns(self) -> resampling.Patterns:
        """Items over places; items with equal counts are one pattern."""
        if not self.clustered:
            eye = np.eye(self.grid.places, dtype=np.int64)
            return resampling.Patterns(eye, self.totals.astype(np.int64))
        table = np.zeros((len(self.names), self.grid.places), dtype=np.int64)
        table[self.item, self.place] = self.number
        return resampling.merge_patterns(table, np.ones(len(table), dtype=np.int64))

    @cached_property
    def totals(self) -> Floats:
        """Responses at each place, ``(places,)``."""
        found = np.bincount(self.place, weights=self.number, minlength=self.grid.places)
        return found.astype(np.float64, copy=False)

    @cached_property
    def draws(self) -> Floats:
        """Totals of resampled items, ``(N_BOOT, places)``."""
        return resampling.patterns(self.patterns, N_BOOT, self.stream)

    @property
    def rated(self) -> RatedCounts:
        """The rated responses."""
        return self.grid.rated(self.totals[None])

    @property
    def n_rated(self) -> int:
        """The number of rated responses."""
        return int(self.rated.n[0])

    @property
    def n_readable(self) -> int:
        """The number of readable responses."""
        return int(self.totals @ (self.grid.response >= 0))


def counts_of(group: Group) -> Counts:
    """Return the responses of a group, unanswered ones among them, counted by place."""
    if group not in _COUNTED:
        benchmark, frame = group.benchmark, group.frame
        grid = Grid(benchmark.wording.ratings)  # type: ignore[attr-defined]
        names = frame["item_id"].unique().sort()
        item = frame["item_id"].cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy()
        place = grid.places_of(frame, benchmark.unanswered)
        found, number = np.unique(item * grid.places + place, return_counts=True)
        item, place = np.divmod(found, grid.places)
        _COUNTED[group] = Counts(grid, names, item, place, number, benchmark.stream(*group.key))
    return _COUNTED[group]


def numbered(counts: Sequence[Counts]) -> tuple[list[Ints], int]:
    """Return the number of each count's item, alike in all groups, and how many items there are."""
    every = pl.concat([each.names for each in counts]).unique().sort()
    numbers = [every.search_sorted(each.names).cast(pl.Int64).to_numpy() for each in counts]
    return [own[each.item] for own, each in zip(numbers, counts, strict=True)], len(every)
