"""Measures that benchmarks share: shares of responses, clusters being the unit of chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metacog_pipeline.benchmark.groups import Counts, Floats, Group
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.estimate import NO_ITEMS, Estimate, unavailable

Compute = Callable[[Group], Estimate | None]


def share(
    top: Mapping[str, int],
    *,
    known: tuple[str, ...] = (),
    only: Mapping[str, int] | None = None,
    why: str = NO_ITEMS,
) -> Compute:
    """Return the measure "share of responses with the values ``top``".

    Parameters
    ----------
    top
        Coded column → value.
    known
        Coded columns that must have a value for a response to count; those of ``top`` where none are named.
    only
        Coded column → value: the responses it is a share of.
    why
        Status where nothing counts.
    """

    def compute(group: Group) -> Estimate:
        counts = group.counts
        bottom = counts.known(*(known or tuple(top))) * (counts.where(**only) if only else 1.0)
        return ratio(counts, counts.where(**top), bottom, why)

    return compute


def ratio(counts: Counts, top: Floats, bottom: Floats, why: str = NO_ITEMS) -> Estimate:
    """Return the share of the responses weighted by ``bottom`` that are weighted by ``top`` as well."""
    found = resampling.ratio(counts.patterns, top * bottom, bottom)
    return found if found.value is not None else unavailable(0, found.method, why)
