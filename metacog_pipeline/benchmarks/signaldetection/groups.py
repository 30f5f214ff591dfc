"""Observations counted: one group per model, task and condition (and run), items kept apart.

All a measure needs of an observation is its place: stimulus, response and confidence. Scoring places every observation
once and never looks at rows again.
The places are those of :mod:`grid`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.signaldetection.grid import Grid
from metacog_pipeline.benchmarks.signaldetection.observe import UNANSWERED, UNPARSED
from metacog_pipeline.benchmarks.signaldetection.prompts import RATINGS
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.stats.clusters import Patterns, merge_patterns, resample

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RISKS = ("risk_s1", "risk_none", "risk_s2")  # from the lowest predicted criterion to the highest
KEY = ("benchmark", "dataset", "task", "condition", "model")


@dataclass(frozen=True)
class Group:
    """One model on one task under one condition.

    Attributes
    ----------
    key
        Benchmark, dataset, task, condition, model.
    run
        The run, or None where several are pooled (or one is, as the whole).
    source
        measured, published or simulated.
    asked, n_failed, n_unparsable
        Observations; those of them without an answer; those with an answer that could not be read in full.
    item, place, number
        Observations in long form: ``number`` of them on one ``item`` (numbered alike in all groups of a call) at one
        ``place``.
    """

    key: tuple[str, str, str, str, str]
    run: int | None
    source: str
    asked: int
    n_failed: int
    n_unparsable: int
    item: Ints
    place: Ints
    number: Ints
    grid: Grid

    @property
    def condition(self) -> str:
        """The condition's canonical name."""
        return self.key[3]

    @property
    def incomplete(self) -> str | None:
        """Say what is missing, or None where every item has an answer."""
        return f"incomplete: {self.n_failed} of {self.asked} not answered" if self.n_failed else None

    @cached_property
    def clustered(self) -> bool:
        """Whether an item was asked more than once."""
        return int(self.number.sum()) > len(np.unique(self.item))

    @cached_property
    def patterns(self) -> Patterns:
        """Items over places; items with equal counts are one pattern."""
        places = self.grid.places
        if not self.clustered:
            return Patterns(np.eye(places, dtype=np.int64), np.bincount(self.place, minlength=places))
        items, row = np.unique(self.item, return_inverse=True)
        table = np.zeros((len(items), places), dtype=np.int64)
        np.add.at(table, (row, self.place), self.number)
        return merge_patterns(table, np.ones(len(items), dtype=np.int64))

    @cached_property
    def totals(self) -> Floats:
        """Observations at each place."""
        return self.patterns.totals.astype(np.float64)

    def resampled(self, n_boot: int, seed: int) -> Floats:
        """Return totals of resampled items, ``(n_boot, places)``; with a stream of the group's own."""
        return resample(self.patterns, n_boot, derived_seed(seed, *self.key))


def derived_seed(seed: int, *names: object) -> int:
    """Return a seed that belongs to ``names``: no two groups share a stream of random numbers."""
    return int(sha256_hex(canonical_json([seed, *names]))[:12], 16)


def count(observations: pl.DataFrame, *, by_run: bool, ratings: int = RATINGS) -> list[Group]:
    """Return the groups of all groups in the order of their key.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA``: every item of every run, also those not asked.
    by_run
        One group per run, or one over all runs.
    ratings
        Number of confidence levels K; a confidence outside 1..K counts as none.
    """
    keys: tuple[str, ...] = (*KEY, "run") if by_run else KEY
    grid = Grid(ratings)
    placed = observations.lazy().select(
        *KEY,
        "run",
        "source",
        "status",
        item=pl.col("item_id").rank("dense").cast(pl.Int64),
        place=_place(grid),
    )
    about = (
        placed.group_by(keys)
        .agg(
            asked=pl.len(),
            n_failed=(pl.col("status").is_in(UNANSWERED)).sum(),
            n_unparsable=pl.col("status").is_in(UNPARSED).sum(),
            source=pl.when((pl.col("source") == "simulated").any())
            .then(pl.lit("simulated"))
            .otherwise(pl.lit("measured")),
        )
        .sort(keys)
        .collect()
    )
    counted = (
        placed.group_by(*keys, "item", "place")
        .agg(number=pl.len())
        .sort(*keys, "item", "place")
        .collect()
        .partition_by(keys, as_dict=True)
    )
    found = []
    for row in about.iter_rows(named=True):
        part = counted[tuple(row[name] for name in keys)]
        item, place, number = (part[name].to_numpy().astype(np.int64) for name in ("item", "place", "number"))
        found.append(
            Group(
                key=tuple(row[name] for name in KEY),
                run=row["run"] if by_run else None,
                source=row["source"],
                asked=row["asked"],
                n_failed=row["n_failed"],
                n_unparsable=row["n_unparsable"],
                item=item,
                place=place,
                number=number,
                grid=grid,
            )
        )
    return found


def in_groups(groups: Sequence[Group], *places: int) -> dict[tuple[str, ...], list[Group]]:
    """Return the groups by their source and the given parts of their key."""
    found: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        found.setdefault((group.source, *(group.key[place] for place in places)), []).append(group)
    return found


def _place(grid: Grid) -> pl.Expr:
    """Return the expression that gives an observation's place."""
    k = grid.ratings
    response, confidence = pl.col("response").cast(pl.Int64), pl.col("confidence").cast(pl.Int64)
    known = response.is_in([0, 1])
    rated = known & confidence.is_between(1, k)
    within = (
        pl.when(pl.col("status").is_in(UNANSWERED))
        .then(2 * k + 3)
        .when(rated & (response == 0))
        .then(k - confidence)
        .when(rated)
        .then(k + confidence - 1)
        .when(known)
        .then(2 * k + response)
        .otherwise(2 * k + 2)
    )
    return (within + grid.width * pl.col("stimulus").cast(pl.Int64)).cast(pl.Int64)
