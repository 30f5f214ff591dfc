"""Measures that benchmarks share: shares of responses, clusters being the unit of chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from metacog_pipeline.benchmark.groups import Counts, Floats, Group
from metacog_pipeline.benchmark.measures import Where
from metacog_pipeline.stats import intervals
from metacog_pipeline.stats.estimate import NO_ITEMS, Estimate, unavailable

Compute = Callable[[Group], Estimate | None]


@dataclass(frozen=True)
class Resting:
    """A measure that says what holds of the responses it rests on."""

    compute: Compute
    rests_on: Where

    def __call__(self, group: Group) -> Estimate | None:
        """Return the measure of a group."""
        return self.compute(group)


def share(
    top: Mapping[str, int],
    *,
    known: tuple[str, ...] = (),
    only: Mapping[str, int] | None = None,
    why: str = NO_ITEMS,
) -> Resting:
    """Return the share of responses with the values ``top``, by coded column, among those with the values ``only``.

    ``known``: columns in which a response must have a value to count, by default those of ``top``; ``why``: the status
    where none counts.
    """
    needed, among = known or tuple(top), dict(only or {})

    def compute(group: Group) -> Estimate:
        counts = group.counts
        return ratio(counts, counts.where(**top), counts.known(*needed) * counts.where(**among), why)

    values = tuple((name, (value,)) for name, value in among.items())
    return Resting(compute, (*values, *((name, None) for name in needed if name not in among)))


@dataclass(frozen=True, slots=True)
class Detection:
    """A table of signal detection: column and value of a signal, column and value of the response that reports it."""

    signal: tuple[str, int]
    response: tuple[str, int]

    def weights(self, counts: Counts) -> Floats:
        """Return weights ``(combinations, 4)``: hits, misses, false alarms, correct rejections."""
        (of, present), (said, yes) = self.signal, self.response
        cells = ((present, yes), (present, 1 - yes), (1 - present, yes), (1 - present, 1 - yes))
        return np.column_stack([counts.where(**{of: there, said: each}) for there, each in cells])

    def where(self, *cells: int) -> Where:
        """Return what holds of the responses in the cells, all of them by default."""
        (of, present), (said, yes) = self.signal, self.response
        there = {1 - present if cell > 1 else present for cell in cells}
        answer = {1 - yes if cell % 2 else yes for cell in cells}
        sides = ((of, there), (said, answer))
        return tuple((name, tuple(values) if len(values) == 1 else None) for name, values in sides)

    def share(self, top: tuple[int, ...], of: tuple[int, ...], why: str = NO_ITEMS) -> Resting:
        """Return the share of the cells ``of`` that are in ``top``: 0 hits, 1 misses, 2 false alarms, 3 rejections."""

        def compute(group: Group) -> Estimate:
            weights = self.weights(group.counts)
            above, below = (weights[:, list(cells)].sum(axis=1) for cells in (top, of))
            return ratio(group.counts, above, below, why)

        return Resting(compute, self.where(*of))


def ratio(counts: Counts, top: Floats, bottom: Floats, why: str = NO_ITEMS) -> Estimate:
    """Return the share of the responses weighted by ``bottom`` that are weighted by ``top`` as well."""
    found = intervals.ratio(counts.patterns, top * bottom, bottom)
    return found if found.value is not None else unavailable(0, found.method, why)
