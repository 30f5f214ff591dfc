"""Reliability diagrams as data: how often answers stated with about the same confidence are right.

The bins are those of the headline calibration error, [0, 20) to [80, 100] percent. Empty ones have rows too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.run_estimates import BINS
from metacog_pipeline.benchmarks.metacogbench.tier_groups import TierGroup, tier_groups
from metacog_pipeline.stats import calibration
from metacog_pipeline.stats.intervals import wilson_interval

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench import MetaCogBench

MOMENTS = ("pre", "post")


@dataclass(slots=True)
class ReliabilityBin:
    """One bin of a model, over all runs.

    ``moment`` is ``pre`` (before answering) or ``post``; ``n`` counts answers, ``n_items`` the tasks they are to.
    ``stated_from`` .. ``stated_to``, the mean ``confidence`` and ``accuracy`` are 0..1; ``low`` and ``high`` are Wilson's
    interval at ``n_items``, because runs of one task are not independent. Models that lack replies are there with what
    they have.
    """

    benchmark: str
    dataset: str
    condition: str
    model: str
    moment: str
    bin: int
    n: int
    n_items: int
    stated_from: float
    stated_to: float
    confidence: float | None
    accuracy: float | None
    low: float | None
    high: float | None
    source: str


def of_bins(benchmark: MetaCogBench, group: Group) -> Iterator[tuple[object, ...]]:
    """Yield the bins of one group."""
    tier = tier_groups(group).get("1b")
    if tier is not None:
        for moment in MOMENTS:
            yield from _bins(group, tier, moment)


def _bins(group: Group, tier: TierGroup, moment: str) -> Iterator[tuple[object, ...]]:
    stated, right = tier.column(moment), tier.column("correct")
    here = ~np.isnan(stated) & ~np.isnan(right)
    place = np.full(stated.shape, -1)
    place[here] = calibration.bin_index(stated[here] / 100, BINS, "floor")
    for number in range(BINS):
        own = place == number
        n, n_items = int(own.sum()), int(own.any(axis=1).sum())
        values: tuple[float | None, ...] = (None,) * 4
        if n:
            accuracy = float(right[own].mean())
            values = (float(stated[own].mean()) / 100, accuracy, *wilson_interval(accuracy, n_items))
        where = (BENCHMARK, group.dataset, group.condition, group.model, moment)
        yield (*where, number, n, n_items, number / BINS, (number + 1) / BINS, *values, group.source)
