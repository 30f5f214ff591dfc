"""Where a response stands: stimulus, response and confidence as one number, and the responses of a group counted by it.

Within one stimulus the places are, for K ratings, in this order::

    0 .. 2K-1   response with confidence, from "S1, K" over "S1, 1" and "S2, 1" to "S2, K"
    2K          S1 without a confidence
    2K+1        S2 without a confidence
    2K+2        an answer, but no readable response (unparsed or refused)
    2K+3        no answer (not asked, failed, cut): it makes the group incomplete, and counts in coverage alone

and stimulus S2 follows stimulus S1. All a measure needs of a response is its place: responses are placed once, and rows
never looked at again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.counts import Counts as RatedCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_BOOT = 1000  # resamples of items for every interval


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of one stimulus × response × confidence table with K ratings."""

    ratings: int

    @property
    def width(self) -> int:
        """Places of one stimulus."""
        return 2 * self.ratings + 4

    @property
    def places(self) -> int:
        """All places."""
        return 2 * self.width

    def rated(self, totals: Floats) -> tuple[Floats, Floats]:
        """Return the rated trials of S1 and S2, each ``(..., 2 K)``, of totals ``(..., places)``."""
        k2 = 2 * self.ratings
        return totals[..., :k2], totals[..., self.width : self.width + k2]

    def outcomes(self, totals: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return hits, misses, false alarms and correct rejections ``(...)``, confidence stated or not."""
        found = totals @ _to_outcomes(self)
        return found[..., 0], found[..., 1], found[..., 2], found[..., 3]

    def to_outcomes(self) -> Ints:
        """Return the matrix that turns counts by place into those of `outcomes`, ``(places, 4)``."""
        return _to_outcomes(self).astype(np.int64)

    def where(self, stimulus: int | None = None, response: int | None = None) -> Floats:
        """Return a weight of 1 for places with this stimulus and this response (None: any), read-only."""
        return _where(self, stimulus, response)

    def answered(self) -> Floats:
        """Return a weight of 1 for places with an answer, readable or not."""
        weights = np.ones(self.width)
        weights[-1] = 0
        return np.tile(weights, 2)

    def correct(self) -> Floats:
        """Return a weight of 1 for places whose response is the stimulus."""
        return self.where(0, 0) + self.where(1, 1)

    def by_level(self) -> Ints:
        """Return the cell level × (wrong, correct) of each place, -1 without a confidence; for `Patterns.collapse`."""
        k = self.ratings
        level = np.concatenate([np.arange(k - 1, -1, -1), np.arange(k)])
        said = np.repeat([0, 1], k)
        nothing = np.full(4, -1)
        sides = [np.concatenate([2 * level + (said == stimulus), nothing]) for stimulus in (0, 1)]
        return np.concatenate(sides).astype(np.int64)

    def place_of(self, unanswered: Sequence[str]) -> pl.Expr:
        """Return the expression that gives a response's place; a confidence outside 1..K counts as none."""
        k = self.ratings
        response, confidence = pl.col("response").cast(pl.Int64), pl.col("confidence").cast(pl.Int64)
        known = response.is_in([0, 1])
        rated = known & confidence.is_between(1, k)
        within = (
            pl.when(pl.col("status").is_in(unanswered))
            .then(2 * k + 3)
            .when(rated & (response == 0))
            .then(k - confidence)
            .when(rated)
            .then(k + confidence - 1)
            .when(known)
            .then(2 * k + response)
            .otherwise(2 * k + 2)
        )
        return (within + self.width * pl.col("stimulus").cast(pl.Int64)).cast(pl.Int64)


# Of one number of ratings in a study, and asked for thousands of times.
@functools.cache
def _where(grid: Grid, stimulus: int | None, response: int | None) -> Floats:
    k = grid.ratings
    said = np.full(grid.width, float(response is None))
    if response is not None:
        said[response * k : (response + 1) * k] = 1
        said[2 * k + response] = 1
    weights = np.concatenate([said * (stimulus in (None, side)) for side in (0, 1)])
    weights.flags.writeable = False
    return weights


@functools.cache
def _to_outcomes(grid: Grid) -> Floats:
    return np.stack([grid.where(*each) for each in ((1, 1), (1, 0), (0, 1), (0, 0))], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Responses at each place, without what belongs to one item."""

    grid: Grid
    totals: Floats

    @property
    def rated(self) -> RatedCounts:
        """The rated responses."""
        return _rated(self.grid, self.totals)

    @property
    def outcomes(self) -> tuple[float, float, float, float]:
        """Hits, misses, false alarms and correct rejections."""
        return _outcomes(self.grid, self.totals)


@dataclass(frozen=True, eq=False)
class Counts:
    """The responses of one group in long form: ``number`` of them on one ``item`` at one ``place``.

    ``names`` are the ids of the group's items in order, ``item`` numbers them from 0.
    """

    grid: Grid
    names: pl.Series = field(repr=False)
    item: Ints
    place: Ints
    number: Ints
    stream: int  # seed of the group's own random numbers
    seed: int = 0  # of the study

    @cached_property
    def clustered(self) -> bool:
        """Whether an item was asked more than once."""
        return int(self.number.sum()) > len(self.names)

    @cached_property
    def patterns(self) -> resampling.Patterns:
        """Items over places; items with equal counts are one pattern."""
        places = self.grid.places
        if not self.clustered:
            return resampling.Patterns(
                np.eye(places, dtype=np.int64), np.bincount(self.place, minlength=places)
            )
        table = self.by_item(self.item, len(self.names))
        return resampling.merge_patterns(table, np.ones(len(table), dtype=np.int64))

    @cached_property
    def totals(self) -> Floats:
        """Responses at each place."""
        found = np.bincount(self.place, weights=self.number, minlength=self.grid.places)
        return found.astype(np.float64, copy=False)

    @cached_property
    def rated(self) -> RatedCounts:
        """The rated responses."""
        return _rated(self.grid, self.totals)

    @cached_property
    def outcomes(self) -> tuple[float, float, float, float]:
        """Hits, misses, false alarms and correct rejections."""
        return _outcomes(self.grid, self.totals)

    @property
    def n_rated(self) -> int:
        """The number of rated responses."""
        return int(self.rated.n[0])

    @cached_property
    def draws(self) -> Floats:
        """Totals of resampled items, ``(N_BOOT, places)``."""
        return resampling.patterns(self.patterns, N_BOOT, self.stream)

    def by_item(self, item: Ints, n: int) -> Ints:
        """Return how often each of ``n`` items stands at each place, given the number of the item of each count."""
        table = np.zeros((n, self.grid.places), dtype=np.int64)
        np.add.at(table, (item, self.place), self.number)
        return table


def _rated(grid: Grid, totals: Floats) -> RatedCounts:
    n_s1, n_s2 = grid.rated(totals)
    return RatedCounts(n_s1[None], n_s2[None])


def _outcomes(grid: Grid, totals: Floats) -> tuple[float, float, float, float]:
    hits, misses, false_alarms, rejections = map(float, grid.outcomes(totals))
    return hits, misses, false_alarms, rejections


_COUNTED: WeakKeyDictionary[Group, Counts] = (
    WeakKeyDictionary()
)  # measures and contrasts ask for the same groups


def counts_of(group: Group) -> Counts:
    """Return the responses of a group, unanswered ones among them, counted by place."""
    return all_counts([group])[0]


def all_counts(groups: Sequence[Group]) -> list[Counts]:
    """Return the same of many groups of one benchmark; those not counted before are counted together."""
    if new := [group for group in groups if group not in _COUNTED]:
        _count(new)
    return [_COUNTED[group] for group in groups]


def _count(groups: Sequence[Group]) -> None:
    benchmark = groups[0].benchmark
    grid = Grid(benchmark.wording.ratings)  # type: ignore[attr-defined]
    needed = ["item_id", "status", "stimulus", "response", "confidence"]
    frames = [group.frame[needed] for group in groups]
    frame = pl.concat(frames, how="vertical_relaxed")
    of_group = np.repeat(np.arange(len(groups)), [group.frame.height for group in groups])
    names = frame["item_id"].unique().sort()
    item = frame["item_id"].cast(pl.Enum(names)).to_physical().to_numpy()
    place = frame.select(grid.place_of(benchmark.unanswered)).to_series().to_numpy()
    # Group, item and place as one number, which is sorted in a third of the time.
    places = grid.places
    found, counted = np.unique((of_group * len(names) + item) * places + place, return_counts=True)
    ends = np.searchsorted(found, np.arange(1, len(groups)) * (len(names) * places))
    parts = (np.split(each, ends) for each in (found // places % len(names), found % places, counted))
    named: dict[bytes, pl.Series] = {}  # groups that hold the same items share their names
    for group, item, place, number in zip(groups, *parts, strict=True):
        own, numbers = np.unique(item, return_inverse=True)
        key = own.tobytes()
        if key not in named:
            named[key] = names.gather(own)
        seeds = benchmark.stream(*group.key), benchmark.context.seed
        _COUNTED[group] = Counts(grid, named[key], numbers, place, number, *seeds)


def numbered(counts: Sequence[Counts]) -> tuple[list[Ints], int]:
    """Return the number of each count's item, one item having one number in all groups, and how many items there are."""
    if not counts:
        return [], 0
    named = {id(each.names): each.names for each in counts}
    every = pl.concat(named.values()).rank("dense").to_numpy().astype(np.int64) - 1
    parts = np.split(every, np.cumsum([len(names) for names in named.values()])[:-1])
    number = dict(zip(named, parts, strict=True))
    return [number[id(each.names)][each.item] for each in counts], int(every.max(initial=-1)) + 1


def number(value: float | np.floating | None) -> float | None:
    """Return a plain number, None for one that is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)
