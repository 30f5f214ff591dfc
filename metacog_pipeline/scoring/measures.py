"""Measures that benchmarks share: shares of responses, clusters being the unit of chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
    """Return the measure "share of responses with the values ``top``", of those with the values ``only``, by coded column.

    A response counts where the coded columns ``known`` (those of ``top`` where none are named) have a value; ``why`` is the
    status where none does.
    """
    needed, among = known or tuple(top), dict(only or {})

    def compute(group: Group) -> Estimate:
        counts = group.counts
        return ratio(counts, counts.where(**top), counts.known(*needed) * counts.where(**among), why)

    values = tuple((name, (value,)) for name, value in among.items())
    return Resting(compute, (*values, *((name, None) for name in needed if name not in among)))


def ratio(counts: Counts, top: Floats, bottom: Floats, why: str = NO_ITEMS) -> Estimate:
    """Return the share of the responses weighted by ``bottom`` that are weighted by ``top`` as well."""
    found = intervals.ratio(counts.patterns, top * bottom, bottom)
    return found if found.value is not None else unavailable(0, found.method, why)
