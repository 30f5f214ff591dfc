"""Groups of responses: one model under one condition of one data set, from which measures are computed.

The unit of chance is the cluster: an item with all its runs, or items that hang together. Clusters with equal counts of the
combinations of ``coded`` columns are interchangeable, so drawing clusters is drawing count vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.display import board_condition
from metacog_pipeline.stats import resampling

if TYPE_CHECKING:
    from metacog_pipeline.benchmark.contract import Benchmark

T = TypeVar("T")
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# Resamples of a group's clusters: with so many the ends of a 95 % interval vary by about 1 % of its width.
N_DRAWS = 10_000
UNPARSABLE = "unparsable"  # status of a response whose reader failed


@dataclass(frozen=True, eq=False)
class Counts:
    """Clusters over the combinations of coded columns that occur."""

    patterns: resampling.Patterns  # counts of combinations per cluster, equal clusters merged
    codes: Mapping[str, Ints]  # column → its value in each combination, -1 for none

    def where(self, **values: int) -> Floats:
        """Return a weight of 1 for the combinations with these values, 0 for others."""
        return self._weight([self.codes[name] == value for name, value in values.items()])

    def known(self, *names: str) -> Floats:
        """Return a weight of 1 for the combinations in which all these columns have a value."""
        return self._weight([self.codes[name] >= 0 for name in names])

    def _weight(self, conditions: Sequence[NDArray[np.bool_]]) -> Floats:
        every = np.ones(self.patterns.counts.shape[1], dtype=np.bool_)
        weight: Floats = np.all([every, *conditions], axis=0).astype(np.float64)
        return weight

    @property
    def totals(self) -> Floats:
        """How often each combination occurs."""
        return self.patterns.totals.astype(np.float64)


def counted(rows: pl.DataFrame, coded: Sequence[str], clusters: Ints, n: int) -> tuple[Ints, dict[str, Ints]]:
    """Return how often each combination of ``coded`` occurs in each of ``n`` clusters, and the combinations."""
    if not rows.height:
        return np.zeros((n, 0), np.int64), {name: np.zeros(0, np.int64) for name in coded}
    values = rows.select(pl.col(name).fill_null(-1).cast(pl.Int64) for name in coded)
    found = values.unique().sort(coded).with_row_index("_index")
    index = (
        values.join(found, on=coded, how="left", maintain_order="left")["_index"].to_numpy().astype(np.int64)
    )
    codes = {name: found[name].to_numpy() for name in coded}
    return np.bincount(clusters * found.height + index, minlength=n * found.height).reshape(n, -1), codes


def merged(rows: pl.DataFrame, coded: Sequence[str], clusters: Ints, n: int) -> Counts:
    """Return the combinations of ``coded`` over ``n`` clusters, equal clusters merged."""
    if n < rows.height or not n:
        matrix, codes = counted(rows, coded, clusters, n)
        return Counts(resampling.merge_patterns(matrix, np.ones(n, dtype=np.int64)), codes)
    # Clusters of one response each are as many patterns as there are combinations: a million of them take no matrix.
    matrix, codes = counted(rows, coded, np.zeros(n, dtype=np.int64), 1)
    each = np.eye(matrix.shape[1], dtype=np.int64)
    return Counts(resampling.merge_patterns(each, matrix[0]), codes)


@dataclass(frozen=True, eq=False)
class Group:
    """One model under one condition: one run, or all (``run`` is None)."""

    benchmark: Benchmark[Any, Any, Any]  # bound to the study
    dataset: str
    task: str | None  # None where the benchmark has no tasks, as ``scoring`` below
    condition: str
    scoring: str | None
    model: str
    run: int | None
    source: str  # measured, imported or simulated: groups of different sources are never compared
    asked: int  # items × runs
    n_failed: int  # those of them without an answer
    n_unreadable: int  # those with one that could not be read
    rows: pl.DataFrame = field(repr=False)  # the answered responses, with derived columns
    frame: pl.DataFrame = field(repr=False)  # all of them

    @property
    def label(self) -> str:
        """The condition as boards show it: the task, where there is one, and the condition."""
        return board_condition(self.task, self.condition)

    @property
    def key(self) -> tuple[str, ...]:
        """Data set, task, condition, scoring and model, as far as there are any."""
        parts = (self.dataset, self.task, self.condition, self.scoring, self.model)
        return tuple(each for each in parts if each is not None)

    @property
    def coverage(self) -> float:
        """Readable answers / asked, 0..1."""
        return 1 - (self.n_failed + self.n_unreadable) / self.asked if self.asked else 0.0

    @property
    def incomplete(self) -> str | None:
        """What is missing; None where every item has an answer."""
        return f"incomplete: {self.n_failed} of {self.asked} not answered" if self.n_failed else None

    @property
    def complete(self) -> bool:
        """Whether every item was answered and there is any."""
        return not self.n_failed and self.rows.height > 0

    @cached_property
    def clusters(self) -> Ints:
        """The cluster of each of ``rows``, numbered from 0 in the order of their names."""
        return self.rows["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1

    @cached_property
    def counts(self) -> Counts:
        """Clusters of ``rows`` over combinations of the benchmark's coded columns."""
        n = int(self.clusters.max()) + 1 if len(self.clusters) else 0
        return merged(self.rows, self.benchmark.coded, self.clusters, n)

    @cached_property
    def draws(self) -> Floats:
        """How often each combination occurs when clusters are drawn again, ``(N_DRAWS, combinations)``."""
        return resampling.patterns(self.counts.patterns, N_DRAWS, self.benchmark.stream(*self.key))

    def among(self, column: str, values: Sequence[str]) -> Group:
        """Return the group with the responses that have one of ``values`` in ``column``, counted again."""
        here = pl.col(column).is_in(list(values))
        rows, frame = self.rows.filter(here), self.frame.filter(here)
        unreadable = rows.filter(pl.col("status").is_in((*self.benchmark.unreadable, UNPARSABLE))).height
        counts = {"asked": frame.height, "n_failed": frame.height - rows.height, "n_unreadable": unreadable}
        return replace(self, rows=rows, frame=frame, **counts)  # type: ignore[arg-type]

    def graded(self) -> tuple[Floats, Ints, Ints]:
        """Return confidence, correctness (0/1) and cluster of the rows that have both."""
        kept = self.rows.select(pl.all_horizontal(pl.col("confidence", "correct").is_not_null())).to_series()
        own = self.rows.filter(kept)
        correct = own["correct"].cast(pl.Int64).to_numpy()
        return own["confidence"].to_numpy(), correct, self.clusters[kept.to_numpy()]


def together(found: Iterable[T], *fields: str) -> Iterator[list[T]]:
    """Yield what is equal in source, data set and ``fields``, in the order it came: groups, or what has their names."""
    alike: dict[tuple[Any, ...], list[T]] = {}
    for each in found:
        key = tuple(getattr(each, name) for name in ("source", "dataset", *fields))
        alike.setdefault(key, []).append(each)
    yield from alike.values()
