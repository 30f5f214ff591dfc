"""Measures that benchmarks share: shares and means of responses, clusters being the unit of chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from metacog_pipeline.benchmark.groups import Counts, Floats, Group, Ints
from metacog_pipeline.stats.estimate import NO_ITEMS, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.proportions import sem_interval
from metacog_pipeline.stats.ratios import ratio_estimate

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
    found = ratio_estimate(counts.patterns, top * bottom, bottom)
    return found if found.value is not None else unavailable(0, found.method, why)


def mean(values: Floats, clusters: Ints) -> Estimate:
    """Return the mean of ``values``, clusters being the unit of chance; neither may be empty."""
    n, value = len(values), float(values.mean())
    number, sums = np.bincount(clusters), np.bincount(clusters, weights=values - value)
    k = int((number > 0).sum())
    method = "sem, clustered" if k < n else "sem"
    if k < 2:
        return Estimate(value, None, None, n, method, SINGLE_ITEM)
    sem = float(np.sqrt(k / (k - 1) * (sums @ sums))) / n
    return Estimate(value, *sem_interval(value, sem), n, method, sem=sem)
